//! The whole switcher against whatever a kernel may call it for, in any order, with whatever a hostile
//! peer may make of a socket's fields. The C traps on undefined behaviour by itself; here is what must
//! hold besides: a connection is changed only where the policy in force lets it be, and what it had
//! is restored. Connections share a path memory, and may begin with what it knows.

use std::sync::{Arc, LazyLock};

use kirikae_algorithms::{Algorithm, CaEvent, CaState, PathMemory, RateSample, Socket, Switcher};
use kirikae_interface::{
    CONNECTION_LEFT_ALONE, NO_SCOPE, PATH_USED_AT_MOST_S, RESUME_NONE, SCOPE_CAREFUL,
    SCOPE_FIRST_FLIGHT, SCOPE_KERNEL_TIMEOUTS, SCOPE_OBSERVED, SCOPE_OVERRULES, TABLE_ALGORITHMS,
    latency_table, name_from_bytes, name_to_bytes, path_key, policy, scope,
};

/// Bytes of an operation: which it is, and a number.
const RECORD: usize = 5;
const MSS: u32 = 1448;
const CONTENDERS: [&str; 4] = ["cubic", "reno", "bbr", "kk_hybla"];
/// The retransmission timer as the kernel has it.
const RTO_MIN_US: u32 = 200_000;
const RTO_MAX_MS: u32 = 120_000;
/// After so many round trips of recovery a choice is made in it (`bpf/switcher/core/decision.h`).
const RECOVERING_LONG: u32 = 8;
/// Connections to this network, as `path_key` has it.
const NETWORK: u64 = 0xffff << 32 | 0x0a00_0001;
const CONNECTIONS: usize = 4;
/// The kernel's TCP_CLOSE.
const CLOSE: u32 = 7;
const STATES: [CaState; 5] =
    [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];

static TABLE: LazyLock<Arc<latency_table>> =
    LazyLock::new(|| kirikae_table::shipped().kernel_table().into());

/// The connections of a host, of which one at a time has something happen to it.
struct Played {
    connections: Vec<Connection>,
    present: usize,
    memory: PathMemory,
    /// Bytes that were ACKed on all connections.
    delivered: u64,
    /// How often what is known of the path was forgotten.
    forgotten: u32,
    scope: scope,
    /// When the scope became this one.
    scopes_since: u32,
    generation: u32,
}

struct Connection {
    switcher: Switcher,
    socket: Socket,
    /// It begins with what was known of the path, which had been forgotten so often before.
    holds: Option<u32>,
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

impl Connection {
    /// A connection of a program that uses this algorithm, under the policy of another's switcher.
    fn new(which: usize, now_us: u64, switcher: Switcher) -> Connection {
        let name = CONTENDERS[which % CONTENDERS.len()];
        let algorithm = Algorithm::stock(name).or_else(|| Algorithm::named(name));
        let mut socket = Socket::new(algorithm.expect("one of them"), MSS);
        socket.fields.rto_min_us = RTO_MIN_US;
        socket.fields.rto_max_ms = RTO_MAX_MS;
        socket.fields.random = which as u64;
        socket.fields.tcp_mstamp = now_us;
        Connection { switcher, socket, holds: None }
    }
}

impl Played {
    fn new(first: u8) -> Played {
        let scope = scope_of(u32::from(first) >> 2);
        let candidates: Vec<Algorithm> = Algorithm::all().collect();
        let switcher = Switcher::new(policy::one(scope), vec![Arc::clone(&TABLE)], &candidates);
        let mut switcher = switcher.expect("the table's algorithms are ours");
        let memory = PathMemory::new(1);
        switcher.set_path(memory.clone(), NETWORK);
        Played {
            connections: vec![Connection::new(first.into(), 1_000_000, switcher)],
            present: 0,
            memory,
            delivered: 0,
            forgotten: 0,
            scope,
            scopes_since: 1,
            generation: 1,
        }
    }

    fn present(&mut self) -> &mut Connection {
        &mut self.connections[self.present]
    }

    /// One thing that happens, or one field that becomes another.
    fn does(&mut self, operation: u8, number: u32) {
        let Connection { switcher, socket, .. } = &mut self.connections[self.present];
        let fields = &mut socket.fields;
        match operation % 25 {
            _ if (240..247).contains(&operation) => self.goes_on(operation - 240, number),
            0 => drop(switcher.met(socket)),
            1 => switcher.found(socket),
            2..=5 => {
                let before = socket.algorithm();
                let state = socket.state();
                let recovering = socket.connection.as_ref().map_or(0, |it| it.patience.recovering);
                switcher.rtt_sample(socket, number);
                let is_switched = socket.algorithm() != before;
                // A connection may be restored while the window is being reduced: no undo is pending.
                let allowed = if is_original(socket) { CaState::Cwr } else { CaState::Disorder };
                let is_long = state == CaState::Recovery && recovering + 1 >= RECOVERING_LONG;
                assert!(!is_switched || state <= allowed || is_long, "switched in {state:?}");
            }
            6 if number % 4 == 3 => switcher.state_changes(socket, number >> 2 & 15),
            6 => switcher.timed_out(socket, number % 20),
            7 | 8 => {
                fields.bytes_retrans += u64::from(number % 100_000);
                switcher.retransmitted(socket, number, number >> 16);
            }
            9 => switcher.segment(socket),
            10 => self.reload(number),
            11 => socket.set_state(STATES[number as usize % STATES.len()]),
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

    /// What connections on the same path go through.
    fn goes_on(&mut self, operation: u8, number: u32) {
        match operation {
            0 => self.opens(number),
            1 => self.turns_to(number as usize % CONNECTIONS),
            2 => self.acked(number % 64, number >> 8),
            3 => {
                let state = STATES[2 + number as usize % 3];
                let socket = &mut self.present().socket;
                socket.fields.prior_cwnd = socket.fields.snd_cwnd;
                socket.fields.snd_ssthresh = socket.ssthresh();
                socket.set_state(state);
            }
            4 => self.present().socket.cwnd_event(CaEvent::TxStart),
            5 => {
                let socket = &mut self.present().socket;
                socket.fields.snd_cwnd = socket.undo_cwnd();
                socket.fields.snd_ssthresh = socket.fields.snd_ssthresh.max(number % 1000);
                socket.set_state(CaState::Open);
            }
            _ => self.present().socket.fields.tcp_mstamp += u64::from(number % 128) * 1_000_000,
        }
    }

    /// The connection ends, and another one takes its place, with this handshake.
    fn opens(&mut self, number: u32) {
        let Connection { switcher, socket, .. } = self.present();
        switcher.state_changes(socket, CLOSE);
        let (now_us, switcher) = (socket.fields.tcp_mstamp, switcher.clone());
        let mut new = Connection::new(number as usize >> 24, now_us, switcher);
        new.socket.fields.srtt_us = (number & 0xf_ffff) << 3;
        new.socket.fields.rtt_min.s[0].v = number & 0xf_ffff;
        new.switcher.met(&mut new.socket);
        *self.present() = new;
    }

    /// What happens now happens to another connection; all have the same clock.
    fn turns_to(&mut self, which: usize) {
        let Connection { switcher, socket, .. } = self.present();
        let (now_us, switcher) = (socket.fields.tcp_mstamp, switcher.clone());
        if which >= self.connections.len() {
            self.connections.push(Connection::new(which, now_us, switcher));
        }
        self.present = which.min(self.connections.len() - 1);
        self.present().socket.fields.tcp_mstamp = now_us;
    }

    /// An ACK of so many segments, with so many left in flight.
    fn acked(&mut self, segments: u32, left: u32) {
        let socket = &mut self.present().socket;
        let fields = &mut socket.fields;
        let bytes = segments * MSS;
        fields.snd_una = fields.snd_una.wrapping_add(bytes);
        fields.bytes_acked += u64::from(bytes);
        fields.delivered = fields.delivered.wrapping_add(segments);
        fields.packets_out = left % 100;
        let rtt_us = fields.srtt_us >> 3;
        socket.pkts_acked(segments, Some(rtt_us), left % 100);
        let sample = RateSample { acked_sacked: segments, ..RateSample::default() };
        socket.ack(socket.fields.snd_una, segments, &sample);
        self.delivered += u64::from(bytes);
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
        let policy = Arc::from(policy);
        for connection in &mut self.connections {
            connection.switcher.activate(Arc::clone(&policy));
        }
    }

    /// The program sets TCP_CONGESTION.
    fn program_chooses(&mut self, number: u32) {
        let name = CONTENDERS[number as usize % CONTENDERS.len()];
        let algorithm = Algorithm::stock(name).or_else(|| Algorithm::named(name));
        let socket = &mut self.present().socket;
        socket.fields.inet_conn.set_icsk_ca_setsockopt(1);
        socket.switch_to(algorithm.expect("one of them"));
    }

    fn keeps_its_promises(&mut self) {
        let fields = &self.connections[self.present].socket.fields;
        assert!(fields.snd_cwnd > 0, "no window");
        assert!((50_000..=RTO_MIN_US).contains(&fields.rto_min_us), "{}", fields.rto_min_us);
        assert!([RTO_MAX_MS, 1000].contains(&fields.rto_max_ms), "{}", fields.rto_max_ms);
        self.begins_as_it_may();
        let socket = &self.connections[self.present].socket;
        let Some(connection) = &socket.connection else { return };
        assert!(connection.place.scope <= NO_SCOPE, "{}", connection.place.scope);
        assert!(connection.decision.to < TABLE_ALGORITHMS);
        let follows = connection.place.generation == self.generation;
        let is_observed = self.scope.flags & SCOPE_OBSERVED != 0;
        let is_held_back = connection.place.lot < connection.place.share;
        if follows && connection.place.scope == 0 && (is_observed || is_held_back) {
            assert_eq!(connection.current, connection.original, "nothing is changed");
            assert_eq!(socket.fields.rto_min_us, RTO_MIN_US);
        }
    }

    /// No jump is beyond half of what was delivered, and one connection at a time begins with what is
    /// known.
    fn begins_as_it_may(&mut self) {
        let (forgotten, delivered) = (self.forgotten, self.delivered);
        let present = self.present();
        let now_us = present.socket.fields.tcp_mstamp;
        let path = present.socket.connection.as_ref().map(|it| it.path).unwrap_or_default();
        assert!(
            path.start.phase == RESUME_NONE || u64::from(path.start.jump_cwnd) <= delivered / 2
        );
        present.holds = (path.is_held != 0).then(|| present.holds.unwrap_or(forgotten));
        let hold_us = u64::from(PATH_USED_AT_MOST_S - 1) * 1_000_000;
        let holds = |it: &&Connection| {
            let since_us = it.socket.connection.as_ref().map(|it| it.path.told_us);
            it.holds == Some(forgotten) && since_us.is_some_and(|us| now_us - us < hold_us)
        };
        let holders = self.connections.iter().filter(holds).count();
        assert!(holders <= 1, "{holders} connections begin with what is known");
        let key = path_key { network: NETWORK, ..Default::default() };
        if self.memory.recall(&key, u32::MAX, u32::MAX).is_none() {
            self.forgotten += 1;
        }
    }

    fn is_restored(&mut self) {
        self.connections.iter_mut().for_each(Connection::is_restored);
    }
}

impl Connection {
    /// As an agent does that stops.
    fn is_restored(&mut self) {
        let program_chose = self.socket.connection.as_ref().is_some_and(|connection| {
            connection.current.map(|byte| byte as u8)
                != name_to_bytes(self.socket.algorithm().name())
        });
        let restored = self.switcher.restore(&mut self.socket, true);
        assert!(restored || self.socket.connection.is_none(), "an agent could not stop");
        let Some(connection) = &self.socket.connection else { return };
        assert_eq!(self.socket.fields.rto_min_us, RTO_MIN_US);
        assert_eq!(self.socket.fields.rto_max_ms, RTO_MAX_MS);
        assert_eq!(self.socket.fields.user_timeout_ms, 0);
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
    let start = [0, SCOPE_CAREFUL, SCOPE_FIRST_FLIGHT, SCOPE_CAREFUL | SCOPE_FIRST_FLIGHT];
    scope {
        flags: number & flags | start[number as usize >> 8 & 3],
        path_lifetime_s: (number >> 10 & 1) * 600,
        period_us: (number >> 5 & 1) * 200_000,
        holdback: [u32::MAX, u32::MAX / 2, 0, 0][number as usize >> 6 & 3],
        ..scope::usual()
    }
}
