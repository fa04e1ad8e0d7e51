//! Reads the route to the destination: its interface, and its settings for TCP.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteMetric};
use netlink_packet_route::tc::{TcAttribute, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::libc;
use serde::Serialize;

use crate::netlink::{ask, list};
use crate::offload::Offloads;

/// A documentation address (RFC 5737), to which the default route leads.
const ANYWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));

/// The settings of a route. For one that is None the kernel's own value holds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Route {
    /// The destination; None: this is the default route.
    pub to: Option<IpAddr>,
    /// The next hop; None if the destination is reached directly.
    pub gateway: Option<IpAddr>,
    /// Largest IP packet, bytes, if known for the route.
    pub mtu: Option<u32>,
    /// Initial congestion window, segments.
    pub initcwnd: Option<u32>,
    /// Initial receive window, segments.
    pub initrwnd: Option<u32>,
    /// Least retransmission timeout, ms.
    pub rto_min_ms: Option<u32>,
    /// Congestion control of connections over it.
    pub congestion_control: Option<String>,
    /// The interface over which it leads.
    pub interface: Interface,
}

/// An interface.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Interface {
    /// Its name, as in `ip link`.
    pub name: String,
    /// Largest IP packet, bytes.
    pub mtu: Option<u32>,
    /// Packets that a plain queue holds.
    pub queue_length: Option<u32>,
    /// Its queueing disciplines, such as fq; with mq these are those of its queues.
    pub qdiscs: Option<BTreeSet<String>>,
    /// What it does for the kernel.
    pub offloads: Option<Offloads>,
}

/// The kernel's answer to where packets for an address go.
fn route_to(address: IpAddr) -> io::Result<RouteMessage> {
    let mut question = RouteMessage::default();
    let (family, bits, destination) = match address {
        IpAddr::V4(address) => (AddressFamily::Inet, 32, RouteAddress::Inet(address)),
        IpAddr::V6(address) => (AddressFamily::Inet6, 128, RouteAddress::Inet6(address)),
    };
    question.header.address_family = family;
    question.header.destination_prefix_length = bits;
    question.attributes.push(RouteAttribute::Destination(destination));
    let mut answers = ask(NETLINK_ROUTE, RouteNetlinkMessage::GetRoute(question))?;
    match (answers.pop(), &answers[..]) {
        (Some(RouteNetlinkMessage::NewRoute(answer)), []) => Ok(answer),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Why the kernel sends nothing to an address: it has no route, or one that prohibits it. None if it sends, or
/// could not be asked.
pub(crate) fn refusal(address: IpAddr) -> Option<io::Error> {
    let no_route = [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::EACCES, libc::EINVAL];
    let error = route_to(address).err()?;
    error.raw_os_error().is_some_and(|number| no_route.contains(&number)).then_some(error)
}

/// The index of the interface over which packets for an address leave.
pub(crate) fn interface_to(address: IpAddr) -> io::Result<u32> {
    let answer = route_to(address)?;
    let interface = answer.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Oif(index) => Some(*index),
        _ => None,
    });
    interface.ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl Route {
    /// The route to an address, or the default one.
    pub(crate) fn read(to: Option<IpAddr>) -> io::Result<Route> {
        let answer = route_to(to.unwrap_or(ANYWHERE))?;
        let mut route = Route { to, ..Route::default() };
        let mut index = None;
        for attribute in &answer.attributes {
            match attribute {
                RouteAttribute::Oif(oif) => index = Some(*oif),
                RouteAttribute::Gateway(RouteAddress::Inet(hop)) => {
                    route.gateway = Some((*hop).into())
                }
                RouteAttribute::Gateway(RouteAddress::Inet6(hop)) => {
                    route.gateway = Some((*hop).into());
                }
                RouteAttribute::Metrics(metrics) => {
                    metrics.iter().for_each(|metric| route.take(metric));
                }
                _ => {}
            }
        }
        route.interface = Interface::read(index.ok_or(io::ErrorKind::NotFound)?)?;
        Ok(route)
    }

    fn take(&mut self, metric: &RouteMetric) {
        match metric {
            RouteMetric::Mtu(mtu) => self.mtu = Some(*mtu),
            RouteMetric::InitCwnd(segments) => self.initcwnd = Some(*segments),
            RouteMetric::InitRwnd(segments) => self.initrwnd = Some(*segments),
            RouteMetric::RtoMin(ms) => self.rto_min_ms = Some(*ms),
            RouteMetric::CcAlgo(name) => self.congestion_control = Some(name.clone()),
            _ => {}
        }
    }

    /// The beginning of the `ip route` command that changes it.
    pub(crate) fn change(&self) -> String {
        let to = self.to.map_or_else(|| "default".to_owned(), |to| to.to_string());
        let via = self.gateway.map(|hop| format!(" via {hop}")).unwrap_or_default();
        // A destination mostly has no route of its own yet, which `replace` then adds.
        let verb = if self.to.is_some() { "replace" } else { "change" };
        format!("ip route {verb} {to}{via} dev {}", self.interface.name)
    }
}

impl Interface {
    fn read(index: u32) -> io::Result<Interface> {
        let mut question = LinkMessage::default();
        question.header.index = index;
        let answers = ask(NETLINK_ROUTE, RouteNetlinkMessage::GetLink(question))?;
        let [RouteNetlinkMessage::NewLink(link)] = &answers[..] else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut interface = Interface::default();
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::IfName(name) => interface.name = name.clone(),
                LinkAttribute::Mtu(mtu) => interface.mtu = Some(*mtu),
                LinkAttribute::TxQueueLen(packets) => interface.queue_length = Some(*packets),
                _ => {}
            }
        }
        interface.qdiscs = qdiscs(index).ok();
        interface.offloads = Offloads::read(&interface.name).ok();
        Ok(interface)
    }
}

/// The queueing disciplines of an interface. One with several queues is only named if it has no others below
/// it.
fn qdiscs(index: u32) -> io::Result<BTreeSet<String>> {
    let question = TcMessage::with_index(index.cast_signed());
    let answers = list(NETLINK_ROUTE, RouteNetlinkMessage::GetQueueDiscipline(question))?;
    let mut kinds = BTreeSet::new();
    for answer in &answers {
        let RouteNetlinkMessage::NewQueueDiscipline(qdisc) = answer else { continue };
        if qdisc.header.index == index.cast_signed() {
            kinds.extend(qdisc.attributes.iter().filter_map(|attribute| match attribute {
                TcAttribute::Kind(kind) => Some(kind.clone()),
                _ => None,
            }));
        }
    }
    // Disciplines for incoming packets do not matter here.
    kinds.retain(|kind| kind != "ingress" && kind != "clsact");
    if kinds.len() > 1 {
        kinds.retain(|kind| kind != "mq" && kind != "mqprio");
    }
    Ok(kinds)
}
