//! Examples of connections as an agent might tell them.

use std::net::SocketAddr;

use kirikae_agent::{Connection, Cost, LatestSwitch, Treatment};
use kirikae_daemon::status::{Connections, PolicyStatus, ScopeStatus, Status};
use kirikae_vocabulary::Reason;

use super::asking::Snapshot;

/// The time of the listing, CLOCK_MONOTONIC in nanoseconds.
pub const NOW_NS: u64 = 1_000_000_000_000;

pub fn connection(local: &str, remote: &str) -> Connection {
    let end = |text: &str| text.parse::<SocketAddr>().expect("an address and a port");
    Connection {
        local: end(local),
        remote: end(remote),
        namespace: 1,
        scope: Some("web".into()),
        treatment: Treatment::Switched,
        algorithm: "kk_cubic".into(),
        original: "cubic".into(),
        chosen: "kk_cubic".into(),
        switches: 1,
        latest_switch: Some(LatestSwitch {
            at_ns: NOW_NS - 12_000_000_000,
            reason: Reason::PredictedLatency,
        }),
        rtt_s: 0.0123,
        srtt_s: 0.0131,
        cwnd: 10,
        ssthresh: u32::MAX >> 1,
        mss: 1448,
        pacing_rate_bit_s: None,
        isolated_loss: 0.0012,
        burst_loss: 0.0,
        rate_bit_s: Some(48_000_000),
        burst_bytes: Some(64_000),
        burst_latency_s: Some(0.0312),
        stream: None,
        predicted_s: Some(0.03),
        predicted_original_s: Some(0.04),
        bytes_sent: 1_234_567,
        bytes_retransmitted: 1_448,
    }
}

/// One connection of each kind.
pub fn several() -> Vec<Connection> {
    let met = connection("192.0.2.1:443", "198.51.100.7:51234");
    vec![
        met.clone(),
        Connection {
            algorithm: "kk_westwood".into(),
            chosen: "kk_westwood".into(),
            switches: 12,
            latest_switch: met.latest_switch.map(|it| LatestSwitch { at_ns: NOW_NS, ..it }),
            rtt_s: 0.3004,
            isolated_loss: 0.034,
            burst_loss: 0.0051,
            ssthresh: 22,
            pacing_rate_bit_s: Some(3_100_000),
            predicted_s: Some(0.2),
            predicted_original_s: Some(1.9),
            ..connection("192.0.2.1:443", "203.0.113.255:65535")
        },
        Connection {
            algorithm: "bbr".into(),
            original: "bbr".into(),
            chosen: "bbr".into(),
            treatment: Treatment::HeldBack,
            switches: 0,
            latest_switch: None,
            rate_bit_s: None,
            burst_bytes: None,
            burst_latency_s: None,
            predicted_s: None,
            predicted_original_s: None,
            ..connection("192.0.2.1:22", "198.51.100.8:40000")
        },
        Connection {
            scope: Some("office, observed".into()),
            treatment: Treatment::Observed,
            algorithm: "cubic".into(),
            chosen: "kk_bbr3".into(),
            ..connection(
                "[2001:db8:1234:5678:9abc:def0:1234:5678]:44321",
                "[2001:db8:8765:4321:fedc:ba98:7654:3210]:443",
            )
        },
        Connection {
            scope: None,
            treatment: Treatment::OutOfScope,
            algorithm: "cubic".into(),
            chosen: "cubic".into(),
            rtt_s: 0.0,
            predicted_s: Some(0.05),
            ..connection("[::1]:80", "[::1]:50000")
        },
    ]
}

pub fn snapshot(connections: Vec<Connection>) -> Snapshot {
    let mut status = Status {
        version: "0.1.0".into(),
        up_s: 7384.0,
        policy: PolicyStatus {
            file: Some("/etc/kirikae/kirikae.toml".into()),
            generation: 3,
            scopes: vec![ScopeStatus {
                name: "web".into(),
                matches: "local port 443".into(),
                algorithms: vec!["kk_cubic".into()],
                settings: Vec::new(),
                guard: None,
            }],
        },
        warnings: Vec::new(),
        connections: connections.len(),
        by_algorithm: Default::default(),
        by_treatment: Default::default(),
        switches: [("predicted-latency".to_owned(), 1234)].into(),
        observed: 0,
        events_lost: 0,
        lines_lost: 0,
        page: None,
        asked_again: 0,
        unheard: 0,
        refused: Default::default(),
        revived: 0,
        stranded: 0,
        destroyed: 0,
        network: Default::default(),
        paths: Default::default(),
        bursts: Vec::new(),
        cost: Cost::default(),
    };
    for connection in &connections {
        *status.by_algorithm.entry(connection.algorithm.clone()).or_default() += 1;
    }
    Snapshot::new(status, answer(connections))
}

pub fn answer(connections: Vec<Connection>) -> Connections {
    Connections { now_ns: NOW_NS, matching: connections.len(), connections, also: None }
}
