//! A TUN device: what the kernel routes into it is read from it, what is written to it arrives.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use nix::libc::{IFF_NO_PI, IFF_TUN, O_NONBLOCK};

use crate::{Error, system};

/// Creates the TUN device `name` in the calling thread's network namespace. Reads and writes carry
/// one bare IP packet each and never block; the device goes when the file is closed.
pub(crate) fn create(name: &str) -> Result<File, Error> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(O_NONBLOCK)
        .open("/dev/net/tun")
        .map_err(missing)?;
    system::set_tun_interface(&file, name, IFF_TUN | IFF_NO_PI)
        .map_err(|errno| Error::failed(format!("creating the TUN device {name}"), errno))?;
    Ok(file)
}

fn missing(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::Missing(
            "/dev/net/tun is missing: load the kernel module (modprobe tun) or, in a container, \
             pass the device in (--device /dev/net/tun)"
                .into(),
        ),
        io::ErrorKind::PermissionDenied => {
            Error::Missing("no permission to open /dev/net/tun: run as root".into())
        }
        _ => Error::failed("opening /dev/net/tun", error),
    }
}
