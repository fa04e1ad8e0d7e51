//! An algorithm that is registered in the kernel, and how it is taken out again.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::{Link, MapCore, MapHandle};

use crate::error::{Doing, Error};
use crate::kernel::Kernel;
use crate::kernel_algorithms::KernelAlgorithms;

/// How long the kernel may take to remove a registration.
const WAIT: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// A registration in the kernel, which ends when this is dropped, unless it is pinned.
#[derive(Debug)]
pub(crate) struct Registration(Kind);

#[derive(Debug)]
enum Kind {
    /// A link; the registration ends with the last process that holds it.
    Link(Link),
    /// The one element of a map, if the kernel has no links: the registration ends when it is deleted.
    Element { map: MapHandle, pin: Option<PathBuf> },
}

impl Registration {
    /// Takes over what was registered by attaching the map of a struct_ops object.
    pub fn new(mut link: Link, map: MapHandle) -> Result<Registration, Error> {
        if Kernel::running()?.has_links {
            return Ok(Registration(Kind::Link(link)));
        }
        // The link would delete the element by a descriptor that is closed with the object.
        link.disconnect();
        Ok(Registration(Kind::Element { map, pin: None }))
    }

    /// Opens a registration that was pinned.
    pub fn open(path: &Path) -> Result<Registration, Error> {
        let doing = || format!("opening {}", path.display());
        if Kernel::running()?.has_links {
            return Link::open(path).doing(doing).map(Kind::Link).map(Registration);
        }
        let map = MapHandle::from_pinned_path(path).doing(doing)?;
        Ok(Registration(Kind::Element { map, pin: Some(path.to_owned()) }))
    }

    /// Keeps it in the kernel after this value is dropped.
    pub fn pin(&mut self, path: &Path) -> Result<(), Error> {
        let doing = || format!("pinning {}", path.display());
        match &mut self.0 {
            Kind::Link(link) => link.pin(path).doing(doing),
            Kind::Element { map, pin } => {
                map.pin(path).doing(doing)?;
                *pin = Some(path.to_owned());
                Ok(())
            }
        }
    }

    /// Takes it out of the kernel, and removes its pin.
    pub fn end(mut self) -> Result<(), Error> {
        match &mut self.0 {
            Kind::Link(link) if link.pin_path().is_some() => {
                link.unpin().doing(|| "unpinning a link".to_owned())
            }
            Kind::Link(_) => Ok(()),
            Kind::Element { map, pin } => {
                delete(map)?;
                match pin.take() {
                    Some(path) => {
                        fs::remove_file(&path).doing(|| format!("unpinning {}", path.display()))
                    }
                    None => Ok(()),
                }
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Kind::Element { map, pin: None } = &self.0 {
            // There is nobody to report an error to, and it is already gone if it was ended.
            let _ = delete(map);
        }
    }
}

/// Waits until the kernel has none of these any more. Some kernels, such as Linux 6.16, take out a
/// registration a moment after it has ended, and the next program would find the name taken.
pub(crate) fn are_gone(names: &[&str]) -> Result<(), Error> {
    let deadline = Instant::now() + WAIT;
    loop {
        let registered = KernelAlgorithms::read()?.registered;
        let left: Vec<&str> =
            names.iter().copied().filter(|name| registered.contains(*name)).collect();
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(Error::Failed {
                doing: format!("unregistering {}", left.join(", ")),
                cause: format!("the kernel still has them after {WAIT:?}"),
            });
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

fn delete(map: &MapHandle) -> Result<(), Error> {
    map.delete(&0u32.to_ne_bytes()).doing(|| "unregistering an algorithm".to_owned())
}
