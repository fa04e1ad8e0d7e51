//! A rate recorded as opportunities to send, in the form of mahimahi (Netravali et al., Mahimahi:
//! Accurate Record-and-Replay for HTTP, USENIX ATC 2015).

use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::rate::Service;
use crate::recording::{BadLine, lines};
use crate::{Span, Time};

/// Bytes that may leave at one opportunity.
pub(crate) const OPPORTUNITY: u64 = 1500;

/// The times at which a link could send 1500 bytes. The recording repeats when it ends: the last
/// opportunity's time is the length of a round, and the next round's times count from there.
#[derive(Clone, PartialEq, Eq)]
pub struct RecordedRate {
    name: String,
    /// The times, ascending; the last is not 0.
    opportunities: Arc<[Time]>,
}

impl RecordedRate {
    /// Parses lines of one time in whole milliseconds, none earlier than the one before. If a time occurs
    /// again, it is one more opportunity. `name` is for reports.
    ///
    /// # Errors
    /// Fails at the first line that is not such a time, or the end of a recording without an opportunity
    /// after time 0.
    pub fn parse(name: &str, text: &str) -> Result<RecordedRate, BadLine> {
        const ALLOWED: &str = "whole milliseconds from the start, not before the line above";
        // So the times in nanoseconds fit 64 bits, and a path may last for many rounds.
        const LATEST: u64 = 366 * 24 * 3_600_000;
        let mut opportunities: Vec<Time> = Vec::new();
        let mut last_line = 1;
        for (line, written) in lines(text) {
            let bad = || BadLine { line, found: written.into(), allowed: ALLOWED };
            let millis = written.parse().ok().filter(|millis| *millis <= LATEST).ok_or_else(bad)?;
            let at = Time::ZERO + Span::from_millis(millis);
            if opportunities.last().is_some_and(|last| at < *last) {
                return Err(bad());
            }
            opportunities.push(at);
            last_line = line;
        }
        if opportunities.last().is_none_or(|last| *last == Time::ZERO) {
            let found = "no opportunity after 0 ms".into();
            return Err(BadLine { line: last_line, found, allowed: "at least one line above 0" });
        }
        Ok(RecordedRate { name: name.into(), opportunities: opportunities.into() })
    }

    /// The rate of the busiest `window` in bit/s; recordings have a resolution of a millisecond. If a round
    /// is shorter than the window, it is the mean rate.
    pub fn busiest(&self, window: Span) -> u64 {
        let round = self.round();
        if round <= window {
            return rate(self.opportunities.len(), round);
        }
        let mut first = 0;
        let in_window_to = |(last, at): (usize, &Time)| {
            while *at - self.opportunities[first] >= window {
                first += 1;
            }
            last + 1 - first
        };
        let busiest = self.opportunities.iter().enumerate().map(in_window_to).max();
        rate(busiest.expect("a recording is not empty"), window)
    }

    fn round(&self) -> Span {
        *self.opportunities.last().expect("a recording is not empty") - Time::ZERO
    }
}

/// The rate in bit/s of so many opportunities in that time.
fn rate(opportunities: usize, time: Span) -> u64 {
    let bits = 8 * u128::from(OPPORTUNITY) * opportunities as u128;
    (bits * 1_000_000_000 / u128::from(time.as_nanos())) as u64
}

impl fmt::Debug for RecordedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordedRate({}: {} opportunities)", self.name, self.opportunities.len())
    }
}

/// Writes a summary: a run's record names the recording instead of repeating it.
impl Serialize for RecordedRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut summary = serializer.serialize_struct("RecordedRate", 3)?;
        summary.serialize_field("name", &self.name)?;
        summary.serialize_field("opportunities", &self.opportunities.len())?;
        summary.serialize_field("round", &self.round())?;
        summary.end()
    }
}

/// Sends at the recorded opportunities. Packets share one as long as it has bytes left and they are there. A
/// packet larger than what is left goes on at the next one; an opportunity for which no packet waits is lost.
#[derive(Debug)]
pub(crate) struct Opportunities {
    recorded: RecordedRate,
    /// When the present round began.
    began: Time,
    /// Index of the present opportunity in the round.
    current: usize,
    /// Bytes that are left of it.
    left: u64,
}

impl Opportunities {
    pub fn new(recorded: RecordedRate) -> Opportunities {
        Opportunities { recorded, began: Time::ZERO, current: 0, left: OPPORTUNITY }
    }

    fn at(&self) -> Time {
        self.began + (self.recorded.opportunities[self.current] - Time::ZERO)
    }

    fn go_on(&mut self) {
        self.current += 1;
        self.left = OPPORTUNITY;
        if self.current == self.recorded.opportunities.len() {
            self.began += self.recorded.round();
            self.current = 0;
        }
    }

    /// Skips whole rounds in which no packet waited.
    fn skip_rounds(&mut self, now: Time) {
        let round = self.recorded.round();
        let behind = (now - self.began).as_nanos() / round.as_nanos();
        // It is one round less, since a round's last opportunity is at the time of the next round's start.
        if behind > 1 {
            self.began += round * (behind - 1);
            (self.current, self.left) = (0, OPPORTUNITY);
        }
    }
}

impl Service for Opportunities {
    fn transmit(&mut self, now: Time, bytes: u64) -> Time {
        self.skip_rounds(now);
        while self.at() < now || self.left == 0 {
            self.go_on();
        }
        let mut bytes = bytes;
        while bytes > self.left {
            bytes -= self.left;
            self.go_on();
        }
        self.left -= bytes;
        self.at()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(text: &str) -> RecordedRate {
        RecordedRate::parse("test", text).unwrap()
    }

    /// When packets of these sizes leave, in ms, each asking to be sent as soon as it came (in ms)
    /// and the one before it left.
    fn sent(text: &str, packets: &[(u64, u64)]) -> Vec<u64> {
        let mut link = Opportunities::new(recorded(text));
        let mut free = Time::ZERO;
        let mut transmit = |&(came, bytes)| {
            free = link.transmit(free.max(Time::ZERO + Span::from_millis(came)), bytes);
            free.as_nanos() / 1_000_000
        };
        packets.iter().map(&mut transmit).collect()
    }

    #[test]
    fn each_line_sends_a_packet_and_the_trace_repeats() {
        // A round of 7 ms; that of the end is also the time of the next round's start.
        let waiting = [(0, 1500); 7];
        assert_eq!(sent("0\n3\n3\n7\n", &waiting), [0, 3, 3, 7, 7, 10, 10]);
    }

    #[test]
    fn an_opportunity_that_nobody_waits_for_is_lost() {
        assert_eq!(sent("1\n2\n5\n", &[(0, 1500), (3, 1500), (5, 1500)]), [1, 5, 6]);
        // After long silence, too: 1002 rounds of 5 ms, of which the next has opportunities at
        // 5011, 5012 and 5015.
        assert_eq!(sent("1\n2\n5\n", &[(0, 40), (5012, 1500), (0, 1500)]), [1, 5012, 5015]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        let packets = [(0, 500), (0, 500), (0, 500), (0, 40), (0, 3000), (0, 1460), (0, 40)];
        assert_eq!(sent("1\n2\n3\n4\n", &packets), [1, 1, 1, 2, 4, 4, 5]);
    }

    #[test]
    fn rates_are_those_of_the_busiest_time() {
        // 3 opportunities in one millisecond are 36 Mb/s, 4 in the 3 ms from 2 to 4 16 Mb/s, and 5 in
        // all 8 ms 7.5 Mb/s.
        let recorded = recorded("2\n2\n2\n4\n8\n");
        let busiest = |ms| recorded.busiest(Span::from_millis(ms));
        assert_eq!([1, 2, 3].map(busiest), [36_000_000, 18_000_000, 16_000_000]);
        assert_eq!([8, 1000].map(busiest), [7_500_000; 2]);
    }

    #[test]
    fn a_busy_link_keeps_the_mean_rate() {
        // 3 opportunities in 7 ms: 700 packets of 1500 bytes take 233 rounds and one more.
        let last = *sent("1\n2\n7\n", &[(0, 1500); 700]).last().unwrap();
        assert_eq!(last, 233 * 7 + 1);
    }

    #[test]
    fn what_is_no_recording_is_refused_with_its_line() {
        let bad = |text| {
            let bad = RecordedRate::parse("test", text).unwrap_err();
            (bad.line, bad.found)
        };
        assert_eq!(bad("1\n5\n4\n"), (3, "4".into()));
        assert_eq!(bad("1\n-5\n"), (2, "-5".into()));
        assert_eq!(bad("1\n2.5\n"), (2, "2.5".into()));
        assert_eq!(bad("1\n99999999999999\n").0, 2);
        assert_eq!(bad(""), (1, "no opportunity after 0 ms".into()));
        assert_eq!(bad("# nothing\n0\n0\n").0, 3);
    }
}
