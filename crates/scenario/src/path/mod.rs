//! Reads `[[path.forward]]` and `[[path.backward]]`: the elements that packets meet, in order. docs/path.md
//! tells what each key means.

mod link;
mod radio;

use kirikae_path::{
    ArqSpec, Direction, DirectionSpec, ElementSpec, GilbertElliottSpec, Intervals, Order,
    OutageSpec, PathSpec, RecordedDelays, RunLossSpec, Span,
};
use kirikae_settings::Refusal;
use kirikae_settings::quantity::Size;
use kirikae_settings::section::{Field, Section};

/// Reads an element from its table, whose keys have been checked before.
type Read = fn(&Section) -> Result<ElementSpec, Refusal>;

const ELEMENTS: [(&str, &[&str], Read); 13] = [
    ("delay", &["delay", "limit"], delay),
    ("jitter", &["delay", "jitter", "order"], jitter),
    ("recorded-delay", &["file", "order"], recorded_delay),
    ("rate", &link::KEYS, link::read),
    ("adaptive-modulation", &radio::KEYS, radio::read),
    ("link-change", &link::CHANGE_KEYS, link::read_change),
    ("loss", &["probability", "during", "every"], |section| during(section, loss(section)?)),
    ("gilbert-elliott", &["p", "r", "k", "h", "during", "every"], |section| {
        during(section, ElementSpec::GilbertElliott(gilbert_elliott(section)?))
    }),
    ("run-loss", &["begin", "lengths", "during", "every"], |section| {
        during(section, run_loss(section)?)
    }),
    ("listed-loss", &["packets"], listed_loss),
    ("arq", &["loss", "retries", "retry-delay"], |section| {
        Ok(ElementSpec::Arq { loss: section.probability("loss")?, arq: arq(section)? })
    }),
    ("outage", &["intervals", "every", "action", "carrier"], outage),
    ("mtu", &["mtu"], mtu),
];

/// Reads the two directions of a path or link, `forward` and `backward`.
pub(super) fn read(section: &Section) -> Result<PathSpec, Refusal> {
    let [forward, backward] = ["forward", "backward"].map(|key| {
        let allowed = format!("[[{}]] with an element", section.path(key));
        section.required(key, &allowed)?.tables("elements, each a table with the key element")
    });
    let (forward, backward) = (forward?, backward?);
    let spec = PathSpec { forward: direction(&forward)?, backward: direction(&backward)? };
    // Kinds and units of values are checked here; which values make up a path is checked by crates/path.
    spec.validate().map_err(|error| {
        let sections = match error.direction {
            Direction::Forward => &forward,
            Direction::Backward => &backward,
        };
        let found = format!("found {}", error.found);
        sections[error.element].refuse_at(&error.field, &found, error.allowed)
    })?;
    Ok(spec)
}

fn direction(sections: &[Section]) -> Result<DirectionSpec, Refusal> {
    sections.iter().map(element).collect()
}

fn element(section: &Section) -> Result<ElementSpec, Refusal> {
    let names = ELEMENTS.map(|(name, ..)| name);
    let place = section.required("element", &names.join(", "))?.choice(&names)?;
    let (_, keys, read) = ELEMENTS[place];
    section.allow(&[&["element"], keys].concat())?;
    read(section)
}

fn delay(section: &Section) -> Result<ElementSpec, Refusal> {
    let delay = section.quantity("delay")?;
    Ok(match section.optional_quantity("limit")? {
        None => ElementSpec::Delay { delay },
        Some(limit) => ElementSpec::LimitedDelay { delay, limit },
    })
}

fn jitter(section: &Section) -> Result<ElementSpec, Refusal> {
    Ok(ElementSpec::Jitter {
        delay: section.quantity("delay")?,
        jitter: section.quantity("jitter")?,
        order: order(section)?,
    })
}

fn recorded_delay(section: &Section) -> Result<ElementSpec, Refusal> {
    let file = section.required("file", r#"the name of a file, such as "delays.txt""#)?;
    Ok(ElementSpec::RecordedDelay {
        delays: file.recording(RecordedDelays::parse)?,
        order: order(section)?,
    })
}

fn order(section: &Section) -> Result<Order, Refusal> {
    Ok([Order::Kept, Order::Free][section.choice_or_first("order", &["kept", "free"])?])
}

fn loss(section: &Section) -> Result<ElementSpec, Refusal> {
    Ok(ElementSpec::Loss { probability: section.probability("probability")? })
}

fn gilbert_elliott(section: &Section) -> Result<GilbertElliottSpec, Refusal> {
    Ok(GilbertElliottSpec {
        p: section.probability("p")?,
        r: section.probability("r")?,
        k: section.probability("k")?,
        h: section.probability("h")?,
    })
}

fn run_loss(section: &Section) -> Result<ElementSpec, Refusal> {
    const ALLOWED: &str = "run lengths, such as [{ packets = 1, weight = 3 }]";
    const WEIGHT: &str = "a number, such as 0.5";
    let length = |length: &Section| {
        length.allow(&["packets", "weight"])?;
        let packets = length.whole("packets", 1..=1_000_000)?;
        Ok((packets, length.required("weight", WEIGHT)?.number(0.0..=f64::MAX, WEIGHT)?))
    };
    let lengths = section.required("lengths", ALLOWED)?.tables(ALLOWED)?;
    Ok(ElementSpec::RunLoss(RunLossSpec {
        begin: section.probability("begin")?,
        lengths: lengths.iter().map(length).collect::<Result<_, _>>()?,
    }))
}

fn listed_loss(section: &Section) -> Result<ElementSpec, Refusal> {
    const ALLOWED: &str = "packet numbers, counted from 0, such as [10, 11, 12]";
    let packets = section.required("packets", ALLOWED)?.list(ALLOWED)?;
    let numbers = packets.iter().map(|packet| packet.whole(0..=u64::MAX));
    Ok(ElementSpec::ListedLoss { packets: numbers.collect::<Result<_, _>>()? })
}

fn arq(section: &Section) -> Result<ArqSpec, Refusal> {
    Ok(ArqSpec {
        retries: section.whole("retries", 0..=255)? as u32,
        retry_delay: section.quantity("retry-delay")?,
    })
}

/// Adds to a loss, if there is the key `during`, that it comes and goes.
fn during(section: &Section, loss: ElementSpec) -> Result<ElementSpec, Refusal> {
    match (section.optional("during"), section.optional("every")) {
        (None, None) => Ok(loss),
        (None, Some(every)) => Err(every.refuse("beside during, which then comes again and again")),
        (Some(field), _) => {
            let when = intervals(section, &field)?;
            Ok(ElementSpec::During { loss: Box::new(loss), when })
        }
    }
}

fn outage(section: &Section) -> Result<ElementSpec, Refusal> {
    let when = intervals(section, &section.required("intervals", INTERVALS)?)?;
    let hold = section.choice_or_first("action", &["drop", "hold"])? == 1;
    let carrier = section.flag("carrier")?;
    Ok(ElementSpec::Outage(OutageSpec { when, hold, carrier }))
}

fn mtu(section: &Section) -> Result<ElementSpec, Refusal> {
    let Size(bytes) = section.quantity("mtu")?;
    // What is too large for the field is refused with its range by crates/path.
    Ok(ElementSpec::Mtu { bytes: u32::try_from(bytes).unwrap_or(u32::MAX) })
}

const INTERVALS: &str = r#"intervals, such as [{ from = "10 s", to = "12 s" }]"#;

fn intervals(section: &Section, list: &Field) -> Result<Intervals, Refusal> {
    let interval = |interval: &Section| {
        interval.allow(&["from", "to"])?;
        Ok((interval.quantity("from")?, interval.quantity("to")?))
    };
    Ok(Intervals {
        intervals: list.tables(INTERVALS)?.iter().map(interval).collect::<Result<_, _>>()?,
        every: section.optional_quantity::<Span>("every")?,
    })
}
