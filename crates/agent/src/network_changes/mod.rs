//! What changes in a network namespace: an interface that comes, goes or gets another address, and routes.

mod affected;
mod kernel_socket;
mod local_address;
mod message;
mod question;

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};

use crate::affected_paths::AffectedPaths;
use crate::namespaces::own_namespace;
use crate::paths::PathFilter;
use affected::Interface;
pub use affected::{Change, Network};
use kernel_socket::{AT_ONCE, KernelSocket};
pub(crate) use local_address::LocalAddress;
use question::{addresses_wanted, link_wanted, links_wanted};

/// The kernel's numbers of the groups (linux/rtnetlink.h): links, addresses and routes, of IPv4 and IPv6.
const GROUPS: [u32; 5] = [1, 5, 9, 7, 11];
/// What the kernel is asked to keep of messages until they are read, bytes.
const KEPT: usize = 1 << 20;
/// So many buffers are read at a time: while a routing daemon writes its table, others want to be looked after, too.
const READ_AT_ONCE: usize = 64;
/// So many interfaces and addresses of a namespace are known at most: who is root of a namespace can make any number.
pub(crate) const ROOM: usize = 16_384;
/// When more interfaces than these are to be asked for, all are by one question.
const ASKED_APART: usize = 16;

/// Hears of changes in the network namespace in which it was made.
pub(crate) struct NetworkChanges {
    socket: KernelSocket,
    namespace: u32,
    network: Network,
}

/// The paths that a change concerns.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// What is known of these paths is of another network.
    pub affected: AffectedPaths,
    /// These of them may carry again.
    pub may_be_back: AffectedPaths,
    /// Interfaces whose carrier is back, by their indices.
    pub carriers: BTreeSet<u32>,
    /// These addresses were taken from an interface. Another may have them, or they may be back.
    pub removed: BTreeSet<LocalAddress>,
    /// How many messages were a program's, and have changed nothing.
    pub of_programs: u64,
}

impl NetworkChanges {
    /// Listens from now on.
    pub fn listen() -> io::Result<NetworkChanges> {
        let mut socket = KernelSocket::open()?;
        socket.listen(&GROUPS, KEPT)?;
        // It is looked at after the first change is heard of, so that none is missed.
        let network = present()?;
        let changes = NetworkChanges { socket, namespace: own_namespace()?, network };
        changes.socket.send(&links_wanted())?;
        Ok(changes)
    }

    /// The namespace, as the kernel's side names it.
    pub fn namespace(&self) -> u32 {
        self.namespace
    }

    /// Whether the namespace had more interfaces or addresses than are known.
    pub fn is_full(&self) -> bool {
        self.network.is_full()
    }

    /// Whether an interface of the namespace has the address. Other addresses may be the namespace's by a route
    /// (`local`).
    pub fn has_address(&self, ip: IpAddr) -> bool {
        self.network.has_address(ip)
    }

    /// Asks for interfaces. The kernel tells of a carrier that goes up to a second late, and of one that is back by
    /// then as late; the answer comes at once, among what is read.
    pub fn ask(&self, interfaces: impl ExactSizeIterator<Item = u32>) -> io::Result<()> {
        if interfaces.len() > ASKED_APART {
            return self.socket.send(&links_wanted());
        }
        interfaces.map(link_wanted).try_for_each(|question| self.socket.send(&question))
    }

    /// What has changed since the last call; there may be more.
    pub fn read(&mut self) -> io::Result<Changes> {
        let mut told = Changes::default();
        let mut received = Vec::with_capacity(AT_ONCE);
        for _ in 0..READ_AT_ONCE {
            match self.socket.receive(&mut received) {
                Ok(true) => {
                    let changes = self.network.hear(&received);
                    changes.for_each(|change| told.add(self.namespace, change));
                }
                Ok(false) => told.of_programs += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // More has changed than the kernel has kept for us. What is known of interfaces may be old until it
                // tells of them again. Any address may have been removed, and others may have come.
                Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => {
                    let paths = PathFilter::default();
                    let every = Change { paths, may_be_back: true, is_carrier: false };
                    told.add(self.namespace, every);
                    self.network.any_may_be_removed();
                    self.socket.send(&addresses_wanted())?;
                }
                Err(error) => return Err(error),
            }
        }
        told.removed = std::mem::take(&mut self.network.removed);
        Ok(told)
    }
}

impl Changes {
    fn add(&mut self, namespace: u32, Change { paths, may_be_back, is_carrier }: Change) {
        if is_carrier {
            self.carriers.extend(paths.interface);
        }
        let paths = PathFilter { namespace: Some(namespace), ..paths };
        if may_be_back {
            self.may_be_back.add(paths.clone());
        }
        self.affected.add(paths);
    }
}

impl AsFd for NetworkChanges {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The interfaces as they are now.
fn present() -> io::Result<Network> {
    let mut network = Network::with_room(ROOM);
    for it in getifaddrs()? {
        // One that has gone in between is none.
        let Ok(index) = if_nametoindex(it.interface_name.as_str()) else { continue };
        let is_running = it.flags.contains(InterfaceFlags::IFF_RUNNING);
        network.note_interface(index, Interface { is_running, carriers: None });
        let address = it.address.as_ref();
        let v4 = address.and_then(|it| it.as_sockaddr_in()).map(|it| IpAddr::V4(it.ip()));
        let v6 = address.and_then(|it| it.as_sockaddr_in6()).map(|it| IpAddr::V6(it.ip()));
        if let Some(ip) = v4.or(v6) {
            network.note_address(index, ip);
        }
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_tell_what_the_library_does() {
        let socket = KernelSocket::open().unwrap();
        let mut told = Network::with_room(ROOM);
        let mut received = Vec::with_capacity(AT_ONCE);
        for question in [links_wanted(), addresses_wanted()] {
            socket.send(&question).unwrap();
            loop {
                assert!(socket.receive(&mut received).unwrap());
                if received[4..6] == (nix::libc::NLMSG_DONE as u16).to_ne_bytes() {
                    break;
                }
                told.hear(&received).for_each(drop);
            }
        }
        let here = present().unwrap();
        assert!(!told.addresses.is_empty());
        assert_eq!(told.addresses, here.addresses);
        assert!(told.interfaces.keys().eq(here.interfaces.keys()));
        assert!(told.interfaces.values().all(|it| it.carriers.is_some()));
    }
}
