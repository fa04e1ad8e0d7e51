//! The algorithms of `bpf/algorithms/`, registered in the kernel.

use std::os::fd::BorrowedFd;

use libbpf_rs::{ErrorKind, Link, MapCore, Object, ObjectBuilder};

use crate::error::{Doing, Error};
use crate::host;

struct Source {
    /// In-kernel name, `kk_` and the file's name.
    name: &'static str,
    object: &'static [u8],
}

const SOURCES: &[Source] = include!(concat!(env!("OUT_DIR"), "/algorithms.rs"));

/// Socket storage that the switcher and the algorithms share (`bpf/include/connection.h`).
pub(crate) const CONNECTIONS: &str = "connections";

/// In-kernel names (`kk_...`) of all algorithms in `bpf/algorithms/`, in alphabetical order.
pub fn algorithm_names() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|source| source.name)
}

/// The algorithms registered in the kernel, as long as this value lives. Connections that use one
/// keep it beyond that, until they end or take another.
///
/// Before Linux 6.4, which has no links of struct_ops, a process that is killed leaves them
/// registered until the next boot.
#[derive(Debug)]
pub struct Algorithms {
    pub(crate) links: Vec<(&'static str, Link)>,
    /// What an old kernel's registrations are taken out through: dropped after `links`.
    _objects: Vec<Object>,
}

impl Algorithms {
    /// Registers every algorithm under its in-kernel name.
    pub fn register() -> Result<Algorithms, Error> {
        host::can_register()?;
        Algorithms::register_with(None)
    }

    pub(crate) fn register_with(connections: Option<BorrowedFd>) -> Result<Algorithms, Error> {
        let with_links = host::has_links_of_struct_ops()?;
        // In this order an error on the way drops the links first, too.
        let (mut objects, mut links) = (Vec::new(), Vec::new());
        for source in SOURCES {
            let (link, object) = register(source, connections, with_links)?;
            if !with_links {
                objects.push(object);
            }
            links.push((source.name, link));
        }
        Ok(Algorithms { links, _objects: objects })
    }
}

fn register(
    source: &Source,
    connections: Option<BorrowedFd>,
    with_links: bool,
) -> Result<(Link, Object), Error> {
    let doing = || format!("registering {}", source.name);
    let operations = source.name.trim_start_matches("kk_");
    let mut object = ObjectBuilder::default().open_memory(source.object).doing(doing)?;
    for mut map in object.maps_mut() {
        if let Some(fd) = connections
            && map.name() == CONNECTIONS
        {
            map.reuse_fd(fd).doing(doing)?;
        }
        // Its only flag, BPF_F_LINK, asks for what an old kernel does not have; without it the
        // map's one element is the registration, and libbpf's link deletes that element.
        if !with_links && map.name() == operations {
            map.set_map_flags(0).doing(doing)?;
        }
    }
    let mut object = object.load().doing(doing)?;
    let mut map = object
        .maps_mut()
        .find(|map| map.name() == operations)
        .unwrap_or_else(|| panic!("ALGORITHM({operations}) in bpf/algorithms/{operations}.bpf.c"));
    match map.attach_struct_ops() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Error::Failed {
            doing: doing(),
            cause: "the name is taken: another kirikae (run or bench) is using it, or \
                    one was killed and `kirikae undo` has not been run"
                .into(),
        }),
        attached => Ok((attached.doing(doing)?, object)),
    }
}
