//! The system call that no safe crate offers.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc::{self, socklen_t, tcp_info};

/// What the kernel tells of a TCP socket; fields that an older kernel does not know are 0.
pub fn tcp_info(socket: &impl AsRawFd) -> io::Result<tcp_info> {
    let mut info = no_tcp_info();
    let mut size = size_of::<tcp_info>() as socklen_t;
    // SAFETY: getsockopt writes at most `size` bytes, any of which make a valid tcp_info.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut size,
        )
    };
    Errno::result(done)?;
    Ok(info)
}

/// All zeroes.
pub fn no_tcp_info() -> tcp_info {
    // SAFETY: tcp_info is plain numbers, for which all zeroes is a valid value.
    unsafe { std::mem::zeroed() }
}
