//! Reads what an interface does for the kernel, by ethtool's ioctl. This is the only unsafe code here.
#![allow(unsafe_code)]

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc::{SIOCETHTOOL, ifreq};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use serde::Serialize;

// These numbers are from linux/ethtool.h.
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_GGSO: u32 = 0x23;
const ETHTOOL_GGRO: u32 = 0x2b;

/// The kernel's struct ethtool_value.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

nix::ioctl_readwrite_bad!(ethtool, SIOCETHTOOL, ifreq);

/// Which offloads are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Offloads {
    /// Whether the interface cuts large segments.
    pub tso: bool,
    /// Whether the kernel cuts them as late as it can.
    pub gso: bool,
    /// Whether received segments are merged.
    pub gro: bool,
}

impl Offloads {
    pub(crate) fn read(interface: &str) -> io::Result<Offloads> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        let on = |command| ask(&socket, interface, command).map(|data| data != 0);
        Ok(Offloads { tso: on(ETHTOOL_GTSO)?, gso: on(ETHTOOL_GGSO)?, gro: on(ETHTOOL_GGRO)? })
    }
}

fn ask(socket: &OwnedFd, interface: &str, command: u32) -> io::Result<u32> {
    let mut value = Value { command, data: 0 };
    // SAFETY: integers, a union of them and pointers: all zeros is a value of it.
    let mut request: ifreq = unsafe { zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // The last byte stays 0.
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as _;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the kernel reads `request` and, for these commands, writes one `Value` where it points;
    // both live until the call is over.
    unsafe { ethtool(socket.as_raw_fd(), &raw mut request) }?;
    Ok(value.data)
}
