//! A netlink socket that hears the kernel alone.
//!
//! Whoever is root of a network namespace may send to each netlink socket in it, and to groups. A socket that is connected
//! takes nothing that a program sends to it alone. What is sent to a group comes all the same, and tells its sender.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Size of a buffer for messages, bytes; the kernel never sends more at once.
pub(super) const AT_ONCE: usize = 64 << 10;
/// The port of the kernel. No program has it.
const KERNEL: u32 = 0;

pub(super) struct KernelSocket(Socket);

impl KernelSocket {
    /// In the network namespace of the calling thread.
    pub fn open() -> io::Result<KernelSocket> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(KERNEL, 0))?;
        Ok(KernelSocket(socket))
    }

    /// Hears what the kernel tells these groups, and does not wait for it from now on. The kernel is asked to keep so
    /// many bytes until they are read; `net.core.rmem_max` is the most.
    pub fn listen(&mut self, groups: &[u32], kept: usize) -> io::Result<()> {
        self.0.set_rx_buf_sz(kept)?;
        self.0.set_non_blocking(true)?;
        groups.iter().try_for_each(|group| self.0.add_membership(*group))
    }

    /// Asks the kernel.
    pub fn send(&self, question: &[u8]) -> io::Result<()> {
        self.0.send(question, 0).map(drop)
    }

    /// Receives once into the buffer, in place of what it has. Returns whether it is from the kernel.
    pub fn receive(&self, received: &mut Vec<u8>) -> io::Result<bool> {
        received.clear();
        let (_, sender) = self.0.recv_from(received, 0)?;
        Ok(sender.port_number() == KERNEL)
    }
}

impl AsFd for KernelSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
