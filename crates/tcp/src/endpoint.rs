//! One end of a connection: it does the handshake, and connects the sender and the receiver.

use std::sync::Arc;

use kirikae_algorithms::{Algorithm, Rule, Socket, Switch};
use kirikae_path::{Span, Time};

use crate::receiver::{Host, Receiver};
use crate::sender::Sender;
use crate::{Handover, Profile, Segment, Timestamp, timer_wheel};

/// Bytes of the IPv4 and TCP headers, and of the timestamp option.
const HEADERS: u32 = 20 + 20;
const TIMESTAMP_OPTION: u32 = 12;
/// Number of ACKs by which Freeze-TCP tells that the link is back, so that what was lost is soon sent again.
const RECONNECTION_ACKS: u32 = 3;
/// Sequence number of the first byte of data; the SYN has the one before.
const FIRST_BYTE: u64 = 1;

/// The congestion control of an endpoint, and what switches it.
#[derive(Clone, Debug)]
pub struct Control {
    /// The congestion control that a connection starts with.
    pub algorithm: Algorithm,
    /// The rule that switches it while the connection runs, if there is one.
    pub switcher: Option<Rule>,
}

/// The state of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It waits to be opened, or for a SYN.
    Closed,
    /// It has sent the first SYN at this time, and so many in all.
    SynSent {
        at: Time,
        times: u32,
    },
    /// It has answered a SYN at this time, and so many times in all.
    SynReceived {
        at: Time,
        times: u32,
    },
    Established,
}

/// One end of a connection. Both ends have the same profile.
pub struct Endpoint {
    profile: Arc<Profile>,
    control: Arc<Control>,
    seed: u64,
    /// Most bytes of data in a segment.
    mss: u32,
    phase: Phase,
    /// When the SYN or its answer is sent again.
    syn_timer: Option<Time>,
    /// RTT of the handshake, microseconds; None if the SYN was sent again.
    handshake_rtt_us: Option<u32>,
    ecn: bool,
    receiver: Receiver,
    /// The receive window of the other end, bytes, until the sender keeps it.
    peer_window: u32,
    /// The sender. It is made at the first write; an end that only receives has none.
    sender: Option<Box<Sender>>,
    /// Bytes written before the connection was established.
    unsent: u64,
    /// Whether the application has closed the connection before it was established.
    closes: bool,
}

impl Endpoint {
    /// Makes an end of a connection. `seed` is for the random numbers of the congestion control.
    ///
    /// # Panics
    /// Panics if the profile's MTU leaves no room for data.
    pub fn new(profile: Arc<Profile>, control: Arc<Control>, seed: u64) -> Endpoint {
        let headers = HEADERS + if profile.timestamps { TIMESTAMP_OPTION } else { 0 };
        let mss = profile.mtu.saturating_sub(headers);
        assert!(mss > 0, "an MTU of {} bytes leaves no room for data", profile.mtu);
        Endpoint {
            receiver: Receiver::new(&profile, mss),
            profile,
            control,
            seed,
            mss,
            phase: Phase::Closed,
            syn_timer: None,
            handshake_rtt_us: None,
            ecn: false,
            peer_window: 0,
            sender: None,
            unsent: 0,
            closes: false,
        }
    }

    /// Opens the connection: a SYN is sent.
    pub fn open(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.phase = Phase::SynSent { at: now, times: 0 };
        self.send_syn(now, out);
    }

    /// The application writes so many bytes. They wait until the handshake is over.
    pub fn write(&mut self, now: Time, bytes: u64, out: &mut Vec<Segment>) {
        if self.phase != Phase::Established {
            self.unsent += bytes;
            return;
        }
        let first = out.len();
        self.sender(now).write(now, bytes, out);
        self.finish(now, &mut out[first..]);
    }

    /// The application closes the connection: it writes no more. The other end is not told, see
    /// `sender/close.rs`.
    pub fn close(&mut self) {
        match &mut self.sender {
            Some(sender) => sender.close(),
            None => self.closes = true,
        }
    }

    /// A segment arrives.
    pub fn receive(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        match self.phase {
            Phase::Established if segment.syn => self.acknowledge(now, out),
            Phase::Established if segment.migrate => self.restart(now, out),
            Phase::Established => self.established(now, segment, out),
            _ => self.handshake(now, segment, out),
        }
    }

    /// The application reads at most so many bytes, and from now on only what it asks for here. Before the
    /// first call it reads everything at once.
    pub fn read(&mut self, now: Time, most: u64, out: &mut Vec<Segment>) {
        if self.receiver.read(now, most, &host(&self.profile, &self.sender, self.handshake_rtt_us))
        {
            self.acknowledge(now, out);
        }
    }

    /// The link under this host, a mobile one, is about to go.
    pub fn link_leaves(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.phase == Phase::Established && self.profile.handover == Handover::Freeze {
            self.receiver.freeze(true);
            self.acknowledge(now, out);
        }
    }

    /// The link under this host, a mobile one, is back.
    pub fn link_returns(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.phase != Phase::Established {
            return;
        }
        match self.profile.handover {
            Handover::None => {}
            Handover::ImmediateExpiration | Handover::BandwidthAware => {
                self.acknowledge(now, out);
                out.last_mut().expect("an ACK").migrate = true;
                self.restart(now, out);
            }
            Handover::Freeze => {
                self.receiver.freeze(false);
                (0..RECONNECTION_ACKS).for_each(|_| self.acknowledge(now, out));
            }
        }
    }

    /// When [`on_timer`](Endpoint::on_timer) has something to do.
    pub fn timer(&self) -> Option<Time> {
        let sender = self.sender.as_ref().and_then(|sender| sender.timer());
        let receiver = self.receiver.timer();
        Time::earliest(Time::earliest(sender, receiver), self.syn_timer)
    }

    /// Does what is due at `now`.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.syn_timer.is_some_and(|at| at <= now) {
            self.send_syn(now, out);
        }
        let first = out.len();
        if let Some(sender) = &mut self.sender
            && sender.timer().is_some_and(|at| at <= now)
        {
            sender.on_timer(now, out);
            self.finish(now, &mut out[first..]);
        }
        if self.receiver.timer().is_some_and(|at| at <= now) {
            let host = host(&self.profile, &self.sender, self.handshake_rtt_us);
            if self.receiver.on_timer(now, &host) {
                self.acknowledge(now, out);
            }
        }
    }

    /// Bytes of the other end's stream that the application may have read, in order.
    pub fn in_order(&self) -> u64 {
        self.receiver.in_order()
    }

    /// Bytes of this end's stream that the other end has ACKed in order.
    pub fn acked(&self) -> u64 {
        self.sender.as_ref().map_or(0, |sender| sender.una() - FIRST_BYTE)
    }

    /// Whether the handshake is over.
    pub fn is_established(&self) -> bool {
        self.phase == Phase::Established
    }

    /// Whether all that the application wrote is in the send buffer, so that there may be room for more.
    pub fn has_taken_all(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.writer_waits())
    }

    /// Most bytes of data in a segment.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// The sender's socket: window, counts and clocks; none before the first write.
    pub fn socket(&self) -> Option<&Socket> {
        self.sender.as_ref().map(|sender| &sender.socket)
    }

    /// The switches of the sender's congestion control, in order of time.
    pub fn switches(&self) -> &[(Time, Switch)] {
        self.sender.as_ref().map_or(&[], |sender| sender.switches())
    }

    /// The sender's retransmission timeout, microseconds, back-off included; none before the first
    /// write.
    pub fn rto_us(&self) -> Option<u64> {
        self.sender.as_ref().map(|sender| sender.rto_us())
    }

    /// Segments and bytes that the sender holds to be on their way; none before the first write.
    pub fn in_flight(&self) -> Option<(u32, u64)> {
        let sender = self.sender.as_ref()?;
        Some((sender.packets_in_flight(), sender.bytes_in_flight()))
    }

    /// The sender, which is made when it is first needed.
    fn sender(&mut self, now: Time) -> &mut Sender {
        self.sender.get_or_insert_with(|| {
            let profile = self.profile.clone();
            let rtt_us = self.handshake_rtt_us;
            let mut sender = Sender::new(profile, &self.control, self.mss, now, rtt_us, self.seed);
            sender.set_window(self.peer_window);
            if self.ecn {
                sender.enable_ecn();
            }
            Box::new(sender)
        })
    }

    /// Sends again what was in flight on a link that went away and has come back.
    fn restart(&mut self, now: Time, out: &mut Vec<Segment>) {
        let first = out.len();
        if let Some(sender) = &mut self.sender {
            sender.link_returned(now, out);
            self.finish(now, &mut out[first..]);
        }
    }

    /// Handles a segment after the handshake: the sender processes its ACK, the receiver its data, and then
    /// what may leave is sent.
    fn established(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        let first = out.len();
        if let Some(sender) = &mut self.sender {
            sender.on_ack(now, segment, out);
        } else {
            self.peer_window = segment.window;
        }
        self.receiver.receive(
            now,
            segment,
            &host(&self.profile, &self.sender, self.handshake_rtt_us),
        );
        if let Some(sender) = &mut self.sender {
            sender.transmit(now, out);
            sender.note_pair(&out[first..]);
            sender.settle_close();
        }
        self.finish(now, &mut out[first..]);
        if self.receiver.reply(now, &host(&self.profile, &self.sender, self.handshake_rtt_us)) {
            self.acknowledge(now, out);
        }
    }

    /// Sends a segment without data.
    fn acknowledge(&mut self, now: Time, out: &mut Vec<Segment>) {
        let seq = self.sender.as_ref().map_or(FIRST_BYTE, |sender| sender.nxt());
        out.push(Segment { seq, ..Segment::default() });
        let last = out.len() - 1;
        self.finish(now, &mut out[last..]);
    }

    /// Fills in what has been received: every segment tells it.
    fn finish(&mut self, now: Time, segments: &mut [Segment]) {
        for segment in segments {
            self.receiver.acknowledge(
                segment,
                now,
                &host(&self.profile, &self.sender, self.handshake_rtt_us),
            );
            self.stamp(now, segment);
        }
    }

    /// Gives a segment its timestamp, and the one that it echoes.
    fn stamp(&self, now: Time, segment: &mut Segment) {
        if self.profile.timestamps {
            let value = Timestamp::clock(now);
            segment.timestamp = Some(Timestamp { value, echo: self.receiver.echo() });
        }
    }

    /// Sends a SYN or its answer, and does so again, after a longer wait each time, until it is answered.
    fn send_syn(&mut self, now: Time, out: &mut Vec<Segment>) {
        let window = self.receiver.window();
        let mut segment = Segment { syn: true, window, ..Segment::default() };
        let times = match &mut self.phase {
            Phase::SynSent { times, .. } => {
                // By RFC 3168 only the first SYN asks for it.
                segment.ece = self.profile.ecn && *times == 0;
                segment.cwr = segment.ece;
                times
            }
            Phase::SynReceived { times, .. } => {
                segment.ack = FIRST_BYTE;
                segment.ece = self.ecn;
                times
            }
            Phase::Closed | Phase::Established => {
                self.syn_timer = None;
                return;
            }
        };
        let backoff = 1u64 << (*times).min(6);
        *times += 1;
        let wait = Span::from_nanos(self.profile.rto_initial.as_nanos() * backoff);
        self.syn_timer = Some(timer_wheel::expiry(now, wait, self.profile.hz));
        self.stamp(now, &mut segment);
        out.push(segment);
    }

    /// Handles a segment before the handshake is over.
    fn handshake(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        match self.phase {
            Phase::Closed | Phase::SynReceived { .. } if segment.syn && segment.ack == 0 => {
                self.receiver.synchronise(
                    now,
                    segment,
                    &host(&self.profile, &self.sender, self.handshake_rtt_us),
                );
                self.ecn = self.profile.ecn && segment.ece && segment.cwr;
                if self.phase == Phase::Closed {
                    self.phase = Phase::SynReceived { at: now, times: 0 };
                }
                self.send_syn(now, out);
            }
            Phase::SynSent { at, times } if segment.syn && segment.ack == FIRST_BYTE => {
                self.receiver.synchronise(
                    now,
                    segment,
                    &host(&self.profile, &self.sender, self.handshake_rtt_us),
                );
                self.ecn = self.profile.ecn && segment.ece;
                self.establish(now, at, times, segment);
                self.acknowledge(now, out);
                self.send_unsent(now, out);
            }
            Phase::SynReceived { at, times } if segment.ack >= FIRST_BYTE => {
                self.establish(now, at, times, segment);
                self.established(now, segment, out);
                self.send_unsent(now, out);
            }
            _ => {}
        }
    }

    /// Ends the handshake with this segment; it began at `at`, and its SYN was sent so many times.
    fn establish(&mut self, now: Time, at: Time, times: u32, segment: &Segment) {
        let rtt_us = (now - at).as_nanos() / 1000;
        self.handshake_rtt_us = (times == 1).then_some(rtt_us.max(1) as u32);
        self.peer_window = segment.window;
        self.syn_timer = None;
        self.phase = Phase::Established;
    }

    /// Sends what the application wrote during the handshake.
    fn send_unsent(&mut self, now: Time, out: &mut Vec<Segment>) {
        match std::mem::take(&mut self.unsent) {
            0 => {}
            bytes => {
                self.write(now, bytes, out);
                if std::mem::take(&mut self.closes) {
                    self.close();
                }
            }
        }
    }
}

/// What the receiver must know of its own end; without a sender it comes from the handshake.
fn host<'a>(
    profile: &'a Profile,
    sender: &Option<Box<Sender>>,
    handshake_rtt_us: Option<u32>,
) -> Host<'a> {
    let micros = |us: u64| Span::from_nanos(us * 1000);
    if let Some(sender) = sender {
        let srtt_us = sender.srtt_us();
        let srtt = (srtt_us > 0).then(|| micros(srtt_us));
        let (rto, rto_min) = (micros(sender.rto_us()), micros(sender.rto_min_us().into()));
        return Host { profile, srtt, rto, rto_min };
    }
    let srtt = handshake_rtt_us.map(|us| micros(us.into()));
    // This is RFC 6298, section 2.2, with Linux's least variation.
    let twice = |srtt: Span| (srtt + srtt).max(profile.rto_min);
    let rto = srtt.map_or(profile.rto_initial, |srtt| srtt + twice(srtt));
    Host { profile, srtt, rto, rto_min: profile.rto_min }
}
