//! A guest: a kernel under qemu whose first process is this program, and what it prints.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::architecture::HERE;
use crate::init::{DONE, FAILED, MODULES};
use crate::initramfs::{Initramfs, below};
use crate::kernel::Kernel;

/// What is to run where.
pub struct Guest<'a> {
    pub kernel: &'a Kernel,
    /// Modules to load, as [`Kernel::module`] names them; those the kernel does not have are left
    /// out.
    pub modules: &'a [String],
    /// Programs of the guest's architecture, and where the guest has them.
    pub programs: &'a [(PathBuf, PathBuf)],
    /// Other files.
    pub files: &'a [(PathBuf, Vec<u8>)],
    /// The arguments of this program in the guest; words without white space.
    pub arguments: &'a [String],
    /// When the guest is killed.
    pub timeout: Duration,
}

/// The guest's time advances with its instructions, one nanosecond each, and jumps to the next
/// timer where it has nothing to do: seconds of waiting for packets cost nothing, and how busy the
/// host is changes nothing. With no other clock and little that is random, runs are much the same.
const TIME: [&str; 4] = ["-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01,clock=vm"];

impl Guest<'_> {
    /// Boots the guest and hands each line that it prints to `on_line`; returns when it is done.
    pub fn run(&self, on_line: &mut dyn FnMut(&str) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let work = tempfile::tempdir()?;
        let initramfs = work.path().join("initramfs");
        let console = work.path().join("console");
        fs::write(&initramfs, self.initramfs()?)?;
        let mut qemu = Qemu(self.boot(&initramfs, &console)?);
        let deadline = Instant::now() + self.timeout;
        let said = qemu.follow(deadline, on_line);
        said.with_context(|| {
            let console = fs::read(&console).unwrap_or_default();
            let ended_with = last_words(&String::from_utf8_lossy(&console));
            format!("guest with Linux {}; its console: {ended_with}", self.kernel.release())
        })
    }

    fn initramfs(&self) -> anyhow::Result<Vec<u8>> {
        let mut initramfs = Initramfs::default();
        for directory in [MODULES, "/proc", "/sys", "/dev", "/run", "/var"] {
            initramfs.directory(Path::new(directory));
        }
        initramfs.link(Path::new("/var/run"), "/run");
        let architecture = self.kernel.architecture();
        let root = architecture.root()?;
        let this = match architecture {
            HERE => std::env::current_exe()?,
            other => other.programs().join("kirikae-guest"),
        };
        initramfs.program(Path::new("/init"), &this, &root)?;
        initramfs.program(Path::new("/usr/sbin/ip"), &find_ip(&root)?, &root)?;
        for (path, program) in self.programs {
            initramfs.program(path, program, &root)?;
        }
        for (path, content) in self.files {
            initramfs.file(path, content);
        }
        for (n, path) in (0..).zip(self.modules) {
            if let Some(module) = self.kernel.module(path)? {
                // Numbered, because they are loaded in the order of their names.
                let name = Path::new(path).file_name().expect("a module's name").display();
                initramfs.file(&Path::new(MODULES).join(format!("{n:03}-{name}")), &module);
            }
        }
        Ok(initramfs.finish())
    }

    fn boot(&self, initramfs: &Path, console: &Path) -> anyhow::Result<Child> {
        // A panic reboots, and a reboot ends qemu. What is no parameter of the kernel becomes the
        // first process's environment and, after --, its arguments.
        let machine = self.kernel.architecture().machine();
        let command_line = format!(
            "{} quiet panic=-1 PATH=/usr/sbin -- {}",
            machine.parameters,
            self.arguments.join(" ")
        );
        Command::new(machine.qemu)
            .args(machine.options)
            .args(["-m", "1024"])
            .args(TIME)
            .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
            .arg("-kernel")
            .arg(self.kernel.image())
            .arg("-initrd")
            .arg(initramfs)
            .args(["-append", &command_line])
            .arg("-serial")
            .arg(format!("file:{}", console.display()))
            .args(machine.results_options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // It warns that nothing moves the clock while the guest waits for its first timer.
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| {
                format!("starting {} (Debian: apt-get install {})", machine.qemu, machine.package)
            })
    }
}

/// The end of a console's output, without the stack of a panic.
fn last_words(console: &str) -> String {
    let lines: Vec<_> = console.lines().take_while(|line| !line.contains("Call Trace")).collect();
    lines[lines.len().saturating_sub(10)..].join("\n")
}

fn find_ip(root: &Path) -> anyhow::Result<PathBuf> {
    let places = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"];
    let ip = places.map(|place| below(root, Path::new(place))).into_iter().find(|ip| ip.exists());
    ip.context("the command `ip` is missing: install iproute2")
}

/// A running qemu; killed when dropped.
struct Qemu(Child);

impl Qemu {
    fn follow(
        &mut self,
        deadline: Instant,
        on_line: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let stdout = self.0.stdout.take().expect("qemu's output is a pipe");
        let (line, lines) = mpsc::channel();
        // Ends with qemu's output; nobody listens any more only after an error.
        thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|l| line.send(l))
        });
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => match line.trim_end() {
                    DONE => return Ok(()),
                    line => match line.strip_prefix(FAILED) {
                        Some(why) => bail!("{why}"),
                        None => on_line(line)?,
                    },
                },
                Err(RecvTimeoutError::Timeout) => bail!("not done in time"),
                Err(RecvTimeoutError::Disconnected) => bail!("ended before it was done"),
            }
        }
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Fails where it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
