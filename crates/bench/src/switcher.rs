//! Runs the agent during a comparison: one for all kirikae connections of the run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kirikae_agent::{Agent, Config, DEFAULT_PATHS, Pinning, Program};
use kirikae_algorithms::Algorithm;
use kirikae_policy::{Matching, Policy, Scope};
use kirikae_vocabulary::Switch;

use crate::cgroup::Cgroup;
use crate::error::Error;
use crate::lockstep::Recording;
use crate::progress::tell;
use crate::r_tcp;
use crate::switched::Switched;

/// How long one wait for switches takes at most.
const POLL: Duration = Duration::from_millis(200);

/// An agent in a thread of its own that collects its switches.
pub struct Switcher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Vec<Switch>, Error>>>,
    switched: Vec<Switched>,
    cgroup: Cgroup,
}

impl Switcher {
    /// Starts the agent on a cgroup of ours, with one inside for each of those that are switched, at least
    /// one and at most [`SCOPES`](kirikae_policy::SCOPES); returns when it is attached.
    pub fn start(
        switched: Vec<Switched>,
        algorithms: Vec<Algorithm>,
        recording: Option<Recording>,
    ) -> Result<Switcher, Error> {
        let cgroup = Cgroup::create(switched.len())?;
        let within = |(it, path): (&Switched, &PathBuf)| {
            let matching = Matching { cgroups: vec![path.clone()], ..Matching::default() };
            Scope { matching, ..it.scope.clone() }
        };
        let program = r_tcp::program(&switched);
        let policy = Policy { scopes: switched.iter().zip(cgroup.scopes()).map(within).collect() };
        let stop = Arc::new(AtomicBool::new(false));
        let (attached, wait) = mpsc::channel();
        let thread = std::thread::spawn({
            let config = Config {
                cgroup: cgroup.path().into(),
                policy,
                algorithms,
                adopt: None,
                pinning: Pinning::Unpinned,
                paths: DEFAULT_PATHS,
                are_calls_recorded: recording.is_some(),
            };
            let stop = Arc::clone(&stop);
            move || follow(&config, &program, recording, &stop, &attached)
        });
        let mut switcher = Switcher { stop, thread: Some(thread), switched, cgroup };
        if wait.recv().is_err() {
            // The thread ended before the agent was attached; its result says why.
            switcher.join()?;
        }
        Ok(switcher)
    }

    /// The cgroup whose connections are switched so, if they are among those that it was started with.
    pub fn cgroup(&self, switched: &Switched) -> Option<&Path> {
        let place = self.switched.iter().position(|known| known == switched)?;
        Some(&self.cgroup.scopes()[place])
    }

    /// Stops the agent, which restores everything, and returns every switch.
    pub fn finish(mut self) -> Result<Vec<Switch>, Error> {
        self.join()
    }

    fn join(&mut self) -> Result<Vec<Switch>, Error> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(Vec::new()) };
        thread.join().unwrap_or_else(|_| {
            Err(kirikae_results::Error::Failed("the agent panicked".into()).into())
        })
    }
}

impl Drop for Switcher {
    fn drop(&mut self) {
        if let Err(error) = self.join() {
            tell(format_args!("stopping the agent: {error}"));
        }
    }
}

fn follow(
    config: &Config,
    program: &Program,
    recording: Option<Recording>,
    stop: &AtomicBool,
    attached: &mpsc::Sender<()>,
) -> Result<Vec<Switch>, Error> {
    let mut agent = Agent::start_program(config, program)?;
    // The receiver is gone only if start() has already failed.
    let _ = attached.send(());
    let mut switches = Vec::new();
    let mut reloads = Reloads::new(config, recording.as_ref());
    let mut followed = Ok(());
    while followed.is_ok() && !stop.load(Ordering::Relaxed) {
        followed = agent.poll(POLL, &mut |switch| switches.push(switch));
        if let Some(recording) = &recording {
            // The thread that plays them may have given up.
            agent.recorded().for_each(|recorded| drop(recording.to.send(recorded)));
        }
        if followed.is_ok() && reloads.is_due() {
            followed = agent.reload(&reloads.next_policy(), &config.algorithms, None);
        }
    }
    agent.stop()?;
    followed?;
    Ok(switches)
}

/// The policies that are activated anew, and when.
struct Reloads<'a> {
    policy: &'a Policy,
    every: Option<Duration>,
    latest: Instant,
    made: u32,
}

impl<'a> Reloads<'a> {
    fn new(config: &'a Config, recording: Option<&Recording>) -> Reloads<'a> {
        let every = recording.and_then(|recording| recording.reload_every);
        Reloads { policy: &config.policy, every, latest: Instant::now(), made: 0 }
    }

    fn is_due(&self) -> bool {
        self.every.is_some_and(|every| self.latest.elapsed() >= every)
    }

    /// The next policy; every other one only observes.
    fn next_policy(&mut self) -> Policy {
        self.latest = Instant::now();
        self.made += 1;
        let mut policy = self.policy.clone();
        for scope in &mut policy.scopes {
            scope.observed |= self.made % 2 == 1;
        }
        policy
    }
}
