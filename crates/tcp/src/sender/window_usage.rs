//! How far the congestion window is used, so that a window which the application left unused for long can
//! be cut back (RFC 2861, RFC 7661).

/// What is noted of the use of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUsage {
    /// Most segments in flight while the window was not the limit.
    used: u32,
    /// When the window last was the limit or was changed, microseconds.
    stamp_us: u64,
    /// Sequence number at which the flight ends of which it was last noted whether the window was its
    /// limit.
    flight_end: u64,
}

impl WindowUsage {
    /// The window was changed now, or was reconsidered.
    pub fn window_changed(&mut self, now_us: u64) {
        self.stamp_us = now_us;
    }

    /// The window is the limit now.
    pub fn window_limits(&mut self, now_us: u64) {
        self.used = 0;
        self.stamp_us = now_us;
    }

    /// So many segments are in flight, and the window would let go more.
    pub fn application_limits(&mut self, in_flight: u32) {
        self.used = self.used.max(in_flight);
    }

    /// How long the window has been no limit, and as it is, microseconds.
    pub fn unused_for_us(&self, now_us: u64) -> u64 {
        now_us - self.stamp_us
    }

    /// Most segments in flight since the window was the limit; counting begins anew.
    pub fn take_used(&mut self) -> u32 {
        std::mem::take(&mut self.used)
    }

    /// Whether the flight is ACKed of which it was last noted whether the window was its limit.
    pub fn is_flight_over(&self, una: u64) -> bool {
        una >= self.flight_end
    }

    /// A flight that ends here is noted.
    pub fn note_flight(&mut self, nxt: u64) {
        self.flight_end = nxt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_application_used_is_counted_from_when_the_window_was_the_limit() {
        let mut usage = WindowUsage::default();
        usage.application_limits(12);
        usage.window_limits(5_000);
        [3, 7, 4].into_iter().for_each(|in_flight| usage.application_limits(in_flight));
        assert_eq!(usage.unused_for_us(9_000), 4_000);
        usage.window_changed(8_000);
        assert_eq!(usage.unused_for_us(9_000), 1_000);
        assert_eq!([usage.take_used(), usage.take_used()], [7, 0]);
    }
}
