//! Bursts: what the switcher takes what the application writes for.

use kirikae_algorithms::{Algorithm, CaEvent, Socket, Switcher};
use kirikae_interface::{policy, scope};

const MSS: u32 = 1448;
/// Room in the send buffer, bytes.
const BUFFER: u32 = 1 << 20;
const BULK: u32 = u32::MAX;

/// A connection that a switcher measures, near the end of its sequence numbers.
fn measured() -> Socket {
    let mut socket = Socket::new(Algorithm::named("kk_reno").unwrap(), MSS);
    let fields = &mut socket.fields;
    (fields.snd_una, fields.snd_nxt, fields.write_seq) =
        (u32::MAX - 99, u32::MAX - 99, u32::MAX - 99);
    fields.tcp_mstamp = 1_000_000;
    // What is written here is written when nothing waits to be sent.
    fields.app_limited = 1;
    Switcher::measuring(policy::one(scope::usual())).met(&mut socket);
    socket
}

/// The application writes so much, which is sent and ACKed at a gigabyte a second.
fn burst(socket: &mut Socket, bytes: u64) {
    socket.fields.write_seq = socket.fields.snd_nxt.wrapping_add(bytes.min(BUFFER.into()) as u32);
    socket.cwnd_event(CaEvent::TxStart);
    let mut left = bytes;
    while left > 0 {
        let acked = left.min(BUFFER.into()) as u32;
        left -= u64::from(acked);
        let fields = &mut socket.fields;
        fields.tcp_mstamp += u64::from(acked) / 1000 + 1;
        fields.delivered_mstamp = fields.tcp_mstamp;
        fields.bytes_acked += u64::from(acked);
        fields.snd_una = fields.snd_una.wrapping_add(acked);
        fields.snd_nxt = fields.snd_una;
        fields.write_seq = fields.snd_nxt.wrapping_add(left.min(BUFFER.into()) as u32);
    }
}

/// The size and latency of the burst that was over latest, once the next one begins.
fn latest(socket: &mut Socket) -> (u32, u32) {
    socket.cwnd_event(CaEvent::TxStart);
    let bursts = &socket.connection.as_ref().unwrap().bursts;
    (bursts.latest_bytes, bursts.latest_us)
}

#[test]
fn the_present_burst_counts_where_it_is_larger_than_those_before() {
    let mut socket = measured();
    burst(&mut socket, 65_536);
    burst(&mut socket, 65_536);
    socket.fields.write_seq = socket.fields.snd_nxt.wrapping_add(1000);
    socket.cwnd_event(CaEvent::TxStart);
    assert_eq!(socket.burst(), 65_536);
    socket.fields.write_seq = socket.fields.snd_nxt.wrapping_add(200_000);
    assert_eq!(socket.burst(), 200_000);
}

/// Sequence numbers wrap; a burst that has grown over 4 GiB is as large as can be told.
#[test]
fn bulk_stays_bulk_however_long_it_goes_on() {
    for (gigabytes, wanted) in [(1, 1 << 30), (3, 3 << 30), (4, BULK), (5, BULK), (9, BULK)] {
        let mut bulk = measured();
        burst(&mut bulk, gigabytes << 30);
        assert_eq!(bulk.burst(), wanted, "{gigabytes} GiB");
        assert_eq!(latest(&mut bulk).0, wanted, "{gigabytes} GiB");
    }
    // After it the next burst counts for a quarter, as after any.
    let mut socket = measured();
    burst(&mut socket, 65_536);
    burst(&mut socket, 8 << 30);
    burst(&mut socket, 65_536);
    latest(&mut socket);
    let before = 65_536 - 65_536 / 4 + BULK / 4;
    assert_eq!(socket.burst(), before - before / 4 + 65_536 / 4);
}

/// ... and so is its rate: 9 GiB at a gigabyte a second.
#[test]
fn the_rate_of_bulk_is_known() {
    let mut socket = measured();
    socket.fields.rtt_min.s[0].v = 10_000;
    burst(&mut socket, 9 << 30);
    latest(&mut socket);
    let rate = socket.connection.as_ref().unwrap().bursts.rate;
    assert!((990_000..1_010_000).contains(&rate), "{rate} bytes per millisecond");
}

/// However much it wrote before it fell idle.
#[test]
fn a_stream_says_nothing_of_the_size_of_bursts() {
    let mut socket = measured();
    burst(&mut socket, 65_536);
    burst(&mut socket, 10 << 20);
    socket.connection.as_mut().unwrap().bursts.is_stream = 1;
    assert_eq!(latest(&mut socket).0, 10 << 20);
    assert_eq!(socket.burst(), 65_536);
}

/// One ACK was of a whole window, and more of the burst waited for it.
#[test]
fn what_waited_for_the_window_is_no_burst_of_its_own() {
    let mut socket = measured();
    burst(&mut socket, 65_536);
    socket.fields.app_limited = 0;
    socket.cwnd_event(CaEvent::TxStart);
    burst(&mut socket, 10_000);
    socket.fields.app_limited = 1;
    assert_eq!(latest(&mut socket).0, 75_536);
}
