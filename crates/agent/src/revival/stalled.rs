//! Connections whose retransmission timer has backed off: `struct stalled` of `bpf/interface/stalled.h`.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use kirikae_interface::{open_namespace, stalled};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Enum;
use libbpf_rs::{IterOpts, Link, MapIterOpts, Object};
use zerocopy::FromBytes;

use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};
use crate::event::socket_address;
use crate::iterator::read;
use crate::kernel::BTF;
use crate::object;
use crate::switcher::Switcher;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stalled.bpf.o"));

/// A connection that waits for a timer that has backed off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stalled {
    /// Local end.
    pub local: SocketAddr,
    /// Remote end.
    pub remote: SocketAddr,
    /// Its network namespace.
    pub namespace: u32,
    /// The interface over which it sends; 0: that is not known.
    pub interface: u32,
    /// Sequence number of what is to be ACKed next.
    pub snd_una: u32,
    /// The timeout before back-off, microseconds.
    pub rto_us: u32,
    /// The longest that there is, microseconds.
    pub most_us: u32,
    /// How often it has been doubled.
    pub back_off: u32,
    /// Since something was sent last, microseconds.
    pub waited_us: u32,
}

impl Stalled {
    fn listed(listed: &stalled) -> Stalled {
        Stalled {
            local: socket_address(listed.ends.local, listed.ends.local_port),
            remote: socket_address(listed.ends.remote, listed.ends.remote_port),
            namespace: listed.namespace,
            interface: listed.interface,
            snd_una: listed.snd_una,
            rto_us: listed.rto_us,
            most_us: listed.most_us,
            back_off: listed.back_off,
            waited_us: listed.waited_us,
        }
    }

    /// How many steps of back-off have to be undone for it to send now; None if it has sent less than a timeout
    /// ago, and has to wait in any case (RFC 6298 (5.4)).
    pub fn steps(&self) -> Option<u32> {
        let most = u64::from(self.most_us);
        let timeout = |back_off: u32| most.min(u64::from(self.rto_us) << back_off.min(32));
        let is_over = |back_off: &u32| timeout(*back_off) <= u64::from(self.waited_us);
        let left = (0..self.back_off).rev().find(is_over)?;
        Some(self.back_off - left)
    }
}

/// The loaded iterators.
pub(super) struct Listing {
    stalled: Link,
    namespaces: Link,
    _object: Object,
}

impl Listing {
    pub fn load(switcher: &Switcher) -> Result<Listing, Error> {
        const DOING: &str = "loading the listing of stalled connections";
        const SHARED: [&str; 3] = [CONNECTIONS, "active_generation", "policies"];
        let (ipv4, ipv6) = wants_errors()?;
        let connections = switcher.map(CONNECTIONS)?;
        let object = object::load(OBJECT, DOING, |object| {
            object.keep_only(&SHARED)?;
            SHARED.iter().try_for_each(|name| object.share(name, &switcher.map(name)?))?;
            object.set("recverr", ipv4)?;
            object.set("recverr6", ipv6)
        })?;
        let attached = |name: &str| {
            let mut programs = object.progs_mut();
            let program = programs.find(|program| program.name() == name);
            let program = program.unwrap_or_else(|| panic!("stalled.bpf.c has the program {name}"));
            let of_map = IterOpts::Map(MapIterOpts::from_fd(connections.as_fd()));
            program.attach_iter_with_opts(of_map).doing(|| DOING.to_owned())
        };
        let (stalled, namespaces) = (attached("stalled")?, attached("namespaces")?);
        Ok(Listing { stalled, namespaces, _object: object })
    }

    /// The stalled connections, in no order.
    pub fn stalled(&self) -> io::Result<Vec<Stalled>> {
        let bytes = read(&self.stalled)?;
        let listed = bytes.chunks_exact(size_of::<stalled>());
        Ok(listed
            .filter_map(|bytes| stalled::ref_from_bytes(bytes).ok())
            .map(Stalled::listed)
            .collect())
    }

    /// The network namespaces in which there are remembered connections that are open, and the inode of each.
    pub fn namespaces(&self) -> io::Result<BTreeMap<u32, u32>> {
        let bytes = read(&self.namespaces)?;
        let listed = bytes.chunks_exact(size_of::<open_namespace>());
        Ok(listed
            .filter_map(|bytes| open_namespace::ref_from_bytes(bytes).ok())
            .map(|it| (it.cookie, it.inode))
            .collect())
    }
}

/// The bits of `inet_flags` that say that a program asks for ICMP messages as errors, over IPv4 and over IPv6;
/// zeros in kernels before Linux 6.6, which have members instead.
fn wants_errors() -> Result<(u64, u64), Error> {
    let btf = Btf::from_vmlinux().doing(|| format!("reading {BTF}"))?;
    let bit = |name: &str| {
        let enums = (1..btf.len()).filter_map(|id| btf.type_by_id::<Enum>((id as u32).into()));
        let values = enums.flat_map(|it| {
            let named = it.iter().find(|member| member.name.is_some_and(|it| it == name));
            named.map(|member| member.value)
        });
        values.into_iter().next().map_or(0, |bit| 1_u64 << bit)
    };
    Ok((bit("INET_FLAGS_RECVERR"), bit("INET_FLAGS_RECVERR6")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_steps_are_undone_as_let_it_send() {
        let stalled = |rto_ms: u32, back_off, waited_ms: u32| Stalled {
            local: "192.0.2.1:80".parse().unwrap(),
            remote: "192.0.2.2:80".parse().unwrap(),
            namespace: 1,
            interface: 1,
            snd_una: 0,
            rto_us: 1_000 * rto_ms,
            most_us: 1_000_000,
            back_off,
            waited_us: 1_000 * waited_ms,
        };
        assert_eq!(stalled(100, 1, 99).steps(), None);
        assert_eq!(stalled(100, 1, 100).steps(), Some(1));
        assert_eq!(stalled(100, 4, 799).steps(), Some(2));
        assert_eq!(stalled(100, 4, 800).steps(), Some(1));
        assert_eq!(stalled(100, 4, 999).steps(), Some(1));
        // Timeouts are within the bound.
        assert_eq!(stalled(1_900, 1, 999).steps(), None);
        assert_eq!(stalled(1_900, 1, 1_000).steps(), Some(1));
    }
}
