//! The congestion controls that the running kernel has, registered or as modules to load.

use std::collections::BTreeSet;
use std::fs;

use crate::error::{Doing, Error};
use crate::host::kernel_release;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// What the running kernel has, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelAlgorithms {
    /// Registered now, ours among them where they are loaded.
    pub registered: BTreeSet<String>,
    /// There as modules of this kernel, loaded or not.
    pub modules: BTreeSet<String>,
}

impl KernelAlgorithms {
    /// Asks the kernel. Needs no privileges.
    ///
    /// # Errors
    /// Where /proc cannot be read. A host without modules has none.
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

/// `htcp` for `kernel/net/ipv4/tcp_htcp.ko.xz: ...`
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
