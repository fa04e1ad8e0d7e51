//! The guest's first process: mounts, loads modules, does its task, says how it went, reboots.

use std::fs::{self, File, OpenOptions};
use std::process::ExitCode;

use anyhow::Context;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::unistd::dup2_stdout;

use crate::architecture::HERE;

/// Where the initramfs has the modules.
pub const MODULES: &str = "/modules";
/// The last line of a guest that is done.
pub const DONE: &str = "guest: done";
/// How the last line of a guest that failed begins.
pub const FAILED: &str = "guest: failed: ";

/// Does the task as a guest's first process; it returns only elsewhere, with an error.
pub fn run(task: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(std::process::id() == 1, "only for the first process of a guest");
    match prepare().and_then(|()| task()) {
        Ok(()) => println!("{DONE}"),
        Err(error) => println!("{FAILED}{}", format!("{error:#}").replace('\n', "; ")),
    }
    match reboot(RebootMode::RB_AUTOBOOT)? {}
}

fn prepare() -> anyhow::Result<()> {
    for (kind, place) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("bpf", "/sys/fs/bpf"),
        ("cgroup2", "/sys/fs/cgroup"),
    ] {
        mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>)
            .with_context(|| format!("mounting {place}"))?;
    }
    // The console is the kernel's.
    let place = HERE.machine().results;
    let results =
        OpenOptions::new().write(true).open(place).with_context(|| format!("opening {place}"))?;
    dup2_stdout(results)?;

    let mut modules = fs::read_dir(MODULES)?
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    modules.sort();
    for module in modules {
        finit_module(File::open(&module)?, c"", ModuleInitFlags::empty())
            .with_context(|| format!("loading {}", module.display()))?;
    }
    Ok(())
}
