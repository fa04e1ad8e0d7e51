//! The sending half of an endpoint, as Linux behaves.

mod ack;
mod delivery_rate;
mod duplicates;
mod expiry;
mod handover;
mod loss_probe;
mod rack;
mod recovery;
mod retransmit;
mod round_trip;
mod scoreboard;
mod send_buffer;
mod switching;
mod timer;
mod transmit;
mod undo;
mod window;
mod window_probe;

use std::sync::Arc;

use kirikae_algorithms::{CaState, Socket};
use kirikae_path::Time;

use crate::{Control, Profile, Segment};
use delivery_rate::DeliveryRate;
use handover::PathEstimate;
use loss_probe::LossProbe;
use rack::Rack;
use recovery::Reduction;
use round_trip::RoundTrip;
use scoreboard::Scoreboard;
use send_buffer::SendBuffer;
use switching::Switching;
use timer::Timers;
use undo::Undo;
use window::Usage;

/// What the kernel's clock shows at the simulation's start: an algorithm may take time 0 for "never".
const BOOT_NS: u64 = 1_000_000_000_000;

/// The sending half: what was written, what is in flight, and how fast the rest may follow.
pub(crate) struct Sender {
    profile: Arc<Profile>,
    /// What the algorithm sees; also where window, counts of segments and clocks are kept.
    pub socket: Socket,
    /// Most bytes of data in a segment.
    mss: u32,
    /// First byte not ACKed; next byte to send; end of what the send buffer has
    /// taken of what was written.
    una: u64,
    nxt: u64,
    written: u64,
    buffer: SendBuffer,
    /// The receive window announced last, bytes, and the sequence number of the segment that it came
    /// with: SND.WND and SND.WL1.
    window: u32,
    window_seq: u64,
    board: Scoreboard,
    round_trip: RoundTrip,
    timers: Timers,
    rack: Rack,
    probe: LossProbe,
    reduction: Reduction,
    undo: Undo,
    usage: Usage,
    rate: DeliveryRate,
    /// `snd_nxt` at the latest loss or mark: where Recovery, Loss and CWR end.
    high_seq: u64,
    /// Segments a SACKed one must be ahead; grows with the reordering seen.
    reordering: u32,
    reordering_seen: bool,
    /// A timeout may have been none (RFC 5682).
    frto: bool,
    /// Segments sent again, ever.
    retransmissions: u32,
    /// Timeouts since the latest progress.
    timeouts: u32,
    /// Probes of a closed window since it closed.
    window_probes: u32,
    /// When data was last sent.
    last_sent: Time,
    ecn: Ecn,
    /// Of a link that has just come back.
    path_estimate: Option<Box<PathEstimate>>,
    switching: Option<Box<Switching>>,
}

/// What is negotiated and owed of ECN.
#[derive(Clone, Copy, Debug, Default)]
struct Ecn {
    capable: bool,
    /// The next new segment tells of the reduction (CWR).
    owes_cwr: bool,
}

impl Sender {
    /// A sender whose first byte has sequence number 1, at `now`. `rtt_us`: what the handshake took.
    pub fn new(
        profile: Arc<Profile>,
        control: &Control,
        mss: u32,
        now: Time,
        rtt_us: Option<u32>,
        seed: u64,
    ) -> Sender {
        let socket = Socket::connecting(control.algorithm, mss);
        let mut sender = Sender {
            socket,
            mss,
            una: 1,
            nxt: 1,
            written: 1,
            buffer: SendBuffer::new(&profile, 1),
            window: 0,
            window_seq: 1,
            board: Scoreboard::default(),
            round_trip: RoundTrip::new(&profile),
            timers: Timers::default(),
            rack: Rack::default(),
            probe: LossProbe::default(),
            reduction: Reduction::default(),
            undo: Undo::default(),
            usage: Usage::default(),
            rate: DeliveryRate::default(),
            high_seq: 1,
            reordering: profile.reordering,
            reordering_seen: false,
            frto: false,
            retransmissions: 0,
            timeouts: 0,
            window_probes: 0,
            last_sent: now,
            ecn: Ecn::default(),
            path_estimate: None,
            switching: None,
            profile,
        };
        sender.set_clock(now);
        let fields = &mut sender.socket.fields;
        (fields.snd_una, fields.snd_nxt, fields.write_seq) = (1, 1, 1);
        fields.snd_cwnd = sender.profile.initial_window;
        fields.random = seed;
        fields.rto_min_us = (sender.profile.rto_min.as_nanos() / 1_000) as u32;
        fields.rto_max_ms = (sender.profile.rto_max.as_nanos() / 1_000_000) as u32;
        fields.delivered = 1; // the SYN
        if let Some(rtt_us) = rtt_us {
            sender.rtt_sample(rtt_us, rtt_us);
        }
        // What switches meets the connection before its algorithm does.
        sender.switching = control.switcher.clone().map(|mut rule| {
            rule.met(&mut sender.socket);
            Box::new(Switching { rule, switches: Vec::new() })
        });
        sender.socket.establish();
        sender
    }

    /// The other end's receive window before its first ACK, bytes.
    pub fn set_window(&mut self, bytes: u32) {
        self.window = bytes;
    }

    /// Both ends are ECN-capable.
    pub fn enable_ecn(&mut self) {
        self.ecn.capable = true;
    }

    /// Next byte to send.
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// First byte not ACKed.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The application writes.
    pub fn write(&mut self, now: Time, bytes: u64, out: &mut Vec<Segment>) {
        self.set_clock(now);
        if self.packets_out() == 0 {
            self.idle_restart(now);
        }
        self.offer(bytes);
        self.transmit_new(now, out);
    }

    /// Sends what the window lets go now, after whatever made it so.
    pub fn transmit(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.set_clock(now);
        self.transmit_new(now, out);
        if self.check_space() {
            self.transmit_new(now, out);
        }
    }

    /// The state of congestion control.
    pub fn state(&self) -> CaState {
        self.socket.state()
    }

    fn set_state(&mut self, state: CaState) {
        self.socket.set_state(state);
    }

    fn cwnd(&self) -> u32 {
        self.socket.fields.snd_cwnd
    }

    fn set_cwnd(&mut self, cwnd: u32) {
        self.socket.fields.snd_cwnd = cwnd.max(1);
    }

    fn packets_out(&self) -> u32 {
        self.socket.fields.packets_out
    }

    /// Segments on their way: neither ACKed nor held for lost.
    pub fn packets_in_flight(&self) -> u32 {
        let fields = &self.socket.fields;
        fields.packets_out - fields.sacked_out - fields.lost_out + fields.retrans_out
    }

    /// Bytes of the segments on their way.
    pub fn bytes_in_flight(&self) -> u64 {
        // Without SACK it is not known which segments have arrived out of order.
        let arrived = if self.profile.sack { 0 } else { self.socket.fields.sacked_out };
        self.board.bytes_in_flight().saturating_sub(u64::from(arrived) * u64::from(self.mss))
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.socket.fields.tcp_clock_cache - BOOT_NS)
    }

    fn now_us(&self) -> u64 {
        self.socket.fields.tcp_mstamp
    }

    /// Lets the kernel's clock show `now`.
    fn set_clock(&mut self, now: Time) {
        let fields = &mut self.socket.fields;
        fields.tcp_clock_cache = now.as_nanos() + BOOT_NS;
        fields.tcp_mstamp = fields.tcp_clock_cache / 1000;
    }

    /// The segments of `bytes`.
    fn segments(&self, bytes: u64) -> u32 {
        bytes.div_ceil(u64::from(self.mss)) as u32
    }
}
