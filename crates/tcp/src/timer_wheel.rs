//! When a timer of the kernel goes off: at a tick, which is the coarser the later it is.

use kirikae_path::{Span, Time};

/// Buckets of a level; the last is never used for the nearest ones.
const BUCKETS: u64 = 64;
/// Each level's buckets are 2^3 times as wide as those of the level below.
const LEVEL_SHIFT: u32 = 3;
const LEVELS: u32 = 9;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// When a timer that is set at `now` for `delay` goes off, with `hz` ticks a second.
///
/// The delay is rounded up to ticks. A timer is put into a bucket of a level; levels get coarser with the
/// distance. It goes off at the end of its bucket: never early, and late by up to an eighth
/// (kernel/time/timer.c of Linux since 4.8).
pub(crate) fn expiry(now: Time, delay: Span, hz: u32) -> Time {
    let distance = in_ticks(delay, hz);
    let expires = ticks(now, hz) + distance;
    let level = (0..LEVELS - 1)
        .find(|level| distance < (BUCKETS - 1) << (LEVEL_SHIFT * level))
        .unwrap_or(LEVELS - 1);
    let shift = LEVEL_SHIFT * level;
    Time::ZERO + span_of_ticks(((expires >> shift) + 1) << shift, hz)
}

/// Ticks that have passed at `now`: the kernel's `jiffies`, which here begin with 0.
pub(crate) fn ticks(now: Time, hz: u32) -> u64 {
    now.as_nanos() / tick(hz)
}

/// A span in ticks, rounded up.
pub(crate) fn in_ticks(span: Span, hz: u32) -> u64 {
    span.as_nanos().div_ceil(tick(hz))
}

/// The span of so many ticks.
pub(crate) fn span_of_ticks(ticks: u64, hz: u32) -> Span {
    Span::from_nanos(ticks * tick(hz))
}

/// Nanoseconds of a tick.
fn tick(hz: u32) -> u64 {
    NANOS_PER_SECOND / u64::from(hz)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_expiry(now_us: u64, delay_ms: u64, expected_ms: u64) {
        let found = expiry(Time::from_nanos(now_us * 1000), Span::from_millis(delay_ms), 250);
        assert_eq!(found, Time::from_nanos(expected_ms * 1_000_000));
    }

    #[test]
    fn near_timers_go_off_at_the_next_tick_but_one() {
        // Ticks are 4 ms: 10 ms are 3 of them, and the present one has begun.
        assert_expiry(0, 10, 16);
        assert_expiry(3_999, 10, 16);
        assert_expiry(4_000, 10, 20);
    }

    #[test]
    fn far_timers_go_off_at_coarser_times() {
        // 400 ms are 100 ticks: level 1 has steps of 8 ticks or 32 ms, and 104 ticks is the next.
        assert_expiry(0, 400, 416);
        // 3 s are 750 ticks: level 2 has steps of 64 ticks or 256 ms.
        assert_expiry(0, 3_000, 3_072);
    }
}
