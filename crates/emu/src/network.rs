//! Builds networks of hosts around shared links, and takes them down.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};

use kirikae_path::{Direction, Hop, PathSpec, link_seed};
use kirikae_vocabulary::Report;

use crate::capacity::Reservation;
use crate::carrier::Carrier;
use crate::clock::Clock;
use crate::mover::{Device, Mover};
use crate::thread::MoverThread;
use crate::way::Way;
use crate::{Error, Namespace, own_name};

/// Hosts, links, and the routes from host to host over them. Indices count from 0.
#[derive(Clone, Debug, Default)]
pub struct NetworkSpec {
    /// The role of each host, for its name: letters, digits and hyphens.
    pub hosts: Vec<String>,
    /// The links, each with its own elements for each direction.
    pub links: Vec<PathSpec>,
    /// The routes. Packets without a route are discarded.
    pub routes: Vec<RouteSpec>,
}

/// A route from one host to another.
#[derive(Clone, Debug)]
pub struct RouteSpec {
    /// The index of the host that sends.
    pub from: usize,
    /// The index of the host that receives.
    pub to: usize,
    /// The links that they take, in order; at least one.
    pub hops: Vec<Hop>,
}

/// A network whose hosts exist, each as a network namespace of its own; no packets move yet.
///
/// Dropping it takes everything down.
pub struct Network {
    number: u32,
    // The order of dropping matters: the devices are closed before their namespaces are removed.
    mover: Mover,
    hosts: Vec<Namespace>,
    reservation: Reservation,
}

/// A network in which packets move.
///
/// Dropping it takes everything down; [`finish`](RunningNetwork::finish) does so too, and reports.
#[derive(Debug)]
pub struct RunningNetwork {
    // The order of dropping matters: the thread and its devices end before the namespaces are removed.
    thread: MoverThread,
    hosts: Vec<Namespace>,
    _reservation: Reservation,
}

impl Network {
    /// Makes the hosts. `seed` determines which packets the random elements lose. `label` appears in messages
    /// only.
    ///
    /// The first call of a process measures, for about a third of a second, how much the machine holds.
    ///
    /// # Errors
    /// Returns [`Error::Spec`] for impossible values, [`Error::TooFast`] if the rates of all links of this
    /// process came to more than half of what was measured, [`Error::Missing`] without root, iproute2 or
    /// /dev/net/tun, and [`Error::Failed`] otherwise. Nothing is left behind.
    ///
    /// # Panics
    /// Panics if a route names a host or a link that does not exist, or has no hop.
    pub fn create(spec: &NetworkSpec, seed: u64, label: &str) -> Result<Network, Error> {
        spec.links.iter().try_for_each(PathSpec::validate)?;
        let reservation = Reservation::claim(&spec.links, label)?;
        Network::create_with(spec, seed, reservation)
    }

    /// The same without the check whether the machine holds it.
    pub(crate) fn create_with(
        spec: &NetworkSpec,
        seed: u64,
        reservation: Reservation,
    ) -> Result<Network, Error> {
        let ways = ways(&spec.links, seed)?;
        let number = next_number();
        let mut hosts = Vec::with_capacity(spec.hosts.len());
        let mut devices = Vec::with_capacity(spec.hosts.len());
        for role in &spec.hosts {
            let (host, device) = Namespace::create(own_name(number, role), next_address())?;
            devices.push(Device::new(device));
            hosts.push(host);
        }
        let mut mover = Mover::new(devices, ways, carriers(spec));
        for route in &spec.routes {
            let places = route.hops.iter().map(|hop| hop.place()).collect();
            mover.add_route(route.from, hosts[route.to].address(), route.to, places);
        }
        Ok(Network { number, mover, hosts, reservation })
    }

    /// The hosts, in their order.
    pub fn hosts(&self) -> &[Namespace] {
        &self.hosts
    }

    /// Starts to move packets. The links' time begins when CLOCK_MONOTONIC is at `start_ns`, nanoseconds, or
    /// now if that is None. Packets that come in before meet the links as they are at the beginning.
    ///
    /// # Errors
    /// Fails if no thread can be started. Nothing is left behind.
    pub fn start(self, start_ns: Option<u64>) -> Result<RunningNetwork, Error> {
        let Network { number, mover, hosts, reservation } = self;
        let clock = start_ns.map_or_else(Clock::start, |start_ns| Ok(Clock::starting_at(start_ns)));
        let clock = clock.map_err(|error| Error::failed("reading the clock", error))?;
        let thread = MoverThread::start(number, mover, clock)?;
        Ok(RunningNetwork { thread, hosts, _reservation: reservation })
    }
}

impl RunningNetwork {
    /// The hosts, in their order.
    pub fn hosts(&self) -> &[Namespace] {
        &self.hosts
    }

    /// Takes the network down and returns what happened on each link, in their order. Packets still under way
    /// are lost.
    ///
    /// # Errors
    /// Fails if moving packets failed at some time, or if the namespaces cannot be removed.
    pub fn finish(self) -> Result<Vec<Report>, Error> {
        let RunningNetwork { mut thread, hosts, _reservation } = self;
        // The devices' counters are read before the devices go. The thread's own error is returned first.
        let device_drops: Vec<_> = hosts.iter().map(Namespace::device_drops).collect();
        let mover = thread.stop()?;
        let reports = mover.report(&device_drops.into_iter().collect::<Result<Vec<u64>, Error>>()?);
        hosts.into_iter().try_for_each(Namespace::remove)?;
        Ok(reports)
    }
}

/// The directions of the links, at their indices.
fn ways(links: &[PathSpec], seed: u64) -> Result<Vec<Way>, Error> {
    let mut ways = Vec::with_capacity(2 * links.len());
    for (place, link) in links.iter().enumerate() {
        let (forward, backward) = link.build(link_seed(seed, place))?;
        ways.extend([Way::new(&link.forward, forward), Way::new(&link.backward, backward)]);
    }
    Ok(ways)
}

/// The carriers of the hosts, each by the links and directions by which its packets enter the network.
fn carriers(spec: &NetworkSpec) -> Vec<Carrier> {
    let first = |route: &RouteSpec| (route.from, route.hops[0]);
    let mut entries: Vec<(usize, Hop)> = spec.routes.iter().map(first).collect();
    entries.sort_by_key(|(host, hop)| (*host, hop.place()));
    entries.dedup();
    let carriers = entries.into_iter().flat_map(|(host, hop)| {
        let link = &spec.links[hop.link];
        Carrier::all(
            host,
            match hop.direction {
                Direction::Forward => &link.forward,
                Direction::Backward => &link.backward,
            },
        )
    });
    carriers.collect()
}

/// The next number for a network of this process.
fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The next of the addresses of 10.75.0.0/16. Networks are separate from each other and from the host, so
/// nothing breaks when addresses are reused. They differ so that people and tools can tell connections of
/// several networks apart.
fn next_address() -> Ipv4Addr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    address(NEXT.fetch_add(1, Ordering::Relaxed))
}

fn address(n: u32) -> Ipv4Addr {
    // This leaves out the network's own address and the broadcast address.
    let hosts = (1 << 16) - 2;
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 75, 0, 1)) + n % hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stay_in_their_network() {
        let address = |n| address(n).to_string();
        assert_eq!((address(0), address(1)), ("10.75.0.1".into(), "10.75.0.2".into()));
        assert_eq!(address(65_533), "10.75.255.254");
        assert_eq!(address(65_534), address(0));
    }
}
