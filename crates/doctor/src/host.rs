//! Reads the present state of the host.

use std::io;
use std::net::IpAddr;

use nix::sys::utsname::uname;
use serde::{Serialize, Serializer};

use crate::{Route, Sysctls, Unread};

/// The release of a kernel: the part on which rules depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Kernel {
    /// The 6 in 6.18.
    pub major: u32,
    /// The 18 in 6.18.
    pub minor: u32,
}

/// What was read of the host.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// The kernel's release; None if it is not understood.
    pub kernel: Option<Kernel>,
    /// The sysctls of its network namespace.
    pub sysctls: Sysctls,
    /// The route to the destination, or the default one.
    #[serde(serialize_with = "write_route")]
    pub route: Result<Route, Unread>,
}

impl Host {
    /// Reads the host; the route is that to this address, or the default one.
    pub fn read(to: Option<IpAddr>) -> Host {
        Host {
            kernel: Kernel::running(),
            sysctls: Sysctls::read(),
            route: Route::read(to).map_err(|error| no_route(to, &error)),
        }
    }
}

/// Writes the route, or the text that says why there is none.
fn write_route<S: Serializer>(
    route: &Result<Route, Unread>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match route {
        Ok(route) => route.serialize(serializer),
        Err(why) => serializer.serialize_str(why),
    }
}

fn no_route(to: Option<IpAddr>, error: &io::Error) -> Unread {
    match to {
        Some(address) => format!("the route to {address} is not to be read: {error}"),
        None => format!("there is no default route ({error}): name a destination"),
    }
}

impl Kernel {
    fn running() -> Option<Kernel> {
        Kernel::parse(uname().ok()?.release().to_str()?)
    }

    fn parse(release: &str) -> Option<Kernel> {
        let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
        let major = numbers.next()?.parse().ok()?;
        Some(Kernel { major, minor: numbers.next()?.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_understood() {
        assert_eq!(Kernel::parse("6.18.44-fc-v595"), Some(Kernel { major: 6, minor: 18 }));
        assert_eq!(Kernel::parse("7.0-rc1"), Some(Kernel { major: 7, minor: 0 }));
        assert_eq!(Kernel::parse("next"), None);
    }
}
