use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::departures::{Departures, Order};
use crate::recording::{BadLine, lines, millis};
use crate::{Element, Outcome, Packet, Span, Time};

/// Delays over time, as recorded. Each holds until the next one's time, the first from the start, and the
/// last for ever.
#[derive(Clone, PartialEq, Eq)]
pub struct RecordedDelays {
    name: String,
    /// The delays in order of time; not empty.
    delays: Arc<[(Time, Span)]>,
}

impl RecordedDelays {
    /// Parses lines of a time and a delay, both in milliseconds with or without decimals; the times are
    /// ascending. `name` is for reports.
    ///
    /// # Errors
    /// Fails at the first line that is not such a pair, or the end of a recording without any.
    pub fn parse(name: &str, text: &str) -> Result<RecordedDelays, BadLine> {
        const ALLOWED: &str =
            "a time after that of the line above, and a delay of at most a day, both in ms";
        let mut delays: Vec<(Time, Span)> = Vec::new();
        for (line, written) in lines(text) {
            let later = |at: &Time| delays.last().is_none_or(|(last, _)| at > last);
            let entry = pair(written).filter(|(at, _)| later(at));
            let bad = || BadLine { line, found: written.into(), allowed: ALLOWED };
            delays.push(entry.ok_or_else(bad)?);
        }
        if delays.is_empty() {
            return Err(BadLine { line: 1, found: "nothing".into(), allowed: ALLOWED });
        }
        Ok(RecordedDelays { name: name.into(), delays: delays.into() })
    }

    /// The shortest delay recorded.
    pub fn least(&self) -> Span {
        self.delays.iter().map(|(_, delay)| *delay).min().expect("a recording is not empty")
    }
}

fn pair(line: &str) -> Option<(Time, Span)> {
    let (at, delay) = line.split_once(char::is_whitespace)?;
    Some((Time::ZERO + millis(at, DAY * 366)?, millis(delay.trim_start(), DAY)?))
}

const DAY: Span = Span::from_secs(24 * 3600);

impl fmt::Debug for RecordedDelays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordedDelays({}: {} delays)", self.name, self.delays.len())
    }
}

/// Writes a summary: a run's record names the recording instead of repeating it.
impl Serialize for RecordedDelays {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut summary = serializer.serialize_struct("RecordedDelays", 2)?;
        summary.serialize_field("name", &self.name)?;
        summary.serialize_field("delays", &self.delays.len())?;
        summary.end()
    }
}

/// A recorded delay: every packet takes the one that holds when it arrives.
#[derive(Debug)]
pub struct RecordedDelay<P> {
    recorded: RecordedDelays,
    /// Index of the present delay.
    current: usize,
    packets: Departures<Packet<P>>,
}

impl<P> RecordedDelay<P> {
    /// An element that plays these delays. If the delay falls, `order` says whether packets overtake earlier
    /// ones or wait for them.
    pub fn new(recorded: RecordedDelays, order: Order) -> RecordedDelay<P> {
        RecordedDelay { recorded, current: 0, packets: Departures::new(order) }
    }
}

impl<P> Element<P> for RecordedDelay<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        while let Some((at, _)) = self.recorded.delays.get(self.current + 1)
            && *at <= now
        {
            self.current += 1;
        }
        let (_, delay) = self.recorded.delays[self.current];
        self.packets.push(now, delay, packet);
        Outcome::Held
    }

    fn next(&self) -> Option<Time> {
        self.packets.next()
    }

    fn dequeue(&mut self, _now: Time) -> Outcome<P> {
        self.packets.pop().map_or(Outcome::Held, Outcome::Passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the packets that arrive at these milliseconds leave, and their numbers.
    fn leave(order: Order, arrivals: &[u64]) -> Vec<(f64, u64)> {
        let recorded = RecordedDelays::parse("test", "# ms ms\n10 50\n20 30.5\n40 70\n").unwrap();
        assert_eq!(recorded.least(), Span::from_nanos(30_500_000));
        let mut element = RecordedDelay::new(recorded, order);
        for (number, arrival) in (0..).zip(arrivals) {
            element.enqueue(Time::ZERO + Span::from_millis(*arrival), Packet::test(number, 40));
        }
        let mut left = Vec::new();
        while let Some(at) = element.next() {
            let Outcome::Passed(packet) = element.dequeue(at) else { panic!("it only delays") };
            left.push((at.as_nanos() as f64 / 1e6, packet.number));
        }
        left
    }

    #[test]
    fn the_delay_in_force_is_taken() {
        let free = leave(Order::Free, &[0, 19, 20, 39, 40, 9000]);
        let expected = [(50.0, 0), (50.5, 2), (69.0, 1), (69.5, 3), (110.0, 4), (9070.0, 5)];
        assert_eq!(free, expected);
        let kept = leave(Order::Kept, &[0, 19, 20, 39, 40]);
        assert_eq!(kept, [(50.0, 0), (69.0, 1), (69.0, 2), (69.5, 3), (110.0, 4)]);
    }

    #[test]
    fn what_is_no_recording_is_refused_with_its_line() {
        let bad = |text| RecordedDelays::parse("test", text).unwrap_err().line;
        assert_eq!(bad(""), 1);
        assert_eq!(bad("0 5\n\n0 6\n"), 3);
        assert_eq!(bad("0 5\n1\n"), 2);
        assert_eq!(bad("0 5\n1 -2\n"), 2);
        assert_eq!(bad("0 5\n1 nan\n"), 2);
        assert_eq!(bad("0 5\n1 86400001\n"), 2);
    }
}
