//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation), as the kernel takes them.

use kirikae_algorithms::RateSample;

use super::Sender;
use super::scoreboard::{AtSending, SendOrder, Sent};

/// The connection's state of sampling; the rest is in the socket.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryRate {
    /// When the segment ACKed last was sent, microseconds: the next sample's sending begins there.
    first_sent_us: u64,
}

/// A sample in the making, while an ACK is worked through.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampling {
    /// The newest segment delivered; the sample is between its sending and now.
    newest: Option<(SendOrder, AtSending)>,
    /// Over which time it and those before it were sent, microseconds.
    sending_us: u64,
    pub rtt_us: Option<u32>,
    pub prior_in_flight: u32,
    pub ack_delayed: bool,
}

impl Sampling {
    /// Segments delivered when the newest segment was sent; none without a sample.
    pub fn prior_delivered(&self) -> Option<u32> {
        self.newest.map(|(_, at)| at.delivered)
    }
}

impl Sender {
    /// A segment that is about to leave at `sent_us` remembers the state of delivery.
    pub(super) fn at_sending(&mut self, sent_us: u64) -> AtSending {
        let fields = &mut self.socket.fields;
        if fields.packets_out == 0 {
            // Nothing was in flight: the sample begins now.
            self.rate.first_sent_us = sent_us;
            fields.delivered_mstamp = sent_us;
        }
        AtSending {
            first_sent_us: self.rate.first_sent_us,
            delivered_us: fields.delivered_mstamp,
            delivered: fields.delivered,
            app_limited: fields.app_limited != 0,
        }
    }

    /// A segment is delivered, by ACK or by SACK.
    pub(super) fn sample_delivered(&mut self, sampling: &mut Sampling, sent: &Sent) {
        let at = sent.at_sending;
        if at.delivered_us == 0 {
            return;
        }
        let order = (sent.sent_us, sent.end());
        if sampling.newest.is_none_or(|(newest, _)| order > newest) {
            sampling.newest = Some((order, at));
            self.rate.first_sent_us = sent.sent_us;
            sampling.sending_us = sent.sent_us.saturating_sub(at.first_sent_us);
        }
    }

    /// The sample of an ACK that delivered and lost so many segments.
    pub(super) fn rate_sample(&mut self, sampling: &Sampling, acked: u32, lost: u32) -> RateSample {
        let min_rtt_us = self.min_rtt_us().unwrap_or(u64::from(u32::MAX));
        let fields = &mut self.socket.fields;
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
            rtt_us: sampling.rtt_us.map_or(-1, i64::from),
            losses: lost.cast_signed(),
            acked_sacked: acked,
            prior_in_flight: sampling.prior_in_flight,
            is_ack_delayed: sampling.ack_delayed,
            ..RateSample::default()
        };
        if let Some((_, at)) = sampling.newest {
            sample.prior_delivered = at.delivered;
            sample.is_app_limited = at.app_limited;
            sample.delivered = fields.delivered.wrapping_sub(at.delivered).cast_signed();
            // ACKs may come compressed, and segments may have been sent in one go: the longer of
            // the two times does not overrate the path.
            let interval_us = sampling.sending_us.max(now_us - at.delivered_us);
            if interval_us >= min_rtt_us {
                sample.interval_us = interval_us.cast_signed();
            }
        }
        sample
    }

    /// Before more is written: where nothing is left to send and the window is not full, samples of
    /// what is in flight tell of the application.
    pub(super) fn check_app_limited(&mut self) {
        let in_flight = self.packets_in_flight();
        let fields = &mut self.socket.fields;
        if self.written - self.nxt < u64::from(self.mss)
            && in_flight < fields.snd_cwnd
            && fields.lost_out <= fields.retrans_out
        {
            fields.app_limited = fields.delivered.wrapping_add(in_flight).max(1);
        }
    }
}

/// Whether a count that wraps comes before another.
fn before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}
