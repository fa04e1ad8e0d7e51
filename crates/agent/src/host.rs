//! What the host must have.

use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::btf::{Btf, types::Struct};

use crate::error::{Doing, Error};
use crate::libbpf;

/// Links of struct_ops, with which an algorithm leaves the kernel when the agent does, came then.
const LINKS_OF_STRUCT_OPS: (u32, u32) = (6, 4);
/// The oldest kernel on which the algorithms were seen to load and carry traffic.
const ALGORITHMS: (u32, u32) = (6, 1);
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Refuses, naming what is missing and what to do, where live switching cannot run.
pub fn requirements() -> Result<(), Error> {
    can_load_bpf()?;
    at_least(
        &kernel_release()?,
        LINKS_OF_STRUCT_OPS,
        "links of struct_ops, which take an algorithm out of the kernel when the agent ends,",
    )?;
    cgroup_root().map(drop)
}

/// The same for the algorithms alone, without the switcher.
pub fn algorithm_requirements() -> Result<(), Error> {
    can_load_bpf()?;
    at_least(&kernel_release()?, ALGORITHMS, "the algorithms, which set the pacing rate,")
}

pub(crate) fn has_links_of_struct_ops() -> Result<bool, Error> {
    Ok(version(&kernel_release()?) >= Some(LINKS_OF_STRUCT_OPS))
}

fn can_load_bpf() -> Result<(), Error> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::Missing(
            "this needs root, to load BPF programs and attach them: run it with sudo".into(),
        ));
    }
    describes_itself(Path::new(BTF))?;
    // Everything that calls libbpf asks this first.
    libbpf::listen();
    if has_member("tcp_congestion_ops", "cwnd_event_tx_start")? {
        return Err(Error::Missing(format!(
            "Linux {} is too new: from 7.1 on it tells an algorithm of the first transmission \
             after idle in another way (cwnd_event_tx_start), which ours do not listen to yet. \
             Boot a kernel before 7.1",
            kernel_release()?
        )));
    }
    Ok(())
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

fn at_least(release: &str, oldest: (u32, u32), what_for: &str) -> Result<(), Error> {
    if version(release) >= Some(oldest) {
        return Ok(());
    }
    let (major, minor) = oldest;
    Err(Error::Missing(format!(
        "Linux {release} is too old: {what_for} need {major}.{minor} or later. Install a newer \
         kernel (Debian: linux-image-amd64 from backports)"
    )))
}

/// Whether a struct of the running kernel has a member of this name.
fn has_member(structure: &str, member: &str) -> Result<bool, Error> {
    let btf = Btf::from_vmlinux().doing(|| format!("reading {BTF}"))?;
    let Some(structure) = btf.type_by_name::<Struct>(structure) else { return Ok(false) };
    Ok(structure.iter().any(|m| m.name.is_some_and(|name| name == member)))
}

/// Release of the running kernel, for instance `6.12.9-amd64`.
pub fn kernel_release() -> Result<String, Error> {
    let path = "/proc/sys/kernel/osrelease";
    Ok(fs::read_to_string(path).doing(|| format!("reading {path}"))?.trim_end().to_owned())
}

/// Root of the cgroup v2 hierarchy, from the mount table.
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

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_gives_major_and_minor() {
        assert_eq!(version("6.12.9-amd64"), Some((6, 12)));
        assert_eq!(version("6.1.0-28-amd64"), Some((6, 1)));
        assert_eq!(version("unknown"), None);
        assert!(version("6.12.9-amd64") > Some(LINKS_OF_STRUCT_OPS));
        assert!(version("7.0.1") > Some(LINKS_OF_STRUCT_OPS));
    }

    fn refusal(result: Result<(), Error>) -> String {
        match result {
            Err(Error::Missing(what)) => what,
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn an_old_kernel_is_refused() {
        at_least("6.4.0", (6, 4), "links").unwrap();
        let what = refusal(at_least("6.1.0-28-amd64", (6, 4), "links"));
        assert!(what.contains("6.1.0-28-amd64") && what.contains("6.4 or later"), "{what}");
        assert!(what.contains("Install"), "says what to do: {what}");
    }

    #[test]
    fn a_kernel_without_btf_is_refused() {
        let what = refusal(describes_itself(Path::new("/nonexistent/vmlinux")));
        assert!(what.contains("CONFIG_DEBUG_INFO_BTF") && what.contains("Install"), "{what}");
    }

    #[test]
    fn members_are_found_in_the_running_kernel() {
        if !Path::new(BTF).exists() {
            return; // and requirements() refuses
        }
        assert!(has_member("tcp_congestion_ops", "cwnd_event").unwrap());
        assert!(!has_member("tcp_congestion_ops", "cwnd").unwrap());
    }

    #[test]
    fn cgroup2_is_found_beside_version_1() {
        let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(cgroup2_mount(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(cgroup2_mount("proc /proc proc rw 0 0\n"), None);
    }
}
