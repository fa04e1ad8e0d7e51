//! Network namespaces with one TUN device each. They are made with iproute2 and removed again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use nix::sched::{CloneFlags, setns};

use crate::{Error, owner_of, tun};

/// The directory in which iproute2 mounts named network namespaces.
const NETNS: &str = "/run/netns";

/// The TUN device's name in each namespace.
const DEVICE: &str = "kirikae0";

/// The largest IP packet of an emulated path, in bytes.
pub(crate) const MTU: u32 = 1500;

/// Packets that the device holds until the emulator reads them. It is more than any window on an emulated
/// path that keeps time, so that only the path's elements drop packets.
const DEVICE_QUEUE: u32 = 10_000;

/// A named network namespace of ours, removed when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    address: Ipv4Addr,
    removed: bool,
}

impl Namespace {
    /// Creates the namespace `name`, and in it the TUN device with this address, to which all other addresses
    /// of its /16 are routed. Returns the device's file, too.
    pub(crate) fn create(name: String, address: Ipv4Addr) -> Result<(Namespace, File), Error> {
        ip(&["netns", "add", &name], "")?;
        let namespace = Namespace { name, address, removed: false };
        let device = namespace.furnish()?;
        Ok((namespace, device))
    }

    fn furnish(&self) -> Result<File, Error> {
        let device = self.run_in(|| {
            // Router solicitations and MLD reports would take packet numbers at random times.
            if Path::new("/proc/sys/net/ipv6").exists() {
                write_sysctl("net.ipv6.conf.all.disable_ipv6", "1")?;
                write_sysctl("net.ipv6.conf.default.disable_ipv6", "1")?;
            }
            tun::create(DEVICE)
        })??;
        let commands = format!(
            "link set lo up\n\
             link set {DEVICE} mtu {MTU} txqueuelen {DEVICE_QUEUE} up\n\
             address add {}/16 dev {DEVICE}\n",
            self.address
        );
        ip(&["-n", &self.name, "-batch", "-"], &commands)?;
        Ok(device)
    }

    /// The name, as in `ip netns exec NAME`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file to give to setns(2) or nsenter --net.
    pub fn path(&self) -> PathBuf {
        Path::new(NETNS).join(&self.name)
    }

    /// The address of its end of the network.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Runs the closure on a thread of its own inside the namespace: sockets it opens belong there,
    /// and keep belonging there when they leave the closure. A panic inside is passed on.
    ///
    /// # Errors
    /// Fails if the namespace cannot be entered.
    pub fn run_in<T: Send>(&self, closure: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let enter = || {
            let file = File::open(self.path())?;
            Ok(setns(file, CloneFlags::CLONE_NEWNET)?)
        };
        let inside = || {
            enter().map_err(|error: io::Error| {
                Error::failed(format!("entering the network namespace {}", self.name), error)
            })?;
            Ok(closure())
        };
        thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Sets a sysctl of the namespace, e.g. `net.ipv4.tcp_slow_start_after_idle` to `0`.
    ///
    /// # Errors
    /// Fails if there is no such sysctl or if it refuses the value.
    pub fn set_sysctl(&self, key: &str, value: &str) -> Result<(), Error> {
        self.run_in(|| write_sysctl(key, value))?
    }

    /// Packets that the device's own queue dropped because the emulator did not read in time.
    pub(crate) fn device_drops(&self) -> Result<u64, Error> {
        // /proc/net would show the main thread's namespace, not this thread's.
        let table = self
            .run_in(|| fs::read_to_string("/proc/thread-self/net/dev"))?
            .map_err(|error| Error::failed("reading the device's counters", error))?;
        // There are eight columns of received packets, and then of sent ones: bytes, packets, errors,
        // dropped.
        let dropped = table
            .lines()
            .find_map(|line| line.trim().strip_prefix(DEVICE)?.strip_prefix(':'))
            .and_then(|counters| counters.split_whitespace().nth(8 + 3)?.parse().ok());
        dropped.ok_or_else(|| {
            Error::failed(
                format!("reading the counters of {DEVICE} in {}", self.name),
                io::Error::from(io::ErrorKind::NotFound),
            )
        })
    }

    /// Removes the namespace; it returns an error, which dropping cannot.
    pub(crate) fn remove(mut self) -> Result<(), Error> {
        self.removed = true;
        remove(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if !self.removed {
            // There is nobody to report an error to; the next start's remove_stale finds what is left.
            let _ = remove(&self.name);
        }
    }
}

/// Removes the network namespaces that processes of ours left behind when they were killed, and
/// returns their names. Names that are not ours and those of living processes are left alone.
///
/// # Errors
/// Fails if a namespace cannot be removed.
pub fn remove_stale() -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(NETNS) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::failed(format!("listing {NETNS}"), error)),
    };
    let mut stale: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| owner_of(name).is_some_and(|owner| !owner.is_alive()))
        .collect();
    stale.sort();
    for name in &stale {
        // Two processes that start at once may both find it; the second one then finds it gone.
        if let Err(error) = remove(name)
            && Path::new(NETNS).join(name).exists()
        {
            return Err(error);
        }
    }
    Ok(stale)
}

fn remove(name: &str) -> Result<(), Error> {
    ip(&["netns", "delete", name], "")
}

/// Writes a sysctl of the calling thread's network namespace.
fn write_sysctl(key: &str, value: &str) -> Result<(), Error> {
    let file = format!("/proc/sys/{}", key.replace('.', "/"));
    fs::write(file, value).map_err(|error| Error::failed(format!("setting {key} = {value}"), error))
}

/// Runs iproute2 with these arguments, giving it `input` to read.
fn ip(arguments: &[&str], input: &str) -> Result<(), Error> {
    let output = run_ip(arguments, input).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Missing(
            "the command `ip` is missing: install iproute2 (apt-get install iproute2), \
             or add /usr/sbin to PATH"
                .into(),
        ),
        _ => Error::failed("running ip", error),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let says = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if says.contains("Operation not permitted") || says.contains("Permission denied") {
        return Err(Error::Missing(format!(
            "no permission to make network namespaces ({says}): run as root, in a container with \
             --privileged"
        )));
    }
    Err(Error::failed(format!("ip {}", arguments.join(" ")), io::Error::other(says)))
}

fn run_ip(arguments: &[&str], input: &str) -> io::Result<Output> {
    let mut child = Command::new("ip")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    child.wait_with_output()
}
