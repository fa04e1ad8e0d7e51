//! What changes in the network of this namespace: an interface that comes, goes or gets another address, and
//! routes. What is known of the paths concerned is of another network then.

mod affected;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::IpAddr;

use kirikae_agent::PathFilter;
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};

use crate::kept_paths::own_namespace;
use affected::Network;

/// The kernel's numbers of the groups (linux/rtnetlink.h): links, addresses and routes, of IPv4 and IPv6.
const GROUPS: [u32; 5] = [1, 5, 9, 7, 11];
/// Size of the buffer for messages, bytes; the kernel never sends more at once.
const AT_ONCE: usize = 64 << 10;
/// What the kernel keeps of messages until they are read, bytes.
const KEPT: usize = 1 << 20;
/// When so much has changed, all paths are concerned: it is not told apart any more.
const TOLD_APART: usize = 256;

/// Hears of changes in the network namespace in which it was made.
pub(crate) struct NetworkChanges {
    socket: Socket,
    namespace: u32,
    network: Network,
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
        Ok(NetworkChanges { socket, namespace: own_namespace()?, network: present()? })
    }

    /// The paths that are concerned by what has changed since the last call.
    pub fn affected(&mut self) -> io::Result<Vec<PathFilter>> {
        let mut affected = Vec::new();
        loop {
            let mut received = Vec::with_capacity(AT_ONCE);
            match self.socket.recv(&mut received, 0) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // More has changed than the kernel has kept for us.
                Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => {
                    self.network = present()?;
                    affected = vec![PathFilter::default(); TOLD_APART + 1];
                    continue;
                }
                Err(error) => return Err(error),
            }
            for message in messages(&received) {
                affected.extend(self.network.affected(&message));
            }
        }
        if affected.len() > TOLD_APART {
            affected = vec![PathFilter::default()];
        }
        let namespace = Some(self.namespace);
        Ok(affected.into_iter().map(|which| PathFilter { namespace, ..which }).collect())
    }
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
    let mut network = Network { running: BTreeMap::new(), addresses: BTreeSet::new() };
    for it in getifaddrs()? {
        // One that has gone in between is none.
        let Ok(index) = if_nametoindex(it.interface_name.as_str()) else { continue };
        let is_running = it.flags.contains(InterfaceFlags::IFF_RUNNING);
        network.running.insert(index, is_running);
        let address = it.address.as_ref();
        let v4 = address.and_then(|it| it.as_sockaddr_in()).map(|it| IpAddr::V4(it.ip()));
        let v6 = address.and_then(|it| it.as_sockaddr_in6()).map(|it| IpAddr::V6(it.ip()));
        network.addresses.extend(v4.or(v6).map(|address| (index, address)));
    }
    Ok(network)
}
