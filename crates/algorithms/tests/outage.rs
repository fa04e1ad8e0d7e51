//! What the switcher holds for true of a path after an outage, `bpf/switcher/core/new_path.h`.

use kirikae_algorithms::{Algorithm, CaEvent, Socket, Switch, Switcher};
use kirikae_interface::{CONNECTION_CHOICE_DUE, policy, scope};

const MSS: u32 = 1448;

/// A connection of RTT 100 ms on which one segment in ten was lost, under the shipped table, while this
/// algorithm was in use.
fn lossy(algorithm: &str) -> (Switcher, Socket) {
    let table = kirikae_table::shipped().kernel_table();
    let candidates: Vec<Algorithm> = Algorithm::all().collect();
    let policy = policy::one(scope::usual());
    let mut switcher = Switcher::new(policy, vec![table.into()], &candidates).unwrap();
    let mut socket = Socket::new(Algorithm::stock("cubic").unwrap(), MSS);
    socket.fields.tcp_mstamp = 1_000_000;
    switcher.met(&mut socket);
    for number in 0..20 {
        socket.fields.bytes_retrans += u64::from(MSS);
        switcher.retransmitted(&mut socket, number * 20 * MSS, 1);
        round_trip(&mut switcher, &mut socket, 100_000);
    }
    socket.switch_to(Algorithm::named(algorithm).unwrap());
    let connection = socket.connection.as_mut().unwrap();
    let name = kirikae_interface::name_to_bytes(algorithm).map(|byte| byte as i8);
    (connection.current, connection.chosen) = (name, name);
    (switcher, socket)
}

/// A round trip in which ten segments were sent ends with an RTT sample.
fn round_trip(switcher: &mut Switcher, socket: &mut Socket, rtt_us: u32) -> Option<Switch> {
    let fields = &mut socket.fields;
    fields.tcp_mstamp += u64::from(rtt_us);
    fields.data_segs_out += 10;
    fields.srtt_us = rtt_us << 3;
    fields.rtt_min.s[0].v = rtt_us;
    switcher.rtt_sample(socket, rtt_us)
}

fn outage(switcher: &mut Switcher, socket: &mut Socket, timeouts: u32) {
    for earlier in 0..timeouts {
        socket.fields.tcp_mstamp += 1_000_000;
        switcher.timed_out(socket, earlier);
    }
}

/// The rate of isolated losses that is remembered, and what the switcher does, after this many timeouts
/// in a row and eight round trips.
fn after(algorithm: &str, timeouts: u32, rtt_us: u32) -> (u32, Vec<&'static str>) {
    let (mut switcher, mut socket) = lossy(algorithm);
    outage(&mut switcher, &mut socket, timeouts);
    let switches = (0..8).filter_map(|_| round_trip(&mut switcher, &mut socket, rtt_us));
    let switches = switches.map(|switch| switch.to.name()).collect();
    (socket.connection.as_ref().unwrap().estimator.isolated_ppb, switches)
}

#[test]
fn other_round_trips_are_those_of_another_path() {
    for (timeouts, rtt_us, is_remembered) in [
        (2, 100_000, true),
        (2, 125_000, true),
        (2, 140_000, false),
        (2, 60_000, false),
        (9, 300_000, false),
        (1, 300_000, true),
    ] {
        let (isolated_ppb, _) = after("kk_hybla", timeouts, rtt_us);
        assert_eq!(isolated_ppb > 0, is_remembered, "{timeouts} timeouts, {rtt_us} us");
    }
}

/// The receiver may echo an old timestamp at first.
#[test]
fn a_sample_as_long_as_the_outage_is_no_other_path() {
    let (mut switcher, mut socket) = lossy("kk_hybla");
    outage(&mut switcher, &mut socket, 4);
    for rtt_us in [[4_000_000; 5].as_slice(), &[100_000; 3]].concat() {
        round_trip(&mut switcher, &mut socket, rtt_us);
    }
    assert!(socket.connection.as_ref().unwrap().estimator.isolated_ppb > 0);
}

/// What bbr has learned of the old path would go on for ten seconds.
#[test]
fn another_path_ends_bbr() {
    for (algorithm, rtt_us, expected) in [
        ("kk_bbr", 300_000, vec!["kk_cubic"]),
        ("kk_bbr3", 300_000, vec!["kk_cubic"]),
        ("kk_bbr", 100_000, vec![]),
        ("kk_hybla", 300_000, vec![]),
    ] {
        assert_eq!(after(algorithm, 2, rtt_us).1, expected, "{algorithm} at {rtt_us} us");
    }
}

#[test]
fn there_is_no_choice_until_slow_start_has_told_a_rate() {
    let (mut switcher, mut socket) = lossy("kk_hybla");
    outage(&mut switcher, &mut socket, 2);
    let still_due = (0..10).map(|_| {
        round_trip(&mut switcher, &mut socket, 300_000);
        socket.connection.as_ref().unwrap().flags & CONNECTION_CHOICE_DUE != 0
    });
    let still_due: Vec<bool> = still_due.collect();
    assert_eq!(still_due, [[true; 8].as_slice(), &[false; 2]].concat());
}

/// A path that has just come back may go again. A timer that was too short goes off while ACKs come.
#[test]
fn a_timeout_in_silence_renews_the_doubt() {
    for (silent_us, expected) in [(50_000, 4), (50_001, 8)] {
        let (mut switcher, mut socket) = lossy("kk_hybla");
        outage(&mut switcher, &mut socket, 2);
        for _ in 0..4 {
            round_trip(&mut switcher, &mut socket, 100_000);
        }
        socket.fields.delivered_mstamp = socket.fields.tcp_mstamp;
        socket.fields.tcp_mstamp += silent_us;
        switcher.timed_out(&mut socket, 0);
        let rounds = socket.connection.as_ref().unwrap().outage.rounds;
        assert_eq!(rounds, expected, "{silent_us} us");
    }
    // Nothing was in doubt.
    let (mut switcher, mut socket) = lossy("kk_hybla");
    outage(&mut switcher, &mut socket, 1);
    assert_eq!(socket.connection.as_ref().unwrap().outage.rounds, 0);
}

/// A socket that is connected anew has had no outage yet.
#[test]
fn a_socket_that_is_connected_anew_is_in_no_doubt() {
    let (mut switcher, mut socket) = lossy("kk_hybla");
    outage(&mut switcher, &mut socket, 2);
    switcher.met(&mut socket);
    let outage = socket.connection.as_ref().unwrap().outage;
    assert_eq!((outage.rtt_us, outage.rounds), (0, 0));
}

/// What a program writes once a second waits during an outage of four seconds; nothing of it is bulk, and the
/// latency of this burst is no news of the algorithm. What is written since the path is known counts.
#[test]
fn what_waited_for_the_path_is_no_transfer_that_goes_on() {
    const BURST: u32 = 65_536;
    let (mut switcher, mut socket) = lossy("kk_hybla");
    socket.fields.app_limited = 1;
    let write = |socket: &mut Socket| socket.fields.write_seq += BURST;
    let all_acked = |socket: &mut Socket| {
        let fields = &mut socket.fields;
        fields.bytes_acked += u64::from(fields.write_seq - fields.snd_una);
        (fields.snd_una, fields.snd_nxt) = (fields.write_seq, fields.write_seq);
        fields.delivered_mstamp = fields.tcp_mstamp;
    };
    for _ in 0..2 {
        socket.cwnd_event(CaEvent::TxStart);
        write(&mut socket);
        round_trip(&mut switcher, &mut socket, 100_000);
        all_acked(&mut socket);
    }
    socket.cwnd_event(CaEvent::TxStart);
    let counted = |socket: &Socket| socket.connection.as_ref().unwrap().bursts.counted;
    let counted_before = counted(&socket);
    write(&mut socket);
    for earlier in 0..4 {
        socket.fields.tcp_mstamp += 1_000_000;
        switcher.timed_out(&mut socket, earlier);
        write(&mut socket);
    }
    assert_eq!(socket.burst(), 5 * BURST, "nothing is known yet");
    for _ in 0..8 {
        round_trip(&mut switcher, &mut socket, 100_000);
    }
    assert_eq!(socket.burst(), BURST);
    (0..3).for_each(|_| write(&mut socket));
    assert_eq!(socket.burst(), 4 * BURST, "the one that was cut off, and three since");
    all_acked(&mut socket);
    socket.cwnd_event(CaEvent::TxStart);
    assert_eq!((socket.burst(), counted(&socket)), (BURST, counted_before));
}
