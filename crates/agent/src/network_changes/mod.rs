//! What changes in a network namespace: an interface that comes, goes or gets another address, and routes.

mod affected;
mod local_address;

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::link::LinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};

use crate::namespaces::own_namespace;
use crate::paths::PathFilter;
use affected::{Change, Interface, Network};
pub(crate) use local_address::LocalAddress;

/// The kernel's numbers of the groups (linux/rtnetlink.h): links, addresses and routes, of IPv4 and IPv6.
const GROUPS: [u32; 5] = [1, 5, 9, 7, 11];
/// Size of the buffer for messages, bytes; the kernel never sends more at once.
const AT_ONCE: usize = 64 << 10;
/// What the kernel is asked to keep of messages until they are read, bytes; `net.core.rmem_max` is the most.
const KEPT: usize = 1 << 20;
/// So many buffers are read at a time: while a routing daemon writes its table, others want to be looked after, too.
const READ_AT_ONCE: usize = 64;
/// When so much has changed, all paths are concerned: it is not told apart any more.
pub(crate) const TOLD_APART: usize = 256;

/// Hears of changes in the network namespace in which it was made.
pub(crate) struct NetworkChanges {
    socket: Socket,
    namespace: u32,
    network: Network,
}

/// The paths that a change concerns.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// What is known of these paths is of another network.
    pub affected: Vec<PathFilter>,
    /// These of them may carry again.
    pub may_be_back: Vec<PathFilter>,
    /// Interfaces whose carrier is back, by their indices.
    pub carriers: BTreeSet<u32>,
    /// These addresses were taken from an interface. Another may have them, or they may be back.
    pub removed: BTreeSet<LocalAddress>,
}

impl NetworkChanges {
    /// Listens from now on.
    pub fn listen() -> io::Result<NetworkChanges> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.set_rx_buf_sz(KEPT)?;
        socket.set_non_blocking(true)?;
        socket.bind(&SocketAddr::new(0, 0))?;
        GROUPS.into_iter().try_for_each(|group| socket.add_membership(group))?;
        // It is looked at after the first change is heard of, so that none is missed.
        let network = present()?;
        let changes = NetworkChanges { socket, namespace: own_namespace()?, network };
        changes.send(&links_wanted())?;
        Ok(changes)
    }

    fn send(&self, question: &[u8]) -> io::Result<()> {
        self.socket.send_to(question, &SocketAddr::new(0, 0), 0).map(drop)
    }

    /// The namespace, as the kernel's side names it.
    pub fn namespace(&self) -> u32 {
        self.namespace
    }

    /// Whether an interface of the namespace has the address. Other addresses may be the namespace's by a route
    /// (`local`).
    pub fn has_address(&self, ip: IpAddr) -> bool {
        self.network.addresses.iter().any(|(_, has)| *has == ip)
    }

    /// Asks for an interface. The kernel tells of a carrier that goes up to a second late, and of one that is back by
    /// then as late; the answer comes at once, among what is read.
    pub fn ask(&self, interface: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = interface;
        self.send(&question(0, RouteNetlinkMessage::GetLink(link)))
    }

    /// What has changed since the last call; there may be more.
    pub fn read(&mut self) -> io::Result<Changes> {
        let mut changes = Vec::new();
        for _ in 0..READ_AT_ONCE {
            let mut received = Vec::with_capacity(AT_ONCE);
            match self.socket.recv(&mut received, 0) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // More has changed than the kernel has kept for us. What is known of interfaces may be old until it
                // tells of them again. Any address may have been removed, and others may have come.
                Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => {
                    let every = PathFilter::default();
                    let every = Change { paths: every, may_be_back: true, is_carrier: false };
                    changes = vec![every; TOLD_APART + 1];
                    self.network.any_may_be_removed();
                    self.send(&addresses_wanted())?;
                    continue;
                }
                Err(error) => return Err(error),
            }
            for message in messages(&received) {
                changes.extend(self.network.changes(&message));
            }
        }
        let carriers = changes.iter().filter(|it| it.is_carrier);
        let carriers = carriers.filter_map(|it| it.paths.interface).collect();
        if changes.len() > TOLD_APART {
            let may_be_back = changes.iter().any(|change| change.may_be_back);
            let paths = PathFilter::default();
            changes = vec![Change { paths, may_be_back, is_carrier: false }];
        }
        let namespace = Some(self.namespace);
        let removed = std::mem::take(&mut self.network.removed);
        let mut told = Changes { removed, carriers, ..Changes::default() };
        for Change { paths, may_be_back, .. } in changes {
            let paths = PathFilter { namespace, ..paths };
            if may_be_back {
                told.may_be_back.push(paths.clone());
            }
            told.affected.push(paths);
        }
        Ok(told)
    }
}

impl AsFd for NetworkChanges {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Asks for all interfaces, as messages of their own: only these tell how often a carrier has come.
fn links_wanted() -> Vec<u8> {
    question(NLM_F_DUMP, RouteNetlinkMessage::GetLink(LinkMessage::default()))
}

/// Asks for all addresses.
fn addresses_wanted() -> Vec<u8> {
    question(NLM_F_DUMP, RouteNetlinkMessage::GetAddress(AddressMessage::default()))
}

/// A question to the kernel, as it is sent.
fn question(flags: u16, asked: RouteNetlinkMessage) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut message = NetlinkMessage::new(header, asked.into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// The messages in what was received at once. Those that cannot be read are of no kind that is known here.
fn messages(mut bytes: &[u8]) -> Vec<RouteNetlinkMessage> {
    let mut messages = Vec::new();
    while let Some(length) = bytes.first_chunk().map(|length| u32::from_ne_bytes(*length) as usize)
    {
        if let Ok(message) = NetlinkMessage::deserialize(bytes)
            && let NetlinkPayload::InnerMessage(message) = message.payload
        {
            messages.push(message);
        }
        // Messages are aligned to four bytes.
        let length = length.next_multiple_of(4).max(size_of::<u32>());
        bytes = bytes.get(length..).unwrap_or_default();
    }
    messages
}

/// The interfaces as they are now.
fn present() -> io::Result<Network> {
    let mut network = Network::default();
    for it in getifaddrs()? {
        // One that has gone in between is none.
        let Ok(index) = if_nametoindex(it.interface_name.as_str()) else { continue };
        let is_running = it.flags.contains(InterfaceFlags::IFF_RUNNING);
        network.interfaces.insert(index, Interface { is_running, carriers: None });
        let address = it.address.as_ref();
        let v4 = address.and_then(|it| it.as_sockaddr_in()).map(|it| IpAddr::V4(it.ip()));
        let v6 = address.and_then(|it| it.as_sockaddr_in6()).map(|it| IpAddr::V6(it.ip()));
        network.addresses.extend(v4.or(v6).map(|address| (index, address)));
    }
    Ok(network)
}
