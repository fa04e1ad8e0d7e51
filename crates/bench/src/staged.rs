//! Plays one contest on an emulated network of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kirikae_emu::Network;
use kirikae_results::contest::Contest;
use kirikae_results::play::Course;
use kirikae_scenario::{Contender, Controls, Workload};
use kirikae_simlab::sim::simulation;

use crate::error::Error;
use crate::network;
use crate::player_process::Player;

/// The time over which the beginnings of networks are spread, if their applications have no period.
const SPREAD: Duration = Duration::from_secs(1);

/// A network with everything ready for its player.
pub struct Staged {
    /// How long it takes at most.
    pub duration: Duration,
    /// How much its beginning may be put off: a period after which its applications repeat what they do.
    pub spread: Duration,
    ends: Vec<[SocketAddr; 2]>,
    // Dropped in this order: the sockets go before their namespaces.
    player: Player,
    network: Network,
}

/// How it went, and of each flow where the one was that sent, and where the other.
pub struct Played {
    pub course: Course,
    pub ends: Vec<[SocketAddr; 2]>,
}

impl Staged {
    /// Makes the network and starts the player, which makes its sockets meanwhile. `cgroup_of` tells where
    /// the connections of a contender are switched.
    pub fn prepare(
        contest: &Contest,
        controls: &Controls,
        cgroup_of: &dyn Fn(Contender) -> Option<PathBuf>,
    ) -> Result<Staged, Error> {
        let &Contest { scenario, contender, seed } = contest;
        let simulation = simulation(scenario, contender, seed, controls);
        let spec = network::spec(contest, &simulation);
        let network = Network::create(&spec, seed, &crate::label(scenario))?;
        network::furnish(contest, &network)?;
        let assignment = network::assignment(contest, &simulation, &network, cgroup_of);
        let spread = scenario.timed().and_then(|(_, workload)| match workload {
            Workload::Bursts(bursts) => Some(bursts.interval),
            _ => None,
        });
        Ok(Staged {
            duration: simulation.duration.into(),
            spread: spread.unwrap_or(SPREAD),
            ends: network::ends(&assignment),
            player: Player::start(&assignment)?,
            network,
        })
    }

    /// Waits until the player has made its sockets.
    pub fn wait_until_ready(&mut self) -> Result<(), Error> {
        Ok(self.player.wait_until_ready()?)
    }

    /// Plays from `start_ns` (CLOCK_MONOTONIC) on, until nothing is left to do, time is up or `stop` returns
    /// true.
    pub fn run(self, start_ns: u64, stop: impl Fn() -> bool) -> Result<Played, Error> {
        let Staged { mut player, network, ends, .. } = self;
        let network = network.start(Some(start_ns))?;
        player.begin(start_ns)?;
        let report = player.report(stop)?;
        // This comes before the sockets are closed, since what they then send is no part of it.
        let links = network.finish()?;
        player.dismiss()?;
        let (end, flows) = (report.end, report.flows);
        let course = Course { begin_ns: start_ns, end, flows, links, is_real: true };
        Ok(Played { course, ends })
    }
}
