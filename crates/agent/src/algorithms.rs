//! The algorithms of `bpf/algorithms/`, registered in the kernel.

use std::os::fd::BorrowedFd;

use libbpf_rs::{ErrorKind, Link, MapCore, ObjectBuilder};

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
#[derive(Debug)]
pub struct Algorithms {
    pub(crate) links: Vec<(&'static str, Link)>,
}

impl Algorithms {
    /// Registers every algorithm under its in-kernel name.
    pub fn register() -> Result<Algorithms, Error> {
        host::requirements()?;
        Algorithms::register_with(None)
    }

    pub(crate) fn register_with(connections: Option<BorrowedFd>) -> Result<Algorithms, Error> {
        let links = SOURCES
            .iter()
            .map(|source| Ok((source.name, register(source, connections)?)))
            .collect::<Result<_, Error>>()?;
        Ok(Algorithms { links })
    }
}

fn register(source: &Source, connections: Option<BorrowedFd>) -> Result<Link, Error> {
    let doing = || format!("registering {}", source.name);
    let mut object = ObjectBuilder::default().open_memory(source.object).doing(doing)?;
    if let Some(fd) = connections {
        for mut map in object.maps_mut().filter(|map| map.name() == CONNECTIONS) {
            map.reuse_fd(fd).doing(doing)?;
        }
    }
    let mut object = object.load().doing(doing)?;
    let operations = source.name.trim_start_matches("kk_");
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
        attached => attached.doing(doing),
    }
}
