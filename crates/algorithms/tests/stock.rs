//! What the kernel brings, played natively: beside what its modules did.

mod common;

use std::collections::VecDeque;

use common::{MSS, avoiding_with, idle, loss, round_trip};
use kirikae_algorithms::drive::{Beginning, Connection, Operation, SSTHRESH_INFINITE};
use kirikae_algorithms::{Algorithm, CaState};

fn cubic(hystart: u32) -> Algorithm {
    Algorithm::stock("cubic").unwrap().with("hystart", hystart).unwrap()
}

/// A path with a round trip of 100 ms and a queue that never drops: what the module was made to send
/// over by crates/guest/src/conformance/trial.rs.
struct Path {
    connection: Connection,
    segment_us: u64,
    per_ack: usize,
    /// When each segment in flight was sent, and when its ACK is there.
    flight: VecDeque<(u64, u64)>,
}

impl Path {
    fn begin(algorithm: Algorithm, mbps: u64, per_ack: usize, cwnd: u32) -> Path {
        let ssthresh = SSTHRESH_INFINITE;
        let beginning = Beginning { algorithm, mss: MSS, cwnd, ssthresh, clamp: u32::MAX };
        let connection = Connection::begin(&beginning).unwrap();
        let (segment_us, flight) = (12_000 / mbps, VecDeque::new());
        let mut path = Path { connection, segment_us, per_ack, flight };
        path.send();
        path
    }

    fn send(&mut self) {
        let now = self.connection.socket.fields.tcp_mstamp;
        while self.flight.len() < self.connection.in_flight() as usize {
            let before = self.flight.back().map_or(0, |(_, back)| *back);
            let back = (now + 100_000).max(before) + self.segment_us;
            self.flight.push_back((now, back));
        }
    }

    /// Until all that is in flight now is ACKed. The window then.
    fn round(&mut self) -> u32 {
        let mut left = self.flight.len();
        while left > 0 {
            let segments = left.min(self.per_ack);
            let (sent, back) = self.flight.drain(..segments).next_back().unwrap();
            left -= segments;
            let now = self.connection.socket.fields.tcp_mstamp;
            let ack = Operation::Ack {
                segments: segments as u32,
                sacked: 0,
                rtt_us: Some((back - sent) as u32),
                after_us: (back - now) as u32,
                limited: true,
            };
            self.connection.play(&ack).unwrap();
            self.send();
        }
        self.connection.cwnd()
    }

    /// A segment is lost, and repaired.
    fn lose(&mut self) {
        self.connection.play(&Operation::FastRetransmit).unwrap();
        while self.connection.state() != CaState::Open {
            self.round();
        }
    }
}

/// Windows of the module (Linux 6.12, HyStart off) at the end of each round trip after a loss, and
/// the window that was lost at. `kirikae-guest conformance --control cubic --json FILE`.
const AFTER_LOSSES: [&[u32]; 3] = [
    &[
        47, 50, 51, 52, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 66, 66, 67, 67, 67, 68,
        68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 69, 69, 70, 70,
        71, 71, 72, 72, 73, 73, 74, 75, 75, 76, 76, 77,
    ],
    &[
        53, 55, 57, 59, 61, 62, 63, 64, 65, 67, 68, 69, 70, 71, 72, 73, 73, 74, 74, 75, 75, 75, 76,
        76, 76, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77,
        77, 77, 78, 78, 79, 79, 80, 80,
    ],
    &[
        56, 58, 60, 62, 64, 65, 66, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 77, 78, 78, 79, 79, 80,
        80, 80, 80, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81, 81,
        81, 81, 81, 82, 82,
    ],
];

/// The same with HyStart on (`--hystart`), until the first loss; over 50 and 10 Mb/s.
const STARTS: [(u64, &[u32]); 2] = [
    (50, &[10, 20, 40, 80, 160, 320, 537, 564, 592, 622, 653, 686]),
    (
        10,
        &[
            10, 20, 40, 80, 124, 131, 137, 144, 151, 159, 167, 175, 184, 193, 203, 213, 223, 235,
            246, 259, 272, 285, 300, 315,
        ],
    ),
];

/// Windows at the end of each round trip, as many as the module was seen to have.
fn windows(path: &mut Path, module: &[u32]) -> Vec<u32> {
    let begin = path.connection.cwnd();
    let rounds = module[1..].iter().map(|_| path.round());
    std::iter::once(begin).chain(rounds).collect()
}

fn furthest_apart(module: &[u32], ours: &[u32]) -> u32 {
    module.iter().zip(ours).map(|(module, ours)| module.abs_diff(*ours)).max().unwrap()
}

/// Where within the round trip the segment was lost is not known: the window may be one less.
#[test]
fn cubic_returns_as_the_module_does() {
    let mut path = Path::begin(cubic(0), 50, 2, 68);
    for module in AFTER_LOSSES {
        path.lose();
        let ours = windows(&mut path, module);
        assert!(furthest_apart(module, &ours) <= 1, "{module:?}\n{ours:?}");
    }
}

#[test]
fn hystart_ends_slow_start_where_the_module_does() {
    for (mbps, module) in STARTS {
        let ours = windows(&mut Path::begin(cubic(3), mbps, 1, 10), module);
        assert!(furthest_apart(module, &ours) <= 2, "{module:?}\n{ours:?}");
    }
}

/// ACKs of every other segment come too far apart at 10 Mb/s for a train; the queue tells as well.
#[test]
fn hystart_looks_at_what_it_is_told_to() {
    let after_slow_start = |hystart, per_ack| {
        let mut path = Path::begin(cubic(hystart), 10, per_ack, 10);
        for _ in 0..6 {
            path.round();
        }
        path.connection.socket.fields.snd_ssthresh
    };
    let (train, delay) = (1, 2);
    assert_eq!(after_slow_start(0, 1), SSTHRESH_INFINITE);
    assert_eq!(after_slow_start(train, 2), SSTHRESH_INFINITE);
    assert!(after_slow_start(train, 1) < 130);
    assert!(after_slow_start(delay, 2) < 400);
}

/// Nothing of a minute after the latest transmission is part of the epoch.
#[test]
fn cubic_does_not_count_idle_time() {
    let grown = |gap_us| {
        let mut socket = avoiding_with(cubic(3), 100_000, 1000);
        loss(&mut socket);
        round_trip(&mut socket);
        idle(&mut socket, gap_us);
        socket.fields.snd_cwnd = 717;
        (0..3).for_each(|_| round_trip(&mut socket));
        socket.fields.snd_cwnd - 717
    };
    assert_eq!(grown(60_000_000), grown(1000));
}

#[test]
fn the_kernels_own_cut_the_window_after_idle_time() {
    for name in ["cubic", "reno"] {
        let algorithm = Algorithm::stock(name).unwrap();
        assert_eq!(algorithm.name(), name);
        let mut socket = avoiding_with(algorithm, 100_000, 60);
        (0..5).for_each(|_| round_trip(&mut socket));
        idle(&mut socket, 2_000_000);
        assert_eq!((socket.fields.snd_cwnd, socket.pacing()), (10, None), "{name}");
    }
    assert!(Algorithm::stock("bbr").unwrap().controls_alone());
    assert_eq!(Algorithm::stock("kk_cubic"), None);
    assert!(Algorithm::all().all(|ours| ours.name().starts_with("kk_")));
}
