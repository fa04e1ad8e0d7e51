//! What is simulated, as plain data.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use kirikae_path::{Direction, Hop, PathSpec, Span, SpecError, Time};
use kirikae_tcp::{Control, Profile};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::engine::Engine;
use crate::observer::Observer;
use crate::outcome::Outcome;
use crate::snoop::Snoop;
use crate::split::Relay;
use crate::workload::{Activity, Workload};

/// Links, the flows over them, and how long they are looked at.
///
/// It is plain data, and what comes of it depends on nothing else.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Seed of every random stream: of the links' elements, and of what the applications draw.
    pub seed: u64,
    /// The links, each with elements of its own for each direction. The random streams of link 0 are those of
    /// [`PathSpec::build`] with the simulation's seed.
    pub links: Vec<PathSpec>,
    /// TCP connections over the links.
    pub flows: Vec<Flow>,
    /// When it ends at the latest; earlier, once all flows have nothing left to do.
    pub duration: Span,
}

/// A TCP connection and what is done on it.
#[derive(Clone, Debug)]
pub struct Flow {
    /// When the client sends its SYN.
    pub start: Time,
    /// The place of an earlier flow that has to be done before, if one has: where it is later than `start`,
    /// the SYN is sent at once then.
    pub after: Option<usize>,
    /// The links that its packets take.
    pub routes: Routes,
    /// The end that opens the connection.
    pub client: Host,
    /// The other end.
    pub server: Host,
    /// What the applications do.
    pub activities: Vec<Activity>,
    /// The end whose link changes and which is told of it. Where there is none, neither end is told.
    pub mobile: Option<Mobile>,
    /// The relay on the way that ends the connection and has one of its own with each end, if there is one.
    pub split: Option<Split>,
}

/// A relay that splits a connection: split TCP.
#[derive(Clone, Debug)]
pub struct Split {
    /// The link before which it stands. Data goes forward on it, and ACKs go back; there is a link on either side of
    /// the relay.
    pub link: usize,
    /// Its TCP, towards both ends.
    pub host: Host,
}

/// An end that is told of changes of its link, for what its profile does about them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mobile {
    /// The end that moves.
    pub end: End,
    /// From when to when it has no link, in order of time.
    pub gaps: Vec<Range<Time>>,
}

/// One end's TCP.
#[derive(Clone, Debug)]
pub struct Host {
    /// How it behaves beside its congestion control.
    pub profile: Arc<Profile>,
    /// Its congestion control.
    pub control: Arc<Control>,
    /// The host that it is: connections between the same two share what a switcher remembers of their path.
    pub address: u32,
}

/// The links that a flow's packets take, either way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    /// From the client to the server.
    pub forward: Arc<[Hop]>,
    /// From the server to the client.
    pub backward: Arc<[Hop]>,
    /// The link before which a Snoop agent stands, which repairs what is lost there, if one does. Data goes forward
    /// on it, and ACKs go back.
    pub snoop: Option<usize>,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The one that opens it.
    Client,
    /// The other one.
    Server,
}

/// Why a simulation cannot be run. Places count from 0.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SimulationError {
    /// A link's description is no path.
    #[error("link {link}: {error}")]
    Link {
        /// The link's place among the simulation's.
        link: usize,
        /// What is wrong with its description.
        error: SpecError,
    },
    /// A flow without a link one way.
    #[error("flow {flow}: no route for what the {from} sends")]
    NoRoute {
        /// The flow's place among the simulation's.
        flow: usize,
        /// The end whose packets have no route.
        from: End,
    },
    /// A route over a link that is not there.
    #[error("flow {flow}: its route takes link {link}, which is not there")]
    UnknownLink {
        /// The flow's place among the simulation's.
        flow: usize,
        /// The place that its route names.
        link: usize,
    },
    /// A Snoop agent before a link that is not on the way there and back.
    #[error("flow {flow}: link {link} is not on its way there and back, for a Snoop agent")]
    Snoop {
        /// The flow's place among the simulation's.
        flow: usize,
        /// The link that the agent is to stand before.
        link: usize,
    },
    /// A relay before a link that is not on the way there and back behind another.
    #[error(
        "flow {flow}: link {link} is not behind another on its way there and back, for a relay"
    )]
    Split {
        /// The flow's place among the simulation's.
        flow: usize,
        /// The link that the relay is to stand before.
        link: usize,
    },
    /// A relay beside a Snoop agent.
    #[error("flow {flow}: it has a relay and a Snoop agent")]
    SplitAndSnoop {
        /// The flow's place among the simulation's.
        flow: usize,
    },
    /// A route, or a part of one on a side of a relay, on which neither delay nor rate takes time: an unlimited flow
    /// would never get on.
    #[error("flow {flow}: a round trip takes no time")]
    NoTime {
        /// The flow's place among the simulation's.
        flow: usize,
    },
    /// A flow that waits for one that does not come before it.
    #[error("flow {flow}: it waits for flow {after}, which does not come before it")]
    Order {
        /// The flow's place among the simulation's.
        flow: usize,
        /// The place of the flow that it waits for.
        after: usize,
    },
    /// An activity that cannot be done.
    #[error("flow {flow}, activity {activity}: {fault}")]
    Workload {
        /// The flow's place among the simulation's.
        flow: usize,
        /// The activity's place among the flow's.
        activity: usize,
        /// What is wrong.
        fault: &'static str,
    },
}

impl Flow {
    /// The host at an end.
    pub(crate) fn host(&self, end: End) -> &Host {
        match end {
            End::Client => &self.client,
            End::Server => &self.server,
        }
    }

    /// The end that closes the connection once it has written: a server that answers, and nothing else is done.
    pub(crate) fn closer(&self) -> Option<End> {
        let answers = |activity: &Activity| matches!(activity.workload, Workload::Answer { .. });
        self.activities.iter().all(answers).then_some(End::Server)
    }
}

impl End {
    /// Both ends, the client first.
    pub(crate) const BOTH: [End; 2] = [End::Client, End::Server];

    /// The end at the other side.
    pub fn other(self) -> End {
        match self {
            End::Client => End::Server,
            End::Server => End::Client,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::Client => "client",
            End::Server => "server",
        })
    }
}

impl Routes {
    /// Through these links forward, and back through them in reverse.
    pub fn through(links: &[usize]) -> Routes {
        let hop = |direction| move |&link: &usize| Hop { link, direction };
        Routes {
            forward: links.iter().map(hop(Direction::Forward)).collect(),
            backward: links.iter().rev().map(hop(Direction::Backward)).collect(),
            snoop: None,
        }
    }

    /// The links that packets from this end take.
    pub fn from(&self, end: End) -> &Arc<[Hop]> {
        match end {
            End::Client => &self.forward,
            End::Server => &self.backward,
        }
    }
}

impl Simulation {
    /// Checks that it can be run.
    ///
    /// # Errors
    /// The first thing wrong with it.
    pub fn validate(&self) -> Result<(), SimulationError> {
        for (link, path) in self.links.iter().enumerate() {
            path.validate().map_err(|error| SimulationError::Link { link, error })?;
        }
        for (flow, spec) in self.flows.iter().enumerate() {
            self.validate_routes(flow, &spec.routes)?;
            self.validate_split(flow, spec)?;
            if let Some(after) = spec.after.filter(|after| *after >= flow) {
                return Err(SimulationError::Order { flow, after });
            }
            for (activity, spec) in spec.activities.iter().enumerate() {
                if let Some(fault) = spec.workload.fault() {
                    return Err(SimulationError::Workload { flow, activity, fault });
                }
            }
        }
        Ok(())
    }

    fn validate_routes(&self, flow: usize, routes: &Routes) -> Result<(), SimulationError> {
        for from in End::BOTH {
            let route = routes.from(from);
            if route.is_empty() {
                return Err(SimulationError::NoRoute { flow, from });
            }
            if let Some(hop) = route.iter().find(|hop| hop.link >= self.links.len()) {
                return Err(SimulationError::UnknownLink { flow, link: hop.link });
            }
        }
        if let Some(link) = routes.snoop.filter(|link| Snoop::new(*link, routes).is_none()) {
            return Err(SimulationError::Snoop { flow, link });
        }
        let takes_time = self.takes_time(&routes.forward) || self.takes_time(&routes.backward);
        if takes_time { Ok(()) } else { Err(SimulationError::NoTime { flow }) }
    }

    fn validate_split(&self, flow: usize, spec: &Flow) -> Result<(), SimulationError> {
        let Some(Split { link, .. }) = spec.split else { return Ok(()) };
        if spec.routes.snoop.is_some() {
            return Err(SimulationError::SplitAndSnoop { flow });
        }
        let places = Relay::places(link, &spec.routes);
        let [there, back] = places.ok_or(SimulationError::Split { flow, link })?;
        let (client, onward) = spec.routes.forward.split_at(there.into());
        let (server, homeward) = spec.routes.backward.split_at(back.into());
        let legs = [[client, homeward], [server, onward]];
        let take_time = |leg: &[&[Hop]; 2]| leg.iter().any(|hops| self.takes_time(hops));
        if legs.iter().all(take_time) { Ok(()) } else { Err(SimulationError::NoTime { flow }) }
    }

    /// Whether a delay or a rate is among these links, which are there.
    fn takes_time(&self, hops: &[Hop]) -> bool {
        hops.iter().any(|&Hop { link, direction }| {
            let elements = match direction {
                Direction::Forward => &self.links[link].forward,
                Direction::Backward => &self.links[link].backward,
            };
            kirikae_path::bottleneck(elements).is_some()
                || kirikae_path::propagation(elements) > Span::ZERO
        })
    }

    /// Plays it in virtual time, on the calling thread.
    ///
    /// # Errors
    /// A simulation that [`validate`](Self::validate) refuses.
    pub fn run(&self) -> Result<Outcome, SimulationError> {
        self.observe(&mut ())
    }

    /// Plays it, and tells an observer what happens.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn observe<O: Observer>(&self, observer: &mut O) -> Result<Outcome, SimulationError> {
        self.validate()?;
        Ok(Engine::new(self, observer).run(Time::ZERO + self.duration))
    }
}
