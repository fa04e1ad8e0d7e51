//! The clock that sender, receiver, emulator and kernel share: CLOCK_MONOTONIC.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC, comparable among processes of one machine.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC is always there");
    Duration::from(now).as_nanos() as u64
}

/// Sleeps until the clock shows `at_ns`; returns at once if it already does.
pub fn sleep_until(at_ns: u64) {
    std::thread::sleep(until(at_ns));
}

/// Time left until the clock shows `at_ns`.
pub fn until(at_ns: u64) -> Duration {
    Duration::from_nanos(at_ns.saturating_sub(now_ns()))
}
