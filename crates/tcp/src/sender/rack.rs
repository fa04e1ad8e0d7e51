//! RACK: a segment is lost when one sent sufficiently later was delivered (RFC 8985, section 6).

use kirikae_algorithms::CaState;
use kirikae_path::Time;

use super::Sender;
use super::ack::Ack;
use super::delivery_rate::Sampling;
use super::scoreboard::{SendOrder, Sent};
use super::timer::{Purpose, TIMEOUT_MIN_US};
use crate::{LossDetection, Segment};

/// Recoveries for which a wider reordering window is kept (RFC 8985, section 6.2, step 4).
const PERSIST_RECOVERIES: u32 = 16;
const STEPS_MAX: u32 = 255;

/// RACK's variables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// The most recently sent segment that was delivered: RACK.xmit_ts and RACK.end_seq.
    latest: SendOrder,
    /// Its round-trip time, microseconds: RACK.rtt.
    rtt_us: u64,
    /// It has changed since losses were last looked for.
    pub advanced: bool,
    /// RACK.reo_wnd_mult: quarters of the lowest RTT that reordering is given.
    steps: u32,
    /// RACK.reo_wnd_persist
    pub persist: u32,
    /// A DSACK came in since the window was last adapted.
    pub dsack_seen: bool,
    /// `delivered` when the window was last adapted.
    adapted_at: u32,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            latest: (0, 0),
            rtt_us: 0,
            advanced: false,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            adapted_at: 0,
        }
    }
}

impl Rack {
    /// RACK.rtt, microseconds; 0 before anything was delivered.
    pub fn rtt_us(&self) -> u64 {
        self.rtt_us
    }

    /// Another sign that segments are reordered, not lost.
    pub fn keep_window(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST_RECOVERIES);
    }
}

impl Sender {
    pub(super) fn uses_rack(&self) -> bool {
        self.profile.loss_detection == LossDetection::Rack && self.profile.sack
    }

    /// A segment is delivered (section 6.2, steps 1 and 2).
    pub(super) fn rack_delivered(&mut self, sent: &Sent) {
        let rtt_us = self.now_us().saturating_sub(sent.sent_us);
        if sent.ever_retransmitted && rtt_us < self.min_rtt_us().unwrap_or(u64::MAX) {
            return; // more likely the original than what was sent again
        }
        self.rack.advanced = true;
        self.rack.rtt_us = rtt_us;
        self.rack.latest = self.rack.latest.max((sent.sent_us, sent.end()));
    }

    /// Adapts the reordering window to DSACKs, once in a round trip (section 6.2, step 4).
    pub(super) fn rack_adapt_window(&mut self, sampling: &Sampling) {
        let Some(prior_delivered) = sampling.prior_delivered() else { return };
        let rack = &mut self.rack;
        if prior_delivered.wrapping_sub(rack.adapted_at).cast_signed() < 0 {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.steps = (rack.steps + 1).min(STEPS_MAX);
            rack.dsack_seen = false;
            rack.adapted_at = self.socket.fields.delivered;
            rack.persist = PERSIST_RECOVERIES;
        } else if rack.persist == 0 {
            rack.steps = 1;
        }
    }

    /// What reordering is given beyond the round trip, microseconds.
    fn reordering_window_us(&self) -> u64 {
        if !self.reordering_seen && self.profile.rack_shortcut {
            let dupthresh = self.socket.fields.sacked_out >= self.reordering;
            if self.state() >= CaState::Recovery || dupthresh {
                return 0;
            }
        }
        let quarter_us = self.min_rtt_us().unwrap_or(u32::MAX.into()) >> 2;
        (quarter_us * u64::from(self.rack.steps)).min(self.srtt_us())
    }

    /// Holds for lost what was sent long enough before the latest delivered segment (section 6.2,
    /// step 5). Returns the time until the next may be, microseconds.
    fn rack_detect_loss(&mut self) -> Option<u64> {
        let now_us = self.now_us();
        let allowed_us = self.rack.rtt_us + self.reordering_window_us();
        let mut wait_us = None;
        let expired = self.board.expired(self.rack.latest, |sent| {
            let elapsed_us = now_us - sent.sent_us.min(now_us);
            if elapsed_us >= allowed_us {
                return true;
            }
            wait_us = wait_us.max(Some(allowed_us - elapsed_us));
            false
        });
        for index in expired {
            self.mark_lost(index);
        }
        wait_us
    }

    /// Looks for losses after an ACK; whether the reordering timer runs now.
    pub(super) fn rack_mark_lost(&mut self) -> bool {
        if !self.rack.advanced {
            return false;
        }
        self.rack.advanced = false;
        match self.rack_detect_loss() {
            Some(wait_us) => {
                self.set_timer(Purpose::Reordering, wait_us + TIMEOUT_MIN_US);
                true
            }
            None => false,
        }
    }

    /// Whether a timeout holds a segment for lost: not one that was sent less than a round trip ago
    /// (section 6.3).
    pub(super) fn rack_recently_sent(&self, sent: &Sent) -> bool {
        self.now_us().saturating_sub(sent.sent_us) < self.rack.rtt_us
    }

    /// The reordering timer goes off. It stays what the timer was for until the next is set, so that
    /// the timeout runs from when the first segment was sent.
    pub(super) fn reordering_timeout(&mut self, now: Time, out: &mut Vec<Segment>) {
        let (in_flight, lost) = (self.packets_in_flight(), self.socket.fields.lost);
        self.rack_detect_loss();
        if self.packets_in_flight() != in_flight {
            if self.state() != CaState::Recovery {
                self.enter_recovery(false);
                let newly_lost = self.socket.fields.lost - lost;
                if !self.socket.algorithm().controls_alone() {
                    self.reduce_window(1, newly_lost, &Ack::default());
                }
            }
            self.retransmit_lost(now, out);
        }
        if self.timers.purpose() != Some(Purpose::Retransmission) {
            self.rearm_retransmission();
        }
    }
}
