//! Checks what the host must have.

use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Func, Struct};

use crate::error::{Doing, Error};
use crate::kernel::BTF;
use crate::libbpf;

/// How the kernel describes a congestion control that is a BPF program.
pub(crate) const STRUCT_OPS: &str = "bpf_struct_ops_tcp_congestion_ops";
const JIT: &str = "/proc/sys/net/core/bpf_jit_enable";
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
const STATUS: &str = "/proc/self/status";
/// Bit of capability sets (capability.h). It is CAP_BPF and CAP_PERFMON as well.
pub(crate) const CAP_SYS_ADMIN: u32 = 21;

/// Checks that live switching can run here.
///
/// # Errors
/// Fails if something is missing; the message names it and says what to do.
pub fn requirements() -> Result<(), Error> {
    algorithm_requirements()?;
    cgroup_root().map(drop)
}

/// Checks that the algorithms can be registered, without the switcher.
///
/// # Errors
/// Fails if something is missing; the message names it and says what to do.
pub fn algorithm_requirements() -> Result<(), Error> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::Missing(
            "this needs root, to load BPF programs and attach them: run it with sudo".into(),
        ));
    }
    may_load_bpf(&fs::read_to_string(STATUS).doing(|| format!("reading {STATUS}"))?)?;
    // If one of these files cannot be read, loading a program fails with the reason.
    is_not_locked_down(&fs::read_to_string(LOCKDOWN).unwrap_or_default())?;
    compiles_bpf(&fs::read_to_string(JIT).unwrap_or_default())?;
    describes_itself(Path::new(BTF))?;
    // Everything that calls libbpf calls this function first.
    libbpf::listen();
    let btf = Btf::from_vmlinux().doing(|| format!("reading {BTF}"))?;
    if btf.type_by_name::<Struct>(STRUCT_OPS).is_none() {
        return Err(Error::Missing(format!(
            "Linux {} takes no congestion controls that are BPF programs (it was built without \
             CONFIG_BPF_JIT or CONFIG_BPF_SYSCALL, or before 5.6). Install a distribution kernel \
             (all of Debian 12's do)",
            kernel_release()?
        )));
    }
    Ok(())
}

/// Whether the kernel lets BPF programs destroy connections, as `bpf/switcher/programs/stranded.bpf.c` does.
pub fn can_destroy() -> bool {
    Btf::from_vmlinux().is_ok_and(|btf| has_destroy(&btf))
}

pub(crate) fn has_destroy(btf: &Btf) -> bool {
    btf.type_by_name::<Func>("bpf_sock_destroy").is_some()
}

fn may_load_bpf(status: &str) -> Result<(), Error> {
    if effective_capabilities(status).unwrap_or_default() >> CAP_SYS_ADMIN & 1 == 1 {
        return Ok(());
    }
    Err(Error::Missing(
        "this needs CAP_SYS_ADMIN, to load BPF programs and attach them, and root has it not here: \
         run it on the host, or give the container the capability (--cap-add SYS_ADMIN)"
            .into(),
    ))
}

pub(crate) fn effective_capabilities(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

/// Refuses a kernel that is locked down. The text is like `none integrity [confidentiality]`, with the
/// present state in brackets.
fn is_not_locked_down(lockdown: &str) -> Result<(), Error> {
    if !lockdown.contains("[confidentiality]") {
        return Ok(());
    }
    Err(Error::Missing(
        "the kernel is locked down to confidentiality, under which no BPF program may look at it: \
         boot with lockdown=integrity, or without"
            .into(),
    ))
}

fn compiles_bpf(jit: &str) -> Result<(), Error> {
    if jit.trim() != "0" {
        return Ok(());
    }
    Err(Error::Missing(
        "the kernel's compiler for BPF is off, which congestion controls need: \
         `sysctl net.core.bpf_jit_enable=1`"
            .into(),
    ))
}

fn describes_itself(btf: &Path) -> Result<(), Error> {
    if btf.exists() {
        return Ok(());
    }
    Err(Error::Missing(format!(
        "{} is not there: this kernel was built without CONFIG_DEBUG_INFO_BTF, which BPF programs \
         that fit any kernel need. Install a distribution kernel that has it (all of Debian 12's \
         have)",
        btf.display()
    )))
}

/// Release of the running kernel, for instance `6.12.9-amd64`.
///
/// # Errors
/// Fails if /proc cannot be read.
pub fn kernel_release() -> Result<String, Error> {
    let path = "/proc/sys/kernel/osrelease";
    Ok(fs::read_to_string(path).doing(|| format!("reading {path}"))?.trim_end().to_owned())
}

/// Root of the cgroup v2 hierarchy, from the mount table.
///
/// # Errors
/// Fails if /proc cannot be read, or if no such hierarchy is mounted.
pub fn cgroup_root() -> Result<PathBuf, Error> {
    let path = "/proc/self/mounts";
    let mounts = fs::read_to_string(path).doing(|| format!("reading {path}"))?;
    cgroup2_mount(&mounts).ok_or_else(|| {
        Error::Missing(
            "no cgroup v2 hierarchy is mounted: mount one with `mount -t cgroup2 none \
             /sys/fs/cgroup` (systemd does so from version 243 on)"
                .into(),
        )
    })
}

fn cgroup2_mount(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let target = fields.nth(1)?;
        (fields.next()? == "cgroup2").then(|| PathBuf::from(target))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(result: Result<(), Error>) -> String {
        match result {
            Err(Error::Missing(what)) => what,
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn a_kernel_without_btf_is_refused() {
        let what = refusal(describes_itself(Path::new("/nonexistent/vmlinux")));
        assert!(what.contains("CONFIG_DEBUG_INFO_BTF") && what.contains("Install"), "{what}");
    }

    #[test]
    fn a_container_without_the_capability_is_refused() {
        may_load_bpf("Name:\tx\nCapEff:\t0000000000201000\n").unwrap();
        for status in ["Name:\tx\nCapEff:\t00000000a80425fb\n", ""] {
            let what = refusal(may_load_bpf(status));
            assert!(what.contains("CAP_SYS_ADMIN") && what.contains("--cap-add"), "{what}");
        }
    }

    #[test]
    fn effective_capabilities_are_read_from_the_status_of_a_process() {
        let status = "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0000000000201000\n";
        assert_eq!(effective_capabilities(status), Some(1 << CAP_SYS_ADMIN | 1 << 12));
        assert_eq!(effective_capabilities("Name:\tx\n"), None);
    }

    #[test]
    fn what_no_program_may_look_at_is_refused() {
        is_not_locked_down("none [integrity] confidentiality\n").unwrap();
        is_not_locked_down("").unwrap();
        let what = refusal(is_not_locked_down("none integrity [confidentiality]\n"));
        assert!(what.contains("lockdown=integrity"), "{what}");
    }

    #[test]
    fn a_kernel_that_does_not_compile_bpf_is_refused() {
        for jit in ["1\n", "2\n", ""] {
            compiles_bpf(jit).unwrap();
        }
        assert!(refusal(compiles_bpf("0\n")).contains("bpf_jit_enable=1"));
    }

    #[test]
    fn cgroup2_is_found_beside_version_1() {
        let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(cgroup2_mount(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(cgroup2_mount("proc /proc proc rw 0 0\n"), None);
    }
}
