//! The path of a scenario in real time, for programs of others.

use std::thread;
use std::time::Duration;

pub use kirikae_emu::{DirectionReport, Emulated, Report};

use crate::bench;
use crate::error::Error;
use crate::interruption::Interruption;
use crate::scenario::Scenario;

const POLL: Duration = Duration::from_millis(100);

/// Emulates the path of a scenario until SIGINT, SIGTERM or SIGHUP, and says what happened on it.
/// `on_ready` is told when packets pass. Nothing is left behind on the host.
///
/// # Errors
/// A scenario that only the simulator can play, a host that lacks something, a path that the
/// emulator cannot hold.
pub fn emulate(scenario: &Scenario, on_ready: impl FnOnce(&Emulated)) -> Result<Report, Error> {
    let (path, _) = scenario.bursts()?;
    bench::clean()?;
    let interruption = Interruption::listen()?;
    let emulated = Emulated::create(path, scenario.seed, &scenario.title)?;
    on_ready(&emulated);
    while !interruption.came() {
        thread::sleep(POLL);
    }
    Ok(emulated.finish()?)
}
