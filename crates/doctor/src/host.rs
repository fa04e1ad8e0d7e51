//! The host as it is now.

use std::io;
use std::net::IpAddr;

use nix::sys::utsname::uname;
use serde::{Serialize, Serializer};

use crate::{Route, Sysctls, Unread};

/// The release of a kernel, as far as rules depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Kernel {
    /// 6 of 6.18.
    pub major: u32,
    /// 18 of 6.18.
    pub minor: u32,
}

/// What was read of the host.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// None where its name is not understood.
    pub kernel: Option<Kernel>,
    /// The sysctls of its network namespace.
    pub sysctls: Sysctls,
    /// The route to the destination, or the default one.
    #[serde(serialize_with = "write_route")]
    pub route: Result<Route, Unread>,
}

impl Host {
    /// Reads it; the route to this address, or the default one.
    pub fn read(to: Option<IpAddr>) -> Host {
        Host {
            kernel: Kernel::running(),
            sysctls: Sysctls::read(),
            route: Route::read(to).map_err(|error| no_route(to, &error)),
        }
    }
}

/// The route, or a text that says why there is none.
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
