//! The agent: everything in the kernel, in the order in which it goes in and comes out.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use kirikae_algorithms::Algorithm;
use kirikae_policy::{Policy, Scope};
use kirikae_vocabulary::Switch;

use crate::algorithms::CONNECTIONS;
use crate::attached::Attached;
use crate::burst_latencies::{self, BurstLatencies};
use crate::cost::{self, Cost};
use crate::error::Error;
use crate::hearing::{Hearing, Taken};
use crate::host;
use crate::iterator::count_lines;
use crate::listing::{Connection, Generations, Listing};
use crate::namespaces::Namespaces;
use crate::path_counts::{self, PathCounts};
use crate::path_memory::{PathMemory, PathSets, SETS};
use crate::paths::{self, Age, Columns, KnownPath};
use crate::program::Program;
use crate::recording::Recorded;
use crate::refusals::{self, Refusals};
use crate::registered::{self, Shared};
use crate::restore::{Restored, WAIT_FOR_RECOVERY};
use crate::revival::{NetworkNews, NetworkThread, Revival};
use crate::spans::{self, Share, SpanGroup};
use crate::state::{Pinned, State};
use crate::switcher::Switcher;
use crate::troubles::Troubles;
use crate::walks::{IteratorFile, Walker};

/// Open connections are taken in within this time: others wait for the agent to be ready, and for its answers. What is not
/// reached is taken in as the policy changes.
const ADOPTED_WITHIN: Duration = Duration::from_secs(1);

const FOREIGN_ALGORITHMS: &str = "another version of kirikae has registered algorithms for programs; they cannot \
    read what this version knows of connections until they are registered again (`kirikae algorithms --unregister`, then `--register`)";

/// What the agent is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cgroup (version 2) whose connections the policy is for.
    pub cgroup: PathBuf,
    /// Which of these connections are switched, and how.
    pub policy: Policy,
    /// The algorithms to register, with their parameters: at least those that the policy's tables
    /// name.
    pub algorithms: Vec<Algorithm>,
    /// The network namespaces in which connections that are already open are taken in; None: in none.
    pub adopt: Option<Namespaces>,
    /// Whether the kernel goes on without the agent.
    pub pinning: Pinning,
    /// How many entries the path memory has, within [`PATHS`](crate::PATHS).
    pub paths: u32,
    /// Whether every call of the switcher is recorded, for [`Agent::recorded`]. Recording costs time on each
    /// call.
    pub are_calls_recorded: bool,
}

/// What happens when the agent is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// The kernel goes on switching, until [`undo`] or the next agent. A host can have one such agent.
    Pinned,
    /// Switching ends, and connections keep the algorithm that they have. Benches use this.
    Unpinned,
}

/// A running switcher. Dropping it is like being killed; [`Agent::stop`] restores everything.
pub struct Agent {
    switcher: Switcher,
    attached: Attached,
    /// Takes in connections that are open.
    adoption: IteratorFile,
    walker: Walker,
    listing: Listing,
    hearing: Hearing,
    path_memory: PathMemory,
    revival: Revival,
    policy: Policy,
    /// The active policy, and earlier ones that some connections have not left yet.
    generations: Generations,
    adopt: Option<Namespaces>,
    state: Option<State>,
    /// What did not work, and was not told yet.
    troubles: Vec<String>,
    /// What fails each second, for as long as a lock is held.
    unanswered: Troubles<&'static str>,
}

impl Agent {
    /// Registers the algorithms, loads the switcher and attaches it to the cgroup. What an agent
    /// that was killed left behind is undone first.
    ///
    /// # Errors
    /// Fails if the host lacks what switching needs ([`requirements`](crate::requirements)), if another agent
    /// is running, or if the kernel refuses a part. Then nothing is left in the kernel.
    pub fn start(config: &Config) -> Result<Agent, Error> {
        Agent::start_program(config, &Program::shipped())
    }

    /// Starts another program than servers run, which the laboratory brings.
    ///
    /// # Errors
    /// Fails as [`start`](Agent::start) does.
    pub fn start_program(config: &Config, program: &Program) -> Result<Agent, Error> {
        host::requirements()?;
        if config.pinning == Pinning::Unpinned {
            return install(config, program, None, Walker::default());
        }
        let mut walker = Walker::default();
        let before = undo_by(&mut walker)?.unwrap_or_default();
        let state = State::acquire()?;
        match install(config, program, Some(&state), walker) {
            Ok(mut agent) => {
                agent.troubles.extend(before.troubles());
                Ok(Agent { state: Some(state), ..agent })
            }
            Err(error) => match abandon(state) {
                Ok(()) => Err(error),
                Err(second) => Err(Error::Failed {
                    doing: format!("{error}; then, taking away what was there already"),
                    cause: format!("{second}; `kirikae undo` may help"),
                }),
            },
        }
    }

    /// Makes another policy the active one, all or nothing, and registers those of `algorithms` that are not
    /// registered yet. Open connections follow it at once in the namespaces of `adopt`, and elsewhere with
    /// their next ACK.
    ///
    /// # Errors
    /// Fails if a namespace of `adopt` does not exist, or if the kernel refuses an algorithm or the policy;
    /// then the policy before stays active. It also fails if connections cannot be brought under the new
    /// policy; then that is active already.
    pub fn reload(
        &mut self,
        policy: &Policy,
        algorithms: &[Algorithm],
        adopt: Option<Namespaces>,
    ) -> Result<(), Error> {
        if let Some(namespaces) = &adopt {
            namespaces.find()?;
        }
        let before = self.attached.algorithms.len();
        let registered = self.attached.register(algorithms, self.state.as_ref());
        let generation = match registered.and_then(|()| self.switcher.activate(policy)) {
            Ok(generation) => generation,
            Err(error) => {
                self.attached.unregister_from(before);
                return Err(error);
            }
        };
        self.generations.insert(generation, policy.clone());
        let latencies = self.switcher.map("burst_latencies")?;
        let groups = self.switcher.map(spans::GROUPS)?;
        for (number, now) in policy.scopes.iter().enumerate() {
            let before = self.policy.scopes.get(number);
            if before.is_some_and(|before| before.name != now.name) {
                burst_latencies::forget(&latencies, number)?;
            }
            if before.is_none_or(|it| it.name != now.name || it.holdback != now.holdback) {
                spans::begin_scope(&groups, number)?;
            }
        }
        self.policy = policy.clone();
        self.adopt = adopt;
        self.lead()
    }

    /// Takes in cgroups of the policy that were created or replaced after it became active, with their
    /// connections. Returns whether there were any. If there are none this is cheap: it only looks each of
    /// them up.
    ///
    /// # Errors
    /// Fails if the kernel refuses the policy with the new cgroups, or an iterator over connections.
    pub fn renew(&mut self) -> Result<bool, Error> {
        let Some(generation) = self.switcher.renew(&self.policy)? else { return Ok(false) };
        self.generations.insert(generation, self.policy.clone());
        self.lead().map(|()| true)
    }

    /// Asks the kernel again for callbacks that another sock_ops program has taken from the switcher. This is
    /// cheap if none were taken.
    ///
    /// # Errors
    /// Fails if no iterator over connections can be run. A refusal for one connection is no error, but
    /// counted in [`Taken::refused`]; a namespace that does not answer is told of.
    pub fn ask_again(&mut self) -> Result<Taken, Error> {
        const LOST: &str = "callbacks are not asked for again";
        let asked = self.hearing.ask_again(&mut self.walker)?;
        if !asked.failed.is_empty() {
            let trouble = asked.failed.join("; ");
            let told = self.unanswered.tell(LOST, trouble.clone(), |told| told == trouble);
            self.troubles.extend(told);
        }
        Ok(asked.total)
    }

    /// Replaces the scope of that number, and leaves all others as they are.
    ///
    /// # Errors
    /// Fails if the kernel refuses the policy or an iterator over connections.
    ///
    /// # Panics
    /// Panics if the policy has no scope of that number.
    pub fn put_scope(&mut self, number: usize, scope: Scope) -> Result<(), Error> {
        let mut policy = self.policy.clone();
        policy.scopes[number] = scope;
        let generation = self.switcher.activate(&policy)?;
        self.generations.insert(generation, policy.clone());
        self.policy = policy;
        spans::begin_scope(&self.switcher.map(spans::GROUPS)?, number)?;
        self.lead()
    }

    /// Tells how far the spans of the scope of that number were from the usual latency, for each cgroup that has shown
    /// any.
    ///
    /// # Errors
    /// Fails if the kernel's counts cannot be read.
    pub fn spans(&self, number: usize) -> Result<Vec<SpanGroup>, Error> {
        spans::read(&self.switcher.map(spans::GROUPS)?, number)
    }

    /// Sets the share that a cgroup holds back, in the scope of that number, and counts its spans anew: those that were
    /// drawn with different shares cannot be compared. It holds for each connection with its next span, and for all of
    /// them at once after [`look_at_shares`](Agent::look_at_shares).
    ///
    /// # Errors
    /// Fails if the kernel has no room for it.
    pub fn hold_back(
        &self,
        number: usize,
        cgroup: u64,
        share: Share,
        epoch: u32,
    ) -> Result<(), Error> {
        spans::begin(&self.switcher.map(spans::GROUPS)?, number, cgroup, share, epoch)
    }

    /// Forgets what a cgroup that is gone has shown in the scope of that number.
    ///
    /// # Errors
    /// Fails if the kernel does not let go of it.
    pub fn forget_spans(&self, number: usize, cgroup: u64) -> Result<(), Error> {
        spans::forget(&self.switcher.map(spans::GROUPS)?, number, cgroup)
    }

    /// Has connections look whether all of their group is held back now, or no more. What is known of the others is
    /// kept.
    ///
    /// # Errors
    /// Fails if the kernel refuses the policy or an iterator over connections.
    pub fn look_at_shares(&mut self) -> Result<(), Error> {
        let generation = self.switcher.write_again(&self.policy)?;
        self.generations.insert(generation, self.policy.clone());
        self.lead()
    }

    /// Brings connections under the active policy where they are adopted, and forgets policies that no
    /// connection is under.
    fn lead(&mut self) -> Result<(), Error> {
        self.adopt()?;
        let mut wanted = self.listing.generations()?;
        wanted.insert(self.switcher.generation());
        self.generations.retain(|generation, _| wanted.contains(generation));
        Ok(())
    }

    /// What fails in one namespace is no reason to leave the others.
    fn adopt(&mut self) -> Result<(), Error> {
        if let Some(namespaces) = &self.adopt {
            let until = Instant::now() + ADOPTED_WITHIN;
            let failed = self.walker.sum(&self.adoption, namespaces, until, count_lines).failed;
            let told = |it| format!("open connections are not taken in: {it}");
            self.troubles.extend(failed.into_iter().map(told));
        }
        Ok(())
    }

    /// Waits up to `timeout` for switches and hands each to `on_switch`.
    ///
    /// # Errors
    /// Fails if the ring buffer of events cannot be read.
    pub fn poll(&self, timeout: Duration, on_switch: &mut dyn FnMut(Switch)) -> Result<(), Error> {
        self.switcher.poll(timeout)?.into_iter().for_each(on_switch);
        Ok(())
    }

    /// The calls that were recorded up to the latest [`poll`](Agent::poll) and not returned before, in order.
    pub fn recorded(&self) -> impl Iterator<Item = Recorded> {
        self.switcher.recorded()
    }

    /// The active policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Every connection that is remembered, as it is now.
    ///
    /// # Errors
    /// Fails if the iterator over connections cannot be run.
    pub fn connections(&self) -> Result<Vec<Connection>, Error> {
        self.listing.read(&self.generations)
    }

    /// What is known of paths, in no order.
    ///
    /// # Errors
    /// Fails if the kernel's entries cannot be read.
    pub fn paths(&self) -> Result<Vec<KnownPath>, Error> {
        let entries = self.path_memory.entries()?;
        let (age, columns) = (Age::now(), self.columns());
        Ok(entries.iter().map(|entry| paths::known_path(entry, &age, &columns)).collect())
    }

    /// Of how many paths something is known.
    ///
    /// # Errors
    /// Fails if the kernel's entries cannot be read.
    pub fn known_paths(&self) -> Result<usize, Error> {
        Ok(self.path_memory.entries()?.len())
    }

    /// How the path memory was used.
    ///
    /// # Errors
    /// Fails if the kernel's counts cannot be read.
    pub fn path_counts(&self) -> Result<PathCounts, Error> {
        path_counts::read(&self.switcher.map("path_counts")?)
    }

    /// How many entries the path memory has.
    pub fn room_for_paths(&self) -> u32 {
        self.path_memory.room()
    }

    /// What has happened to the networks of connections since the last call, and in the agent's own.
    pub fn take_network_news(&mut self) -> NetworkNews {
        let mut news = self.revival.take_news(&self.switcher);
        news.trouble.append(&mut self.troubles);
        news
    }

    /// How the thread is that watches the network.
    pub fn network_thread(&self) -> NetworkThread {
        self.revival.thread()
    }

    /// Forgets what is known of paths that are meant. Returns of how many something was known.
    ///
    /// # Errors
    /// Fails if the kernel's entries cannot be read or changed.
    pub fn forget_paths(&self, is_meant: impl Fn(&KnownPath) -> bool) -> Result<usize, Error> {
        let mut forgotten = 0;
        for path in self.paths()?.iter().filter(|path| is_meant(path)) {
            forgotten += usize::from(self.path_memory.forget(&paths::key(path))?);
        }
        Ok(forgotten)
    }

    /// Remembers what was known of paths before. What is newer stays, as does what the memory has no
    /// room beside. Returns how many are remembered.
    ///
    /// # Errors
    /// Fails if the kernel's entries cannot be changed.
    pub fn remember_paths(&self, known: &[KnownPath]) -> Result<usize, Error> {
        let (age, columns) = (Age::now(), self.columns());
        let mut remembered = 0;
        for path in known {
            let entry = paths::entry(path, &age, &columns);
            remembered += usize::from(self.path_memory.remember(&entry)?);
        }
        Ok(remembered)
    }

    fn columns(&self) -> Columns {
        Columns::of(&self.policy, self.switcher.scopes_since())
    }

    /// How long bursts took, for each scope and burst size.
    ///
    /// # Errors
    /// Fails if the kernel's counts cannot be read.
    pub fn burst_latencies(&self) -> Result<Vec<BurstLatencies>, Error> {
        burst_latencies::read(&self.switcher.map("burst_latencies")?, &self.policy)
    }

    /// The processor time that the switcher's program took so far. The kernel counts it only while the sysctl
    /// kernel.bpf_stats_enabled is 1.
    ///
    /// # Errors
    /// Fails if the kernel does not tell about the program.
    pub fn cost(&self) -> Result<Cost, Error> {
        let link = self.attached.switcher.as_ref().expect("attached until it is stopped");
        cost::read(link)
    }

    /// Switches that were made and not reported, because [`Agent::poll`] was not called in time.
    pub fn events_lost(&self) -> u64 {
        self.switcher.events_lost()
    }

    /// How many connections the kernel has refused to switch.
    ///
    /// # Errors
    /// Fails if the kernel's counts cannot be read.
    pub fn refusals(&self) -> Result<Refusals, Error> {
        refusals::read(&self.switcher.map("refusals")?)
    }

    /// Stops switching, restores every connection, and unregisters the algorithms. What could not be restored stays
    /// pinned.
    ///
    /// # Errors
    /// Returns the first error of a step. The steps after it are taken all the same.
    pub fn stop(self) -> Result<Restored, Error> {
        drop(self.revival);
        let (mut walker, state) = (self.walker, self.state.as_ref());
        // While the switcher is attached, those that no walk reaches restore themselves as they go on.
        let until = Instant::now() + WAIT_FOR_RECOVERY;
        let leave = self.switcher.leave();
        let left = leave.and_then(|()| self.attached.restore(state, &mut walker, until)).ok();
        let restored = self.attached.detach(state, &mut walker, left);
        let removed = self.state.map_or(Ok(()), State::remove);
        restored.and_then(|restored| removed.map(|()| restored))
    }
}

/// Brings everything into the kernel. If it fails, the caller has to take away what is pinned.
fn install(
    config: &Config,
    program: &Program,
    state: Option<&State>,
    walker: Walker,
) -> Result<Agent, Error> {
    if let Some(state) = state {
        state.mount_pins()?;
    }
    let shared = registered::shared_connections()?;
    let path_sets = PathSets::new(config.paths)?;
    let (policy, are_recorded) = (&config.policy, config.are_calls_recorded);
    let (shared, troubles) = match shared {
        Shared::None => (None, Vec::new()),
        Shared::Map(map) => (Some(map), Vec::new()),
        Shared::Foreign => (None, vec![FOREIGN_ALGORITHMS.to_owned()]),
    };
    let switcher = Switcher::load(program, policy, are_recorded, shared.as_ref(), &path_sets)?;
    let groups = switcher.map(spans::GROUPS)?;
    (0..policy.scopes.len()).try_for_each(|number| spans::begin_scope(&groups, number))?;
    let path_memory = PathMemory::load(switcher.map(SETS)?, &path_sets)?;
    let attached = Attached::attach(&switcher, config, state)?;
    let connections = switcher.map(CONNECTIONS)?;
    let (listing, hearing) = (Listing::load(&connections)?, Hearing::load(&connections)?);
    let revival = Revival::start(&switcher)?;
    let (policy, adopt) = (config.policy.clone(), config.adopt.clone());
    let generations = Generations::from([(switcher.generation(), policy.clone())]);
    let mut agent = Agent {
        adoption: switcher.adoption()?,
        walker,
        switcher,
        attached,
        listing,
        hearing,
        path_memory,
        revival,
        policy,
        generations,
        adopt,
        state: None,
        troubles,
        unanswered: Troubles::default(),
    };
    agent.adopt()?;
    Ok(agent)
}

/// Undoes what a killed agent left behind, and what could not be restored before; returns None if there is nothing.
///
/// # Errors
/// Fails while an agent is running, if the host lacks what this needs
/// ([`requirements`](crate::requirements)), or with the first error of a step. The steps after it are taken
/// all the same.
pub fn undo() -> Result<Option<Restored>, Error> {
    undo_by(&mut Walker::default())
}

fn undo_by(walker: &mut Walker) -> Result<Option<Restored>, Error> {
    if !State::exists() {
        return Ok(None);
    }
    host::requirements()?;
    let state = State::acquire()?;
    if state.is_empty() {
        return state.remove().map(|()| None);
    }
    let restored = take_away(&state, walker);
    let removed = state.remove();
    restored.and_then(|restored| removed.map(|()| Some(restored)))
}

fn abandon(state: State) -> Result<(), Error> {
    let taken_away = take_away(&state, &mut Walker::default());
    let removed = state.remove();
    taken_away.and(removed)
}

/// Takes out of the kernel what is pinned, but for restorers that are still needed.
fn take_away(state: &State, walker: &mut Walker) -> Result<Restored, Error> {
    let Pinned { switcher, algorithms } = state.pinned()?;
    let (registered, algorithms) = algorithms.into_iter().unzip();
    Attached { switcher, connections: None, restorer: None, algorithms, registered }.detach(
        Some(state),
        walker,
        None,
    )
}
