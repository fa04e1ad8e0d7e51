//! `[[path.forward]]` and `[[path.backward]]`: what packets meet, in order.

use kirikae_path::{DirectionSpec, ElementSpec, GilbertElliottSpec, PathSpec};

use super::quantity::Rate;
use super::refusal::Refusal;
use super::section::{Field, Section};

const ELEMENTS: [&str; 5] = ["delay", "rate", "loss", "gilbert-elliott", "listed-loss"];

/// Reads `path`, with its two directions.
pub(super) fn read(root: &Section) -> Result<PathSpec, Refusal> {
    let path = root.section("path", "[[path.forward]] and [[path.backward]]")?;
    path.allow(&["forward", "backward"])?;
    let forward = path.required("forward", "[[path.forward]] with an element")?;
    let backward = path.required("backward", "[[path.backward]] with an element")?;
    Ok(PathSpec { forward: direction(&forward)?, backward: direction(&backward)? })
}

fn direction(field: &Field) -> Result<DirectionSpec, Refusal> {
    const ALLOWED: &str = "elements, each a table with the key element";
    field.list(ALLOWED)?.iter().map(|each| element(&each.section(ALLOWED)?)).collect()
}

fn element(section: &Section) -> Result<ElementSpec, Refusal> {
    let kind = section.required("element", &ELEMENTS.join(", "))?.choice(&ELEMENTS)?;
    match ELEMENTS[kind] {
        "delay" => {
            section.allow(&["element", "delay"])?;
            Ok(ElementSpec::Delay { delay: section.quantity("delay")? })
        }
        "rate" => {
            section.allow(&["element", "rate", "queue"])?;
            let Rate(bits_per_second) = section.quantity("rate")?;
            Ok(ElementSpec::Rate { bits_per_second, limit: section.quantity("queue")? })
        }
        "loss" => {
            section.allow(&["element", "probability"])?;
            Ok(ElementSpec::Loss { probability: section.probability("probability")? })
        }
        "gilbert-elliott" => {
            section.allow(&["element", "p", "r", "k", "h"])?;
            Ok(ElementSpec::GilbertElliott(GilbertElliottSpec {
                p: section.probability("p")?,
                r: section.probability("r")?,
                k: section.probability("k")?,
                h: section.probability("h")?,
            }))
        }
        _ => {
            section.allow(&["element", "packets"])?;
            const ALLOWED: &str = "packet numbers, counted from 0, such as [10, 11, 12]";
            let packets = section.required("packets", ALLOWED)?.list(ALLOWED)?;
            let numbers = packets.iter().map(|packet| packet.whole(0..=u64::MAX));
            Ok(ElementSpec::ListedLoss { packets: numbers.collect::<Result<_, _>>()? })
        }
    }
}
