//! The link under the mobile host has come back (Tsukamoto, Fukuda, Hori, Oie 2003, section 3).

use kirikae_path::Time;

use super::Sender;
use crate::{Handover, Segment};

/// The bandwidth-delay product of the new link, from the first segments sent over it (Hoe 1996),
/// measured again as long as slow start lasts (Aron, Druschel 1998). Times in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathEstimate {
    /// Where the first segment ends, and when it was sent.
    first: (u64, u64),
    /// How long it took.
    rtt_us: Option<u64>,
    /// Where two segments end that left together.
    pair: Option<(u64, u64)>,
    /// When the ACK of the former came.
    pair_acked_us: Option<u64>,
}

/// Segments that make an estimate.
const LEAST_SSTHRESH: u64 = 2;

impl Sender {
    /// The link is back: what was in flight went with the old one.
    pub fn link_returned(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.set_clock(now);
        let restarts = matches!(
            self.profile.handover,
            Handover::ImmediateExpiration | Handover::BandwidthAware
        );
        if !restarts || self.board.is_empty() {
            return;
        }
        self.reset_back_off();
        // It is known that all was lost, however recently it was sent, and that this was no mistake.
        (0..self.board.len()).for_each(|index| self.mark_lost(index));
        self.enter_loss();
        self.frto = false;
        self.undo.marker = None;
        self.retransmit(now, 0, out);
        self.set_timer(super::timer::Purpose::Retransmission, self.rto_us());
        self.path_estimate = None;
        if self.profile.handover == Handover::BandwidthAware
            && let Some(first) = self.board.first()
        {
            let first = (first.end(), first.sent_us);
            let estimate = PathEstimate { first, rtt_us: None, pair: None, pair_acked_us: None };
            self.path_estimate = Some(Box::new(estimate));
        }
    }

    /// An ACK up to here: "bandwidth-delay product = RTT x packet size / time between the ACKs",
    /// "ssthresh = bandwidth-delay product / packet size".
    pub(super) fn estimate_path(&mut self, acked: u64) {
        let now_us = self.now_us();
        let Some(mut estimate) = self.path_estimate.take() else { return };
        if acked >= estimate.first.0 {
            estimate.rtt_us.get_or_insert(now_us - estimate.first.1);
        }
        if let (Some(rtt_us), Some((former, latter))) = (estimate.rtt_us, estimate.pair)
            && acked >= former
        {
            match estimate.pair_acked_us {
                None if acked == former => estimate.pair_acked_us = Some(now_us),
                Some(before_us) if acked == latter && now_us > before_us => {
                    let ssthresh = (rtt_us / (now_us - before_us)).max(LEAST_SSTHRESH);
                    self.socket.fields.snd_ssthresh = ssthresh as u32;
                    (estimate.pair, estimate.pair_acked_us) = (None, None);
                    if self.cwnd() >= ssthresh as u32 {
                        return; // slow start is over
                    }
                }
                // They were ACKed together, or with others.
                _ => (estimate.pair, estimate.pair_acked_us) = (None, None),
            }
        }
        self.path_estimate = Some(estimate);
    }

    /// What has just left: two segments together are a pair.
    pub fn note_pair(&mut self, left: &[Segment]) {
        let Some(estimate) = &mut self.path_estimate else { return };
        let mut ends = left.iter().filter(|segment| segment.len > 0).map(Segment::end);
        if estimate.pair.is_none()
            && estimate.rtt_us.is_some()
            && let (Some(former), Some(latter)) = (ends.next(), ends.next())
        {
            estimate.pair = Some((former, latter));
        }
    }

    /// Whether the other end has closed its window because its link is about to go.
    pub(super) fn is_frozen(&self) -> bool {
        self.profile.handover == Handover::Freeze && self.window == 0
    }
}
