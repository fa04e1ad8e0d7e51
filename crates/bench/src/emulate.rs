//! Emulates the path of a scenario in real time, for other programs.

use std::thread;
use std::time::Duration;

pub use kirikae_emu::Emulated;
use kirikae_results::interruption::Interruption;
use kirikae_scenario::Scenario;
use kirikae_vocabulary::Report;

use crate::error::Error;

const POLL: Duration = Duration::from_millis(100);

/// Emulates the path of a scenario until SIGINT, SIGTERM or SIGHUP, and returns what happened on it.
/// `on_ready` is called when packets pass. Nothing is left behind on the host.
///
/// # Errors
/// Fails for a scenario of several links, if the host lacks something, or if the emulator cannot hold the
/// path.
pub fn emulate(scenario: &Scenario, on_ready: impl FnOnce(&Emulated)) -> Result<Report, Error> {
    let [link] = &scenario.links[..] else {
        return Err(kirikae_results::Error::Incompatible(format!(
            "{}: link: found {} links; allowed: one, whose ends two programs can take",
            scenario.file.display(),
            scenario.links.len(),
        ))
        .into());
    };
    crate::clean()?;
    let interruption = Interruption::listen()?;
    let emulated = Emulated::create(&link.path, scenario.seed, &scenario.title)?;
    on_ready(&emulated);
    while !interruption.came() {
        thread::sleep(POLL);
    }
    Ok(emulated.finish()?)
}
