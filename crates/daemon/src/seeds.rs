//! What the kernel's own metrics tell of paths, for those of which no agent has told.

use std::io;
use std::time::Duration;

use kirikae_agent::{KnownPath, network_of, own_namespace};
use kirikae_doctor::{TcpMetrics, tcp_metrics};

/// Payload of a segment over Ethernet, with timestamps, bytes: the kernel counts its windows in segments.
const SEGMENT_BYTES: u32 = 1448;
/// Windows that are no larger tell nothing: a connection begins with that (RFC 6928).
const INITIAL_WINDOW: u32 = 10;

/// The paths of this network namespace that the kernel has metrics of, none older than this.
///
/// # Errors
/// Fails if the kernel does not answer. One that keeps no metrics has none.
pub(crate) fn seeds(lifetime: Duration) -> io::Result<Vec<KnownPath>> {
    let metrics = match tcp_metrics() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        metrics => metrics?,
    };
    let namespace = own_namespace()?;
    let tell = |it: &TcpMetrics| it.cwnd > INITIAL_WINDOW && it.rtt_us > 0 && it.age <= lifetime;
    Ok(metrics.iter().filter(|it| tell(it)).filter_map(|it| seed(it, namespace)).collect())
}

/// No rate is known, but a window that was ACKed within a round trip. None: nothing is kept of the path there.
fn seed(metrics: &TcpMetrics, namespace: u32) -> Option<KnownPath> {
    let round_bytes = metrics.cwnd.saturating_mul(SEGMENT_BYTES);
    Some(KnownPath {
        remote: network_of(metrics.to)?,
        namespace,
        interface: metrics.interface,
        age_s: metrics.age.as_secs().try_into().unwrap_or(u32::MAX),
        rtt_us: metrics.rtt_us,
        usual_rtt_us: metrics.rtt_us,
        round_bytes,
        delivered_kib: round_bytes >> 10,
        ..KnownPath::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_what_a_round_trip_carried() {
        let metrics = TcpMetrics {
            to: "2001:db8::7".parse().unwrap(),
            interface: 3,
            age: Duration::from_millis(61_500),
            rtt_us: 25_000,
            cwnd: 84,
        };
        let path = seed(&metrics, 9).unwrap();
        assert_eq!(path.remote, "2001:db8::/64".parse().unwrap());
        assert_eq!((path.namespace, path.interface, path.age_s), (9, 3, 61));
        assert_eq!((path.rtt_us, path.usual_rtt_us, path.rate_bit_s), (25_000, 25_000, None));
        assert_eq!((path.round_bytes, path.delivered_kib), (84 * 1448, 118));
        assert_eq!(path.carried_bytes(), 84 * 1448);
        let to = "2002:c000:207::1".parse().unwrap();
        assert_eq!(seed(&TcpMetrics { to, ..metrics }, 9), None, "it may be anywhere");
    }
}
