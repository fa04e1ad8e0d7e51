//! Switches as the kernel reports them: `struct switch_event` of `bpf/interface/switch_event.h`.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use kirikae_interface::{
    REASON_OUTAGE, REASON_PREDICTED_LATENCY, REASON_WARM_START, address, name_from_bytes,
    rate_bit_s, stream_share, switch_event,
};
use kirikae_vocabulary::{KnownPath, Reason, Switch};
use zerocopy::FromBytes;

const PPB: f64 = 1e9;
const US: f64 = 1e6;

/// The reason that has this number in the kernel.
pub(crate) fn reason_from_number(number: u32) -> Option<Reason> {
    match number {
        REASON_PREDICTED_LATENCY => Some(Reason::PredictedLatency),
        REASON_WARM_START => Some(Reason::WarmStart),
        REASON_OUTAGE => Some(Reason::Outage),
        _ => None,
    }
}

/// Decodes a `struct switch_event`. `names` gives the columns of a scope's table, by the generation of its
/// policy and the number of the scope. Returns None if the bytes are no such event, as with a program of
/// another version in the kernel.
pub fn decode(bytes: &[u8], names: impl FnOnce(u32, u32) -> Option<Vec<String>>) -> Option<Switch> {
    let (event, _) = switch_event::ref_from_prefix(bytes).ok()?;
    let reason = reason_from_number(event.reason)?;
    let mut predicted_s = names(event.generation, event.scope)?
        .into_iter()
        .zip(event.predicted_us.by_column)
        .filter(|(_, us)| *us > 0)
        .map(|(name, us)| (name, f64::from(us) / US))
        .collect::<Vec<_>>();
    predicted_s.sort_by(|a, b| a.1.total_cmp(&b.1));
    Some(Switch {
        at_ns: event.at_ns,
        local: socket_address(event.ends.local, event.ends.local_port),
        remote: socket_address(event.ends.remote, event.ends.remote_port),
        namespace: event.namespace,
        from: name_from_bytes(&event.from),
        to: name_from_bytes(&event.to),
        reason,
        observed: event.is_observed != 0,
        rtt_s: f64::from(event.measured.rtt_us) / US,
        rate_bit_s: rate_bit_s(event.measured.rate),
        burst_bytes: (event.measured.burst > 0).then_some(event.measured.burst),
        stream_share: stream_share(event.measured.share),
        isolated_loss: f64::from(event.isolated_ppb) / PPB,
        burst_loss: f64::from(event.burst_ppb) / PPB,
        predicted_s,
        known: (reason == Reason::WarmStart).then(|| KnownPath::from(&event.start)),
    })
}

/// The address and port. An IPv4 address is given as ::ffff:a.b.c.d.
pub(crate) fn socket_address(address: address, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V6(Ipv6Addr::from(address)).to_canonical(), port)
}
