//! Whatever a query may say: it is refused, or selects some of what there is, at most as many as allowed.

use std::sync::LazyLock;

use kirikae_agent::{Connection, KnownPath};
use kirikae_daemon::status::Connections;
use kirikae_daemon::{PathSelection, Selection};
use serde_json::{Value, json};

/// How many connections there are, and how many are told of at most.
const THERE_ARE: u16 = 40;
const MOST: usize = 20;

static ALL: LazyLock<Connections> = LazyLock::new(|| {
    let connections: Vec<Connection> = (0..THERE_ARE).map(connection).collect();
    Connections { now_ns: 1, matching: connections.len(), connections, also: None }
});

fn connection(number: u16) -> Connection {
    let number = u32::from(number);
    let value = json!({
        "local": format!("192.0.2.1:{}", 1 + number % 3),
        "remote": format!("[2001:db8::{number:x}]:{}", 50_000 + number),
        "namespace": 7, "scope": (!number.is_multiple_of(4)).then_some("Web"),
        "treatment": "switched", "algorithm": if number < 9 { "kk_cubic" } else { "bbr" },
        "original": "cubic", "chosen": "kk_cubic", "switches": number, "latest_switch": Value::Null,
        "rtt_s": 0.1, "srtt_s": number, "cwnd": 1000 - number, "ssthresh": 0, "mss": 1448,
        "pacing_rate_bit_s": Value::Null, "isolated_loss": 0.01, "burst_loss": 0.0,
        "rate_bit_s": Value::Null, "burst_bytes": Value::Null, "burst_latency_s": Value::Null,
        "stream": Value::Null, "predicted_s": Value::Null, "predicted_original_s": Value::Null,
        "bytes_sent": number, "bytes_retransmitted": 0,
    });
    serde_json::from_value(value).expect("the fields of a connection")
}

pub(crate) fn play(bytes: &[u8]) {
    let Ok(query) = std::str::from_utf8(bytes) else { return };
    match Selection::parse(query) {
        Ok(selection) => {
            let told = selection.of(&ALL, MOST);
            assert!(told.connections.len() <= MOST.min(told.matching));
            assert!(told.matching <= THERE_ARE.into());
            let json = serde_json::to_vec(&told).expect("it has a form in JSON");
            let read: Connections = serde_json::from_slice(&json).expect("and is read from it");
            assert_eq!(read, told);
        }
        Err(refusal) => assert!(!refusal.is_empty()),
    }
    match PathSelection::parse(query) {
        Ok(selection) => drop(selection.filter().has(&KnownPath::default())),
        Err(refusal) => assert!(!refusal.is_empty()),
    }
}
