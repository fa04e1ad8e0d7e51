//! Reads the radio link of a mobile: the element `adaptive-modulation`.

use kirikae_path::{AdaptiveModulationSpec, ElementSpec, Movement, PathLoss, RadioSpec};
use kirikae_settings::Refusal;
use kirikae_settings::quantity::{
    Decibels, Kilometres, KilometresPerHour, Megahertz, Metres, Rate,
};
use kirikae_settings::section::Section;

use super::{arq, link};

pub(super) const KEYS: [&str; 16] = [
    "fastest-rate",
    "budget",
    "frequency",
    "base-height",
    "mobile-height",
    "metropolitan",
    "radius",
    "slowest",
    "fastest",
    "retries",
    "retry-delay",
    "queue",
    "mark",
    "codel",
    "reorder-interval",
    "cross",
];

pub(super) fn read(section: &Section) -> Result<ElementSpec, Refusal> {
    let Rate(fastest_bits_per_second) = section.quantity("fastest-rate")?;
    let Decibels(budget_db) = section.quantity("budget")?;
    let radio = RadioSpec {
        fastest_bits_per_second,
        budget_db,
        path_loss: path_loss(section)?,
        movement: movement(section)?,
    };
    Ok(ElementSpec::AdaptiveModulation(AdaptiveModulationSpec {
        radio,
        arq: arq(section)?,
        queue: link::queue(section)?,
        cross: link::cross(section)?,
    }))
}

fn path_loss(section: &Section) -> Result<PathLoss, Refusal> {
    let Megahertz(frequency_mhz) = section.quantity("frequency")?;
    let Metres(base_height_m) = section.quantity("base-height")?;
    let Metres(mobile_height_m) = section.quantity("mobile-height")?;
    let metropolitan = section.flag("metropolitan")?;
    Ok(PathLoss { frequency_mhz, base_height_m, mobile_height_m, metropolitan })
}

fn movement(section: &Section) -> Result<Movement, Refusal> {
    let Kilometres(radius_km) = section.quantity("radius")?;
    let KilometresPerHour(slowest_kmh) = section.quantity("slowest")?;
    let KilometresPerHour(fastest_kmh) = section.quantity("fastest")?;
    Ok(Movement { radius_km, slowest_kmh, fastest_kmh })
}
