//! Tells how our programs have to be loaded and registered in the running kernel: from its own description of
//! its types, never from its version.

use std::sync::OnceLock;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{MemberAttr, Struct};

use crate::error::{Doing, Error};

/// Where the kernel describes its types.
pub(crate) const BTF: &str = "/sys/kernel/btf/vmlinux";

/// The callback of tcp_congestion_ops for a transmission after idle time, in kernels that have a separate
/// one.
pub(crate) const AFTER_IDLE: &str = "cwnd_event_tx_start";

/// What the running kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// Registrations of struct_ops are links, which end with the last process that holds them (since Linux
    /// 6.4). Without links they stay until they are deleted, and a killed program leaves its own behind.
    pub has_links: bool,
    /// The first transmission after idle time has a callback of its own ([`AFTER_IDLE`], since Linux 7.1).
    pub tells_after_idle: bool,
}

impl Kernel {
    /// Looks at the running kernel.
    ///
    /// # Errors
    /// Fails if the kernel does not describe its types.
    pub fn running() -> Result<Kernel, Error> {
        static RUNNING: OnceLock<Kernel> = OnceLock::new();
        if let Some(kernel) = RUNNING.get() {
            return Ok(*kernel);
        }
        let btf = Btf::from_vmlinux().doing(|| format!("reading {BTF}"))?;
        Ok(*RUNNING.get_or_init(|| Kernel::described(&btf)))
    }

    fn described(btf: &Btf) -> Kernel {
        Kernel {
            has_links: btf.type_by_name::<Struct>("bpf_struct_ops_link").is_some(),
            tells_after_idle: offset(btf, "tcp_congestion_ops", AFTER_IDLE).is_some(),
        }
    }
}

/// The offset of a member in a struct, bytes; None if it has no member of that name.
pub(crate) fn offset(btf: &Btf, structure: &str, member: &str) -> Option<usize> {
    let structure = btf.type_by_name::<Struct>(structure)?;
    let found = structure.iter().find(|it| it.name.is_some_and(|name| name == member))?;
    match found.attr {
        MemberAttr::Normal { offset } => Some(offset as usize / 8),
        MemberAttr::BitField { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn members_are_found_in_the_running_kernel() {
        if !Path::new(BTF).exists() {
            return; // and requirements() refuses
        }
        let btf = Btf::from_vmlinux().unwrap();
        assert!(offset(&btf, "tcp_congestion_ops", "cwnd_event").is_some());
        assert_eq!(offset(&btf, "tcp_congestion_ops", "cwnd"), None);
        assert_eq!(Kernel::running().unwrap(), Kernel::described(&btf));
    }
}
