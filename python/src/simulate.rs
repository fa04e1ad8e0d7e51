//! Simulates while Python goes on, and hears of Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::errors::Error;

/// How often signals are looked for.
const SIGNALS: Duration = Duration::from_millis(50);

type Simulated = Result<kirikae_results::outcome::Outcome, kirikae_results::Error>;

/// Simulates on so many other threads, 0 for the preset number, so that a signal is heard at once. After one, no
/// more simulations begin.
pub fn until_signal(py: Python, scenarios: Vec<Scenario>, threads: usize) -> PyResult<Simulated> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::new_err(format!("starting threads: {error}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    let (done, mut outcome) = channel();
    let thread = std::thread::spawn({
        let stop = Arc::clone(&stop);
        let simulated = move || sim::simulate(&scenarios, &Controls::default(), &stop);
        // Nobody listens any more after a signal.
        move || drop(done.send(pool.install(simulated)))
    });
    loop {
        let outcome = &mut outcome;
        match py.detach(move || outcome.recv_timeout(SIGNALS)) {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.join().expect_err("it ended without an outcome");
                let told = panic.downcast_ref::<String>().map_or("told above", |it| it);
                return Err(Error::new_err(format!("a simulation panicked: {told}")));
            }
        }
    }
}
