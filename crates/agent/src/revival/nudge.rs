//! Connections whose path is back and whose timer has not backed off are made to send two segments of new data
//! (`bpf/switcher/programs/nudge.bpf.c`).

use std::io;

use libbpf_rs::{MapCore, MapFlags};
use zerocopy::IntoBytes;

use super::socket_iterator::SocketIterator;
use super::watch::Watch;
use crate::error::Error;
use crate::switcher::Switcher;
use crate::walks::{Printed, Walk, Walker};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nudge.bpf.o"));

/// The loaded iterator.
pub(super) struct Nudge(SocketIterator);

/// Interfaces of a namespace over which connections are being made to send.
pub(super) struct Nudging {
    /// The namespace and the index of each.
    wanted: Vec<[u32; 2]>,
}

impl Nudge {
    pub fn load(switcher: &Switcher) -> Result<Nudge, Error> {
        const DOING: &str = "loading what has connections send new data";
        SocketIterator::load(switcher, OBJECT, "back_interfaces", DOING).map(Nudge)
    }

    /// Begins to make connections send that go over these interfaces of a namespace.
    pub fn begin(
        &self,
        walker: &mut Walker,
        watch: &Watch,
        interfaces: impl IntoIterator<Item = u32>,
    ) -> io::Result<(Walk, Nudging)> {
        let namespace = watch.changes.namespace();
        let wanted = interfaces.into_iter().map(|interface| [namespace, interface]).collect();
        let nudging = Nudging { wanted };
        let write = |it: &[u32; 2]| {
            self.0.wanted.update(it.as_bytes(), &[1], MapFlags::ANY).map_err(io::Error::other)
        };
        let written = nudging.wanted.iter().try_for_each(write);
        let begun = written.and_then(|()| walker.begin(&self.0.file, &watch.file, watch.inode));
        match begun {
            Ok(walk) => Ok((walk, nudging)),
            Err(error) => {
                self.forget(&nudging);
                Err(error)
            }
        }
    }

    /// Returns how many connections were made to send. A walk that has not ended finds none any more.
    pub fn end(&self, nudging: &Nudging, walked: io::Result<Printed>) -> io::Result<u64> {
        self.forget(nudging);
        walked.map(|printed| printed.bytes.len() as u64)
    }

    fn forget(&self, nudging: &Nudging) {
        for it in &nudging.wanted {
            // What was not written is not there.
            let _ = self.0.wanted.delete(it.as_bytes());
        }
    }
}
