//! New connections that begin with what the path memory knows, and what they tell it.

use kirikae_algorithms::{Algorithm, PathMemory, Socket, Switcher};
use kirikae_interface::{
    RESUME_NORMAL, RESUME_RECONNAISSANCE, SCOPE_CAREFUL, path_entry, path_key, policy, scope,
};

const MSS: u32 = 1448;
const NETWORK: u64 = 0xffff << 32 | 0x0a00_0001;
const RTT_US: u32 = 100_000;
const LIFETIME_S: u32 = 600;
/// The kernel's TCP_CLOSE.
const CLOSE: u32 = 7;

fn key() -> path_key {
    path_key { network: NETWORK, ..Default::default() }
}

/// A memory that knows a path of 100 segments.
fn knowing() -> PathMemory {
    let memory = PathMemory::new(8);
    memory.note(&path_entry {
        key: key(),
        written_s: 1,
        rtt_us: RTT_US,
        usual_rtt_us: RTT_US,
        rate: 100 * MSS / (RTT_US / 1000),
        delivered_kb: 10_000,
        ..Default::default()
    });
    memory
}

/// Whether a connection begins with the entry at this time.
fn is_used(memory: &PathMemory, now_s: u32) -> bool {
    memory.recall(&key(), now_s, LIFETIME_S).is_some_and(|known| known.is_used != 0)
}

/// All connections begin carefully.
fn careful() -> Box<policy> {
    policy::one(scope { flags: SCOPE_CAREFUL, path_lifetime_s: LIFETIME_S, ..scope::usual() })
}

/// A connection that came with an algorithm of the table, kk_cubic.
struct Opened {
    switcher: Switcher,
    socket: Socket,
}

impl Opened {
    /// Established at this time, in seconds.
    fn at(memory: &PathMemory, now_s: u32) -> Opened {
        Opened::of(memory, now_s, RTT_US)
    }

    /// The same with a handshake that took so long.
    fn of(memory: &PathMemory, now_s: u32, rtt_us: u32) -> Opened {
        Opened::by(Switcher::measuring(careful()), memory, now_s, rtt_us)
    }

    /// The same, met by this switcher.
    fn by(mut switcher: Switcher, memory: &PathMemory, now_s: u32, rtt_us: u32) -> Opened {
        switcher.set_path(memory.clone(), NETWORK);
        let mut socket = Socket::new(Algorithm::named("kk_cubic").unwrap(), MSS);
        socket.fields.srtt_us = rtt_us << 3;
        socket.fields.rtt_min.s[0].v = rtt_us;
        socket.fields.tcp_mstamp = u64::from(now_s) * 1_000_000;
        switcher.met(&mut socket);
        Opened { switcher, socket }
    }

    fn phase(&self) -> u32 {
        self.socket.connection.as_ref().unwrap().path.start.phase
    }

    /// The algorithm tells that the start is over.
    fn start_is_over(&mut self) {
        self.socket.connection.as_mut().unwrap().path.start.phase = RESUME_NORMAL;
        self.round_trip();
    }

    fn round_trip(&mut self) {
        self.switcher.rtt_sample(&mut self.socket, RTT_US);
    }

    fn is_resuming(&self) -> bool {
        self.socket.algorithm().name() == "kk_resume"
    }
}

#[test]
fn one_connection_at_a_time_begins_with_what_is_known() {
    let memory = knowing();
    let mut first = Opened::at(&memory, 10);
    assert_eq!((first.is_resuming(), first.phase()), (true, RESUME_RECONNAISSANCE));
    assert!(is_used(&memory, 10));
    assert!(!Opened::at(&memory, 11).is_resuming());
    first.start_is_over();
    assert!(!is_used(&memory, 11));
    assert!(Opened::at(&memory, 12).is_resuming());
}

#[test]
fn a_connection_that_ends_lets_others_begin() {
    let memory = knowing();
    let mut first = Opened::at(&memory, 10);
    first.switcher.state_changes(&mut first.socket, CLOSE);
    assert!(!is_used(&memory, 10));
}

/// The entry is another connection's by then.
#[test]
fn who_was_idle_for_a_minute_releases_nothing() {
    let memory = knowing();
    let mut first = Opened::at(&memory, 10);
    let second = Opened::at(&memory, 70);
    assert!(second.is_resuming());
    first.socket.fields.tcp_mstamp = 71_000_000;
    first.start_is_over();
    assert!(is_used(&memory, 71));
    assert!(!Opened::at(&memory, 71).is_resuming());
}

/// Another route, perhaps; the entry of a connection that begins with it is not taken away.
#[test]
fn another_round_trip_time_forgets_what_nobody_uses() {
    let memory = knowing();
    let first = Opened::at(&memory, 10);
    assert!(first.is_resuming());
    assert!(!Opened::of(&memory, 11, 20_000).is_resuming());
    assert!(is_used(&memory, 11));
    assert!(!Opened::of(&memory, 71, 20_000).is_resuming());
    assert!(memory.recall(&key(), 71, LIFETIME_S).is_none());
}

/// A server sets TCP_CONGESTION after accept().
#[test]
fn a_program_that_sets_its_own_algorithm_ends_the_start() {
    let memory = knowing();
    let mut first = Opened::at(&memory, 10);
    first.round_trip();
    assert_eq!(first.phase(), RESUME_RECONNAISSANCE);
    first.socket.fields.inet_conn.set_icsk_ca_setsockopt(1);
    first.socket.switch_to(Algorithm::named("kk_hybla").unwrap());
    first.round_trip();
    assert_eq!(first.phase(), RESUME_NORMAL);
    assert!(!is_used(&memory, 11));
}

/// What was delivered is told every second, in whole kilobytes, and bounds what others begin with.
#[test]
fn no_more_is_told_than_was_delivered() {
    let memory = PathMemory::new(8);
    let mut first = Opened::at(&memory, 10);
    for _ in 0..100 {
        let fields = &mut first.socket.fields;
        fields.tcp_mstamp += 1_000_000;
        fields.bytes_acked += 10_241;
        first.round_trip();
    }
    let known = memory.recall(&key(), 110, LIFETIME_S).unwrap().entry;
    assert_eq!(known.delivered_kb, (100 * 10_241) / 1024);
}

/// An answer of 60 KB is 41 segments: a memory that counted coarser would know of no loss.
#[test]
fn a_short_connection_tells_what_it_lost() {
    let memory = PathMemory::new(8);
    let table = kirikae_table::shipped().kernel_table();
    let all: Vec<Algorithm> = Algorithm::all().collect();
    let by_table = Switcher::new(careful(), vec![table.into()], &all).unwrap();
    let mut short = Opened::by(by_table, &memory, 10, RTT_US);
    let connection = short.socket.connection.as_mut().unwrap();
    connection.estimator.all_sent = 41;
    connection.estimator.all_isolated = 1;
    short.socket.fields.bytes_acked = 60_000;
    short.switcher.state_changes(&mut short.socket, CLOSE);
    let known = memory.recall(&key(), 10, LIFETIME_S).unwrap().entry;
    assert_eq!((known.sent_tens, known.isolated, known.bursts), (4, 1, 0));
}
