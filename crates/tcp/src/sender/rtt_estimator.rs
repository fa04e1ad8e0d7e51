//! Estimates the round-trip time and the retransmission timeout that follows from it (RFC 6298). Linux
//! differs in this: it has a least variation instead of a least timeout, the variation falls once in a round
//! trip, and a sudden fall of the RTT does not make it rise.

/// The estimate of the round trip. Times are in microseconds; a value with `_4` or `_8` in its name is kept
/// as that multiple.
#[derive(Clone, Copy, Debug)]
pub(super) struct RttEstimator {
    /// Smoothed round-trip time, SRTT; 0 before the first sample.
    srtt_8_us: u32,
    /// The part of the timeout for variation, "K * RTTVAR" with K = 4.
    rttvar_4_us: u32,
    /// Mean deviation.
    mdev_4_us: u32,
    /// The largest mean deviation in the present round trip.
    mdev_max_4_us: u32,
    /// Sequence number whose ACK ends the present round trip.
    round_end: u64,
    /// The retransmission timeout, RTO, back-off included.
    rto_us: u64,
}

impl RttEstimator {
    /// The state before the first sample, with the timeout that holds until then (section 2.1).
    pub fn new(rto_initial_us: u64) -> RttEstimator {
        RttEstimator {
            srtt_8_us: 0,
            rttvar_4_us: 0,
            mdev_4_us: 0,
            mdev_max_4_us: 0,
            round_end: 0,
            rto_us: rto_initial_us,
        }
    }

    /// The smoothed round-trip time in whole microseconds; 0 before the first sample.
    pub fn srtt_us(&self) -> u64 {
        u64::from(self.srtt_8_us >> 3)
    }

    /// Eight times the smoothed round-trip time, microseconds, as the kernel's `srtt_us` is kept.
    pub fn srtt_8_us(&self) -> u32 {
        self.srtt_8_us
    }

    /// The part of the timeout for variation, microseconds: the kernel's `rttvar_us`.
    pub fn rttvar_4_us(&self) -> u32 {
        self.rttvar_4_us
    }

    /// The retransmission timeout, microseconds, back-off included.
    pub fn rto_us(&self) -> u64 {
        self.rto_us
    }

    /// Takes a sample (sections 2.2 and 2.3); the timeout is then set by
    /// [`reset_back_off`](RttEstimator::reset_back_off). `una` and `nxt` are the first byte not ACKed and the
    /// next byte to send, `rto_min_us` the least variation. Returns whether a round trip begins with this
    /// sample.
    pub fn sample(&mut self, rtt_us: u32, una: u64, nxt: u64, rto_min_us: u32) -> bool {
        let begins_round = self.srtt_8_us == 0 || una > self.round_end;
        if self.srtt_8_us == 0 {
            // "SRTT <- R", "RTTVAR <- R/2"
            self.srtt_8_us = rtt_us << 3;
            self.mdev_4_us = rtt_us << 1;
            self.rttvar_4_us = self.mdev_4_us.max(rto_min_us);
            self.mdev_max_4_us = self.rttvar_4_us;
            self.round_end = nxt;
        } else {
            self.smooth(rtt_us);
            // Only a deviation raises it; a change of rto_min alone does not.
            if self.mdev_4_us > self.mdev_max_4_us {
                self.mdev_max_4_us = self.mdev_4_us;
                self.rttvar_4_us = self.rttvar_4_us.max(self.mdev_max_4_us);
            }
            if begins_round {
                if self.mdev_max_4_us < self.rttvar_4_us {
                    self.rttvar_4_us -= (self.rttvar_4_us - self.mdev_max_4_us) >> 2;
                }
                self.round_end = nxt;
                self.mdev_max_4_us = rto_min_us;
            }
        }
        self.srtt_8_us = self.srtt_8_us.max(1);
        begins_round
    }

    /// Smooths: "SRTT <- 7/8 * SRTT + 1/8 * R'", and the deviation by 3/4 and 1/4.
    fn smooth(&mut self, rtt_us: u32) {
        let error_us = i64::from(rtt_us) - i64::from(self.srtt_8_us >> 3);
        self.srtt_8_us = (i64::from(self.srtt_8_us) + error_us) as u32;
        let mut change_us = error_us.abs() - i64::from(self.mdev_4_us >> 2);
        if error_us < 0 && change_us > 0 {
            // A sudden fall of the RTT must not make the timeout rise.
            change_us >>= 3;
        }
        self.mdev_4_us = (i64::from(self.mdev_4_us) + change_us) as u32;
    }

    /// Sets the timeout by the round trip, "RTO <- SRTT + max (G, K*RTTVAR)", at most `rto_max_us`. Before
    /// the first sample it stays as it is.
    pub fn reset_back_off(&mut self, rto_max_us: u64) {
        if self.srtt_8_us > 0 {
            self.rto_us = (self.srtt_us() + u64::from(self.rttvar_4_us)).min(rto_max_us);
        }
    }

    /// Doubles the timeout after one has passed, up to `rto_max_us` (section 5.5).
    pub fn back_off(&mut self, rto_max_us: u64) {
        self.rto_us = (2 * self.rto_us).min(rto_max_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO_MAX_US: u64 = 120_000_000;

    /// An estimator after one sample, in milliseconds; each later one begins a round trip.
    struct Samples {
        estimator: RttEstimator,
        una: u64,
        rto_min_us: u32,
    }

    impl Samples {
        fn first(rtt_ms: u32, rto_min_ms: u32) -> Samples {
            let estimator = RttEstimator::new(1_000_000);
            let mut samples = Samples { estimator, una: 1, rto_min_us: rto_min_ms * 1_000 };
            samples.next(rtt_ms);
            samples
        }

        fn next(&mut self, rtt_ms: u32) -> u64 {
            assert!(self.estimator.sample(rtt_ms * 1_000, self.una, self.una, self.rto_min_us));
            self.una += 1;
            self.estimator.reset_back_off(RTO_MAX_US);
            self.estimator.rto_us()
        }

        /// Takes a sample within the round trip.
        fn within(&mut self, rtt_ms: u32) -> u64 {
            assert!(!self.estimator.sample(
                rtt_ms * 1_000,
                self.una - 1,
                self.una,
                self.rto_min_us
            ));
            self.estimator.reset_back_off(RTO_MAX_US);
            self.estimator.rto_us()
        }
    }

    #[test]
    fn the_first_sample_is_srtt_and_half_of_it_the_variation() {
        let samples = Samples::first(100, 0);
        assert_eq!(samples.estimator.srtt_us(), 100_000);
        assert_eq!(samples.estimator.rttvar_4_us(), 4 * 50_000);
        assert_eq!(samples.estimator.rto_us(), 300_000, "R + 4 * R/2");
    }

    #[test]
    fn a_later_sample_counts_an_eighth_and_its_deviation_a_quarter() {
        let mut samples = Samples::first(100, 0);
        // SRTT = 7/8 * 100 + 1/8 * 180; RTTVAR = 3/4 * 50 + 1/4 * |100 - 180|.
        assert_eq!(samples.within(180), 110_000 + 4 * 57_500);
        assert_eq!(samples.estimator.srtt_us(), 110_000);
        // SRTT = 7/8 * 110 + 1/8 * 230; RTTVAR = 3/4 * 57.5 + 1/4 * 120.
        assert_eq!(samples.within(230), 125_000 + 4 * 73_125);
    }

    #[test]
    fn the_variation_falls_by_a_quarter_of_what_it_is_too_large_once_in_a_round_trip() {
        let mut samples = Samples::first(100, 0);
        // The first round trip ends with the largest deviation in it: the 50 ms of the first sample.
        samples.next(100);
        assert_eq!(samples.estimator.rttvar_4_us(), 200_000);
        // The mean deviation has fallen to 3/4 of 3/4 of it.
        let steady_4_us = 200_000 * 9 / 16;
        samples.next(100);
        assert_eq!(samples.estimator.rttvar_4_us(), 200_000 - (200_000 - steady_4_us) / 4);
        let before_us = samples.estimator.rttvar_4_us();
        samples.within(100);
        assert_eq!(samples.estimator.rttvar_4_us(), before_us, "not within a round trip");
    }

    #[test]
    fn a_sudden_fall_does_not_raise_the_timeout() {
        let mut samples = Samples::first(100, 0);
        (0..100).for_each(|_| {
            samples.next(100);
        });
        let before_us = samples.estimator.rto_us();
        assert!(samples.next(20) < before_us);
        // By the RFC's text, 1/4 of 80 ms would have been added, four times over.
        let mut risen = Samples::first(100, 0);
        (0..100).for_each(|_| {
            risen.next(100);
        });
        assert!(risen.next(180) > before_us + 80_000);
    }

    #[test]
    fn a_least_variation_is_allowed_for_and_not_a_least_timeout() {
        let mut samples = Samples::first(40, 200);
        assert_eq!(samples.estimator.rto_us(), 240_000);
        (0..100).for_each(|_| {
            samples.next(40);
        });
        assert_eq!(samples.estimator.rto_us(), 240_000, "it stays, however steady the path");
        // A shorter least variation is approached by quarters; a longer one is not used at once. (3 us of the
        // deviation remain, since a quarter of them is less than one.)
        samples.rto_min_us = 0;
        let falling_us: Vec<u64> = (0..3).map(|_| samples.next(40)).collect();
        assert_eq!(falling_us, [240_000, 40_000 + 150_001, 40_000 + 112_502]);
        samples.rto_min_us = 400_000;
        assert!(samples.next(40) < 240_000);
    }

    #[test]
    fn each_timeout_doubles_the_next_and_a_sample_ends_that() {
        let mut samples = Samples::first(100, 0);
        let mut after_us = Vec::new();
        for _ in 0..3 {
            samples.estimator.back_off(2_000_000);
            after_us.push(samples.estimator.rto_us());
        }
        assert_eq!(after_us, [600_000, 1_200_000, 2_000_000], "and ends at the highest");
        assert!(samples.next(100) <= 300_000);
    }

    #[test]
    fn before_a_sample_the_initial_timeout_holds_and_backs_off() {
        let mut estimator = RttEstimator::new(1_000_000);
        estimator.reset_back_off(RTO_MAX_US);
        assert_eq!((estimator.srtt_us(), estimator.rto_us()), (0, 1_000_000));
        estimator.back_off(RTO_MAX_US);
        assert_eq!(estimator.rto_us(), 2_000_000);
    }

    #[test]
    fn the_highest_timeout_bounds_what_the_round_trip_asks_for() {
        let mut estimator = RttEstimator::new(1_000_000);
        estimator.sample(100_000, 1, 1, 0);
        estimator.reset_back_off(250_000);
        assert_eq!(estimator.rto_us(), 250_000);
    }
}
