//! The sender of an endpoint, as Linux behaves.
//!
//! Each mechanism of the RFCs is a type with its own state in a file of its name: [`Prr`], [`RttEstimator`],
//! [`Rack`], [`Frto`], [`Undo`], [`MtuProbing`] and [`TailLossProbe`]. They take time and counts as arguments and return
//! their conclusions. The [`Sender`] puts them together, in the order in which the kernel asks them.

// These are mechanisms of the RFCs, each with its own state.
mod frto;
mod lowest_rtt;
mod mtu_probing;
mod prr;
mod rack;
mod reordering;
mod rtt_estimator;
mod tail_loss_probe;
mod undo;
// This is what a connection remembers besides.
mod close;
mod delivery_rate;
mod peer_window;
mod scoreboard;
mod send_buffer;
mod window_usage;
// This is what the sender does with it.
mod ack;
mod duplicates;
mod extensions;
mod loss_detection;
mod probes;
mod recovery;
mod reduction;
mod retransmit;
mod sack;
mod switcher_callbacks;
mod timeout;
mod timers;
mod transmit;
mod window_validation;

use std::sync::Arc;

use kirikae_algorithms::{CaState, Socket, Switch};
use kirikae_path::{Span, Time};

use crate::{Control, Profile, Segment, timer_wheel};
use close::Close;
use extensions::PathEstimate;
use frto::Frto;
use lowest_rtt::LowestRtt;
use mtu_probing::MtuProbing;
use peer_window::PeerWindow;
use prr::Prr;
use rack::Rack;
use reordering::Reordering;
use rtt_estimator::RttEstimator;
use scoreboard::Scoreboard;
use send_buffer::SendBuffer;
use switcher_callbacks::SwitcherCallbacks;
use tail_loss_probe::TailLossProbe;
use timers::Timers;
use undo::Undo;
use window_usage::WindowUsage;

/// The kernel's clock at the simulation's start. It is not 0, since an algorithm may take time 0 for "never".
const BOOT_NS: u64 = 1_000_000_000_000;

/// The sender: what was written, what is in flight, and how fast the rest may follow.
pub(crate) struct Sender {
    profile: Arc<Profile>,
    /// The socket as the algorithm sees it; window, counts of segments and clocks are kept there.
    pub socket: Socket,
    /// Most bytes of data in a segment.
    mss: u32,
    /// First byte not ACKed: SND.UNA.
    una: u64,
    /// Next byte to send: SND.NXT.
    nxt: u64,
    /// End of the part of the written data that the send buffer has taken.
    written: u64,
    buffer: SendBuffer,
    /// The receive window that was announced last.
    window: PeerWindow,
    /// What is in flight.
    board: Scoreboard,
    /// Smoothed round trip and retransmission timeout.
    rtt: RttEstimator,
    lowest_rtt: LowestRtt,
    /// The socket's least variation as it was last seen.
    rto_min: WholeTicks,
    timers: Timers,
    rack: Rack,
    reordering: Reordering,
    probe: TailLossProbe,
    prr: Prr,
    frto: Frto,
    undo: Undo,
    mtu_probing: MtuProbing,
    usage: WindowUsage,
    /// `snd_nxt` at the latest loss or mark: where Recovery, Loss and CWR end.
    high_seq: u64,
    /// Number of segments that were ever sent again.
    retransmissions: u32,
    /// Number of timeouts since the latest progress.
    timeouts: u32,
    /// Number of probes of a closed window since it closed.
    window_probes: u32,
    /// When data was last sent.
    last_sent: Time,
    ecn: Ecn,
    /// The estimate of a link that has just come back.
    path_estimate: Option<Box<PathEstimate>>,
    /// The switcher that may change the congestion control.
    switcher: Option<Box<SwitcherCallbacks>>,
    close: Close,
}

/// The state of ECN.
#[derive(Clone, Copy, Debug, Default)]
struct Ecn {
    /// Whether both ends are ECN-capable.
    capable: bool,
    /// Whether the next new segment has to tell of the reduction (CWR).
    owes_cwr: bool,
}

/// A time in microseconds, and the same in whole ticks. It is needed with each segment, and computing it anew
/// would take two divisions, a notable part of a segment's time.
#[derive(Clone, Copy, Debug)]
struct WholeTicks {
    set_us: u32,
    whole_us: u32,
}

impl WholeTicks {
    /// Rounds a time to ticks, of which there are `hz` a second.
    fn new(set_us: u32, hz: u32) -> WholeTicks {
        let ticks = timer_wheel::in_ticks(Span::from_nanos(u64::from(set_us) * 1000), hz);
        let whole_us = timer_wheel::span_of_ticks(ticks, hz).as_nanos() / 1000;
        WholeTicks { set_us, whole_us: whole_us as u32 }
    }
}

impl Sender {
    /// A sender whose first byte has sequence number 1, at `now`. `rtt_us` is the RTT of the handshake.
    pub fn new(
        profile: Arc<Profile>,
        control: &Control,
        mss: u32,
        now: Time,
        rtt_us: Option<u32>,
        seed: u64,
    ) -> Sender {
        let socket = Socket::connecting(control.algorithm, mss);
        let rto_min_us = (profile.rto_min.as_nanos() / 1_000) as u32;
        let mut sender = Sender {
            socket,
            mss,
            una: 1,
            nxt: 1,
            written: 1,
            buffer: SendBuffer::new(&profile, 1),
            window: PeerWindow::closed(1),
            board: Scoreboard::default(),
            rtt: RttEstimator::new(profile.rto_initial.as_nanos() / 1000),
            lowest_rtt: LowestRtt::default(),
            rto_min: WholeTicks::new(rto_min_us, profile.hz),
            timers: Timers::default(),
            rack: Rack::default(),
            reordering: Reordering::new(profile.reordering),
            probe: TailLossProbe::default(),
            prr: Prr::default(),
            frto: Frto::default(),
            undo: Undo::new(profile.undo),
            mtu_probing: MtuProbing::new(profile.mtu_probing),
            usage: WindowUsage::default(),
            high_seq: 1,
            retransmissions: 0,
            timeouts: 0,
            window_probes: 0,
            last_sent: now,
            ecn: Ecn::default(),
            path_estimate: None,
            switcher: None,
            close: Close::Open,
            profile,
        };
        sender.set_clock(now);
        let fields = &mut sender.socket.fields;
        (fields.snd_una, fields.snd_nxt, fields.write_seq) = (1, 1, 1);
        fields.snd_cwnd = sender.profile.initial_window;
        fields.random = seed;
        fields.rto_min_us = rto_min_us;
        fields.rto_max_ms = (sender.profile.rto_max.as_nanos() / 1_000_000) as u32;
        fields.delivered = 1; // the SYN
        if let Some(rtt_us) = rtt_us {
            sender.rtt_sample(rtt_us, rtt_us);
        }
        sender.switcher = control
            .switcher
            .clone()
            .map(|rule| Box::new(SwitcherCallbacks::new(rule, &mut sender.socket, now)));
        sender.socket.establish();
        sender.buffer.expand(&sender.profile, sender.socket.fields.snd_cwnd);
        sender
    }

    /// Sets the other end's receive window before its first ACK, bytes.
    pub fn set_window(&mut self, bytes: u32) {
        self.window.set(bytes);
    }

    /// Notes that both ends are ECN-capable.
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
        self.offer(now, bytes, out);
    }

    /// Sends what the window now allows, for whatever reason.
    pub fn transmit(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.set_clock(now);
        self.transmit_new(now, out);
        self.check_space(now, out);
    }

    /// The state of congestion control.
    pub fn state(&self) -> CaState {
        self.socket.state()
    }

    /// Changes the state; the algorithm is told first.
    fn set_state(&mut self, state: CaState) {
        self.socket.fields.high_seq = self.high_seq as u32;
        self.socket.set_state(state);
    }

    /// The congestion window, segments.
    fn cwnd(&self) -> u32 {
        self.socket.fields.snd_cwnd
    }

    /// Sets the window to so many segments, at least one.
    fn set_cwnd(&mut self, cwnd: u32) {
        self.socket.fields.snd_cwnd = cwnd.max(1);
    }

    /// Number of segments sent and not cumulatively ACKed.
    fn packets_out(&self) -> u32 {
        self.socket.fields.packets_out
    }

    /// Number of segments on their way: neither ACKed nor lost.
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

    /// The time in the endpoints' clock.
    fn now(&self) -> Time {
        Time::from_nanos(self.socket.fields.tcp_clock_cache - BOOT_NS)
    }

    /// The time in microseconds of the kernel's clock.
    fn now_us(&self) -> u64 {
        self.socket.fields.tcp_mstamp
    }

    /// Sets the kernel's clock to `now`.
    fn set_clock(&mut self, now: Time) {
        let fields = &mut self.socket.fields;
        fields.tcp_clock_cache = now.as_nanos() + BOOT_NS;
        fields.tcp_mstamp = fields.tcp_clock_cache / 1000;
    }

    /// Takes RTT samples, microseconds: that of the first segment ACKed for the timeout, that of the last one
    /// for the lowest RTT.
    fn rtt_sample(&mut self, first_us: u32, last_us: u32) {
        if self.lowest_rtt.sample((self.now_us() / 1000) as u32, last_us.max(1)) {
            for (shown, sample) in
                self.socket.fields.rtt_min.s.iter_mut().zip(self.lowest_rtt.samples())
            {
                (shown.t, shown.v) = (sample.at_ms, sample.rtt_us);
            }
        }
        let rto_min_us = self.rto_min_us();
        self.rto_min = WholeTicks { set_us: self.socket.fields.rto_min_us, whole_us: rto_min_us };
        let begins_round = self.rtt.sample(first_us, self.una, self.nxt, rto_min_us);
        self.socket.fields.rttvar_us = self.rtt.rttvar_4_us();
        if begins_round {
            self.tell_rtt(first_us); // once in a round trip, with the srtt before this sample
        }
        self.socket.fields.srtt_us = self.rtt.srtt_8_us();
        self.rtt.reset_back_off(self.rto_max_us());
    }

    /// Smoothed round-trip time, microseconds; 0 before the first sample.
    pub fn srtt_us(&self) -> u64 {
        self.rtt.srtt_us()
    }

    /// Lowest RTT of the last minutes, microseconds; None before the first sample.
    fn min_rtt_us(&self) -> Option<u64> {
        self.lowest_rtt.get()
    }

    /// The present retransmission timeout, microseconds, back-off included.
    pub fn rto_us(&self) -> u64 {
        self.rtt.rto_us()
    }

    /// The least variation that a timeout allows for, microseconds, in whole ticks. A switcher may have set
    /// it.
    pub fn rto_min_us(&self) -> u32 {
        let set_us = self.socket.fields.rto_min_us;
        if set_us == self.rto_min.set_us {
            return self.rto_min.whole_us;
        }
        WholeTicks::new(set_us, self.profile.hz).whole_us
    }

    /// Longest timeout, microseconds. A switcher may have set it.
    fn rto_max_us(&self) -> u64 {
        u64::from(self.socket.fields.rto_max_ms) * 1000
    }

    /// The switches so far, in order of time.
    pub fn switches(&self) -> &[(Time, Switch)] {
        self.switcher.as_ref().map_or(&[], |switcher| switcher.switches())
    }

    /// Number of segments for so many bytes.
    fn segments(&self, bytes: u64) -> u32 {
        bytes.div_ceil(u64::from(self.mss)) as u32
    }
}
