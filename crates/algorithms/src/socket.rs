//! A TCP socket as an algorithm sees it, and the callbacks in which the kernel calls it.

use std::fmt::Debug;

use crate::c;
use crate::twin::{Compared, Twin};
use crate::{Algorithm, Belief, Losses};

/// What one ACK told of the rate of delivery, the kernel's `struct rate_sample`.
pub type RateSample = c::rate_sample;

/// The state of congestion control, the kernel's `enum tcp_ca_state`, in the kernel's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum CaState {
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

/// `enum tcp_ca_event`, as far as the algorithms listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
    /// First transmission with nothing in flight.
    TxStart,
    /// The window is about to be cut after an idle RTO.
    CwndRestart,
    /// End of a window reduction.
    CompleteCwr,
    /// The retransmission timer expired.
    Loss,
}

/// Bytes that an algorithm may use as it likes.
pub type LargeState = [u64; c::LARGE_STATE_BYTES as usize / size_of::<u64>()];

/// Whether the kernel itself brings the window down in this state.
fn reduces(state: u8) -> bool {
    state == CaState::Cwr as u8 || state == CaState::Recovery as u8
}

/// A socket: the fields of `bpf/kernel/kernel.h`, and the algorithm in use.
pub struct Socket {
    /// The fields. Pointers among them are set before each call and may hold anything.
    pub fields: c::tcp_sock,
    /// What the switcher remembers of the connection; none where it has not met it. What idle keep
    /// knows of the path survives a switch there.
    pub connection: Option<Box<c::connection>>,
    /// What an algorithm keeps beyond the private area; none where it keeps nothing there, or where
    /// memory is short.
    pub large_state: Option<Box<LargeState>>,
    pub(crate) algorithm: Algorithm,
    /// The twin without quiet ACKs; None if they are not checked.
    pub(crate) twin: Option<Box<Twin>>,
}

// SAFETY: the pointers among the fields are set before each call; nobody else follows them.
unsafe impl Send for Socket {}

impl Socket {
    /// A new connection with segments of `mss` bytes: its window is 10 segments, its ssthresh infinite, and it
    /// has no RTT sample. The algorithm has taken it up.
    pub fn new(algorithm: Algorithm, mss: u32) -> Socket {
        let mut socket = Socket::connecting(algorithm, mss);
        socket.establish();
        socket
    }

    /// The same before the handshake is over: the algorithm does not know of it yet.
    pub fn connecting(algorithm: Algorithm, mss: u32) -> Socket {
        let mut fields = c::tcp_sock {
            mss_cache: mss,
            snd_cwnd: 10,
            snd_cwnd_clamp: u32::MAX,
            snd_ssthresh: c::TCP_INFINITE_SSTHRESH,
            ..Default::default()
        };
        fields.rtt_min.s[0].v = u32::MAX;
        let sock = &mut fields.inet_conn.icsk_inet.sk;
        sock.sk_max_pacing_rate = std::ffi::c_ulong::MAX;
        sock.sk_pacing_rate = std::ffi::c_ulong::MAX;
        sock.sk_pacing_shift = 10;
        Socket { fields, connection: None, large_state: None, algorithm, twin: None }
    }

    /// The algorithm in use.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Switches as the kernel does: release, private area zeroed, init; window and ssthresh stay.
    pub fn switch_to(&mut self, algorithm: Algorithm) {
        if self.is_taken_up()
            && let Some(release) = self.algorithm.ops().release
        {
            self.call(|sk| unsafe { release(sk) });
        }
        self.algorithm = algorithm;
        self.fields.inet_conn.icsk_ca_priv = Default::default();
        self.initialise();
    }

    /// What was lost so far, where a switcher measures the connection.
    pub fn losses(&self) -> Option<Losses> {
        self.connection.as_ref().map(|connection| Losses {
            segments: connection.estimator.all_sent,
            isolated: connection.estimator.all_isolated,
            bursts: connection.estimator.all_bursts,
        })
    }

    /// How likely the switcher holds each of its table's conditions, of which there are so many, where it has
    /// met the connection.
    pub fn belief(&self, conditions: usize) -> Option<Vec<f64>> {
        let connection = self.connection.as_ref()?;
        Some(Belief::from(connection.belief).weights(conditions))
    }

    /// Bytes of the burst that the switcher reckons with, the mean or the present one; 0 where it has
    /// not met the connection.
    pub fn burst(&self) -> u32 {
        // SAFETY: plain data that the C code only uses during the call.
        let bytes = |connection| unsafe { c::kk_burst_bytes(connection, &self.fields) };
        self.connection.as_deref().map_or(0, |connection| bytes(connection))
    }

    /// The handshake is over: the algorithm takes the connection up, unless one was set meanwhile, which has.
    pub fn establish(&mut self) {
        if !self.is_taken_up() {
            self.initialise();
        }
    }

    /// Whether the algorithm has taken the connection up.
    fn is_taken_up(&self) -> bool {
        self.fields.inet_conn.icsk_ca_initialized() != 0
    }

    /// Calls `init`.
    fn initialise(&mut self) {
        self.fields.inet_conn.set_icsk_ca_initialized(1);
        self.large_state = self.algorithm.has_large_state().then(|| Box::new([0; _]));
        self.twin = self.algorithm.has_twin().then(|| Twin::of(self)).flatten();
        if let Some(init) = self.algorithm.ops().init {
            self.call(|sk| unsafe { init(sk) });
        }
    }

    /// The state of congestion control.
    #[inline]
    pub fn state(&self) -> CaState {
        match self.fields.inet_conn.icsk_ca_state() {
            0 => CaState::Open,
            1 => CaState::Disorder,
            2 => CaState::Cwr,
            3 => CaState::Recovery,
            4 => CaState::Loss,
            state => unreachable!("state {state}"),
        }
    }

    /// Calls `set_state`, and then sets the socket's own state.
    pub fn set_state(&mut self, state: CaState) {
        if let Some(set_state) = self.algorithm.ops().set_state {
            self.call(|sk| unsafe { set_state(sk, state as u8) });
        }
        self.fields.inet_conn.set_icsk_ca_state(state as u8);
    }

    /// Calls `cwnd_event`.
    pub fn cwnd_event(&mut self, event: CaEvent) {
        if let Some(cwnd_event) = self.algorithm.ops().cwnd_event {
            self.call(|sk| unsafe { cwnd_event(sk, event as c::tcp_ca_event) });
        }
    }

    /// Calls `pkts_acked` with the segments cumulatively ACKed, the RTT sample in microseconds, if any, and the
    /// segments delivered since the latest of them was sent.
    pub fn pkts_acked(&mut self, segments: u32, rtt_us: Option<u32>, delivered: u32) {
        if let Some(pkts_acked) = self.algorithm.ops().pkts_acked {
            let rtt_us = rtt_us.map_or(-1, |us| i32::try_from(us).unwrap_or(i32::MAX));
            let in_flight = delivered.saturating_mul(self.fields.mss_cache);
            let sample = c::ack_sample { pkts_acked: segments, rtt_us, in_flight };
            self.call(|sk| unsafe { pkts_acked(sk, &sample) });
        }
    }

    /// Calls `cong_avoid`: `acked` segments were newly ACKed, up to the sequence number `ack`.
    pub fn cong_avoid(&mut self, ack: u32, acked: u32) {
        if let Some(cong_avoid) = self.algorithm.ops().cong_avoid {
            // With quiet ACKs, and so with a twin, an algorithm has cong_control instead.
            self.call_alone(|sk| unsafe { cong_avoid(sk, ack, acked) });
        }
    }

    /// Calls `cong_control`, where the algorithm has it.
    pub fn cong_control(&mut self, sample: &RateSample) {
        if let Some(cong_control) = self.algorithm.ops().cong_control {
            if self.twin.is_some() {
                return self.ack_of_twins(|sk| unsafe { cong_control(sk, sample) });
            }
            self.call_alone(|sk| unsafe { cong_control(sk, sample) });
        }
    }

    /// What the twin of this socket has been compared in; none where it has none.
    pub fn compared(&self) -> Option<Compared> {
        self.twin.as_ref().map(|twin| twin.compared())
    }

    /// The end of an ACK: `cong_control`, or else `cong_avoid` where the state lets a window grow.
    pub fn ack(&mut self, ack: u32, acked: u32, sample: &RateSample) {
        if self.algorithm.controls_alone() {
            self.cong_control(sample);
        } else if !reduces(self.fields.inet_conn.icsk_ca_state()) {
            self.cong_avoid(ack, acked);
        }
    }

    /// The slow start threshold in use, segments; none while it is infinite.
    pub fn finite_ssthresh(&self) -> Option<u32> {
        Some(self.fields.snd_ssthresh).filter(|ssthresh| *ssthresh < c::TCP_INFINITE_SSTHRESH)
    }

    /// Calls `ssthresh`: the slow start threshold after a loss, in segments.
    ///
    /// # Panics
    /// Every algorithm has this callback; one without it panics.
    pub fn ssthresh(&mut self) -> u32 {
        let ssthresh = self.algorithm.ops().ssthresh.expect("compulsory");
        self.call(|sk| unsafe { ssthresh(sk) })
    }

    /// Calls `undo_cwnd`: the window in segments when a reduction is taken back.
    ///
    /// # Panics
    /// Every algorithm has this callback; one without it panics.
    pub fn undo_cwnd(&mut self) -> u32 {
        let undo_cwnd = self.algorithm.ops().undo_cwnd.expect("compulsory");
        self.call(|sk| unsafe { undo_cwnd(sk) })
    }

    /// Whether the socket paces by itself, and at how many bytes per second.
    pub fn pacing(&self) -> Option<u64> {
        let sock = &self.fields.inet_conn.icsk_inet.sk;
        (sock.sk_pacing_status == c::sk_pacing_SK_PACING_NEEDED).then_some(sock.sk_pacing_rate)
    }

    /// Turns pacing on or off, as bbr and SO_MAX_PACING_RATE do.
    pub fn set_pacing(&mut self, on: bool) {
        let sock = &mut self.fields.inet_conn.icsk_inet.sk;
        sock.sk_pacing_status =
            if on { c::sk_pacing_SK_PACING_NEEDED } else { c::sk_pacing_SK_PACING_NONE };
    }

    #[inline]
    fn call<T: PartialEq + Debug>(&mut self, callback: impl Fn(*mut c::sock) -> T) -> T {
        if self.twin.is_some() {
            return self.call_twins(callback);
        }
        self.call_alone(callback)
    }

    /// SAFETY of every call: the C code gets a socket that lives through the call and that no one
    /// else uses; it follows no pointer in it but those that are set here, and keeps none.
    ///
    /// They are set each time, which is three stores: whatever was done to the public fields since,
    /// or to where the socket is, none of them leads astray.
    #[inline]
    pub(crate) fn call_alone<T>(&mut self, callback: impl FnOnce(*mut c::sock) -> T) -> T {
        fn pointer<T>(place: &mut Option<Box<T>>) -> *mut T {
            place.as_deref_mut().map_or(std::ptr::null_mut(), |kept| kept)
        }
        self.fields.connection = pointer(&mut self.connection);
        self.fields.parameters = self.algorithm.values().as_ptr();
        self.fields.large_state = pointer(&mut self.large_state).cast();
        callback((&raw mut self.fields).cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulator has one for each connection, most of them idle.
    #[test]
    fn a_socket_is_small() {
        let window = Socket::new(Algorithm::named("kk_cubic").unwrap(), 1448);
        assert!(window.connection.is_none() && window.large_state.is_none());
        assert!(size_of::<Socket>() <= 464, "{} bytes", size_of::<Socket>());
        let bbr3 = Socket::new(Algorithm::named("kk_bbr3").unwrap(), 1448);
        assert!(bbr3.large_state.is_some());
    }

    #[test]
    fn a_socket_may_be_moved_and_its_fields_replaced() {
        let reno = Algorithm::named("kk_reno").unwrap();
        let mut socket = Socket::new(reno, 1448);
        socket.connection = Some(Box::default());
        let copied = {
            let mut other = Socket::new(reno, 1448);
            other.connection = Some(Box::default());
            other.cwnd_event(CaEvent::TxStart);
            other.fields
        };
        socket.fields = copied;
        let mut moved = vec![socket].pop().unwrap();
        moved.switch_to(reno);
        assert_eq!(moved.ssthresh(), 5);
    }
}
