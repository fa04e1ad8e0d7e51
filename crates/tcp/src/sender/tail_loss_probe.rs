//! Tail loss probes (RFC 8985, section 7): if no ACK comes for two round trips, one segment is sent. The ACK
//! for it tells what is missing at the end of a flight.

/// The state of the probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailLossProbe {
    /// First byte after everything sent when the probe left: TLP.end_seq. None: no probe is out.
    end_seq: Option<u64>,
    /// Whether the probe was a segment sent again, and not new data: TLP.is_retrans.
    is_retransmission: bool,
}

/// What the probe timeout depends on. Times are in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeTimeout {
    /// Smoothed round-trip time << 3; 0 before the first sample.
    pub srtt_8_us: u32,
    /// Segments in flight: FlightSize.
    pub in_flight: u32,
    /// How long the receiver may delay its ACK of one segment: TLP.max_ack_delay.
    pub ack_delay_us: u64,
    /// The time that is otherwise waited beyond the round trip.
    pub slack_us: u64,
    /// The timeout before the first sample.
    pub initial_us: u64,
    /// Time until the retransmission timeout; 0 if it does not count.
    pub until_timeout_us: u64,
}

impl ProbeTimeout {
    /// The time until a probe is sent: PTO (section 7.2).
    pub fn pto_us(&self) -> u64 {
        let pto_us = match self.srtt_8_us {
            0 => self.initial_us,
            srtt_8_us => {
                // "PTO = 2 * SRTT", and one segment alone may wait for the receiver's delayed ACK.
                let allowance_us =
                    if self.in_flight == 1 { self.ack_delay_us } else { self.slack_us };
                u64::from(srtt_8_us >> 2) + allowance_us
            }
        };
        // "If the RTO would fire first": a probe is of no use after it.
        match self.until_timeout_us {
            0 => pto_us,
            until_timeout_us => pto_us.min(until_timeout_us),
        }
    }
}

/// What the probe needs to know of an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeAck {
    /// First byte that it does not ACK.
    pub ack: u64,
    /// Whether it has a DSACK for the probe: both the original and the probe arrived.
    pub has_dsack_of_probe: bool,
    /// Whether it advances nothing, reports nothing, carries nothing and leaves the window as it was.
    pub is_bare_duplicate: bool,
}

impl TailLossProbe {
    /// Whether a probe is out, so that no second one may follow (section 7.3).
    pub fn is_out(&self) -> bool {
        self.end_seq.is_some()
    }

    /// Notes that a probe has been sent, and that everything sent so far ends at `end_seq`.
    pub fn sent(&mut self, end_seq: u64, is_retransmission: bool) {
        *self = TailLossProbe { end_seq: Some(end_seq), is_retransmission };
    }

    /// Ends the probe, since recovery has begun and it tells nothing any more.
    pub fn give_up(&mut self) {
        self.end_seq = None;
    }

    /// Number of segments in flight a second time because of the probe: 1 if it was sent again, otherwise 0.
    pub fn retransmissions(&self) -> u32 {
        u32::from(self.is_out() && self.is_retransmission)
    }

    /// Whether a DSACK for a block with this end is for the probe.
    pub fn is_duplicated_by(&self, block_end: u64) -> bool {
        self.is_retransmission && self.end_seq == Some(block_end)
    }

    /// Processes an ACK (section 7.4.2). Returns whether the probe has repaired a loss, so that the window
    /// has to be reduced.
    pub fn on_ack(&mut self, ack: ProbeAck) -> bool {
        let Some(end_seq) = self.end_seq.filter(|end_seq| ack.ack >= *end_seq) else {
            return false;
        };
        if !self.is_retransmission || ack.has_dsack_of_probe {
            // New data was ACKed, or the original arrived as well.
            self.give_up();
        } else if ack.ack > end_seq {
            // Only one of the two arrived: there was a loss.
            self.give_up();
            return true;
        } else if ack.is_bare_duplicate {
            self.give_up(); // the second of them has arrived
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip of 100 ms with five segments in flight; the timeout is far off.
    const TIMEOUT: ProbeTimeout = ProbeTimeout {
        srtt_8_us: 800_000,
        in_flight: 5,
        ack_delay_us: 200_000,
        slack_us: 2_000,
        initial_us: 1_000_000,
        until_timeout_us: 0,
    };

    #[test]
    fn it_is_due_after_two_round_trips_and_the_delay_of_an_ack_where_one_segment_is_out() {
        assert_eq!(TIMEOUT.pto_us(), 200_000 + 2_000);
        assert_eq!(ProbeTimeout { in_flight: 1, ..TIMEOUT }.pto_us(), 200_000 + 200_000);
        // srtt is kept in eighths of a microsecond, which are not lost twice.
        assert_eq!(ProbeTimeout { srtt_8_us: 800_007, ..TIMEOUT }.pto_us(), 200_001 + 2_000);
    }

    #[test]
    fn without_a_sample_it_is_due_when_the_first_timeout_would_be() {
        for in_flight in [1, 5] {
            let timeout = ProbeTimeout { srtt_8_us: 0, in_flight, ..TIMEOUT };
            assert_eq!(timeout.pto_us(), 1_000_000);
        }
    }

    #[test]
    fn it_is_due_no_later_than_the_retransmission_timeout() {
        let near = ProbeTimeout { in_flight: 1, until_timeout_us: 300_000, ..TIMEOUT };
        assert_eq!(near.pto_us(), 300_000);
        let far = ProbeTimeout { until_timeout_us: 300_000, ..TIMEOUT };
        assert_eq!(far.pto_us(), 202_000);
    }

    fn ack(ack: u64) -> ProbeAck {
        ProbeAck { ack, has_dsack_of_probe: false, is_bare_duplicate: false }
    }

    fn out(is_retransmission: bool) -> TailLossProbe {
        let mut probe = TailLossProbe::default();
        probe.sent(10_001, is_retransmission);
        probe
    }

    #[test]
    fn an_ack_beyond_a_probe_sent_again_tells_of_a_loss_that_it_repaired() {
        let mut probe = out(true);
        assert!(!probe.on_ack(ack(9_001)) && probe.is_out(), "below its end nothing is known");
        assert!(!probe.on_ack(ack(10_001)) && probe.is_out(), "the original or the probe arrived");
        assert!(probe.on_ack(ack(10_002)), "no second ACK came for it");
        assert!(!probe.is_out());
        assert!(!probe.on_ack(ack(10_003)), "once only");
    }

    #[test]
    fn a_dsack_or_a_bare_duplicate_shows_that_both_arrived() {
        let mut probe = out(true);
        assert!(probe.is_duplicated_by(10_001) && !probe.is_duplicated_by(9_001));
        assert!(!probe.on_ack(ProbeAck { has_dsack_of_probe: true, ..ack(10_001) }));
        assert!(!probe.is_out() && !probe.on_ack(ack(10_002)));
        // Without SACK, two ACKs for the same byte look the same.
        let mut probe = out(true);
        probe.on_ack(ack(10_001));
        assert!(!probe.on_ack(ProbeAck { is_bare_duplicate: true, ..ack(10_001) }));
        assert!(!probe.is_out());
    }

    #[test]
    fn a_probe_with_new_data_ends_with_its_ack() {
        let mut probe = out(false);
        assert!(!probe.is_duplicated_by(10_001));
        assert!(!probe.on_ack(ack(10_001)));
        assert!(!probe.is_out() && !probe.on_ack(ack(10_002)));
    }

    #[test]
    fn only_what_was_sent_again_counts_as_in_flight_twice_and_only_while_it_is_out() {
        assert_eq!([out(true).retransmissions(), out(false).retransmissions()], [1, 0]);
        let mut probe = out(true);
        probe.give_up();
        assert_eq!((probe.is_out(), probe.retransmissions()), (false, 0));
    }
}
