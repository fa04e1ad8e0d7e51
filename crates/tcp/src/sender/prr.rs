//! Proportional rate reduction (RFC 6937): in recovery the window comes down to ssthresh bit by bit,
//! so that the sender goes on sending all the while. Everything here is counted in segments.

/// The state of a reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// RecoverFS. Linux uses the congestion window at the start for it, not what is in flight.
    recover_fs: u32,
    /// Segments delivered since the reduction began: prr_delivered.
    delivered: u32,
    /// Segments sent since the reduction began, again or for the first time: prr_out.
    out: u32,
}

/// What a reduction needs to know of an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrrAck {
    /// Segments that this ACK reports as delivered: DeliveredData.
    pub delivered: u32,
    /// Segments in flight after this ACK: pipe.
    pub in_flight: u32,
    /// The window at which the reduction ends: ssthresh.
    pub ssthresh: u32,
    /// Whether the cumulative ACK moved on and no new loss was found. Then the path can take more, and the
    /// slow start bound holds; otherwise the conservative bound does.
    pub is_progress: bool,
}

impl Prr {
    /// Begins a reduction at this congestion window (section 3, "At the beginning of recovery").
    pub fn begin(&mut self, cwnd: u32) {
        *self = Prr { recover_fs: cwnd, delivered: 0, out: 0 };
    }

    /// Notes that so many segments have left during the reduction.
    pub fn count_sent(&mut self, segments: u32) {
        self.out += segments;
    }

    /// Whether nothing has left since the reduction began, so that the first loss still has to be sent again.
    pub fn has_sent_nothing(&self) -> bool {
        self.out == 0
    }

    /// The congestion window after an ACK that delivered something (section 3, "On every ACK").
    pub fn on_ack(&mut self, ack: PrrAck) -> u32 {
        let PrrAck { delivered, in_flight, ssthresh, is_progress } = ack;
        self.delivered += delivered;
        let quota = if in_flight > ssthresh {
            self.proportional_part(ssthresh)
        } else {
            // This is "limit = MAX(prr_delivered - prr_out, DeliveredData) + 1". The conservative bound does
            // not have the additional segment.
            let balance = self.delivered.saturating_sub(self.out).max(delivered);
            (balance + u32::from(is_progress)).min(ssthresh - in_flight)
        };
        // The first loss is sent again at once, however much is in flight.
        in_flight + quota.max(u32::from(self.has_sent_nothing()))
    }

    /// "CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out"
    fn proportional_part(&self, ssthresh: u32) -> u32 {
        let product = u64::from(self.delivered) * u64::from(ssthresh);
        product.div_ceil(self.recover_fs.into()).saturating_sub(self.out.into()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flight that is being reduced. Each ACK delivers one segment, and what the window allows leaves at
    /// once.
    struct Flight {
        prr: Prr,
        in_flight: u32,
        ssthresh: u32,
    }

    impl Flight {
        /// A flight of `cwnd` segments, `lost` of which are lost.
        fn begin(cwnd: u32, lost: u32, ssthresh: u32) -> Flight {
            let mut prr = Prr::default();
            prr.begin(cwnd);
            Flight { prr, in_flight: cwnd - lost, ssthresh }
        }

        /// Segments that leave after an ACK for one segment.
        fn ack(&mut self, is_progress: bool) -> u32 {
            self.in_flight -= 1;
            let (in_flight, ssthresh) = (self.in_flight, self.ssthresh);
            let cwnd = self.prr.on_ack(PrrAck { delivered: 1, in_flight, ssthresh, is_progress });
            let sent = cwnd - in_flight;
            self.prr.count_sent(sent);
            self.in_flight = cwnd;
            sent
        }
    }

    #[test]
    fn what_leaves_is_to_what_arrives_as_ssthresh_is_to_the_old_window() {
        // 20 are in flight, and the window is halved: a segment leaves for every second ACK.
        let mut half = Flight::begin(20, 1, 10);
        let sent: Vec<u32> = (0..8).map(|_| half.ack(false)).collect();
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0]);
        // With CUBIC's 7/10, seven segments leave for ten ACKs: ceil(0.7 n) after n of them.
        let mut cubic = Flight::begin(100, 1, 70);
        let mut all = 0;
        for acks in 1..=28u32 {
            all += cubic.ack(false);
            assert_eq!(all, (7 * acks).div_ceil(10), "after {acks} ACKs");
        }
    }

    #[test]
    fn the_window_is_ssthresh_when_the_old_flight_is_delivered() {
        for (cwnd, ssthresh) in [(20, 10), (100, 70), (37, 25), (10, 7)] {
            let mut flight = Flight::begin(cwnd, 1, ssthresh);
            (1..cwnd).for_each(|_| {
                flight.ack(false);
            });
            assert_eq!(flight.in_flight, ssthresh, "from {cwnd}");
        }
    }

    #[test]
    fn with_less_in_flight_than_ssthresh_progress_is_worth_a_segment_more() {
        // 15 of 20 segments are lost: the pipe is far below ssthresh.
        let mut slow_start = Flight::begin(20, 15, 10);
        let sent: Vec<u32> = (0..5).map(|_| slow_start.ack(true)).collect();
        assert_eq!(sent, [2; 5], "slow start bound: two for each ACK");
        let mut conservative = Flight::begin(20, 15, 10);
        let sent: Vec<u32> = (0..5).map(|_| conservative.ack(false)).collect();
        assert_eq!(sent, [1; 5], "conservative bound: packet conservation");
    }

    #[test]
    fn what_was_delivered_and_not_yet_used_may_leave_below_ssthresh() {
        let mut prr = Prr::default();
        prr.begin(20);
        prr.count_sent(1);
        // Seven segments were delivered meanwhile, and nothing could leave.
        let ack = |delivered, in_flight| PrrAck {
            delivered,
            in_flight,
            ssthresh: 10,
            is_progress: false,
        };
        assert_eq!(prr.on_ack(ack(7, 13)), 13 + 3, "ceil(7 * 10 / 20) - 1");
        assert_eq!(prr.on_ack(ack(1, 2)), 2 + 7, "8 delivered - 1 sent");
    }

    #[test]
    fn neither_bound_exceeds_ssthresh() {
        let mut prr = Prr::default();
        prr.begin(20);
        prr.count_sent(1);
        let ack = PrrAck { delivered: 12, in_flight: 8, ssthresh: 10, is_progress: true };
        assert_eq!(prr.on_ack(ack), 10);
    }

    #[test]
    fn the_first_lost_segment_is_sent_again_whatever_is_in_flight() {
        let mut prr = Prr::default();
        prr.begin(100);
        let ack = PrrAck { delivered: 0, in_flight: 99, ssthresh: 1, is_progress: false };
        assert!(prr.has_sent_nothing());
        assert_eq!(prr.on_ack(ack), 100, "nothing is due, and one segment leaves");
        prr.count_sent(1);
        assert_eq!(prr.on_ack(ack), 99);
    }

    #[test]
    fn a_new_reduction_forgets_the_one_before() {
        let mut flight = Flight::begin(20, 1, 10);
        (0..10).for_each(|_| {
            flight.ack(false);
        });
        flight.prr.begin(10);
        assert!(flight.prr.has_sent_nothing());
        flight.ssthresh = 5;
        flight.in_flight = 9;
        assert_eq!([flight.ack(false), flight.ack(false), flight.ack(false)], [1, 0, 1]);
    }
}
