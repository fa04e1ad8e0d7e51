//! Time as it passes for a connection: its clocks and its pacing, round trips at an even pace, and
//! idle time.

use super::{Checked, Connection, RTT_MAX_US};
use crate::CaEvent;

/// ACKs that a flight before an idle gap comes in, at most.
const MOST_ACKS: u32 = 64;

/// Largest train that Linux hands down at once, bytes.
const TRAIN_MAX_BYTES: u64 = 65_215;

impl Connection {
    pub(super) fn tell_clock(&mut self) {
        let fields = &mut self.socket.fields;
        fields.tcp_clock_cache = fields.tcp_mstamp * 1000;
    }

    /// Notes when the next segment may go, after so many bytes: the latest train has to be over.
    pub(super) fn paced(&mut self, bytes: u32) {
        let train = u64::from(bytes).min(TRAIN_MAX_BYTES);
        let lasts_ns =
            self.socket.pacing().and_then(|rate| (train * 1_000_000_000).checked_div(rate));
        let fields = &mut self.socket.fields;
        fields.tcp_wstamp_ns = fields.tcp_clock_cache + lasts_ns.unwrap_or(0);
    }

    /// What is sent now is limited by the application until all of it is delivered.
    pub(super) fn tell_whether_app_limited(&mut self) {
        let limited = self.limited;
        let fields = &mut self.socket.fields;
        if !limited {
            fields.app_limited = fields.delivered.wrapping_add(fields.packets_out).max(1);
        }
    }

    /// For an ACK: what was sent by then is delivered.
    pub(super) fn end_app_limited(&mut self) {
        let fields = &mut self.socket.fields;
        if fields.delivered.wrapping_sub(fields.app_limited).cast_signed() > 0 {
            fields.app_limited = 0;
        }
    }

    /// As the kernel does for SO_MAX_PACING_RATE, bytes per second.
    pub(super) fn pacing_limit(&mut self, most: u32) {
        if self.socket.pacing().is_none() {
            self.socket.set_pacing(true);
        }
        let sock = &mut self.socket.fields.inet_conn.icsk_inet.sk;
        sock.sk_max_pacing_rate = most.into();
        sock.sk_pacing_rate = sock.sk_pacing_rate.min(most.into());
    }

    /// Each flight is ACKed by so many ACKs at most. A queue grows meanwhile: each RTT is 1/256
    /// longer than the one before.
    pub(super) fn flights(&mut self, count: u8, acks: u8, rtt_us: u32) -> Checked {
        for _ in 0..count {
            let mut rest = self.in_flight();
            let size = rest.div_ceil(acks.into()).max(1);
            let apart_us = rtt_us / rest.div_ceil(size).max(1);
            let mut sample_us = rtt_us;
            while rest > 0 {
                self.ack(size, 0, Some(sample_us), apart_us)?;
                rest = rest.saturating_sub(size);
                sample_us = (sample_us + sample_us / 256).min(RTT_MAX_US);
            }
        }
        Ok(())
    }

    pub(super) fn idle(&mut self, gap_us: u64, writes: u8) -> Checked {
        // What was written is sent and ACKed, by ACKs of the usual size; nothing follows.
        let rtt_us = (self.socket.fields.srtt_us >> 3).max(1);
        let size = self.in_flight().div_ceil(MOST_ACKS).max(2);
        let apart_us = u64::from(rtt_us / self.in_flight().div_ceil(size).max(1));
        while self.in_flight() > 0 {
            self.socket.fields.tcp_mstamp += apart_us;
            self.acked(size, 0, Some(rtt_us))?;
        }

        self.socket.fields.tcp_mstamp += gap_us;
        let rto_us = u64::from(rtt_us) + 200_000;
        for _ in 0..writes {
            if gap_us <= rto_us || self.controls_alone() {
                break;
            }
            self.call(|socket| socket.cwnd_event(CaEvent::CwndRestart))?;
            let ssthresh = self.ssthresh_now();
            let fields = &mut self.socket.fields;
            fields.snd_ssthresh = ssthresh;
            let restart = fields.snd_cwnd.min(10);
            let halvings = (gap_us / rto_us).min(31) as u32;
            fields.snd_cwnd = (fields.snd_cwnd >> halvings).max(restart);
        }
        // There was nothing to send.
        self.socket.fields.app_limited = self.socket.fields.delivered.max(1);
        self.send()
    }
}
