//! Asks the kernel about a connection by a system call that no safe crate offers.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;

use kirikae_path::Span;
use kirikae_sim::Traffic;
use nix::errno::Errno;
use nix::libc::{self, socklen_t, tcp_info};

/// The traffic that this end has sent; `arrived` bytes of it could be read at the other end.
pub(super) fn traffic(socket: &impl AsRawFd, arrived: u64) -> io::Result<Traffic> {
    let info = tcp_info(socket)?;
    let srtt = Span::from_nanos(u64::from(info.tcpi_rtt) * 1000);
    Ok(Traffic {
        arrived,
        segments: info.tcpi_data_segs_out.into(),
        retransmissions: info.tcpi_total_retrans.into(),
        srtt: (srtt > Span::ZERO).then_some(srtt),
    })
}

fn tcp_info(socket: &impl AsRawFd) -> io::Result<tcp_info> {
    // SAFETY: tcp_info is plain numbers, for which all zeroes is a valid value.
    let mut info: tcp_info = unsafe { std::mem::zeroed() };
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
