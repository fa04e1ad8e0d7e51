//! Plays what a connection may meet against a socket, with the callbacks in the order in which the
//! kernel makes them, and checks after each what must hold for every algorithm.
//!
//! Every sequence of operations is one that the kernel could produce: an operation that cannot happen
//! in the present state does nothing.

mod bytes;
mod operation;
mod pace;

use std::fmt;

use crate::{Algorithm, CaEvent, CaState, RateSample, Socket};

pub use bytes::{RECORD, decode, decode_quiet, play, play_decoded, play_quiet};
pub use operation::Operation;

/// Longest round-trip time that is played, microseconds.
pub const RTT_MAX_US: u32 = 100_000_000;

/// No slow start threshold.
pub const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;

/// Most bytes in flight: the largest window that TCP can announce.
const FLIGHT_MAX: u64 = 1 << 30;
/// Segments that a new connection may send (RFC 6928).
const INITIAL_WINDOW: u32 = 10;

/// Growth for an ACK beyond twice the window and what it ACKs: Hybla's 2^16 in slow start, where it
/// knows the RTT; for the others what they have counted before.
const HYBLA_LEAP: u64 = 1 << 16;
const LEAP: u64 = 16;

/// What must hold, and did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Position of the operation.
    pub at: usize,
    /// The operation after which it did not hold.
    pub operation: Operation,
    /// What should have held.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} (operation {}, {:?})", self.what, self.at, self.operation)
    }
}

impl std::error::Error for Broken {}

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// With this algorithm,
    pub algorithm: Algorithm,
    /// segments of so many bytes,
    pub mss: u32,
    /// a window of so many segments,
    pub cwnd: u32,
    /// a slow start threshold of so many,
    pub ssthresh: u32,
    /// and never one larger than this.
    pub clamp: u32,
}

/// A connection that operations are played against.
pub struct Connection {
    /// The socket that the operations change.
    pub socket: Socket,
    state: CaState,
    una: u32,
    high_seq: u32,
    /// 0: none, as in the kernel.
    prior_ssthresh: u32,
    may_undo: bool,
    /// ACKs came in since the latest timeout.
    progress: bool,
    limited: bool,
    /// Segments held for lost that no rate sample has told of yet.
    losses: u32,
    /// Where the present round trip ends, and the segments that were in flight when it began.
    round_end: u32,
    flight: u32,
    /// Segments that had been sent at the latest transmission with nothing in flight.
    start_segs: u32,
}

type Checked = Result<(), String>;

impl Connection {
    /// A connection that has just been established.
    ///
    /// # Errors
    /// Fails if the algorithm's init breaks what must hold.
    pub fn begin(beginning: &Beginning) -> Result<Connection, String> {
        let mut socket = Socket::new(beginning.algorithm, beginning.mss);
        socket.connection = Some(Box::default());
        socket.fields.snd_cwnd_clamp = beginning.clamp;
        socket.fields.snd_cwnd = beginning.cwnd.min(beginning.clamp);
        socket.fields.snd_ssthresh = beginning.ssthresh;
        socket.fields.tcp_mstamp = 1_000_000;
        let mut connection = Connection {
            socket,
            state: CaState::Open,
            una: 0,
            high_seq: 0,
            prior_ssthresh: 0,
            may_undo: false,
            progress: true,
            limited: true,
            losses: 0,
            round_end: 0,
            flight: 0,
            start_segs: 0,
        };
        connection.call(|socket| socket.switch_to(beginning.algorithm))?;
        connection.send()?;
        Ok(connection)
    }

    /// The window, segments.
    pub fn cwnd(&self) -> u32 {
        self.socket.fields.snd_cwnd
    }

    /// The state of congestion control.
    pub fn state(&self) -> CaState {
        self.state
    }

    /// Segments in flight.
    pub fn in_flight(&self) -> u32 {
        self.socket.fields.snd_nxt.wrapping_sub(self.una).div_ceil(self.mss())
    }

    /// Plays one operation, and checks what must hold.
    ///
    /// # Errors
    /// Fails if something that must hold did not.
    pub fn play(&mut self, operation: &Operation) -> Checked {
        match *operation {
            Operation::Ack { segments, sacked, rtt_us, after_us, limited } => {
                self.limited = limited;
                self.ack(segments, sacked, rtt_us, after_us)
            }
            Operation::Flights { count, acks, rtt_us, limited } => {
                self.limited = limited;
                self.flights(count, acks, rtt_us)
            }
            Operation::FastRetransmit => self.fast_retransmit(),
            Operation::Timeout { left } => self.timeout(left),
            Operation::CongestionMark => self.congestion_mark(),
            Operation::Disorder => match self.state {
                CaState::Open => self.set_state(CaState::Disorder),
                CaState::Disorder => self.set_state(CaState::Open),
                _ => Ok(()),
            },
            Operation::Recover => {
                let segments = self.in_flight();
                let rtt_us = self.socket.fields.srtt_us >> 3;
                self.ack(segments, 0, Some(rtt_us.max(1)), rtt_us)
            }
            Operation::Undo => self.undo(),
            Operation::Idle { gap_us, writes } => self.idle(gap_us, writes),
            Operation::ApplicationLimited { used } => {
                self.application_limited(used);
                Ok(())
            }
            Operation::Mss { bytes } => self.path_mtu(bytes),
            Operation::PacingLimit { most } => {
                self.pacing_limit(most);
                Ok(())
            }
            Operation::ForgetRtt => {
                let fields = &mut self.socket.fields;
                if fields.srtt_us > 0 {
                    fields.rtt_min.s[0].v = (fields.srtt_us >> 3).max(1);
                }
                Ok(())
            }
            Operation::Switch { to } => {
                self.prior_ssthresh = 0;
                let (cwnd, ssthresh) = (self.cwnd(), self.socket.fields.snd_ssthresh);
                let no_ssthresh = self.controls_alone() || to.controls_alone();
                // One of ours leaves a transfer that goes on with what Reno's slow start would have come to.
                let left = self.socket.algorithm();
                let may_shrink = ssthresh >= SSTHRESH_INFINITE && left.name().starts_with("kk_");
                let least = INITIAL_WINDOW + self.acked_since_start();
                self.call(|socket| socket.switch_to(to))?;
                let fields = &self.socket.fields;
                must(
                    fields.snd_cwnd == cwnd
                        || may_shrink && (least..cwnd).contains(&fields.snd_cwnd),
                    "a switch keeps cwnd, but for that of a first slow start with more than Reno's",
                )?;
                must(no_ssthresh || fields.snd_ssthresh == ssthresh, "a switch keeps ssthresh")
            }
        }
    }

    /// Whether the kernel leaves window and pacing to the algorithm.
    fn controls_alone(&self) -> bool {
        self.socket.algorithm().controls_alone()
    }

    fn mss(&self) -> u32 {
        self.socket.fields.mss_cache
    }

    /// Segments ACKed since the latest transmission with nothing in flight.
    fn acked_since_start(&self) -> u32 {
        let fields = &self.socket.fields;
        let sent = fields.data_segs_out.wrapping_sub(self.start_segs);
        sent.saturating_sub(fields.packets_out)
    }

    /// Calls back, and checks.
    fn call<T>(&mut self, callback: impl FnOnce(&mut Socket) -> T) -> Result<T, String> {
        let before = (self.cwnd(), self.socket.pacing());
        let result = callback(&mut self.socket);
        let cwnd = self.cwnd();
        let clamp = self.socket.fields.snd_cwnd_clamp;
        must(cwnd >= 1, "cwnd is at least 1")?;
        must_of(cwnd <= clamp.max(before.0), || format!("cwnd {cwnd} <= clamp {clamp}"))?;
        let ssthresh = self.socket.fields.snd_ssthresh;
        must_of(ssthresh >= 2, || format!("ssthresh {ssthresh} >= 2"))?;
        let pacing = self.socket.pacing();
        must(pacing == before.1 || pacing != Some(0), "a pacing rate that is set is above 0")?;
        Ok(result)
    }

    fn set_state(&mut self, state: CaState) -> Checked {
        self.call(|socket| socket.set_state(state))?;
        self.state = state;
        Ok(())
    }

    /// Whatever the window allows is sent, and the first of it announced where nothing was there.
    fn send(&mut self) -> Checked {
        self.tell_clock();
        if self.in_flight() == 0 {
            // There is always more to send.
            self.socket.fields.write_seq = self.una.wrapping_add(FLIGHT_MAX as u32);
            self.start_segs = self.socket.fields.data_segs_out;
            self.call(|socket| socket.cwnd_event(CaEvent::TxStart))?;
        }
        let bytes = (u64::from(self.cwnd()) * u64::from(self.mss())).min(FLIGHT_MAX) as u32;
        let fields = &mut self.socket.fields;
        if fields.snd_nxt.wrapping_sub(self.una) < bytes {
            let snd_nxt = self.una.wrapping_add(bytes);
            let sent = snd_nxt.wrapping_sub(fields.snd_nxt);
            let segments = sent.div_ceil(fields.mss_cache);
            fields.data_segs_out = fields.data_segs_out.wrapping_add(segments);
            fields.bytes_sent += u64::from(sent);
            fields.lsndtime_us = fields.tcp_mstamp;
            fields.snd_nxt = snd_nxt;
            self.paced(sent);
        }
        let fields = &mut self.socket.fields;
        fields.max_packets_out = fields.snd_nxt.wrapping_sub(self.una).div_ceil(fields.mss_cache);
        fields.packets_out = fields.max_packets_out;
        fields.set_is_cwnd_limited(self.limited.into());
        self.tell_whether_app_limited();
        Ok(())
    }

    fn rtt_sample(&mut self, rtt_us: u32) {
        let fields = &mut self.socket.fields;
        let rtt_us = rtt_us.clamp(1, RTT_MAX_US);
        fields.srtt_us = match fields.srtt_us {
            0 => rtt_us << 3,
            srtt => srtt - (srtt >> 3) + rtt_us,
        };
        fields.rtt_min.s[0].v = fields.rtt_min.s[0].v.min(rtt_us);
    }

    fn ack(&mut self, segments: u32, sacked: u32, rtt_us: Option<u32>, after_us: u32) -> Checked {
        self.socket.fields.tcp_mstamp += u64::from(after_us);
        self.acked(segments, sacked, rtt_us)?;
        self.send()
    }

    /// An ACK, upon which nothing has been sent yet.
    fn acked(&mut self, segments: u32, sacked: u32, rtt_us: Option<u32>) -> Checked {
        let in_flight = self.in_flight();
        let segments = segments.min(in_flight);
        let sacked = sacked.min(in_flight - segments);
        let mss = self.mss();
        let fields = &mut self.socket.fields;
        let bytes = (u64::from(segments) * u64::from(mss))
            .min(u64::from(fields.snd_nxt.wrapping_sub(self.una))) as u32;
        self.una = self.una.wrapping_add(bytes);
        fields.snd_una = self.una;
        fields.bytes_acked += u64::from(bytes);
        fields.delivered = fields.delivered.wrapping_add(segments + sacked);
        fields.delivered_mstamp = fields.tcp_mstamp;
        self.tell_clock();
        self.end_app_limited();
        if let Some(rtt_us) = rtt_us {
            self.rtt_sample(rtt_us);
        }
        self.call(|socket| socket.pkts_acked(segments, rtt_us, in_flight))?;
        self.progress |= segments > 0;
        self.state_may_end()?;
        let sample = self.rate_sample(segments + sacked, in_flight, rtt_us);
        self.control(segments, &sample)?;
        self.pacing_rate();
        Ok(())
    }

    /// What was in flight at the latest loss or mark is ACKed.
    fn state_may_end(&mut self) -> Checked {
        let beyond = self.una.wrapping_sub(self.high_seq).cast_signed();
        match self.state {
            CaState::Cwr if beyond > 0 => {
                self.reduction_end()?;
                self.set_state(CaState::Open)
            }
            CaState::Recovery if beyond >= 0 => {
                self.set_state(CaState::Open)?;
                self.reduction_end()
            }
            CaState::Loss if beyond >= 0 => self.set_state(CaState::Open),
            _ => Ok(()),
        }
    }

    fn reduction_end(&mut self) -> Checked {
        if self.controls_alone() {
            return Ok(());
        }
        let fields = &mut self.socket.fields;
        if fields.snd_ssthresh < SSTHRESH_INFINITE {
            // The kernel asks no one; a clamp that is lower only concerns growth.
            fields.snd_cwnd = fields.snd_ssthresh;
        }
        self.call(|socket| socket.cwnd_event(CaEvent::CompleteCwr))
    }

    /// What an ACK tells of the rate: what was in flight when the round trip began is delivered in it.
    fn rate_sample(&mut self, acked: u32, in_flight: u32, rtt_us: Option<u32>) -> RateSample {
        let fields = &mut self.socket.fields;
        fields.packets_out = fields.snd_nxt.wrapping_sub(self.una).div_ceil(fields.mss_cache);
        let mut flight = self.flight.max(acked);
        if self.state == CaState::Loss {
            flight = flight.min(fields.snd_cwnd); // the others are lost
        }
        if self.una.wrapping_sub(self.round_end).cast_signed() >= 0 {
            self.round_end = fields.snd_nxt;
            self.flight = fields.packets_out;
        }
        let sampled = rtt_us.filter(|_| acked > 0);
        RateSample {
            prior_delivered: fields.delivered.wrapping_sub(flight),
            delivered: sampled.map_or(-1, |_| flight.cast_signed()),
            interval_us: sampled.map_or(-1, |rtt_us| rtt_us.max(1).into()),
            rtt_us: rtt_us.map_or(-1, i64::from),
            losses: std::mem::take(&mut self.losses).cast_signed(),
            acked_sacked: acked,
            prior_in_flight: in_flight,
            is_app_limited: !self.limited,
            ..RateSample::default()
        }
    }

    fn lose(&mut self, segments: u32) {
        self.losses = self.losses.saturating_add(segments);
        self.socket.fields.lost = self.socket.fields.lost.wrapping_add(segments);
    }

    /// The end of an ACK: what takes the window where it should be.
    fn control(&mut self, segments: u32, sample: &RateSample) -> Checked {
        let acked = sample.acked_sacked;
        if self.controls_alone() {
            return self.call(|socket| socket.cong_control(sample));
        }
        let fields = &mut self.socket.fields;
        match self.state {
            // As far as proportional rate reduction gets with each ACK.
            CaState::Cwr | CaState::Recovery => {
                let (cwnd, ssthresh) = (fields.snd_cwnd, fields.snd_ssthresh);
                fields.snd_cwnd = if cwnd > ssthresh {
                    cwnd.saturating_sub(acked).max(ssthresh)
                } else {
                    cwnd.saturating_add(acked).min(ssthresh)
                };
                Ok(())
            }
            _ if segments > 0 => {
                let (ack, before) = (self.una, self.cwnd());
                let leaps = self.socket.algorithm().name() == "kk_hybla"
                    && self.socket.fields.rtt_min.s[0].v != u32::MAX;
                self.call(|socket| socket.cong_avoid(ack, acked))?;
                let most = 2 * u64::from(before)
                    + u64::from(acked)
                    + if leaps { HYBLA_LEAP } else { LEAP };
                must_of(u64::from(self.cwnd()) <= most, || {
                    format!("cwnd leaps from {before} to {} for an ACK of {acked}", self.cwnd())
                })
            }
            _ => Ok(()),
        }
    }

    /// As the kernel takes it from the window after each ACK, less its factor.
    fn pacing_rate(&mut self) {
        if self.controls_alone() {
            return;
        }
        let fields = &mut self.socket.fields;
        let bytes = u64::from(fields.snd_cwnd) * u64::from(fields.mss_cache);
        let rate = bytes.saturating_mul(8_000_000).checked_div(u64::from(fields.srtt_us));
        let sock = &mut fields.inet_conn.icsk_inet.sk;
        if let Some(rate) = rate {
            sock.sk_pacing_rate = rate.min(sock.sk_max_pacing_rate);
        }
    }

    fn ssthresh_now(&self) -> u32 {
        let fields = &self.socket.fields;
        match self.state {
            CaState::Cwr | CaState::Recovery => fields.snd_ssthresh,
            _ => fields.snd_ssthresh.max((fields.snd_cwnd >> 1) + (fields.snd_cwnd >> 2)),
        }
    }

    fn ssthresh(&mut self) -> Checked {
        let ssthresh = self.call(Socket::ssthresh)?;
        must_of(ssthresh >= 2, || format!("ssthresh() gives {ssthresh}, less than 2"))?;
        self.socket.fields.snd_ssthresh = ssthresh;
        Ok(())
    }

    fn reduction_begin(&mut self) -> Checked {
        let fields = &mut self.socket.fields;
        self.high_seq = fields.snd_nxt;
        fields.snd_cwnd_cnt = 0;
        fields.prior_cwnd = fields.snd_cwnd;
        self.ssthresh()
    }

    fn fast_retransmit(&mut self) -> Checked {
        match self.state {
            CaState::Recovery | CaState::Loss => return Ok(()),
            CaState::Cwr => self.prior_ssthresh = 0,
            CaState::Open | CaState::Disorder => {
                self.prior_ssthresh = self.ssthresh_now();
                self.reduction_begin()?;
            }
        }
        self.may_undo = true;
        self.lose(1);
        self.set_state(CaState::Recovery)
    }

    fn congestion_mark(&mut self) -> Checked {
        self.prior_ssthresh = 0;
        if !matches!(self.state, CaState::Open | CaState::Disorder) {
            return Ok(());
        }
        self.may_undo = false;
        self.reduction_begin()?;
        self.set_state(CaState::Cwr)
    }

    fn timeout(&mut self, left: u32) -> Checked {
        let news = self.una.wrapping_sub(self.high_seq).cast_signed() >= 0;
        if matches!(self.state, CaState::Open | CaState::Disorder)
            || news
            || (self.state == CaState::Loss && self.progress)
        {
            self.prior_ssthresh = self.ssthresh_now();
            self.socket.fields.prior_cwnd = self.cwnd();
            self.ssthresh()?;
            self.call(|socket| socket.cwnd_event(CaEvent::Loss))?;
            self.may_undo = true;
        }
        self.lose(self.in_flight().saturating_sub(left));
        let fields = &mut self.socket.fields;
        fields.snd_cwnd = left.min(fields.snd_cwnd - 1) + 1;
        fields.snd_cwnd_cnt = 0;
        self.high_seq = fields.snd_nxt;
        self.progress = false;
        self.set_state(CaState::Loss)
    }

    fn undo(&mut self) -> Checked {
        if !self.may_undo || !matches!(self.state, CaState::Recovery | CaState::Loss) {
            return Ok(());
        }
        if self.prior_ssthresh > 0 {
            let cwnd = self.call(Socket::undo_cwnd)?;
            must_of(cwnd >= 1, || format!("undo_cwnd() gives {cwnd}"))?;
            let fields = &mut self.socket.fields;
            fields.snd_cwnd = cwnd;
            fields.snd_ssthresh = fields.snd_ssthresh.max(self.prior_ssthresh);
        }
        self.may_undo = false;
        self.set_state(CaState::Open)
    }

    fn application_limited(&mut self, used: u32) {
        let ssthresh = self.ssthresh_now();
        let fields = &mut self.socket.fields;
        let used = used.max(10);
        if self.state == CaState::Open && used < fields.snd_cwnd {
            fields.snd_ssthresh = ssthresh;
            fields.snd_cwnd = (fields.snd_cwnd + used) >> 1;
        }
    }

    /// Smaller segments are a loss for which the algorithm is not asked.
    fn path_mtu(&mut self, bytes: u32) -> Checked {
        let smaller = bytes < self.mss();
        self.socket.fields.mss_cache = bytes;
        if !smaller || self.state == CaState::Loss {
            return Ok(());
        }
        let ssthresh = self.ssthresh_now();
        let fields = &mut self.socket.fields;
        self.high_seq = fields.snd_nxt;
        fields.snd_ssthresh = ssthresh.max(2);
        self.prior_ssthresh = 0;
        self.may_undo = false;
        self.set_state(CaState::Loss)
    }
}

fn must(holds: bool, what: &str) -> Checked {
    must_of(holds, || what.to_owned())
}

fn must_of(holds: bool, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(what()) }
}
