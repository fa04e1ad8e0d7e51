//! Tells systemd that a service has started (sd_notify(3)).

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// How long systemd may take to make room for a message.
const WITHIN: Duration = Duration::from_secs(1);
const ALLOWED: &str = "allowed is an absolute path, or @ and a name";

/// Says that the service is ready. Does nothing if nobody asked to be told.
///
/// # Errors
/// Fails if the socket of whoever asked cannot be written to.
pub fn ready() -> io::Result<()> {
    tell("READY=1")
}

/// Says that the service still does its work. systemd ends and restarts one that has not said so for as long as
/// its unit allows (WatchdogSec=). Does nothing where there is no such bound.
///
/// # Errors
/// Fails as [`ready`] does.
pub fn alive() -> io::Result<()> {
    if std::env::var_os("WATCHDOG_USEC").is_none() {
        return Ok(());
    }
    tell("WATCHDOG=1")
}

/// Says in how many scopes switching hurts, so that they are only observed: `systemctl status` shows it.
///
/// # Errors
/// Fails as [`ready`] does.
pub fn status(suspended: usize) -> io::Result<()> {
    tell(&match suspended {
        0 => "STATUS=".to_owned(),
        _ => format!(
            "STATUS=switching hurts in {suspended} scopes or cgroups, which are only observed; see kirikae status"
        ),
    })
}

fn tell(message: &str) -> io::Result<()> {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        [b'/', ..] => SocketAddr::from_pathname(&socket)?,
        _ => return Err(io::Error::other(format!("NOTIFY_SOCKET is {socket:?}: {ALLOWED}"))),
    };
    let sender = UnixDatagram::unbound()?;
    // Nobody may have the agent wait by not reading.
    sender.set_write_timeout(Some(WITHIN))?;
    sender.send_to_addr(message.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a test of this module in a child that has this NOTIFY_SOCKET and WATCHDOG_USEC: set_var cannot be used, since other threads
    /// could read the environment meanwhile.
    fn in_child(test: &str, socket: &str, watchdog: Option<&str>) {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("commands::notify::tests::{test}")])
            .env("NOTIFY_SOCKET", socket)
            .env_remove("WATCHDOG_USEC")
            .envs(watchdog.map(|bound| ("WATCHDOG_USEC", bound)))
            .status();
        assert!(child.unwrap().success());
    }

    fn bind(purpose: &str) -> (UnixDatagram, String) {
        let name = format!("kirikae-{purpose}-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        (UnixDatagram::bind_addr(&address).unwrap(), format!("@{name}"))
    }

    #[test]
    fn whoever_asked_is_told() {
        if std::env::var_os("NOTIFY_SOCKET").is_some() {
            return ready().unwrap();
        }
        let (socket, name) = bind("notify");
        in_child("whoever_asked_is_told", &name, None);
        let mut message = [0; 16];
        let bytes = socket.recv(&mut message).unwrap();
        assert_eq!(&message[..bytes], b"READY=1");
    }

    #[test]
    fn who_bounds_the_silence_is_told_that_it_lives() {
        if std::env::var_os("NOTIFY_SOCKET").is_some() {
            return alive().unwrap();
        }
        let (socket, name) = bind("alive");
        socket.set_nonblocking(true).unwrap();
        let test = "who_bounds_the_silence_is_told_that_it_lives";
        let mut message = [0; 16];
        in_child(test, &name, None);
        assert_eq!(socket.recv(&mut message).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        in_child(test, &name, Some("30000000"));
        let bytes = socket.recv(&mut message).unwrap();
        assert_eq!(&message[..bytes], b"WATCHDOG=1");
    }

    #[test]
    fn who_does_not_read_keeps_nobody_waiting() {
        if std::env::var_os("NOTIFY_SOCKET").is_some() {
            // More than net.unix.max_dgram_qlen is anywhere.
            let full = (0..100_000).find_map(|_| ready().err());
            assert_eq!(full.unwrap().kind(), io::ErrorKind::WouldBlock);
            return;
        }
        let (_socket, name) = bind("full");
        in_child("who_does_not_read_keeps_nobody_waiting", &name, None);
    }

    #[test]
    fn a_wrong_socket_is_an_error() {
        if std::env::var_os("NOTIFY_SOCKET").is_some() {
            let error = ready().unwrap_err();
            assert!(!error.to_string().is_empty());
            return;
        }
        for wrong in ["", "vsock:2:1", "here", "/nonexistent", &"/long".repeat(100)] {
            in_child("a_wrong_socket_is_an_error", wrong, None);
        }
    }
}
