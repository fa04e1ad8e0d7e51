//! The agent in its thread, and the requests that others send it.

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kirikae_agent::{
    Agent, BURST_SIZES, BurstLatencies, Config, KnownPath, NetworkNews, NetworkThread, PathFilter,
    Refusals, Restored, Taken, cgroup_root, own_namespace,
};
use kirikae_policy::Scope;
use kirikae_vocabulary::Switch;
use tokio::sync::{Semaphore, oneshot};

use crate::guards::Guards;
use crate::kept_paths;
use crate::policy_file::SeenBy;
use crate::seeds::seeds;
use crate::server::{Access, ServeError, places_for_lists, serve_page, socket};
use crate::status::{
    Bursts, Connections, ForgottenPaths, Guarding, ListedPath, NetworkStatus, PageStatus,
    PathMemoryStatus, Paths, PolicyStatus, ScopeStatus, Status, monotonic_ns,
};
use crate::switch_log::SwitchLog;
use crate::warnings::warnings;

/// How long a listing of connections is reused for other requests: a client that asks for the status asks for
/// the connections next.
const LISTED_FOR: Duration = Duration::from_millis(250);

/// How often it is tried to serve a page that is not served, since somebody else has its port.
const TRY_AGAIN: Duration = Duration::from_secs(60);

/// A request to the agent's thread. If the client has gone, the answer is dropped.
pub(crate) enum Request {
    Status(oneshot::Sender<Answer<Status>>),
    Connections(oneshot::Sender<Answer<Arc<Connections>>>),
    Measured(oneshot::Sender<Answer<Measured>>),
    Reload(oneshot::Sender<Answer<()>>),
    Paths(PathFilter, oneshot::Sender<Answer<Paths>>),
    ForgetPaths(PathFilter, oneshot::Sender<Answer<ForgottenPaths>>),
    /// Ends the observing that the guard of one scope, or of all, has begun.
    Resume(Option<String>, oneshot::Sender<Answer<()>>),
}

/// An answer, or why there is none.
pub(crate) type Answer<T> = Result<T, String>;

/// The numbers from which the metrics are made.
pub(crate) struct Measured {
    pub status: Status,
    pub connections: Arc<Connections>,
    pub bursts: Vec<BurstLatencies>,
}

/// What a server shares with the agent's thread.
#[derive(Clone)]
pub(crate) struct Handle {
    pub requests: mpsc::Sender<Request>,
    pub log: Arc<Mutex<SwitchLog>>,
    /// How many connections an answer tells of at most.
    pub most_listed: usize,
    /// Each has a place for as long as it is in memory; see [`places_for_lists`].
    pub lists: Arc<Semaphore>,
    /// Each server has one request at a time before the agent. So however many clients ask for the page, a
    /// command waits for one of their requests at most.
    pub turn: Arc<tokio::sync::Mutex<()>>,
}

/// The page's server.
struct Page {
    address: SocketAddr,
    /// Its thread; None: it could not listen.
    thread: Option<JoinHandle<()>>,
    tried_at: Instant,
}

impl Page {
    fn is_served(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

/// Why a policy could not be made the active one.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The agent or the kernel refuses it.
    #[error(transparent)]
    Agent(#[from] kirikae_agent::Error),
    /// Its readers cannot be let read.
    #[error(transparent)]
    Readers(#[from] ServeError),
}

/// A running agent that answers.
pub struct Service {
    agent: Agent,
    /// The file that the policy is from.
    file: Option<String>,
    seen_by: SeenBy,
    /// The page, where the policy wants one.
    page: Option<Page>,
    generation: u32,
    guards: Guards,
    started: Instant,
    requests: mpsc::Receiver<Request>,
    asked: mpsc::Sender<Request>,
    log: Arc<Mutex<SwitchLog>>,
    /// Callbacks that were asked for again, and those refused at the latest look.
    taken: Taken,
    /// What the kernel had refused at the latest look.
    refused: Refusals,
    /// How often connections were made to send because their path may have been back.
    revived: u64,
    /// Connections whose local address was gone, and how many of them were destroyed.
    stranded: u64,
    destroyed: u64,
    /// Lines that the agent's program could not print.
    lines_lost: u64,
    /// Netlink messages of programs that were dropped.
    dropped: u64,
    /// Messages to the operator that nobody has taken yet.
    told: Vec<String>,
    /// The latest listing, and when it was made.
    listed: Option<(Instant, Arc<Connections>)>,
}

impl Service {
    /// Starts the agent; see [`Agent::start`]. `file` is the file that its policy is from.
    ///
    /// # Errors
    /// See [`Agent::start`].
    pub fn start(
        config: &Config,
        file: Option<String>,
        seen_by: &SeenBy,
    ) -> Result<Service, kirikae_agent::Error> {
        let (guards, told) = Guards::load(kept_paths::directory(), &cgroup_root()?);
        let (guards, policy) = guards.under(&config.policy);
        let agent = Agent::start(&Config { policy, ..config.clone() })?;
        let (asked, requests) = mpsc::channel();
        let (log, started) = (Arc::default(), Instant::now());
        let (generation, taken, listed) = (1, Taken::default(), None);
        Ok(Service {
            agent,
            file,
            seen_by: seen_by.clone(),
            page: None,
            generation,
            guards,
            started,
            requests,
            asked,
            log,
            taken,
            refused: Refusals::default(),
            revived: 0,
            stranded: 0,
            destroyed: 0,
            lines_lost: 0,
            dropped: 0,
            told: told.into_iter().collect(),
            listed,
        })
    }

    /// What one more server needs to ask the agent.
    pub(crate) fn handle(&self, most_listed: usize) -> Handle {
        let (requests, log) = (self.asked.clone(), Arc::clone(&self.log));
        Handle { requests, log, most_listed, lists: places_for_lists(), turn: Arc::default() }
    }

    /// Serves page and metrics at an address: from now on, or as soon as
    /// [`serve_page_again`](Service::serve_page_again) can.
    ///
    /// # Errors
    /// Fails if it cannot listen there now.
    pub fn serve_page(&mut self, address: SocketAddr) -> Result<(), ServeError> {
        let (thread, error) = match serve_page(self, address) {
            Ok(thread) => (Some(thread), None),
            Err(error) => (None, Some(error)),
        };
        self.page = Some(Page { address, thread, tried_at: Instant::now() });
        error.map_or(Ok(()), Err)
    }

    /// Tries to serve the page where it is not served, once a minute. Returns its address when it is served again.
    pub fn serve_page_again(&mut self) -> Option<SocketAddr> {
        let page = self.page.as_ref()?;
        let address = page.address;
        let is_due = !page.is_served() && page.tried_at.elapsed() >= TRY_AGAIN;
        (is_due && self.serve_page(address).is_ok()).then_some(address)
    }

    /// Waits up to `timeout` for switches, hands each to `on_switch` if the policy has them printed, and answers the
    /// requests. `reload` is
    /// called if somebody asks for the policy file to be read again.
    ///
    /// # Errors
    /// Fails if the kernel's events cannot be read.
    pub fn turn(
        &mut self,
        timeout: Duration,
        on_switch: &mut dyn FnMut(&Switch),
        reload: &mut dyn FnMut(&mut Service) -> Result<(), String>,
    ) -> Result<(), kirikae_agent::Error> {
        self.listed.take_if(|(at, _)| at.elapsed() >= LISTED_FOR);
        let log = Arc::clone(&self.log);
        log.lock().unwrap_or_else(PoisonError::into_inner).forget_old(monotonic_ns());
        let SeenBy { addresses, are_switches_printed, .. } = self.seen_by;
        self.agent.poll(timeout, &mut |switch| {
            let switch = Switch { remote: addresses.of(switch.remote), ..switch };
            if are_switches_printed {
                on_switch(&switch);
            }
            log.lock().unwrap_or_else(PoisonError::into_inner).push(switch);
        })?;
        // One of each server at most: further ones are sent when these are answered, and have their turn next.
        let requests: Vec<Request> = self.requests.try_iter().collect();
        for request in requests {
            // If the client has gone, the answer is dropped.
            match request {
                Request::Status(answer) => drop(answer.send(self.status())),
                Request::Connections(answer) => drop(answer.send(self.connections())),
                Request::Measured(answer) => drop(answer.send(self.measured())),
                Request::Reload(answer) => drop(answer.send(reload(self))),
                Request::Paths(which, answer) => drop(answer.send(self.paths(&which))),
                Request::ForgetPaths(which, answer) => drop(answer.send(self.forget_paths(&which))),
                Request::Resume(scope, answer) => drop(answer.send(self.resume(scope.as_deref()))),
            }
        }
        Ok(())
    }

    /// Makes another policy the active one, with who sees what of it; see [`Agent::reload`].
    ///
    /// # Errors
    /// See [`Agent::reload`]; and if there is no group of such readers. Then nothing has changed.
    pub fn reload(&mut self, config: &Config, seen_by: &SeenBy) -> Result<(), ReloadError> {
        let access = Access::of(&seen_by.readers)?;
        let (guards, policy) = self.guards.under(&config.policy);
        self.agent.reload(&policy, &config.algorithms, config.adopt.clone())?;
        access.set(&socket())?;
        self.listed = None;
        self.seen_by = seen_by.clone();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.shorten_addresses(seen_by.addresses);
        drop(log);
        self.guards = guards;
        self.generation += 1;
        Ok(())
    }

    /// Has the guards look at what was counted, and does what follows. Returns a line for each scope, or cgroup in it,
    /// that is only observed from now on, and what else is to be told of them.
    ///
    /// # Errors
    /// Fails if the kernel's counts cannot be read, or if the kernel refuses a changed policy.
    pub fn guard(&mut self) -> Result<Vec<String>, kirikae_agent::Error> {
        let mut told = std::mem::take(&mut self.told);
        told.extend(self.guards.look(&mut self.agent)?);
        Ok(told)
    }

    /// How many scopes, or cgroups in them, are only observed because switching hurts.
    pub fn suspended(&self) -> usize {
        self.guards.suspended()
    }

    /// Forgets what is known of paths that a change of the network concerns. Returns of how many, and messages to the
    /// operator: of addresses that are gone and that connections have, and if changes cannot be followed.
    ///
    /// # Errors
    /// Fails if the kernel's entries cannot be changed.
    pub fn follow_network(&mut self) -> Result<(usize, Vec<String>), kirikae_agent::Error> {
        let NetworkNews { affected, revived, stranded, dropped, trouble } =
            self.agent.take_network_news();
        self.revived += revived;
        self.dropped += dropped;
        self.stranded += stranded.iter().map(|it| it.connections).sum::<u64>();
        self.destroyed += stranded.iter().map(|it| it.destroyed).sum::<u64>();
        let told = stranded.iter().map(ToString::to_string).chain(trouble).collect();
        let is_meant = |path: &KnownPath| affected.has(path);
        let forgotten = if affected.is_empty() { 0 } else { self.agent.forget_paths(is_meant)? };
        Ok((forgotten, told))
    }

    /// Remembers what an agent before has saved of paths. Returns of how many.
    ///
    /// # Errors
    /// Fails with a message to the operator if the file is not one of ours, which is set aside then, or if
    /// the kernel refuses.
    pub fn load_paths(&self) -> Result<usize, String> {
        let known = kept_paths::load(&kept_paths::directory(), self.path_lifetime())?;
        self.agent.remember_paths(&known).map_err(|error| error.to_string())
    }

    /// Remembers what the kernel's own metrics tell of paths of which nothing is known. Returns of how many.
    ///
    /// # Errors
    /// Fails with a message to the operator if the kernel does not tell, or refuses.
    pub fn seed_paths(&self) -> Result<usize, String> {
        let lifetime = self.path_lifetime();
        if lifetime.is_zero() {
            return Ok(0);
        }
        let known = self.agent.paths().map_err(|error| error.to_string())?;
        let key = |path: &KnownPath| (path.remote, path.namespace, path.interface);
        let known: HashSet<_> = known.iter().map(key).collect();
        let mut seeds =
            seeds(lifetime).map_err(|error| format!("reading the kernel's metrics: {error}"))?;
        seeds.retain(|seed| !known.contains(&key(seed)));
        self.agent.remember_paths(&seeds).map_err(|error| error.to_string())
    }

    /// The longest time for which a scope remembers a path.
    fn path_lifetime(&self) -> Duration {
        let scopes = self.agent.policy().scopes.iter();
        scopes.map(|scope| scope.path_lifetime).max().unwrap_or_default()
    }

    /// Saves what is known of paths for the next agent.
    ///
    /// # Errors
    /// Fails with a message to the operator if the kernel's entries cannot be read, or the file cannot be
    /// written.
    pub fn save_paths(&self) -> Result<(), String> {
        let paths = self.agent.paths().map_err(|error| error.to_string())?;
        let directory = kept_paths::directory();
        kept_paths::save(&directory, &paths).map_err(|error| {
            format!("what is known of paths is not saved in {}: {error}", directory.display())
        })
    }

    fn paths(&self, which: &PathFilter) -> Answer<Paths> {
        let all = self.agent.paths().map_err(|error| error.to_string())?;
        let memory = self.path_memory(all.len())?;
        let own = own_namespace().map_err(|error| error.to_string())?;
        let interfaces = kept_paths::Interfaces::read().map_err(|error| error.to_string())?;
        let listed = |path: KnownPath| {
            let is_own = path.namespace == own;
            let name = is_own.then(|| interfaces.name(path.interface).map(str::to_owned));
            ListedPath { interface_name: name.flatten(), path }
        };
        // What is not told cannot be asked for either.
        let told = |path: KnownPath| KnownPath {
            remote: self.seen_by.addresses.of_network(path.remote),
            ..path
        };
        let paths = all.into_iter().map(told).filter(|path| which.has(path)).map(listed).collect();
        Ok(Paths { memory, paths })
    }

    fn path_memory(&self, known: usize) -> Answer<PathMemoryStatus> {
        let counts = self.agent.path_counts().map_err(|error| error.to_string())?;
        Ok(PathMemoryStatus { known, room: self.agent.room_for_paths(), counts })
    }

    fn forget_paths(&self, which: &PathFilter) -> Answer<ForgottenPaths> {
        let forgotten =
            self.agent.forget_paths(|path| which.has(path)).map_err(|error| error.to_string())?;
        Ok(ForgottenPaths { forgotten })
    }

    fn resume(&mut self, scope: Option<&str>) -> Answer<()> {
        self.listed = None;
        self.guards.resume(&mut self.agent, scope)
    }

    /// Takes in cgroups of the policy that were created or replaced; see [`Agent::renew`].
    ///
    /// # Errors
    /// See [`Agent::renew`].
    pub fn renew(&mut self) -> Result<bool, kirikae_agent::Error> {
        let is_renewed = self.agent.renew()?;
        if is_renewed {
            self.listed = None;
        }
        Ok(is_renewed)
    }

    /// Asks again for callbacks that another sock_ops program has taken; see [`Agent::ask_again`]. Returns a
    /// message to the operator the first time that some were.
    ///
    /// # Errors
    /// See [`Agent::ask_again`].
    pub fn ask_again(&mut self) -> Result<Option<String>, kirikae_agent::Error> {
        let (before, now) = (self.taken, self.agent.ask_again()?);
        self.taken = Taken { asked_again: before.asked_again + now.asked_again, ..now };
        let is_known = before != Taken::default();
        let Taken { asked_again, refused } = now;
        Ok((!is_known && self.taken != before).then(|| {
            format!(
                "another sock_ops program has taken the callbacks of {} connections; they were asked \
                 for again, and will be each second, for all but {refused} (docs/agent.md)",
                asked_again + refused
            )
        }))
    }

    /// Looks whether the kernel refuses to switch connections. Returns a message to the operator the first time that it
    /// does for a reason.
    ///
    /// # Errors
    /// Fails if the kernel's counts cannot be read.
    pub fn news_of_refusals(&mut self) -> Result<Vec<String>, kirikae_agent::Error> {
        let before = std::mem::replace(&mut self.refused, self.agent.refusals()?);
        let both = before.by_reason().into_iter().zip(self.refused.by_reason());
        let news = both.filter(|((before, _), (now, _))| *before == 0 && *now > 0);
        let tell = |(_, (count, why))| {
            format!(
                "the kernel refuses to switch {count} connections, which keep their algorithm: {why}; \
                 `kirikae status` counts them (docs/agent.md)"
            )
        };
        Ok(news.map(tell).collect())
    }

    /// Notes how many lines the agent's program could not print, for the status.
    pub fn note_lines_lost(&mut self, lines: u64) {
        self.lines_lost = lines;
    }

    /// How many switches were not reported to anybody.
    pub fn events_lost(&self) -> u64 {
        self.agent.events_lost()
    }

    /// Stops the agent; see [`Agent::stop`].
    ///
    /// # Errors
    /// See [`Agent::stop`].
    pub fn stop(self) -> Result<Restored, kirikae_agent::Error> {
        self.agent.stop()
    }

    fn connections(&mut self) -> Answer<Arc<Connections>> {
        if let Some((at, listed)) = &self.listed
            && at.elapsed() < LISTED_FOR
        {
            return Ok(Arc::clone(listed));
        }
        let now_ns = monotonic_ns();
        let mut connections = self.agent.connections().map_err(|error| error.to_string())?;
        for connection in &mut connections {
            connection.remote = self.seen_by.addresses.of(connection.remote);
        }
        let matching = connections.len();
        let listed = Arc::new(Connections { now_ns, matching, connections, also: None });
        self.listed = Some((Instant::now(), Arc::clone(&listed)));
        Ok(listed)
    }

    fn status(&mut self) -> Answer<Status> {
        self.measured().map(|measured| measured.status)
    }

    fn measured(&mut self) -> Answer<Measured> {
        let told = |error: kirikae_agent::Error| error.to_string();
        let connections = self.connections()?;
        let each = &connections.connections;
        let bursts = self.agent.burst_latencies().map_err(told)?;
        let paths = self.path_memory(self.agent.known_paths().map_err(told)?)?;
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let status = Status {
            version: env!("CARGO_PKG_VERSION").into(),
            up_s: self.started.elapsed().as_secs_f64(),
            policy: self.policy(),
            warnings: warnings(self.agent.policy()),
            connections: each.len(),
            by_algorithm: counted(each.iter().map(|it| it.algorithm.clone())),
            by_treatment: counted(each.iter().map(|it| it.treatment.name().into())),
            switches: log.made.clone(),
            observed: log.observed,
            events_lost: self.agent.events_lost(),
            lines_lost: self.lines_lost,
            asked_again: self.taken.asked_again as u64,
            unheard: self.taken.refused,
            refused: self.agent.refusals().map_err(told)?,
            revived: self.revived,
            stranded: self.stranded,
            destroyed: self.destroyed,
            network: self.network(),
            paths,
            page: self
                .page
                .as_ref()
                .map(|page| PageStatus { address: page.address, is_served: page.is_served() }),
            bursts: bursts.iter().map(in_short).collect(),
            cost: self.agent.cost().map_err(told)?,
        };
        Ok(Measured { status, connections, bursts })
    }

    fn network(&self) -> NetworkStatus {
        let NetworkThread { is_alive, ended } = self.agent.network_thread();
        NetworkStatus { is_alive, ended, dropped: self.dropped }
    }

    fn policy(&self) -> PolicyStatus {
        let guard = |scope: &Scope| self.guards.of(&scope.name);
        let scopes = self.agent.policy().scopes.iter();
        let scopes = scopes.map(|scope| describe_scope(scope, guard(scope))).collect();
        PolicyStatus { file: self.file.clone(), generation: self.generation, scopes }
    }
}

fn counted(names: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn in_short(latencies: &BurstLatencies) -> Bursts {
    let count = latencies.count();
    let quantile = |quantile| latencies.quantile_s(quantile).unwrap_or_default();
    Bursts {
        scope: latencies.scope.clone(),
        switched: latencies.switched,
        below_bytes: BURST_SIZES[latencies.size],
        count,
        mean_s: latencies.sum_s / count.max(1) as f64,
        p50_s: quantile(0.5),
        p95_s: quantile(0.95),
    }
}

fn describe_scope(scope: &Scope, guard: Option<Guarding>) -> ScopeStatus {
    ScopeStatus {
        name: scope.name.clone(),
        matches: scope.matching.to_string(),
        algorithms: scope.table.names(),
        settings: scope.unusual(),
        guard,
    }
}
