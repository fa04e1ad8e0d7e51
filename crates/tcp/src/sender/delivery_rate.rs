//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation), as the kernel takes them.

use kirikae_algorithms::{RateSample, Socket};

use super::scoreboard::{AtSending, SendOrder, Sent};

/// A sample in the making, while an ACK is worked through.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampling {
    /// The newest segment delivered; the sample is between its sending and now.
    newest: Option<(SendOrder, AtSending)>,
    /// The time in which it and those before it were sent, microseconds.
    sending_us: u64,
    /// RTT of the last segment that the ACK is about, microseconds; none without a sample.
    pub rtt_us: Option<u32>,
    /// Segments in flight before the ACK.
    pub prior_in_flight: u32,
    /// Whether the ACK may have been delayed.
    pub ack_delayed: bool,
}

impl Sampling {
    /// Notes that a segment is delivered, by ACK or by SACK. The next sample's sending begins with it.
    pub fn delivered(&mut self, socket: &mut Socket, sent: &Sent) {
        let at = sent.at_sending;
        if at.delivered_us == 0 {
            return;
        }
        let order = (sent.sent_us, sent.end());
        if self.newest.is_none_or(|(newest, _)| order > newest) {
            self.newest = Some((order, at));
            socket.fields.first_tx_mstamp = sent.sent_us;
            self.sending_us = sent.sent_us.saturating_sub(at.first_sent_us);
        }
    }

    /// Segments delivered when the newest segment was sent; None without a sample.
    pub fn prior_delivered(&self) -> Option<u32> {
        self.newest.map(|(_, at)| at.delivered)
    }

    /// The sample of an ACK that delivered and lost so many segments. `min_rtt_us` is the lowest RTT,
    /// microseconds; a shorter sample is not used.
    pub fn finish(
        &self,
        socket: &mut Socket,
        min_rtt_us: Option<u64>,
        acked: u32,
        lost: u32,
    ) -> RateSample {
        let fields = &mut socket.fields;
        let now_us = fields.tcp_mstamp;
        if fields.app_limited != 0 && before(fields.app_limited, fields.delivered) {
            fields.app_limited = 0;
        }
        if acked > 0 {
            fields.delivered_mstamp = now_us;
        }
        let mut sample = RateSample {
            delivered: -1,
            interval_us: -1,
            rtt_us: self.rtt_us.map_or(-1, i64::from),
            losses: lost.cast_signed(),
            acked_sacked: acked,
            prior_in_flight: self.prior_in_flight,
            is_ack_delayed: self.ack_delayed,
            ..RateSample::default()
        };
        if let Some((_, at)) = self.newest {
            sample.prior_delivered = at.delivered;
            sample.is_app_limited = at.app_limited;
            sample.delivered = fields.delivered.wrapping_sub(at.delivered).cast_signed();
            // ACKs may come compressed, and segments may have been sent in one go. The longer of the two
            // times does not overrate the path. A paced segment may have noted a time to come.
            let interval_us = self.sending_us.max(now_us.saturating_sub(at.delivered_us));
            if interval_us >= min_rtt_us.unwrap_or(u32::MAX.into()) {
                sample.interval_us = interval_us.cast_signed();
            }
        }
        sample
    }
}

/// What a segment that is about to leave at `sent_us` notes of the delivery so far.
pub(super) fn at_sending(socket: &mut Socket, sent_us: u64) -> AtSending {
    let fields = &mut socket.fields;
    if fields.packets_out == 0 {
        // Nothing was in flight, so the sample begins now.
        fields.first_tx_mstamp = sent_us;
        fields.delivered_mstamp = sent_us;
    }
    AtSending {
        first_sent_us: fields.first_tx_mstamp,
        delivered_us: fields.delivered_mstamp,
        delivered: fields.delivered,
        app_limited: fields.app_limited != 0,
    }
}

/// Whether a count that wraps comes before another.
fn before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}
