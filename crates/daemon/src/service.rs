//! The agent in its thread, and what others ask it for.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kirikae_agent::{
    Agent, BURST_SIZES, BurstLatencies, Config, Connection, Restored, Scope, Switch,
};
use tokio::sync::oneshot;

use crate::status::{Bursts, Connections, PolicyInForce, ScopeInForce, Status, monotonic_ns};
use crate::switch_log::SwitchLog;

/// What the agent's thread is asked for. Nobody waits for an answer whose asker has gone.
pub(crate) enum Request {
    Status(oneshot::Sender<Answer<Status>>),
    Connections(oneshot::Sender<Answer<Connections>>),
    Measured(oneshot::Sender<Answer<Measured>>),
    Reload(oneshot::Sender<Result<(), String>>),
}

/// An answer, or why there is none.
pub(crate) type Answer<T> = Result<T, String>;

/// What the metrics are made of.
pub(crate) struct Measured {
    pub status: Status,
    pub connections: Vec<Connection>,
    pub bursts: Vec<BurstLatencies>,
}

/// What servers share with the agent's thread.
#[derive(Clone)]
pub(crate) struct Handle {
    pub requests: mpsc::Sender<Request>,
    pub log: Arc<Mutex<SwitchLog>>,
}

/// A running agent that answers.
pub struct Service {
    agent: Agent,
    /// Where the policy is from.
    file: Option<String>,
    generation: u32,
    started: Instant,
    requests: mpsc::Receiver<Request>,
    handle: Handle,
}

impl Service {
    /// Starts the agent; see [`Agent::start`]. `file`: where its policy is from.
    ///
    /// # Errors
    /// As there.
    pub fn start(config: &Config, file: Option<String>) -> Result<Service, kirikae_agent::Error> {
        let agent = Agent::start(config)?;
        let (sender, requests) = mpsc::channel();
        let handle = Handle { requests: sender, log: Arc::default() };
        let started = Instant::now();
        Ok(Service { agent, file, generation: 1, started, requests, handle })
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Waits up to `timeout` for switches, hands each to `on_switch`, and answers what was asked.
    /// `reload` puts another policy in force, where somebody asks for that.
    ///
    /// # Errors
    /// Where the kernel's events cannot be read.
    pub fn turn(
        &mut self,
        timeout: Duration,
        on_switch: &mut dyn FnMut(&Switch),
        reload: &mut dyn FnMut(&mut Service) -> Result<(), String>,
    ) -> Result<(), kirikae_agent::Error> {
        let log = Arc::clone(&self.handle.log);
        self.agent.poll(timeout, &mut |switch| {
            on_switch(&switch);
            log.lock().expect("no panic while it is held").push(switch);
        })?;
        while let Ok(request) = self.requests.try_recv() {
            // An asker that has gone is none.
            match request {
                Request::Status(answer) => drop(answer.send(self.status())),
                Request::Connections(answer) => drop(answer.send(self.connections())),
                Request::Measured(answer) => drop(answer.send(self.measured())),
                Request::Reload(answer) => drop(answer.send(reload(self))),
            }
        }
        Ok(())
    }

    /// Puts another policy in force; see [`Agent::reload`].
    ///
    /// # Errors
    /// As there.
    pub fn reload(&mut self, config: &Config) -> Result<(), kirikae_agent::Error> {
        self.agent.reload(&config.policy, &config.algorithms, config.adopt.clone())?;
        self.generation += 1;
        Ok(())
    }

    /// Takes in cgroups of the policy that have been made anew; see [`Agent::renew`].
    ///
    /// # Errors
    /// As there.
    pub fn renew(&mut self) -> Result<bool, kirikae_agent::Error> {
        self.agent.renew()
    }

    /// Switches that nobody was told of.
    pub fn events_lost(&self) -> u64 {
        self.agent.events_lost()
    }

    /// Stops the agent; see [`Agent::stop`].
    ///
    /// # Errors
    /// As there.
    pub fn stop(self) -> Result<Restored, kirikae_agent::Error> {
        self.agent.stop()
    }

    fn connections(&self) -> Answer<Connections> {
        let now_ns = monotonic_ns();
        let connections = self.agent.connections().map_err(|error| error.to_string())?;
        Ok(Connections { now_ns, matching: connections.len(), connections, also: None })
    }

    fn status(&self) -> Answer<Status> {
        self.measured().map(|measured| measured.status)
    }

    fn measured(&self) -> Answer<Measured> {
        let told = |error: kirikae_agent::Error| error.to_string();
        let connections = self.agent.connections().map_err(told)?;
        let bursts = self.agent.burst_latencies().map_err(told)?;
        let log = self.handle.log.lock().expect("no panic while it is held");
        let status = Status {
            version: env!("CARGO_PKG_VERSION").into(),
            up_s: self.started.elapsed().as_secs_f64(),
            policy: self.policy(),
            connections: connections.len(),
            by_algorithm: counted(connections.iter().map(|it| it.algorithm.clone())),
            by_treatment: counted(connections.iter().map(|it| it.treatment.name().into())),
            switches: log.made.clone(),
            observed: log.observed,
            events_lost: self.agent.events_lost(),
            bursts: bursts.iter().map(in_short).collect(),
            cost: self.agent.cost().map_err(told)?,
        };
        Ok(Measured { status, connections, bursts })
    }

    fn policy(&self) -> PolicyInForce {
        let scopes = self.agent.policy().scopes.iter().map(scope_in_force).collect();
        PolicyInForce { file: self.file.clone(), generation: self.generation, scopes }
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

fn scope_in_force(scope: &Scope) -> ScopeInForce {
    ScopeInForce {
        name: scope.name.clone(),
        matches: scope.matching.to_string(),
        algorithms: scope.table.names(),
        settings: scope.unusual(),
    }
}
