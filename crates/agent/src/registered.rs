//! Algorithms that are registered for programs and for the sysctl net.ipv4.tcp_congestion_control, without
//! anything being switched. They stay until they are taken away.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use kirikae_algorithms::Algorithm;
use libbpf_rs::MapHandle;
use nix::mount::{MntFlags, umount2};

use crate::algorithms::{Algorithms, CONNECTIONS, Users};
use crate::error::{Doing, Error};
use crate::kernel_algorithms::KernelAlgorithms;
use crate::registration::{self, Registration};
use crate::{algorithms, host, layout, restore, state};

/// The directory of pins. All that is in it is ours, and the kernel keeps it when our process ends.
const PINS_ON_HOST: &str = "/sys/fs/bpf/kirikae-algorithms";
/// The mount point of a BPF file system of our own, for a host that has none.
const PINS: &str = "/run/kirikae-algorithms";

/// Registers algorithms that stay until [`unregister`] takes them away, or the host is booted.
///
/// # Errors
/// All are registered or none. Fails if one of the names is taken, and says by whom, or if the host lacks
/// something.
pub fn register(wanted: &[Algorithm]) -> Result<(), Error> {
    host::algorithm_requirements()?;
    let present = registered()?;
    let in_kernel = KernelAlgorithms::read()?.registered;
    for algorithm in wanted {
        let name = algorithm.name();
        let by = if present.contains(&name) {
            "kirikae algorithms --register, earlier; `kirikae algorithms --unregister` takes it away"
        } else if in_kernel.contains(name) {
            "a running kirikae (run or bench), or one that was killed (`kirikae undo` ends that)"
        } else {
            continue;
        };
        return Err(Error::Failed {
            doing: format!("registering {name}"),
            cause: format!("the name is taken by {by}"),
        });
    }
    let is_first = present.is_empty();
    let pinned = pin(wanted);
    if pinned.is_err() {
        let added: Vec<&str> = wanted.iter().map(|algorithm| algorithm.name()).collect();
        take_away(&added, is_first)?;
    }
    pinned
}

fn pin(wanted: &[Algorithm]) -> Result<(), Error> {
    let pins = pins();
    if !Path::new(pins).exists() {
        DirBuilder::new().mode(0o700).create(pins).doing(|| format!("making {pins}"))?;
        if pins == PINS {
            state::mount_bpf(pins)?;
        }
    }
    state::refuse_others(pins)?;
    let connections = connections()?;
    if !is_of_this_version(&connections)? {
        return Err(Error::Failed {
            doing: "registering algorithms".into(),
            cause: "another version of kirikae has registered some; `kirikae algorithms --unregister` takes them away"
                .into(),
        });
    }
    let registered = Algorithms::register_with(wanted, Users::Programs, Some(connections.as_fd()))?;
    for (name, mut registration) in registered.registrations {
        registration.pin(&place(name))?;
    }
    Ok(())
}

/// The names of the algorithms that are registered in this way.
///
/// # Errors
/// Fails if the directory of pins cannot be read. If this user may not look into it, the list is empty.
pub fn registered() -> Result<Vec<&'static str>, Error> {
    let pins = pins();
    let doing = || format!("listing {pins}");
    let entries = match fs::read_dir(pins) {
        // A user who may not look cannot have registered anything.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            return Ok(Vec::new());
        }
        entries => entries.doing(doing)?,
    };
    let files = entries.collect::<Result<Vec<_>, _>>().doing(doing)?;
    let is_pinned = |name: &&str| files.iter().any(|file| file.file_name() == **name);
    Ok(Algorithm::all().map(|algorithm| algorithm.name()).filter(is_pinned).collect())
}

/// Takes away these of the algorithms that [`register`] has registered, or all if no name is given.
/// Connections that have one keep it until they end. Returns the names of those that were taken away.
///
/// # Errors
/// Fails if one of them is not registered; then nothing is taken away.
pub fn unregister(names: &[&'static str]) -> Result<Vec<&'static str>, Error> {
    let present = registered()?;
    if let Some(missing) = names.iter().find(|name| !present.contains(name)) {
        return Err(Error::Failed {
            doing: format!("taking {missing} away"),
            cause: match present.as_slice() {
                [] => "nothing is registered by kirikae algorithms --register".into(),
                present => format!("registered are {}", present.join(", ")),
            },
        });
    }
    let names = if names.is_empty() { present.clone() } else { names.to_vec() };
    // A name may be given twice.
    take_away(&names, present.iter().all(|it| names.contains(it)))?;
    Ok(names)
}

fn take_away(names: &[&'static str], is_all: bool) -> Result<(), Error> {
    state::refuse_others(pins())?;
    for name in names {
        let place = place(name);
        if place.exists() {
            Registration::open(&place)?.end()?;
        }
    }
    registration::are_gone(names)?;
    let pins = pins();
    if is_all && Path::new(pins).exists() {
        // If the file system is the host's, nothing of ours is mounted.
        let _ = umount2(PINS, MntFlags::MNT_DETACH);
        fs::remove_dir_all(pins).doing(|| format!("removing {pins}"))?;
    }
    Ok(())
}

/// The map in which registered algorithms look for what is known of connections.
pub(crate) enum Shared {
    /// No algorithm is registered.
    None,
    /// An agent that starts later shares it.
    Map(MapHandle),
    /// Another version made it. An agent does not share it: its layout is another.
    Foreign,
}

/// Looks for the map of registered algorithms.
pub(crate) fn shared_connections() -> Result<Shared, Error> {
    if registered()?.is_empty() {
        return Ok(Shared::None);
    }
    let map = connections()?;
    Ok(if is_of_this_version(&map)? { Shared::Map(map) } else { Shared::Foreign })
}

fn is_of_this_version(connections: &MapHandle) -> Result<bool, Error> {
    layout::is_same(connections, restore::OBJECT)
}

/// Opens that map, or creates it.
fn connections() -> Result<MapHandle, Error> {
    state::refuse_others(pins())?;
    let place = place(CONNECTIONS);
    let doing = || format!("opening {}", place.display());
    if place.exists() {
        return MapHandle::from_pinned_path(&place).doing(doing);
    }
    let mut made = algorithms::connections()?;
    made.pin(&place).doing(doing)?;
    Ok(made)
}

fn pins() -> &'static str {
    let is_own = Path::new(PINS).exists() || !state::has_bpf_file_system();
    if is_own { PINS } else { PINS_ON_HOST }
}

fn place(name: &str) -> PathBuf {
    Path::new(pins()).join(name)
}
