//! What bursts take on drawn paths: for studies that need many connections, and not their packets.

use kirikae_path::stream_seed;
use kirikae_results::Error;
use kirikae_scenario::{Contender, Controls, Scenario};

use super::distribution::{self, Play};
use super::draw::Draw;
use super::played::waits;
use super::player::name;

/// Of the seeds of connections, under that of the paths.
const LABEL: u64 = 6;

/// How long each of so many bursts (from 5; of two sizes there are a fifth more) takes a contender on the drawn
/// path with this index, seconds, in the order in which they begin. One that does not arrive counts with
/// the time that it had waited at the end.
///
/// # Errors
/// None but a defect: a drawn path that is no scenario.
pub fn latencies(
    seed: u64,
    index: u64,
    bursts: u32,
    contender: Contender,
    controls: &Controls,
) -> Result<Vec<f64>, Error> {
    let connection = stream_seed(seed, &[LABEL, index]) >> 32;
    let play = Play {
        bursts,
        seed: connection,
        repetitions: 1,
        contenders: &[contender],
        new_connections: None,
    };
    let text = distribution::scenario(&Draw::new(seed, index), play);
    let scenario = Scenario::parse(&name(index), text)?.remove(0);
    let mut waits = waits(&scenario, contender, scenario.seed, controls)?;
    waits.sort_by_key(|(start, _)| *start);
    Ok(waits.into_iter().map(|(_, wait_s)| wait_s).collect())
}
