//! Reads links: their rates, their queues, and their other traffic.

use kirikae_path::{
    CoDelSpec, CrossTrafficSpec, ElementSpec, LinkChangeSpec, LinkSpec, QueueSpec, RateSpec,
    RateStep, RecordedRate, RetrySpec, Span, Turns, UsedLink,
};
use kirikae_settings::Refusal;
use kirikae_settings::quantity::{Quantity, Rate, Size};
use kirikae_settings::section::{Field, Section};

use super::gilbert_elliott;

pub(super) const KEYS: [&str; 10] = [
    "rate",
    "steps",
    "file",
    "overhead",
    "queue",
    "mark",
    "codel",
    "reorder-interval",
    "retries",
    "cross",
];

pub(super) const CHANGE_KEYS: [&str; 5] = ["links", "queue", "mark", "codel", "reorder-interval"];

/// Reads a link with a queue: the element `rate`.
pub(super) fn read(section: &Section) -> Result<ElementSpec, Refusal> {
    let link = LinkSpec {
        rate: rate(section)?,
        overhead: overhead(section)?,
        queue: queue(section)?,
        retries: section.optional("retries").map(|field| retries(&field)).transpose()?,
        cross: cross(section)?,
    };
    // The usual link has a short form, in which records have it.
    Ok(match link {
        LinkSpec {
            rate: RateSpec::Constant(bits_per_second),
            overhead: 0,
            queue,
            retries: None,
            cross: None,
        } if queue == QueueSpec::drop_tail(queue.limit) => {
            ElementSpec::Rate { bits_per_second, limit: queue.limit }
        }
        link => ElementSpec::Link(link),
    })
}

/// Reads one of `rate`, `steps` and `file`.
fn rate(section: &Section) -> Result<RateSpec, Refusal> {
    const ONE: &str = "one of rate, steps and file";
    let [rate, steps, file] = ["rate", "steps", "file"].map(|key| section.optional(key));
    match (rate, steps, file) {
        (Some(rate), None, None) => {
            rate.quantity().map(|Rate(bits_per_second)| RateSpec::Constant(bits_per_second))
        }
        (None, Some(steps), None) => rate_steps(&steps).map(RateSpec::Scheduled),
        (None, None, Some(file)) => file.recording(RecordedRate::parse).map(RateSpec::Recorded),
        (None, None, None) => {
            let allowed = format!("{}; or steps, or file", Rate::ALLOWED);
            Err(section.refuse_at("rate", "missing required key", &allowed))
        }
        (_, Some(more), _) | (_, _, Some(more)) => Err(more.refuse(ONE)),
    }
}

/// Reads the bytes around each packet; 0 if nothing is said.
fn overhead(section: &Section) -> Result<u32, Refusal> {
    const MOST: u64 = 1000;
    let Some(field) = section.optional("overhead") else { return Ok(0) };
    let Size(bytes) = field.quantity()?;
    if bytes > MOST {
        return Err(field.refuse(format!("at most {MOST} B")));
    }
    Ok(bytes as u32)
}

fn rate_steps(field: &Field) -> Result<Vec<RateStep>, Refusal> {
    const ALLOWED: &str = r#"steps, such as [{ at = "0 s", rate = "10 Mbit/s" }]"#;
    let step = |step: &Section| {
        step.allow(&["at", "rate"])?;
        let at = step.quantity("at")?;
        Ok(RateStep { at, bits_per_second: rate_or_none(step)? })
    };
    field.tables(ALLOWED)?.iter().map(step).collect()
}

/// Reads a rate, or `"none"` for silence.
fn rate_or_none(step: &Section) -> Result<u64, Refusal> {
    let allowed = format!(r#"{}; or "none""#, Rate::ALLOWED);
    let field = step.required("rate", &allowed)?;
    match field.text(&allowed)? {
        "none" => Ok(0),
        text => Rate::parse(text).map(|rate| rate.0).ok_or_else(|| field.refuse(allowed)),
    }
}

pub(super) fn queue(section: &Section) -> Result<QueueSpec, Refusal> {
    let interval = section.optional("reorder-interval");
    Ok(QueueSpec {
        limit: section.quantity("queue")?,
        mark: section.optional_quantity("mark")?,
        codel: section.optional("codel").map(|field| codel(&field)).transpose()?,
        reorder_interval: interval
            .map(|field| field.whole(1..=1_000_000).map(|interval| interval as u32))
            .transpose()?,
    })
}

/// Reads CoDel's parameters; those of RFC 8289 hold if none are given.
fn codel(field: &Field) -> Result<CoDelSpec, Refusal> {
    let section =
        field.section("a table with target, interval, mark, each of which may be missing")?;
    section.allow(&["target", "interval", "mark"])?;
    Ok(CoDelSpec {
        target: section.optional_quantity("target")?.unwrap_or(Span::from_millis(5)),
        interval: section.optional_quantity("interval")?.unwrap_or(Span::from_millis(100)),
        mark: section.flag("mark")?,
    })
}

fn retries(field: &Field) -> Result<RetrySpec, Refusal> {
    let section = field.section("a table with limit, p, r, k, h")?;
    section.allow(&["limit", "p", "r", "k", "h"])?;
    let limit = section.whole("limit", 0..=255)? as u32;
    Ok(RetrySpec { channel: gilbert_elliott(&section)?, limit })
}

pub(super) fn cross(section: &Section) -> Result<Option<CrossTrafficSpec>, Refusal> {
    const KEYS: [&str; 5] = ["rate", "packet", "on", "off", "turns"];
    let Some(field) = section.optional("cross") else { return Ok(None) };
    let section = field.section(&format!("a table with {}", KEYS.join(", ")))?;
    section.allow(&KEYS)?;
    let Rate(bits_per_second) = section.quantity("rate")?;
    let packet = section.optional_quantity::<Size>("packet")?;
    let in_turns = ["on", "off", "turns"].iter().any(|key| section.optional(key).is_some());
    let turns = || {
        Ok(Turns {
            on: section.quantity("on")?,
            off: section.quantity("off")?,
            exponential: section.choice_or_first("turns", &["fixed", "exponential"])? == 1,
        })
    };
    Ok(Some(CrossTrafficSpec {
        bits_per_second,
        packet_bytes: packet.map_or(1500, |Size(bytes)| bytes as u32),
        turns: in_turns.then(turns).transpose()?,
    }))
}

/// Reads links that are used one after the other: the element `link-change`.
pub(super) fn read_change(section: &Section) -> Result<ElementSpec, Refusal> {
    const ALLOWED: &str = r#"links, such as [{ at = "0 s", rate = "10 Mbit/s", delay = "15 ms" }]"#;
    let link = |link: &Section| {
        link.allow(&["at", "silence", "rate", "delay"])?;
        let Rate(bits_per_second) = link.quantity("rate")?;
        Ok(UsedLink {
            at: link.quantity("at")?,
            silence: link.optional_quantity("silence")?.unwrap_or(Span::ZERO),
            bits_per_second,
            delay: link.quantity("delay")?,
        })
    };
    let links = section.required("links", ALLOWED)?.tables(ALLOWED)?;
    Ok(ElementSpec::LinkChange(LinkChangeSpec {
        queue: queue(section)?,
        links: links.iter().map(link).collect::<Result<_, _>>()?,
    }))
}
