//! Interfaces over which connections have begun to wait (`bpf/switcher/bind/waiting.h`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{self, Receiver};

use kirikae_interface::waiting;
use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use zerocopy::FromBytes;

use crate::error::{Doing, Error};
use crate::switcher::Switcher;

/// What the switcher tells of timeouts.
pub(super) struct Waiting {
    told: RingBuffer<'static>,
    received: Receiver<waiting>,
    /// Readable where something has been told.
    map: MapHandle,
}

impl Waiting {
    /// Hears of them from now on.
    pub fn listen(switcher: &Switcher) -> Result<Waiting, Error> {
        const DOING: &str = "hearing of timeouts";
        let map = switcher.map("waiting")?;
        let (sender, received) = mpsc::channel();
        let mut told = RingBufferBuilder::new();
        let send = move |bytes: &[u8]| {
            if let Ok(waiting) = waiting::read_from_bytes(bytes) {
                // The receiver lives as long as the ring buffer that calls this.
                let _ = sender.send(waiting);
            }
            0
        };
        told.add(&map, send).doing(|| DOING.into())?;
        let told = told.build().doing(|| DOING.into())?;
        Ok(Waiting { told, received, map })
    }

    /// The namespace and the index of each interface that was told since the last call.
    pub fn read(&self) -> io::Result<impl Iterator<Item = (u32, u32)>> {
        self.told.consume().map_err(io::Error::other)?;
        Ok(self.received.try_iter().map(|it| (it.namespace, it.interface)))
    }
}

impl AsFd for Waiting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
