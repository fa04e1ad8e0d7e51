//! The congestion controls that the running kernel has, registered or as modules to load.

use std::collections::BTreeSet;
use std::fs;

use crate::error::{Doing, Error};
use crate::host::kernel_release;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The congestion controls of the running kernel, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelAlgorithms {
    /// Those that are registered now; ours are among them while they are loaded.
    pub registered: BTreeSet<String>,
    /// Those that this kernel has as modules, loaded or not.
    pub modules: BTreeSet<String>,
}

impl KernelAlgorithms {
    /// Asks the kernel. Needs no privileges.
    ///
    /// # Errors
    /// Fails if /proc cannot be read. A host without a directory of modules has no modules; that is no error.
    pub fn read() -> Result<KernelAlgorithms, Error> {
        let available = fs::read_to_string(AVAILABLE).doing(|| format!("reading {AVAILABLE}"))?;
        let modules = format!("/lib/modules/{}/modules.dep", kernel_release()?);
        let modules = fs::read_to_string(modules).unwrap_or_default();
        Ok(KernelAlgorithms {
            registered: available.split_whitespace().map(str::to_owned).collect(),
            modules: modules.lines().filter_map(module_name).map(str::to_owned).collect(),
        })
    }
}

/// The name in a line: `htcp` for `kernel/net/ipv4/tcp_htcp.ko.xz: ...`
fn module_name(line: &str) -> Option<&str> {
    let path = line.split(':').next()?;
    let (_, file) = path.split_once("net/ipv4/tcp_")?;
    file.split('.').next()
}

#[cfg(test)]
mod tests {
    use super::module_name;

    #[test]
    fn modules_of_congestion_controls_are_told_from_others() {
        let htcp = "kernel/net/ipv4/tcp_htcp.ko.xz: kernel/lib/x.ko.xz";
        assert_eq!(module_name(htcp), Some("htcp"));
        assert_eq!(module_name("kernel/net/ipv4/ip_gre.ko:"), None);
        assert_eq!(module_name(""), None);
    }
}
