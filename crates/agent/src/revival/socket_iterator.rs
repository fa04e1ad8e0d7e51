//! A program that runs over all TCP sockets of a network namespace, asks the policy in force, and is told by a map
//! of its own what to look for.

use libbpf_rs::{IterOpts, MapCore, MapHandle, Object};

use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};
use crate::object;
use crate::switcher::Switcher;
use crate::walks::IteratorFile;

/// The policy in force, which the program asks, and where it tells of switches.
const SWITCHERS: [&str; 6] =
    ["active_generation", "policies", "latency_tables", "switch_events", "events_lost", "refusals"];

/// The loaded program.
pub(super) struct SocketIterator {
    /// It runs the program.
    pub file: IteratorFile,
    /// What it looks for.
    pub wanted: MapHandle,
    _object: Object,
}

impl SocketIterator {
    /// Loads an object of one program, of whose maps `wanted` is its own.
    pub fn load(
        switcher: &Switcher,
        object: &'static [u8],
        wanted: &'static str,
        doing: &'static str,
    ) -> Result<SocketIterator, Error> {
        let connections = switcher.map(CONNECTIONS)?;
        let maps = SWITCHERS.map(|name| Ok((name, switcher.map(name)?)));
        let maps = maps.into_iter().collect::<Result<Vec<_>, Error>>()?;
        let object = object::load(object, doing, |object| {
            object.keep_only(&[&[CONNECTIONS, wanted], &SWITCHERS[..]].concat())?;
            maps.iter().try_for_each(|(name, map)| object.share(name, map))?;
            object.share(CONNECTIONS, &connections)
        })?;
        let program = object.progs_mut().next().expect("the object has one program");
        let mut link = program.attach_iter_with_opts(IterOpts::None).doing(|| doing.into())?;
        let file = IteratorFile::hidden(&mut link)?;
        let map = object.maps().find(|map| map.name() == wanted);
        let wanted = MapHandle::try_from(&map.expect("the object has this map"));
        Ok(SocketIterator { file, wanted: wanted.doing(|| doing.into())?, _object: object })
    }
}
