//! Connections whose path is back and whose timer has not backed off are made to send two segments of new data
//! (`bpf/switcher/programs/nudge.bpf.c`).

use std::fs::File;
use std::io;

use libbpf_rs::{IterOpts, Link, MapCore, MapFlags, MapHandle, Object};

use super::POLICY;
use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};
use crate::iterator::read;
use crate::namespaces::within;
use crate::object;
use crate::switcher::Switcher;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nudge.bpf.o"));
const INTERFACE: &str = "back_interface";

/// The loaded iterator.
pub(super) struct Nudge {
    link: Link,
    interface: MapHandle,
    _object: Object,
}

impl Nudge {
    pub fn load(switcher: &Switcher) -> Result<Nudge, Error> {
        const DOING: &str = "loading what has connections send new data";
        let connections = switcher.map(CONNECTIONS)?;
        let policy = POLICY.map(|name| Ok((name, switcher.map(name)?)));
        let policy = policy.into_iter().collect::<Result<Vec<_>, Error>>()?;
        let object = object::load(OBJECT, DOING, |object| {
            object.keep_only(&[&[CONNECTIONS, INTERFACE], &POLICY[..]].concat())?;
            policy.iter().try_for_each(|(name, map)| object.share(name, map))?;
            object.share(CONNECTIONS, &connections)
        })?;
        let program = object.progs_mut().next().expect("nudge.bpf.c has one program");
        let link = program.attach_iter_with_opts(IterOpts::None).doing(|| DOING.into())?;
        let interface = object.maps().find(|map| map.name() == INTERFACE);
        let interface = interface.expect("nudge.bpf.c has this map");
        let interface = MapHandle::try_from(&interface).doing(|| DOING.into())?;
        Ok(Nudge { link, interface, _object: object })
    }

    /// Makes connections send that go over this interface of a namespace. Returns how many there were.
    pub fn nudge(&self, file: &File, interface: u32) -> io::Result<u64> {
        let (link, back) = (&self.link, &self.interface);
        within(file, move || {
            back.update(&0_u32.to_ne_bytes(), &interface.to_ne_bytes(), MapFlags::ANY)
                .map_err(io::Error::other)?;
            Ok(read(link)?.len() as u64)
        })
    }
}
