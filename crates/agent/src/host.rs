//! Checks what the host must have.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Func, Struct};
use nix::sys::statfs::{SYSFS_MAGIC, statfs};

use crate::error::{Doing, Error};
use crate::kernel::BTF;
use crate::libbpf;

/// How the kernel describes a congestion control that is a BPF program.
pub(crate) const STRUCT_OPS: &str = "bpf_struct_ops_tcp_congestion_ops";
const JIT: &str = "/proc/sys/net/core/bpf_jit_enable";
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
const STATUS: &str = "/proc/self/status";
const USER_NAMESPACE: &str = "/proc/self/ns/user";
/// The inode of the user namespace that a kernel begins with (PROC_USER_INIT_INO).
const FIRST_USER_NAMESPACE: u64 = 0xEFFF_FFFD;
const SYS: &str = "/sys";
/// The inode of the root of all cgroups: the kernel numbers them from 1.
const FIRST_CGROUP: u64 = 1;
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
    is_of_the_host(inode(Path::new(USER_NAMESPACE)))?;
    may_load_bpf(&fs::read_to_string(STATUS).doing(|| format!("reading {STATUS}"))?)?;
    // If one of these files cannot be read, loading a program fails with the reason.
    is_not_locked_down(&fs::read_to_string(LOCKDOWN).unwrap_or_default())?;
    compiles_bpf(&fs::read_to_string(JIT).unwrap_or_default())?;
    describes_itself(Path::new(SYS), Path::new(BTF))?;
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

/// Refuses a user namespace. Where /proc does not tell, loading a program fails with the reason.
fn is_of_the_host(user_namespace: Option<u64>) -> Result<(), Error> {
    if user_namespace.is_none_or(|inode| inode == FIRST_USER_NAMESPACE) {
        return Ok(());
    }
    Err(Error::Missing(
        "this is a user namespace, as in a rootless container: its root may not load BPF programs. Run it as \
         the root of the host"
            .into(),
    ))
}

fn inode(file: &Path) -> Option<u64> {
    fs::metadata(file).ok().map(|found| found.ino())
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

fn describes_itself(sys: &Path, btf: &Path) -> Result<(), Error> {
    if btf.exists() {
        return Ok(());
    }
    if !statfs(sys).is_ok_and(|found| found.filesystem_type() == SYSFS_MAGIC) {
        return Err(Error::Missing(format!(
            "{btf} is not there, because {sys} is not mounted, as in some containers, and the kernel describes \
             itself there: `mount -t sysfs none {sys}`",
            btf = btf.display(),
            sys = sys.display()
        )));
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
    let path = "/proc/self/mountinfo";
    let mounts = fs::read_to_string(path).doing(|| format!("reading {path}"))?;
    cgroup2_mount(&mounts).ok_or_else(|| {
        Error::Missing(
            "no cgroup v2 hierarchy is mounted: mount one with `mount -t cgroup2 none \
             /sys/fs/cgroup` (systemd does so from version 243 on)"
                .into(),
        )
    })
}

/// Which part of the host's connections there are below this mount of the cgroup v2 hierarchy, in words; None if
/// all of them are.
pub fn confinement(cgroup_root: &Path) -> Option<String> {
    inode(cgroup_root).filter(|&inode| inode != FIRST_CGROUP).map(|_| {
        format!(
            "{} is not the root of this host's cgroups, as in a container: only connections of processes below \
             it are switched, not those of the whole host",
            cgroup_root.display()
        )
    })
}

/// Where the hierarchy is mounted: the whole of it, where there is such a mount, and not a part.
fn cgroup2_mount(mounts: &str) -> Option<PathBuf> {
    let mounts = mounts.lines().filter_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, target) = (fields.next()?, fields.next()?);
        (file_system.split(' ').next()? == "cgroup2").then_some((root, target))
    });
    let (_, target) = mounts.min_by_key(|(root, _)| *root != "/")?;
    Some(unescape(target))
}

/// Spaces and the like are three octal digits there (proc_pid_mountinfo(5)).
fn unescape(name: &str) -> PathBuf {
    let mut parts = name.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.extend(byte);
        bytes.extend(part.as_bytes().iter().skip(3 * usize::from(byte.is_some())));
    }
    OsString::from_vec(bytes).into()
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
        let what = refusal(describes_itself(Path::new(SYS), Path::new("/nonexistent/vmlinux")));
        assert!(what.contains("CONFIG_DEBUG_INFO_BTF") && what.contains("Install"), "{what}");
    }

    #[test]
    fn without_sys_the_kernel_is_not_blamed() {
        for sys in ["/proc", "/nonexistent"] {
            let what = refusal(describes_itself(Path::new(sys), Path::new("/nonexistent/vmlinux")));
            assert!(what.contains("mount -t sysfs") && !what.contains("CONFIG"), "{what}");
        }
    }

    #[test]
    fn a_user_namespace_is_refused() {
        is_of_the_host(None).unwrap();
        is_of_the_host(Some(FIRST_USER_NAMESPACE)).unwrap();
        assert!(refusal(is_of_the_host(Some(4_026_532_200))).contains("user namespace"));
    }

    #[test]
    fn a_part_of_the_hierarchy_is_no_whole_host() {
        let told = confinement(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(told.contains("not the root") && told.contains("container"), "{told}");
        assert_eq!(confinement(Path::new("/nonexistent")), None);
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
        let mounts = "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      32 30 0:28 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n";
        assert_eq!(cgroup2_mount(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(cgroup2_mount("22 1 0:21 / /proc rw shared:5 - proc proc rw\n"), None);
        assert_eq!(cgroup2_mount("cgroup2\n - cgroup2\n1 - cgroup2 none rw\n"), None);
    }

    #[test]
    fn the_whole_hierarchy_is_preferred_and_its_name_is_read() {
        let mounts = "40 30 0:28 /part /srv/part rw - cgroup2 none rw\n\
                      41 30 0:28 / /srv/all\\040of\\011it\\134 rw - cgroup2 none rw\n";
        assert_eq!(cgroup2_mount(mounts), Some(PathBuf::from("/srv/all of\tit\\")));
        let (part, _) = mounts.split_once('\n').unwrap();
        assert_eq!(cgroup2_mount(part), Some(PathBuf::from("/srv/part")));
    }
}
