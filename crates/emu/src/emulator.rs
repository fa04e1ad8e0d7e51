use kirikae_path::{Direction, Hop, PathSpec};
use kirikae_vocabulary::Report;

use crate::capacity::Reservation;
use crate::network::{Network, NetworkSpec, RouteSpec, RunningNetwork};
use crate::{Error, Namespace};

/// A running emulated path between two network namespaces of its own: the network of one link and two hosts.
///
/// Dropping it takes everything down; [`finish`](Emulated::finish) does so too, and reports.
#[derive(Debug)]
pub struct Emulated(RunningNetwork);

impl Emulated {
    /// Makes the namespaces and starts to move packets. Forward is from the sender to the receiver. `seed`
    /// determines which packets the random elements lose. `label` appears in messages only.
    ///
    /// # Errors
    /// Fails as [`Network::create`] does.
    pub fn create(path: &PathSpec, seed: u64, label: &str) -> Result<Emulated, Error> {
        Ok(Emulated(Network::create(&network(path), seed, label)?.start(None)?))
    }

    /// The same without the check whether the machine holds it.
    pub(crate) fn create_with(
        path: &PathSpec,
        seed: u64,
        reservation: Reservation,
    ) -> Result<Emulated, Error> {
        let network = Network::create_with(&network(path), seed, reservation)?;
        Ok(Emulated(network.start(None)?))
    }

    /// The namespace from which data is sent.
    pub fn sender(&self) -> &Namespace {
        &self.0.hosts()[0]
    }

    /// The namespace to which data is sent.
    pub fn receiver(&self) -> &Namespace {
        &self.0.hosts()[1]
    }

    /// Takes the path down and returns what happened on it. Packets still under way are lost.
    ///
    /// # Errors
    /// Fails if moving packets failed at some time, or if the namespaces cannot be removed.
    pub fn finish(self) -> Result<Report, Error> {
        Ok(self.0.finish()?.pop().expect("a path is one link"))
    }
}

fn network(path: &PathSpec) -> NetworkSpec {
    let route =
        |from, to, direction| RouteSpec { from, to, hops: vec![Hop { link: 0, direction }] };
    NetworkSpec {
        hosts: vec!["sender".into(), "receiver".into()],
        links: vec![path.clone()],
        routes: vec![route(0, 1, Direction::Forward), route(1, 0, Direction::Backward)],
    }
}
