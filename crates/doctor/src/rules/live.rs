//! Rules about what connections to the destination show.

use super::Case;
use crate::connection::Busy;
use crate::units::{percent, rate, size, time};
use crate::{Connection, Finding, Limit, Verdict};

/// How many connections are shown, the busiest first.
const SHOWN: usize = 5;
/// Share of the time from which on a wait is reported.
const OFTEN: f64 = 0.1;
/// Largest window field (RFC 9293, section 3.1).
const WINDOW_FIELD: f64 = 65_535.0;

pub(super) fn findings(case: &Case) -> Vec<Finding> {
    case.connections.iter().take(SHOWN).flat_map(|it| of(case, it)).collect()
}

fn of(case: &Case, it: &Connection) -> Vec<Finding> {
    let mut findings = vec![round_trip(it), options(case, it)];
    findings.extend(it.busy.filter(|_| it.acknowledged > 0).map(|busy| waits(case, it, busy)));
    findings
}

fn name(it: &Connection) -> String {
    format!("port {} to {}", it.local.port(), it.peer)
}

/// The time that packets wait in queues on the way.
fn round_trip(it: &Connection) -> Finding {
    let waiting = (it.rtt_s - it.min_rtt_s).max(0.0);
    let measured = format!(
        "{}: RTT {}, at least {}; {}, window of {} segments of {} B",
        name(it),
        time(it.rtt_s),
        time(it.min_rtt_s),
        it.congestion_control.as_deref().unwrap_or("unknown congestion control"),
        it.cwnd,
        it.mss,
    );
    let carries = f64::from(it.cwnd) * f64::from(it.mss) * 8.0 / it.rtt_s;
    let delivered = it.delivery_rate.map(|(delivered, held_back)| {
        let why = if held_back { ", all there was to send" } else { "" };
        format!("; last delivered at {}{why}", rate(delivered))
    });
    let effect = format!(
        "the window now carries {}{}; {} of a round trip are waiting in queues",
        rate(carries),
        delivered.unwrap_or_default(),
        time(waiting),
    );
    let long = waiting > it.min_rtt_s && it.min_rtt_s > 0.0;
    let verdict = if long { Verdict::Note } else { Verdict::Fine };
    Finding::new("connection", verdict, measured, effect)
        .limit(Limit::Latency(waiting))
        .by("srtt - min RTT; cwnd * MSS / RTT")
        .change("tc qdisc replace dev INTERFACE root cake bandwidth RATE  # where the bottleneck is ours")
}

/// The TCP options that both ends have agreed on.
fn options(case: &Case, it: &Connection) -> Finding {
    const NAME: &str = "peer-window";
    let on = |on| if on { "" } else { "no " };
    let most =
        WINDOW_FIELD * f64::from(1u32 << it.window_scales.map_or(0, |[peer, _]| peer.min(14)));
    let now = it.peer_window.map(|bytes| format!(" (now {})", size(bytes.into())));
    let measured = format!(
        "{}: {}SACK, {}timestamps, windows of the peer up to {}{}",
        name(it),
        on(it.sack),
        on(it.timestamps),
        size(most),
        now.unwrap_or_default(),
    );
    let carries = case.by_window(most);
    let short = carries < case.path.rate.value;
    let verdict = if short { Verdict::Limits } else { Verdict::Fine };
    let effect = format!("at most {} at {}", rate(carries), time(case.path.rtt.value));
    Finding::new(NAME, verdict, measured, effect)
        .limit(Limit::Throughput(carries))
        .by("65535 * 2^scale / RTT (RFC 7323, 2.2)")
        .change("on the peer: window scaling on and a larger net.ipv4.tcp_rmem; ours is agreed on at the start")
}

fn waits(case: &Case, it: &Connection, Busy { time_s, peer_window, send_buffer }: Busy) -> Finding {
    let measured = format!("{}: {} with something to send", name(it), time(time_s));
    let effect = format!(
        "{} of it the peer's window was the limit, {} our send buffer, else the congestion window or the \
         path",
        percent(peer_window),
        percent(send_buffer),
    );
    let often = peer_window.max(send_buffer) > OFTEN;
    let verdict = if often { Verdict::Limits } else { Verdict::Fine };
    let finding = Finding::new("waited-for", verdict, measured, effect)
        .by("tcp_info: busy_time, rwnd_limited, sndbuf_limited");
    match peer_window > send_buffer {
        true => finding
            .change("on the peer: a larger net.ipv4.tcp_rmem, and a program that reads sooner"),
        false => finding.change(super::window::larger_send_buffer(case).unwrap_or_default()),
    }
}
