//! The processors that guests have: this host's, and another one's, for which `scripts/cross` builds.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cache;

/// An architecture, by Debian's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Architecture {
    Amd64,
    Arm64,
}

/// The architecture of this program.
pub const HERE: Architecture =
    if cfg!(target_arch = "aarch64") { Architecture::Arm64 } else { Architecture::Amd64 };

/// What qemu emulates.
pub struct Machine {
    pub qemu: &'static str,
    /// Debian's package of it.
    pub package: &'static str,
    /// Options of qemu; the processor has no instruction for random numbers.
    pub options: &'static [&'static str],
    /// Parameters of the kernel: its console, and others that the machine needs.
    pub parameters: &'static str,
    /// A second serial line, which qemu connects to its own output.
    pub results: &'static str,
    /// What makes that line.
    pub results_options: &'static [&'static str],
}

impl Architecture {
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Amd64 => "amd64",
            Architecture::Arm64 => "arm64",
        }
    }

    pub fn machine(self) -> Machine {
        match self {
            Architecture::Amd64 => Machine {
                qemu: "qemu-system-x86_64",
                package: "qemu-system-x86",
                options: &["-machine", "pc,accel=tcg", "-cpu", "max,rdrand=off,rdseed=off"],
                parameters: "console=ttyS0 mitigations=off tsc=reliable",
                results: "/dev/ttyS1",
                results_options: &["-serial", "stdio"],
            },
            Architecture::Arm64 => Machine {
                qemu: "qemu-system-aarch64",
                package: "qemu-system-arm",
                options: &["-machine", "virt,accel=tcg", "-cpu", "cortex-a72"],
                parameters: "console=ttyAMA0 mitigations=off",
                results: "/dev/ttyS0",
                results_options: &[
                    "-chardev",
                    "stdio,id=results",
                    "-device",
                    "pci-serial,chardev=results",
                ],
            },
        }
    }

    /// The directory in which cargo puts the programs for it.
    pub fn programs(self) -> PathBuf {
        if self == HERE {
            return "target/release".into();
        }
        let target = match self {
            Architecture::Amd64 => "x86_64-unknown-linux-gnu",
            Architecture::Arm64 => "aarch64-unknown-linux-gnu",
        };
        Path::new("target").join(format!("cross-{}", self.name())).join(target).join("release")
    }

    /// The root directory below which its libraries are.
    ///
    /// # Errors
    /// Fails if `scripts/cross` has not made it yet.
    pub fn root(self) -> anyhow::Result<PathBuf> {
        if self == HERE {
            return Ok("/".into());
        }
        let root = cache::directory()?.join(format!("cross-{}", self.name()));
        root.exists().then_some(root).with_context(|| {
            format!(
                "nothing is built for {0} here: `make deb ARCH={0}` does it (and needs root)",
                self.name()
            )
        })
    }
}
