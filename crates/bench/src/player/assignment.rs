//! The messages to and from a player: JSON on its standard input and output.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::path::{Path, PathBuf};

use kirikae_path::{Span, Time};
use kirikae_results::play::FlowCourse;
use kirikae_scenario::Contender;
use kirikae_sim::{Activity, End};
use serde::{Deserialize, Serialize};

/// Port of every server. Each group's server has a host of its own.
const SERVER_PORT: u16 = 5201;

/// Everything that a player has to know before it begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// Seed of what the applications draw.
    pub seed: u64,
    /// When the player ends at the latest.
    pub duration: Span,
    /// The time in which arrivals are counted; None: they are not counted apart.
    pub measured: Option<Range<Time>>,
    /// The groups of flows, in the scenario's order.
    pub groups: Vec<GroupAssignment>,
}

/// Flows between the same two hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GroupAssignment {
    /// The host of the clients.
    pub client: HostAssignment,
    /// The host of the servers.
    pub server: HostAssignment,
    /// The end that sends, and has this congestion control; the other one has the baseline's.
    pub sender: End,
    /// The congestion control that those who send begin with, by its name in the kernel.
    pub congestion_control: String,
    /// The cgroup in which those who send are switched; then their route names the congestion control, and
    /// they do not ask for it. None: they are not switched.
    pub cgroup: Option<PathBuf>,
    /// The first client's port. The other clients have the following ports, and after them those of the next
    /// group.
    pub first_port: u16,
    /// The flows.
    pub flows: Vec<FlowAssignment>,
}

/// A host of an emulated network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HostAssignment {
    /// The file to give to setns(2).
    pub namespace: PathBuf,
    /// Its address.
    pub address: Ipv4Addr,
}

/// A connection and what is done on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FlowAssignment {
    /// When the client opens it.
    pub start: Time,
    /// The place of the flow that has to be done before, among all.
    pub after: Option<usize>,
    /// What the applications do.
    pub activities: Vec<Activity>,
}

/// The results that a player reports.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlayerReport {
    /// When nothing was left to do, or when it was told to end.
    pub end: Time,
    /// Every flow, group by group, without its switches, of which a player knows nothing.
    pub flows: Vec<FlowCourse>,
}

impl GroupAssignment {
    /// The address and port that its clients connect to.
    pub fn server_end(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.server.address, SERVER_PORT)
    }

    /// The cgroup in which an end of its flows is switched.
    pub fn cgroup_at(&self, end: End) -> Option<&Path> {
        self.cgroup.as_deref().filter(|_| end == self.sender)
    }

    /// The congestion control that an end of its flows is to begin with.
    pub fn congestion_control_of(&self, end: End) -> &str {
        if end == self.sender { &self.congestion_control } else { Contender::BASELINE.name() }
    }

    /// Where the client of this place in the group connects from.
    pub fn client_end(&self, place: usize) -> SocketAddrV4 {
        SocketAddrV4::new(self.client.address, self.first_port + place as u16)
    }
}
