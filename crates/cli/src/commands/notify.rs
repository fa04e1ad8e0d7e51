//! Tells systemd that a service has started (sd_notify(3)).

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Says that the service is ready. Does nothing if nobody asked to be told.
///
/// # Errors
/// Fails if the socket of whoever asked cannot be written to.
pub fn ready() -> io::Result<()> {
    tell("READY=1")
}

/// Says in how many scopes switching hurts, so that they are only observed: `systemctl status` shows it.
///
/// # Errors
/// Fails as [`ready`] does.
pub fn status(suspended: usize) -> io::Result<()> {
    tell(&match suspended {
        0 => "STATUS=".to_owned(),
        _ => format!(
            "STATUS=switching hurts in {suspended} scopes, which are only observed; see kirikae status"
        ),
    })
}

fn tell(message: &str) -> io::Result<()> {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(&socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asked_is_told() {
        // set_var cannot be used, since other threads could read the environment meanwhile: the test runs
        // itself in a child.
        if std::env::var_os("NOTIFY_SOCKET").is_some() {
            return ready().unwrap();
        }
        let name = format!("@kirikae-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name.as_bytes()[1..]).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "commands::notify::tests::whoever_asked_is_told"])
            .env("NOTIFY_SOCKET", &name)
            .status();
        assert!(child.unwrap().success());
        let mut message = [0; 16];
        let bytes = socket.recv(&mut message).unwrap();
        assert_eq!(&message[..bytes], b"READY=1");
    }
}
