//! The algorithms of `bpf/algorithms/`, registered in the kernel.

use std::os::fd::BorrowedFd;

use kirikae_algorithms::Algorithm;
use kirikae_table::KernelTable;
use libbpf_rs::{ErrorKind, Link, MapCore, Object, ObjectBuilder};

use crate::error::{Doing, Error};
use crate::host;
use crate::libbpf;

struct Source {
    /// In-kernel name, `kk_` and the file's name.
    name: &'static str,
    object: &'static [u8],
}

const SOURCES: &[Source] = include!(concat!(env!("OUT_DIR"), "/algorithms.rs"));

/// Socket storage that the switcher and the algorithms share (`bpf/include/connection.h`).
pub(crate) const CONNECTIONS: &str = "connections";

/// Read-only data with the values that an operator may set (`bpf/include/parameters.h`).
const PARAMETERS: &str = ".rodata.parameters";

/// The algorithms that a table lets the switcher choose among.
///
/// # Errors
/// A name that is none of ours.
pub fn candidates(table: &KernelTable) -> Result<Vec<Algorithm>, Error> {
    let named = |name: String| {
        Algorithm::named(&name).ok_or_else(|| Error::Failed {
            doing: "reading the latency table".into(),
            cause: format!("{name} is no algorithm of ours; `kirikae algorithms` lists them"),
        })
    };
    table.names().into_iter().map(named).collect()
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
    /// Registers algorithms under their in-kernel names, with the values of their parameters.
    pub fn register(algorithms: &[Algorithm]) -> Result<Algorithms, Error> {
        host::algorithm_requirements()?;
        Algorithms::register_with(algorithms, None)
    }

    pub(crate) fn register_with(
        algorithms: &[Algorithm],
        connections: Option<BorrowedFd>,
    ) -> Result<Algorithms, Error> {
        let with_links = host::has_links_of_struct_ops()?;
        // In this order an error on the way drops the links first, too.
        let (mut objects, mut links) = (Vec::new(), Vec::new());
        for algorithm in algorithms {
            let (link, object) = register(algorithm, connections, with_links)?;
            if !with_links {
                objects.push(object);
            }
            links.push((algorithm.name(), link));
        }
        Ok(Algorithms { links, _objects: objects })
    }
}

/// Loads an algorithm's programs, which nothing calls before they are registered.
pub(crate) fn load(
    algorithm: &Algorithm,
    connections: Option<BorrowedFd>,
    with_links: bool,
) -> Result<Object, Error> {
    let source = SOURCES
        .iter()
        .find(|source| source.name == algorithm.name())
        .expect("both builds of bpf/algorithms/ have the same files");
    let doing = || format!("loading {}", source.name);
    let operations = operations(algorithm);
    let open = || {
        let mut object = ObjectBuilder::default().open_memory(source.object).doing(doing)?;
        for mut map in object.maps_mut() {
            if let Some(fd) = connections
                && map.name() == CONNECTIONS
            {
                map.reuse_fd(fd).doing(doing)?;
            }
            if map.name() == PARAMETERS {
                let parameters = map.initial_value_mut().expect("read-only data has a value");
                for (bytes, value) in parameters.chunks_exact_mut(4).zip(algorithm.values()) {
                    bytes.copy_from_slice(&value.to_ne_bytes());
                }
            }
            // Its only flag, BPF_F_LINK, asks for what an old kernel does not have; without it the
            // map's one element is the registration, and libbpf's link deletes that element.
            if !with_links && map.name() == operations {
                map.set_map_flags(0).doing(doing)?;
            }
        }
        Ok(object)
    };
    libbpf::load(open, doing)
}

/// The variable that the source file hands to the kernel.
fn operations(algorithm: &Algorithm) -> &'static str {
    algorithm.name().trim_start_matches("kk_")
}

fn register(
    algorithm: &Algorithm,
    connections: Option<BorrowedFd>,
    with_links: bool,
) -> Result<(Link, Object), Error> {
    let mut object = load(algorithm, connections, with_links)?;
    let operations = operations(algorithm);
    let doing = || format!("registering {}", algorithm.name());
    let mut map = object
        .maps_mut()
        .find(|map| map.name() == operations)
        .unwrap_or_else(|| panic!("ALGORITHM({operations}) in bpf/algorithms/{operations}.bpf.c"));
    match map.attach_struct_ops() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Error::Failed {
            doing: doing(),
            cause: "the name is taken: by another kirikae (run or bench), by one that was \
                    killed (`kirikae undo` ends that), or by another program"
                .into(),
        }),
        attached => Ok((attached.doing(doing)?, object)),
    }
}
