//! What the tests of emulated paths and networks share.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use kirikae_checks::{Need, can_run};
use kirikae_path::{ElementSpec, Span};

/// Whether a test can run here.
pub fn privileged() -> bool {
    can_run(&[Need::Root, Need::Tun])
}

pub fn delay(millis: u64) -> ElementSpec {
    ElementSpec::Delay { delay: Span::from_millis(millis) }
}

/// Waits for a datagram, and returns its sender. It tries again and again, since Linux does not resume a call
/// with a time-out after the process was stopped and continued.
pub fn receive(socket: &UdpSocket, into: &mut [u8]) -> SocketAddr {
    loop {
        match socket.recv_from(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other.unwrap().1,
        }
    }
}

/// Measures round trips until six have taken little more than `least`, and returns how many were needed; none
/// may take less. The number tells how busy the machine is, and whether this process was stopped. With a
/// wrong delay, or over another route, none would be in time.
pub fn round_trips(least: Duration, mut round_trip: impl FnMut(u8) -> Duration) -> u64 {
    const LITTLE: Duration = Duration::from_millis(15);
    let (mut quick, mut sent) = (0, 0);
    while quick < 6 {
        assert!(sent < 100, "{quick} of {sent} took less than {:?}", least + LITTLE);
        let took = round_trip(sent);
        assert!(took >= least, "{took:?}");
        quick += u32::from(took < least + LITTLE);
        sent += 1;
    }
    sent.into()
}
