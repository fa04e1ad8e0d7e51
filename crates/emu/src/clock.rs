use std::io;

use kirikae_path::{Span, Time};
use nix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC, counted from the start of a network's time.
pub(crate) struct Clock {
    start_ns: u64,
}

impl Clock {
    /// Starts the count now.
    pub(crate) fn start() -> io::Result<Clock> {
        Ok(Clock { start_ns: monotonic_ns()? })
    }

    /// Starts the count when CLOCK_MONOTONIC is at `start_ns`, nanoseconds.
    pub(crate) fn starting_at(start_ns: u64) -> Clock {
        Clock { start_ns }
    }

    /// The time now; zero until the count starts.
    pub(crate) fn now(&self) -> io::Result<Time> {
        Ok(Time::from_nanos(monotonic_ns()?.saturating_sub(self.start_ns)))
    }

    /// The time from now until `at`.
    pub(crate) fn until(&self, at: Time) -> io::Result<Span> {
        Ok(Span::from_nanos(self.monotonic_ns(at).saturating_sub(monotonic_ns()?)))
    }

    /// The same instant by CLOCK_MONOTONIC, nanoseconds.
    pub(crate) fn monotonic_ns(&self, at: Time) -> u64 {
        self.start_ns + at.as_nanos()
    }
}

fn monotonic_ns() -> io::Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}
