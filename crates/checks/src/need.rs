//! What a check may need of the host.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Something that a check may need of the host. Its name is what `KIRIKAE_REQUIRE` calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The user is root.
    Root,
    /// The kernel takes BPF programs as the agent loads them.
    Bpf,
    /// There are TUN devices, of which the emulator makes its paths.
    Tun,
    /// The kernel has an algorithm called bbr of its own.
    Bbr,
    /// The kernel lets the agent take in connections that are open already (Linux 6.12).
    Adoption,
    /// No agent runs on the host.
    Alone,
    /// A headless browser, which looks at the agent's page.
    Chromium,
    /// Node.js with its package manager, which build the page.
    Npm,
    /// Python with what makes environments of its own, for the Python package.
    Python,
    /// An emulator of whole machines, for other kernels.
    Qemu,
    /// A Debian with systemd can be made and booted beside the host's, for the package.
    Debian,
    /// The programs whose traffic `cargo bench --bench programs` measures.
    Programs,
    /// The recordings of radio links, which cannot be distributed.
    Recordings,
}

impl Need {
    /// Everything that there is.
    pub const ALL: [Need; 13] = [
        Need::Root,
        Need::Bpf,
        Need::Tun,
        Need::Bbr,
        Need::Adoption,
        Need::Alone,
        Need::Chromium,
        Need::Npm,
        Need::Python,
        Need::Qemu,
        Need::Debian,
        Need::Programs,
        Need::Recordings,
    ];

    /// The name by which `KIRIKAE_REQUIRE` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Need::Root => "root",
            Need::Bpf => "bpf",
            Need::Tun => "tun",
            Need::Bbr => "bbr",
            Need::Adoption => "adoption",
            Need::Alone => "alone",
            Need::Chromium => "chromium",
            Need::Npm => "npm",
            Need::Python => "python",
            Need::Qemu => "qemu",
            Need::Debian => "debian",
            Need::Programs => "programs",
            Need::Recordings => "recordings",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Need> {
        Need::ALL.into_iter().find(|need| need.name() == name)
    }

    /// Why the host lacks it and what to do, as far as that is known at a glance. What only a check itself
    /// finds out (most of `bpf`; all of `bbr`, `adoption`, `alone` and `recordings`) is not said here.
    pub fn missing(self) -> Option<&'static str> {
        let (is_there, otherwise) = match self {
            Need::Root => (is_root(), "the user is not root: run it with sudo"),
            Need::Bpf => (
                Path::new("/sys/kernel/btf/vmlinux").exists(),
                "the kernel does not describe its types: boot one with CONFIG_DEBUG_INFO_BTF",
            ),
            Need::Tun => (
                File::open("/dev/net/tun").is_ok(),
                "/dev/net/tun cannot be opened: load the module tun, as root",
            ),
            Need::Chromium => (starts("chromium"), "there is no chromium (Debian: chromium)"),
            Need::Npm => (starts("npm"), "there is no npm (Debian: npm; Node.js 18 or later)"),
            Need::Python => (
                makes_environments(),
                "there is no python3 of 3.11 or later with venv (Debian: python3-venv)",
            ),
            Need::Qemu => (
                starts("qemu-system-x86_64"),
                "there is no qemu-system-x86_64 (Debian: qemu-system-x86)",
            ),
            Need::Debian => (
                is_root() && is_in_path("mmdebstrap") && has_cgroup2(),
                "the user is not root, there is no mmdebstrap (Debian: mmdebstrap), or no cgroup v2",
            ),
            Need::Programs => (
                ["nginx", "curl", "Xvnc"].into_iter().all(is_in_path),
                "nginx, curl or Xvnc is missing (Debian: nginx, curl, tigervnc-standalone-server)",
            ),
            Need::Bbr | Need::Adoption | Need::Alone | Need::Recordings => return None,
        };
        (!is_there).then_some(otherwise)
    }
}

/// The effective user is who owns a process's own directory.
fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|it| it.uid() == 0)
}

/// Whether the hierarchy of cgroup v2 is mounted, alone or beside those of v1.
fn has_cgroup2() -> bool {
    fs::read_to_string("/proc/self/mounts")
        .is_ok_and(|mounts| mounts.lines().any(|mount| mount.split(' ').nth(2) == Some("cgroup2")))
}

/// Whether there is a python3 as the package needs it, with pip for its environments.
fn makes_environments() -> bool {
    const ASKED: &str = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";
    succeeds(Command::new("python3").args(["-c", ASKED]))
}

/// Whether it runs and tells its version.
fn starts(program: &str) -> bool {
    succeeds(Command::new(program).arg("--version"))
}

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}
