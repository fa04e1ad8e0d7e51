//! The whole switcher against whatever a kernel may call it for, in any order, with whatever a hostile
//! peer may make of a socket's fields. The C traps on undefined behaviour by itself; here is what must
//! hold besides: a connection is changed only where the policy in force lets it be, and what it had
//! is restored.

use std::sync::{Arc, LazyLock};

use kirikae_algorithms::{Algorithm, CaState, Socket, Switcher};
use kirikae_interface::{
    CONNECTION_LEFT_ALONE, NO_SCOPE, SCOPE_KERNEL_TIMEOUTS, SCOPE_OBSERVED, SCOPE_OVERRULES,
    TABLE_ALGORITHMS, latency_table, name_from_bytes, name_to_bytes, policy, scope,
};

/// Bytes of an operation: which it is, and a number.
const RECORD: usize = 5;
const MSS: u32 = 1448;
const CONTENDERS: [&str; 4] = ["cubic", "reno", "bbr", "kk_hybla"];

static TABLE: LazyLock<Arc<latency_table>> =
    LazyLock::new(|| kirikae_table::shipped().kernel_table().into());

/// A connection, and what it had before it was met.
struct Played {
    switcher: Switcher,
    socket: Socket,
    scope: scope,
    /// When the scope became this one.
    scopes_since: u32,
    generation: u32,
    rto_min_us: u32,
    rto_max_ms: u32,
}

pub(crate) fn play(bytes: &[u8]) {
    let Some((&first, operations)) = bytes.split_first() else { return };
    let mut played = Played::new(first);
    for (operation, number) in operations.chunks_exact(RECORD).map(decode) {
        played.does(operation, number);
        played.keeps_its_promises();
    }
    played.is_restored();
}

fn decode(record: &[u8]) -> (u8, u32) {
    (record[0], u32::from_le_bytes(record[1..].try_into().expect("four bytes")))
}

impl Played {
    fn new(first: u8) -> Played {
        let name = CONTENDERS[usize::from(first) % CONTENDERS.len()];
        let algorithm = Algorithm::stock(name).or_else(|| Algorithm::named(name));
        let mut socket = Socket::new(algorithm.expect("one of them"), MSS);
        let (rto_min_us, rto_max_ms) = (200_000, 120_000);
        socket.fields.rto_min_us = rto_min_us;
        socket.fields.rto_max_ms = rto_max_ms;
        socket.fields.random = u64::from(first);
        socket.fields.tcp_mstamp = 1_000_000;
        let scope = scope_of(u32::from(first) >> 2);
        let candidates: Vec<Algorithm> = Algorithm::all().collect();
        let switcher = Switcher::new(policy::one(scope), vec![Arc::clone(&TABLE)], &candidates);
        let switcher = switcher.expect("the table's algorithms are ours");
        Played { switcher, socket, scope, scopes_since: 1, generation: 1, rto_min_us, rto_max_ms }
    }

    /// One thing that happens, or one field that becomes another.
    fn does(&mut self, operation: u8, number: u32) {
        let (switcher, socket) = (&mut self.switcher, &mut self.socket);
        let fields = &mut socket.fields;
        match operation % 25 {
            0 => switcher.met(socket),
            1 => switcher.found(socket),
            2..=5 => {
                let before = socket.algorithm();
                let state = socket.state();
                switcher.rtt_sample(socket, number);
                let is_switched = socket.algorithm() != before;
                // A connection may be restored while the window is being reduced: no undo is pending.
                let allowed = if is_original(socket) { CaState::Cwr } else { CaState::Disorder };
                assert!(!is_switched || state <= allowed, "switched in {state:?}");
            }
            6 if number % 4 == 3 => switcher.state_changes(socket, number >> 2 & 15),
            6 => switcher.timed_out(socket, number % 20),
            7 | 8 => {
                fields.bytes_retrans += u64::from(number % 100_000);
                switcher.retransmitted(socket, number, number >> 16);
            }
            9 => switcher.segment(socket),
            10 => self.reload(number),
            11 => {
                let states = [
                    CaState::Open,
                    CaState::Disorder,
                    CaState::Cwr,
                    CaState::Recovery,
                    CaState::Loss,
                ];
                socket.set_state(states[number as usize % states.len()]);
            }
            12 => fields.tcp_mstamp += u64::from(number),
            13 => fields.srtt_us = number,
            14 => fields.rttvar_us = number,
            15 => fields.data_segs_out = fields.data_segs_out.wrapping_add(number),
            16 => fields.snd_nxt = fields.snd_nxt.wrapping_add(number),
            17 => fields.write_seq = fields.snd_nxt.wrapping_add(number),
            18 => fields.snd_cwnd = number.max(1),
            19 => fields.dsack_dups = fields.dsack_dups.wrapping_add(number % 8),
            20 => fields.packets_out = number % 100,
            21 => fields.delivered_mstamp = fields.tcp_mstamp.saturating_sub(u64::from(number)),
            22 => fields.rtt_min.s[0].v = number,
            23 => {
                let now_ms = (fields.tcp_mstamp / 1000) as u32;
                fields.retrans_stamp = now_ms.wrapping_sub(number % 20_000);
            }
            _ => self.program_chooses(number),
        }
    }

    /// Another policy is in force, at times with the same scope; the connection follows with what
    /// happens next.
    fn reload(&mut self, number: u32) {
        self.generation = self.generation.wrapping_add(1);
        if number & 1 << 31 == 0 {
            self.scope = scope_of(number);
            self.scopes_since = self.generation;
        }
        let mut policy = policy::one(self.scope);
        policy.generation = self.generation;
        policy.scopes_since = self.scopes_since;
        policy.rules = u32::from(number & 1 << 30 == 0);
        self.switcher.activate(policy.into());
    }

    /// The program sets TCP_CONGESTION.
    fn program_chooses(&mut self, number: u32) {
        let name = CONTENDERS[number as usize % CONTENDERS.len()];
        let algorithm = Algorithm::stock(name).or_else(|| Algorithm::named(name));
        self.socket.fields.inet_conn.set_icsk_ca_setsockopt(1);
        self.socket.switch_to(algorithm.expect("one of them"));
    }

    fn keeps_its_promises(&self) {
        let fields = &self.socket.fields;
        assert!(fields.snd_cwnd > 0, "no window");
        assert!((50_000..=self.rto_min_us).contains(&fields.rto_min_us), "{}", fields.rto_min_us);
        let bounded = [self.rto_max_ms, 1000];
        assert!(bounded.contains(&fields.rto_max_ms), "{}", fields.rto_max_ms);
        let Some(connection) = &self.socket.connection else { return };
        assert!(connection.place.scope <= NO_SCOPE, "{}", connection.place.scope);
        assert!(connection.decision.to < TABLE_ALGORITHMS);
        let follows = connection.place.generation == self.generation;
        let is_observed = self.scope.flags & SCOPE_OBSERVED != 0;
        let is_held_back = connection.place.lot < connection.place.share;
        if follows && connection.place.scope == 0 && (is_observed || is_held_back) {
            assert_eq!(connection.current, connection.original, "nothing is changed");
            assert_eq!(fields.rto_min_us, self.rto_min_us);
        }
    }

    /// As an agent does that stops.
    fn is_restored(&mut self) {
        let program_chose = self.socket.connection.as_ref().is_some_and(|connection| {
            connection.current.map(|byte| byte as u8)
                != name_to_bytes(self.socket.algorithm().name())
        });
        let restored = self.switcher.restore(&mut self.socket, true);
        assert!(restored || self.socket.connection.is_none(), "an agent could not stop");
        let Some(connection) = &self.socket.connection else { return };
        assert_eq!(self.socket.fields.rto_min_us, self.rto_min_us);
        assert_eq!(self.socket.fields.rto_max_ms, self.rto_max_ms);
        let is_left_alone = connection.flags & CONNECTION_LEFT_ALONE != 0;
        let keeps_its_own = program_chose || is_left_alone;
        assert!(is_original(&self.socket) || keeps_its_own, "{}", self.socket.algorithm().name());
    }
}

/// Whether it has what it had when it was met.
fn is_original(socket: &Socket) -> bool {
    let connection = socket.connection.as_ref();
    connection.is_some_and(|connection| {
        socket.algorithm().name() == name_from_bytes(&connection.original.map(|it| it as u8))
    })
}

/// A scope by the bits of a number.
fn scope_of(number: u32) -> scope {
    let flags = SCOPE_OBSERVED | SCOPE_OVERRULES | SCOPE_KERNEL_TIMEOUTS;
    scope {
        flags: number & flags,
        period_us: (number >> 5 & 1) * 200_000,
        holdback: [u32::MAX, u32::MAX / 2, 0, 0][number as usize >> 6 & 3],
        ..scope::usual()
    }
}
