//! The algorithms of `bpf/algorithms/`, registered in the kernel.

use std::os::fd::BorrowedFd;

use kirikae_algorithms::Algorithm;
use kirikae_policy::Scope;
use libbpf_rs::btf::Btf;
use libbpf_rs::{ErrorKind, MapCore, MapHandle, Object, ObjectBuilder, OpenMapMut};

use crate::error::{Doing, Error};
use crate::kernel::{AFTER_IDLE, Kernel, offset};
use crate::registration::Registration;
use crate::{host, libbpf};

struct Source {
    /// In-kernel name, `kk_` and the file's name.
    name: &'static str,
    object: &'static [u8],
}

const SOURCES: &[Source] = include!(concat!(env!("OUT_DIR"), "/algorithms.rs"));

/// Socket storage that the switcher and the algorithms share (`bpf/connection/connection.h`).
pub(crate) const CONNECTIONS: &str = "connections";

/// Read-only data with the values that an operator may set (`bpf/algorithms/common/parameters.h`).
const PARAMETERS: &str = ".rodata.parameters";

/// The algorithms of ours that the switcher may give to connections of a scope.
///
/// # Errors
/// Fails if the scope's table names one that is none of ours.
pub fn candidates(scope: &Scope) -> Result<Vec<Algorithm>, Error> {
    let named = |name: String| {
        Algorithm::named(&name).ok_or_else(|| {
            Error::Wrong(format!(
                "the latency table has {name}, which is no algorithm of ours; `kirikae algorithms` lists them"
            ))
        })
    };
    scope.algorithms().into_iter().map(named).collect()
}

/// Who may set an algorithm on sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Users {
    /// Every program.
    Programs,
    /// The switcher, and programs that have CAP_NET_ADMIN where their socket is.
    Switcher,
}

/// Algorithms that stay registered in the kernel as long as this value lives. Connections that use one keep
/// it beyond that, until they end or take another.
///
/// If the kernel has no links of struct_ops (before Linux 6.4), algorithms stay registered when the process
/// is killed.
#[derive(Debug)]
pub struct Algorithms {
    pub(crate) registrations: Vec<(&'static str, Registration)>,
}

impl Algorithms {
    /// Registers algorithms under their in-kernel names, with the values of their parameters, for every program.
    ///
    /// # Errors
    /// Fails if the host lacks what they need ([`algorithm_requirements`](crate::algorithm_requirements)), or
    /// if the kernel refuses one, for instance because the name is taken. Then none of them is left
    /// registered.
    pub fn register(algorithms: &[Algorithm]) -> Result<Algorithms, Error> {
        host::algorithm_requirements()?;
        Algorithms::register_with(algorithms, Users::Programs, None)
    }

    pub(crate) fn register_with(
        algorithms: &[Algorithm],
        users: Users,
        connections: Option<BorrowedFd>,
    ) -> Result<Algorithms, Error> {
        let registered = |it: &Algorithm| Ok((it.name(), register(it, users, connections)?));
        let registrations = algorithms.iter().map(registered).collect::<Result<_, Error>>()?;
        Ok(Algorithms { registrations })
    }
}

/// Loads an algorithm's programs. Nothing calls them before they are registered.
pub(crate) fn load(
    algorithm: &Algorithm,
    users: Users,
    connections: Option<BorrowedFd>,
) -> Result<Object, Error> {
    let kernel = Kernel::running()?;
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
            if map.name() == operations {
                fit(&mut map, source, users, kernel).doing(doing)?;
            }
        }
        Ok(object)
    };
    libbpf::load(open, doing)
}

/// Creates the socket storage [`CONNECTIONS`], for when there is none to share.
pub(crate) fn connections() -> Result<MapHandle, Error> {
    let doing = || format!("making {CONNECTIONS}");
    let any = Algorithm::all().next().expect("there are algorithms");
    let object = load(&any, Users::Programs, None)?;
    let map = object.maps().find(|map| map.name() == CONNECTIONS);
    MapHandle::try_from(&map.expect("each algorithm looks into it")).doing(doing)
}

/// The name of the variable that the source file hands to the kernel.
fn operations(algorithm: &Algorithm) -> &'static str {
    algorithm.name().trim_start_matches("kk_")
}

/// Removes from a registration the callbacks that the running kernel does not have, and the leave of programs to set it
/// where it is the switcher's alone.
fn fit(
    map: &mut OpenMapMut,
    source: &Source,
    users: Users,
    kernel: Kernel,
) -> libbpf_rs::Result<()> {
    if !kernel.has_links {
        // BPF_F_LINK, its only flag, asks for a link.
        map.set_map_flags(0)?;
    }
    let types = Btf::from_raw(source.name, source.object)?;
    let types = types.expect("an object of ours has type information");
    let mut clear = |member: &str, size: usize| {
        let place = offset(&types, "tcp_congestion_ops", member).expect("ours has the member");
        let operations = map.initial_value_mut().expect("it has a value before it is loaded");
        operations[place..place + size].fill(0);
    };
    if !kernel.tells_after_idle {
        // libbpf does not load the program of a callback that is null.
        clear(AFTER_IDLE, size_of::<usize>());
    }
    if users == Users::Switcher {
        // TCP_CONG_NON_RESTRICTED is the only one.
        clear("flags", size_of::<u32>());
    }
    Ok(())
}

fn register(
    algorithm: &Algorithm,
    users: Users,
    connections: Option<BorrowedFd>,
) -> Result<Registration, Error> {
    let mut object = load(algorithm, users, connections)?;
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
        attached => {
            let map = MapHandle::try_from(&map).doing(doing)?;
            Registration::new(attached.doing(doing)?, map)
        }
    }
}
