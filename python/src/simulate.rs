//! Simulates while Python goes on, and hears of Ctrl-C.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use kirikae_results::contest::{Contest, Kept};
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::errors::Error;
use crate::plan::within;

/// How often signals are looked for.
const SIGNALS: Duration = Duration::from_millis(50);

/// How many threads are asked for, 1 to 1024; 0 where nobody asks.
pub fn count(threads: Option<i128>) -> PyResult<usize> {
    threads.map_or(Ok(0), |threads| within("threads", threads, 1..=1024).map(|it| it as usize))
}

/// Computes something on so many other threads, 0 for the preset number, so that a signal is heard at once.
/// Then nobody waits any more, and what `compute` is given is true. Meanwhile `waiting` is called again and again.
pub fn until_signal<T: Send + 'static>(
    py: Python,
    threads: usize,
    compute: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    waiting: impl Fn(Python) -> PyResult<()>,
) -> PyResult<T> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::new_err(format!("starting threads: {error}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    let (done, mut computed) = channel();
    let stopped = Arc::clone(&stop);
    // Nobody listens any more after a signal.
    pool.spawn(move || drop(done.send(compute(&stopped))));
    loop {
        let computed = &mut computed;
        match py.detach(move || computed.recv_timeout(SIGNALS)) {
            Ok(computed) => return Ok(computed),
            Err(RecvTimeoutError::Timeout) => {
                let heard = py.check_signals().and_then(|()| waiting(py));
                heard.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => unreachable!("it tells, whatever happens"),
        }
    }
}

/// Simulates one contender with one seed on this thread, unless it is to stop. A panic is an error, too.
pub fn simulated(
    contest: Contest,
    controls: &Controls,
    stop: &AtomicBool,
) -> Result<Kept, kirikae_results::Error> {
    let mut one: Scenario = contest.scenario.clone();
    one.contenders = vec![contest.contender];
    (one.seed, one.repetitions) = (contest.seed, 1);
    let outcome = caught(|| sim::simulate(&[one], controls, stop))?;
    let mut comparison = outcome.comparisons.into_iter().next().expect("one scenario");
    let play = comparison.plays.pop().expect("one contender with one seed");
    Ok((comparison.performances.pop(), play))
}

/// What `simulate` gives. A panic is an error, too.
pub fn caught<T>(
    simulate: impl FnOnce() -> Result<T, kirikae_results::Error>,
) -> Result<T, kirikae_results::Error> {
    catch_unwind(AssertUnwindSafe(simulate)).unwrap_or_else(|panic| {
        let told = panic.downcast_ref::<String>().map_or("as told above", |told| told);
        Err(kirikae_results::Error::Failed(format!("a simulation panicked: {told}")))
    })
}
