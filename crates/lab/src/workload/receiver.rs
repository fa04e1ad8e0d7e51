//! The reading end: checks every byte and notes when each burst arrived.

use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::clock::{now_ns, until};
use super::pattern::Pattern;
use super::{Bursts, abort_on_close};
use crate::error::{Error, While};

/// How long a read waits before it looks at the deadline and at the wish to stop.
const TICK: Duration = Duration::from_millis(100);

/// More than any receive queue here, so that one read empties it and shares one time stamp only
/// with bytes that were there at that moment.
const BUFFER: usize = 1 << 20;

/// When a burst arrived, CLOCK_MONOTONIC in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When its first byte could be read, in order.
    pub first_ns: u64,
    /// When its last byte could be read, in order.
    pub last_ns: u64,
}

/// What the receiver reads from, and until when.
pub struct Receiver<'a, S> {
    /// Where the sender will connect.
    pub listener: TcpListener,
    /// What it will write.
    pub workload: &'a Bursts,
    /// When to give up, CLOCK_MONOTONIC in nanoseconds.
    pub deadline_ns: u64,
    /// True once the run is to end early.
    pub stop: S,
}

impl<S: Fn() -> bool> Receiver<'_, S> {
    /// Reads one connection to its end and closes it; calls `on_burst` for each burst that is
    /// complete. Returns the bursts that were complete at the end, at the deadline or when it
    /// was told to stop, in their order.
    ///
    /// # Errors
    /// A byte that is not the one written, or a connection that breaks.
    pub fn run(&self, on_burst: impl Fn()) -> Result<Vec<Arrival>, Error> {
        let mut arrivals = Vec::new();
        let Some(mut stream) = self.accept()? else { return Ok(arrivals) };
        stream.set_read_timeout(Some(TICK)).during(reading)?;
        abort_on_close(&stream).during(reading)?;
        let pattern = Pattern::new();
        let mut buffer = vec![0; BUFFER];
        let (mut offset, mut first_ns) = (0, 0);
        while offset < self.workload.bytes() && !self.over() {
            let length = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if is_time_to_look(&error) => continue,
                Err(error) => return Err(error).during(reading),
            };
            let read_ns = now_ns();
            if let Some(wrong) = pattern.first_wrong(offset, &buffer[..length]) {
                return Err(Error::Corrupted { offset: wrong });
            }
            let end = offset + length as u64;
            loop {
                let burst = self.workload.range(arrivals.len() as u32);
                if (offset..end).contains(&burst.start) {
                    first_ns = read_ns;
                }
                if burst.end > end {
                    break;
                }
                arrivals.push(Arrival { first_ns, last_ns: read_ns });
                on_burst();
            }
            offset = end;
        }
        Ok(arrivals)
    }

    fn over(&self) -> bool {
        (self.stop)() || until(self.deadline_ns).is_zero()
    }

    /// The connection, or none if it did not come in time.
    fn accept(&self) -> Result<Option<TcpStream>, Error> {
        // On Linux the time-out for reading bounds accept as well.
        socket2::SockRef::from(&self.listener).set_read_timeout(Some(TICK)).during(reading)?;
        while !self.over() {
            match self.listener.accept() {
                Ok((stream, _)) => return Ok(Some(stream)),
                Err(error) if is_time_to_look(&error) => {}
                Err(error) => return Err(error).during(reading),
            }
        }
        Ok(None)
    }
}

/// A tick is over, or it ended early because the process was stopped and continued.
fn is_time_to_look(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn reading() -> String {
    "receiving bursts".into()
}
