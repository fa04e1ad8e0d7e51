//! Connections whose path is back and whose timer has not backed off are made to send two segments of new data
//! (`bpf/switcher/programs/nudge.bpf.c`).

use std::fs::File;
use std::io;

use libbpf_rs::{MapCore, MapFlags};

use super::socket_iterator::SocketIterator;
use crate::error::Error;
use crate::iterator::read;
use crate::namespaces::within;
use crate::switcher::Switcher;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nudge.bpf.o"));

/// The loaded iterator.
pub(super) struct Nudge(SocketIterator);

impl Nudge {
    pub fn load(switcher: &Switcher) -> Result<Nudge, Error> {
        const DOING: &str = "loading what has connections send new data";
        SocketIterator::load(switcher, OBJECT, "back_interface", DOING).map(Nudge)
    }

    /// Makes connections send that go over this interface of a namespace. Returns how many there were.
    pub fn nudge(&self, file: &File, interface: u32) -> io::Result<u64> {
        let SocketIterator { link, wanted, .. } = &self.0;
        within(file, move || {
            wanted
                .update(&0_u32.to_ne_bytes(), &interface.to_ne_bytes(), MapFlags::ANY)
                .map_err(io::Error::other)?;
            Ok(read(link)?.len() as u64)
        })
    }
}
