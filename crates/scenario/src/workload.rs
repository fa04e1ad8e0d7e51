//! Reads `[workload]` and `[[workload]]`: what the application writes. docs/scenarios.md tells what each key
//! means.

use kirikae_path::{Span, Time};
use kirikae_settings::Refusal;
use kirikae_settings::quantity::{Quantity, Rate, Size};
use kirikae_settings::section::{Field, Section};
use kirikae_sim::Interval;
use serde::Serialize;

use super::recorded_writes::RecordedWrites;
use crate::{Bursts, Connection, Key, Spacing};

/// An activity of the application on its connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Activity {
    /// How long after the connection's SYN it begins.
    pub after: Span,
    /// What it does.
    #[serde(flatten)]
    pub workload: Workload,
}

/// What an application writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Bursts at given times.
    Bursts(Bursts),
    /// Writes as they were recorded.
    Writes(RecordedWrites),
    /// One of the workloads that only the simulator has.
    #[serde(untagged)]
    Simulated(kirikae_sim::Workload),
}

impl Workload {
    /// Number of writes at the beginning that are recorded but not counted.
    pub fn warmup(&self) -> u32 {
        match self {
            Workload::Bursts(bursts) => bursts.warmup,
            Workload::Writes(_) | Workload::Simulated(_) => 0,
        }
    }

    /// Number of writes that are counted, as far as it is known beforehand.
    pub fn count(&self) -> u32 {
        match self {
            Workload::Bursts(bursts) => bursts.count,
            Workload::Writes(recorded) => recorded.writes.len() as u32,
            Workload::Simulated(_) => 0,
        }
    }

    /// The bursts that are each an answer on a connection of its own, if it is these.
    pub fn answers(&self) -> Option<&Bursts> {
        match self {
            Workload::Bursts(bursts) => {
                Some(bursts).filter(|bursts| bursts.connection == Connection::New)
            }
            Workload::Writes(_) | Workload::Simulated(_) => None,
        }
    }

    /// Whether it takes all that it gets of its path.
    pub fn is_bulk(&self) -> bool {
        matches!(
            self,
            Workload::Simulated(
                kirikae_sim::Workload::Bulk { .. } | kirikae_sim::Workload::File { .. }
            )
        )
    }

    /// Whether all times at which it writes are known beforehand.
    pub fn is_timed(&self) -> bool {
        !matches!(self, Workload::Simulated(_))
    }
}

/// Reads a kind of workload from its table, whose keys have been checked before.
type Read = fn(&Section) -> Result<Workload, Refusal>;

const KINDS: [(&str, &[&str], Read); 7] = [
    (
        BURSTS,
        &[
            "burst",
            "sizes",
            "key-every",
            "key-times",
            "interval",
            "spacing",
            "overlap",
            "count",
            "warmup",
            "connection",
        ],
        |section| bursts(section).map(Workload::Bursts),
    ),
    ("writes", &["file"], |section| {
        let file = section.required("file", r#"the name of a file, such as "writes.txt""#)?;
        file.recording(RecordedWrites::parse).map(Workload::Writes)
    }),
    ("bulk", &["bytes"], |section| bulk(section).map(Workload::Simulated)),
    ("file", &["bytes", "piece"], |section| file(section).map(Workload::Simulated)),
    ("requests", &["request", "response", "think", "spacing", "count"], |section| {
        requests(section).map(Workload::Simulated)
    }),
    ("on-off", &["write", "rate", "on", "off", "turns"], |section| {
        on_off(section).map(Workload::Simulated)
    }),
    ("video", &["interval", "ladder", "key-every", "key-times", "late", "count"], |section| {
        video(section).map(Workload::Simulated)
    }),
];

const BURSTS: &str = "bursts";

/// Connections of a group of flows, where each burst has its own: none of their ports is used twice.
pub(super) const MOST_CONNECTIONS: u32 = 10_000;

/// What is allowed where nothing or something else stands; bursts are the usual kind.
pub(super) const ALLOWED: &str = "[workload] with burst, interval, count";

/// Reads one workload, or several for a mix on one connection.
pub(super) fn read(field: &Field) -> Result<Vec<Activity>, Refusal> {
    let sections =
        if field.is_list() { field.tables(ALLOWED)? } else { vec![field.section(ALLOWED)?] };
    let activities = sections.iter().map(|section| activity(section, field.is_list()));
    let activities = activities.collect::<Result<Vec<Activity>, Refusal>>()?;
    let endless = |activity: &Activity| {
        activity.workload == Workload::Simulated(kirikae_sim::Workload::Bulk { bytes: None })
    };
    if activities.len() > 1
        && let Some(place) = activities.iter().position(endless)
    {
        // A connection is one stream of bytes: after an endless write nothing would follow.
        let bytes = sections[place].required("bytes", "")?;
        return Err(bytes.refuse("a size where several share a connection: nothing would follow"));
    }
    Ok(activities)
}

fn activity(section: &Section, mixed: bool) -> Result<Activity, Refusal> {
    let names = KINDS.map(|(name, ..)| name);
    let (_, keys, read) = KINDS[section.choice_or_first("kind", &names)?];
    // A workload that is alone begins with its connection.
    let timing: &[&str] = if mixed { &["after"] } else { &[] };
    section.allow(&[&["kind"], keys, timing].concat())?;
    let after = section.optional_quantity::<Time>("after")?.unwrap_or(Time::ZERO);
    let workload = read(section)?;
    if mixed && workload.answers().is_some() {
        let field = section.required("connection", "")?;
        return Err(field.refuse("kept in [[workload]], whose workloads are on one connection"));
    }
    Ok(Activity { after: after - Time::ZERO, workload })
}

fn bursts(section: &Section) -> Result<Bursts, Refusal> {
    let Size(burst) = section.quantity("burst")?;
    let key = key(section)?;
    let interval = section.quantity("interval")?;
    let spread = |key| Ok([Spacing::Fixed, Spacing::Exponential][spacing(section, key)?]);
    let (sizes, spacing) = (spread("sizes")?, spread("spacing")?);
    let overlap = section.optional("overlap").map_or(Ok(true), |field| field.boolean())?;
    let field = section.required("count", "a whole number, such as 60")?;
    let count = field.whole(1..=1_000_000)? as u32;
    let warmup = section.optional("warmup").map_or(Ok(1), |field| field.whole(0..=1_000))? as u32;
    let connection = [Connection::Kept, Connection::New]
        [section.choice_or_first("connection", &["kept", "new"])?];
    let bursts =
        Bursts { burst, sizes, key, interval, spacing, connection, overlap, count, warmup };
    if connection == Connection::New && bursts.total() > MOST_CONNECTIONS {
        return Err(field.refuse(format!(
            "so many bursts, warm-up included, that they have at most {MOST_CONNECTIONS} new connections"
        )));
    }
    // TCP's sequence numbers would wrap, and a place in the stream be ambiguous.
    if bursts.bytes() > u64::from(u32::MAX) {
        return Err(field
            .refuse("so many bursts, warm-up included, that they have less than 4 GiB together"));
    }
    Ok(bursts)
}

fn bulk(section: &Section) -> Result<kirikae_sim::Workload, Refusal> {
    Ok(kirikae_sim::Workload::Bulk { bytes: size_or_unlimited(section)? })
}

fn file(section: &Section) -> Result<kirikae_sim::Workload, Refusal> {
    let Size(piece) = section.quantity("piece")?;
    Ok(kirikae_sim::Workload::File { bytes: size_or_unlimited(section)?, piece })
}

fn size_or_unlimited(section: &Section) -> Result<Option<u64>, Refusal> {
    let allowed = format!(r#"{}; or "unlimited""#, Size::ALLOWED);
    let field = section.required("bytes", &allowed)?;
    Ok(match field.text(&allowed)? {
        "unlimited" => None,
        text => Some(Size::parse(text).ok_or_else(|| field.refuse(allowed))?.0),
    })
}

fn requests(section: &Section) -> Result<kirikae_sim::Workload, Refusal> {
    let Size(request) = section.quantity("request")?;
    let Size(response) = section.quantity("response")?;
    let think = section.quantity::<Time>("think")? - Time::ZERO;
    let think = interval(spacing(section, "spacing")?, think);
    let count = section.whole("count", 1..=1_000_000)? as u32;
    Ok(kirikae_sim::Workload::Requests { request, response, think, count })
}

fn on_off(section: &Section) -> Result<kirikae_sim::Workload, Refusal> {
    let Size(bytes) = section.quantity("write")?;
    let rate = section.required("rate", Rate::ALLOWED)?;
    let Rate(bits_per_second) = rate.quantity()?;
    if bits_per_second / 8 / kirikae_sim::MOST_WRITES > bytes {
        return Err(rate.refuse("a rate that makes at most a million writes a second"));
    }
    let turns = spacing(section, "turns")?;
    let on = interval(turns, section.quantity("on")?);
    let off = interval(turns, section.quantity("off")?);
    Ok(kirikae_sim::Workload::OnOff { bytes, bits_per_second, on, off })
}

/// Reads key pictures: either both keys are given, or none.
fn key(section: &Section) -> Result<Option<Key>, Refusal> {
    if section.optional("key-every").or(section.optional("key-times")).is_none() {
        return Ok(None);
    }
    let number = |key| section.whole(key, 1..=10_000);
    Ok(Some(Key { every: number("key-every")? as u32, times: number("key-times")? as u32 }))
}

fn video(section: &Section) -> Result<kirikae_sim::Workload, Refusal> {
    const LADDER: &str =
        r#"sizes of a picture, the smallest first, such as ["4 kB", "8 kB", "16 kB"]"#;
    let ladder = section.required("ladder", LADDER)?;
    let sizes = ladder.list(LADDER)?.into_iter().map(|field| field.quantity::<Size>());
    let sizes = sizes.collect::<Result<Vec<Size>, Refusal>>()?;
    if sizes.is_empty() || sizes.windows(2).any(|pair| pair[1].0 <= pair[0].0) {
        return Err(ladder.refuse(LADDER));
    }
    let key = key(section)?.unwrap_or(Key { every: 1, times: 1 });
    Ok(kirikae_sim::Workload::Video(kirikae_sim::Video {
        interval: section.quantity("interval")?,
        ladder: sizes.into_iter().map(|Size(bytes)| bytes).collect(),
        key_every: key.every,
        key_times: key.times,
        late: section.quantity("late")?,
        count: section.whole("count", 1..=1_000_000)? as u32,
    }))
}

/// Reads the spacing: 0 for fixed, which is usual; 1 for exponential.
fn spacing(section: &Section, key: &str) -> Result<usize, Refusal> {
    section.choice_or_first(key, &["fixed", "exponential"])
}

fn interval(spacing: usize, mean: Span) -> Interval {
    [Interval::Fixed(mean), Interval::Exponential(mean)][spacing]
}
