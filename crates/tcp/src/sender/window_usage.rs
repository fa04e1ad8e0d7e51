//! Notes how far the congestion window is used, so that a window that the application left unused for long
//! can be cut (RFC 2861, RFC 7661).

/// The recorded use of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUsage {
    /// Most segments in flight while the window was not the limit.
    used: u32,
    /// When the window last was the limit, or was last changed, microseconds.
    stamp_us: u64,
    /// Sequence number at the end of the flight for which it was last noted whether the window was its limit.
    flight_end: u64,
}

impl WindowUsage {
    /// Notes that the window was changed or checked now.
    pub fn window_changed(&mut self, now_us: u64) {
        self.stamp_us = now_us;
    }

    /// Notes that the window is the limit now.
    pub fn window_limits(&mut self, now_us: u64) {
        self.used = 0;
        self.stamp_us = now_us;
    }

    /// Notes that so many segments are in flight, and that the window would allow more.
    pub fn application_limits(&mut self, in_flight: u32) {
        self.used = self.used.max(in_flight);
    }

    /// How long the window has been unchanged and not the limit, microseconds.
    pub fn unused_for_us(&self, now_us: u64) -> u64 {
        now_us - self.stamp_us
    }

    /// Returns the most segments in flight since the window was the limit; counting begins anew.
    pub fn take_used(&mut self) -> u32 {
        std::mem::take(&mut self.used)
    }

    /// Whether the flight is ACKed for which it was last noted whether the window was its limit.
    pub fn is_flight_over(&self, una: u64) -> bool {
        una >= self.flight_end
    }

    /// Notes a flight that ends at `nxt`.
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
