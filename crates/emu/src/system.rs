//! The system calls that no safe crate offers.

#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc::{self, c_char, c_short, ifreq, sched_param};

nix::ioctl_write_ptr_bad!(tunsetiff, libc::TUNSETIFF, ifreq);

/// Makes an open /dev/net/tun the device `name` of this kind (`IFF_...`), in the network namespace
/// in which it was opened.
pub(crate) fn set_tun_interface(file: &File, name: &str, flags: i32) -> nix::Result<()> {
    // SAFETY: ifreq is plain data, for which all zeroes is a valid value.
    let mut request: ifreq = unsafe { std::mem::zeroed() };
    // One byte short of the array, so that the name stays terminated.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *to = from as c_char;
    }
    request.ifr_ifru.ifru_flags = flags as c_short;
    // SAFETY: TUNSETIFF reads an ifreq, which outlives the call.
    unsafe { tunsetiff(file.as_raw_fd(), &request) }.map(drop)
}

// linux/if_tun.h; nix::libc has no name for it.
nix::ioctl_write_ptr!(tunsetcarrier, b'T', 226, libc::c_int);

/// Tells the device of an open /dev/net/tun that it has a carrier, or none.
pub(crate) fn set_tun_carrier(file: &File, has_carrier: bool) -> nix::Result<()> {
    let carrier = libc::c_int::from(has_carrier);
    // SAFETY: TUNSETCARRIER reads an int, which outlives the call.
    unsafe { tunsetcarrier(file.as_raw_fd(), &carrier) }.map(drop)
}

/// The order of real-time priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// For programs that write and read at the ends of a network.
    Program = 1,
    /// For the thread that moves the packets between them.
    Network = 2,
}

/// Gives the calling thread a real-time priority (SCHED_RR): it goes before all ordinary threads.
///
/// # Errors
/// Fails if the process may not do that.
pub fn go_before_ordinary_threads(rank: Rank) -> nix::Result<()> {
    let priority = sched_param { sched_priority: rank as i32 };
    // SAFETY: sched_setscheduler reads a sched_param, which outlives the call.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &priority) }).map(drop)
}
