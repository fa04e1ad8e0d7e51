//! The agent during a comparison: one for all kirikae connections of the run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use kirikae_agent::{Agent, Config, Pinning, Switch};
use kirikae_algorithms::Algorithm;
use kirikae_policy::{Policy, Scope};

use super::cgroup::Cgroup;
use crate::error::Error;

/// An agent in a thread of its own, which collects its switches.
pub struct Switcher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Vec<Switch>, Error>>>,
    cgroup: Cgroup,
}

impl Switcher {
    /// Starts the agent on a cgroup of ours; returns when it is attached.
    pub fn start(scope: Scope, algorithms: Vec<Algorithm>) -> Result<Switcher, Error> {
        let cgroup = Cgroup::create()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (attached, wait) = mpsc::channel();
        let thread = std::thread::spawn({
            let config = Config {
                cgroup: cgroup.path().into(),
                policy: Policy::one(scope),
                algorithms,
                adopt: None,
                pinning: Pinning::Unpinned,
                are_calls_recorded: false,
            };
            let stop = Arc::clone(&stop);
            move || follow(config, &stop, &attached)
        });
        let mut switcher = Switcher { stop, thread: Some(thread), cgroup };
        if wait.recv().is_err() {
            // The thread ended before it was attached: its result says why.
            switcher.join()?;
        }
        Ok(switcher)
    }

    /// The cgroup whose connections are switched.
    pub fn cgroup(&self) -> &Path {
        self.cgroup.path()
    }

    /// Stops the agent, which puts everything back, and returns every switch.
    pub fn finish(mut self) -> Result<Vec<Switch>, Error> {
        self.join()
    }

    fn join(&mut self) -> Result<Vec<Switch>, Error> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(Vec::new()) };
        thread.join().unwrap_or_else(|_| Err(Error::Failed("the agent panicked".into())))
    }
}

impl Drop for Switcher {
    fn drop(&mut self) {
        if let Err(error) = self.join() {
            eprintln!("stopping the agent: {error}");
        }
    }
}

fn follow(
    config: Config,
    stop: &AtomicBool,
    attached: &mpsc::Sender<()>,
) -> Result<Vec<Switch>, Error> {
    let agent = Agent::start(&config)?;
    // Nobody waits any more only where start() has already failed.
    let _ = attached.send(());
    let mut switches = Vec::new();
    let mut polled = Ok(());
    while polled.is_ok() && !stop.load(Ordering::Relaxed) {
        polled = agent.poll(Duration::from_millis(200), &mut |switch| switches.push(switch));
    }
    agent.stop()?;
    polled?;
    Ok(switches)
}
