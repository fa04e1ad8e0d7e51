//! The least latency that any congestion control could have reached on what the path really did.

use std::ops::Range;

use kirikae_path::{PathSpec, bottleneck, propagation};

/// Headers of a data packet: IPv4, TCP and the time stamp option.
const HEADERS: u64 = 20 + 20 + 12;

/// A piece of the stream that the channel lost (not a queue: an overflow is the sender's doing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Bytes of the stream in the lost packet.
    pub range: Range<u64>,
    /// When it was lost, CLOCK_MONOTONIC in nanoseconds.
    pub at_ns: u64,
}

/// The lower bound of a path.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// From asking for a burst until it may be written.
    opening_ns: u64,
    one_way_ns: u64,
    round_trip_ns: u64,
    bits_per_second: Option<u64>,
    /// Most bytes of the stream in one packet.
    mss: u64,
}

impl Bound {
    /// The bound of a path with data going forward, in IP packets of at most `mtu` bytes.
    pub fn new(path: &PathSpec, mtu: u32) -> Bound {
        Bound {
            opening_ns: 0,
            one_way_ns: propagation(&path.forward).as_nanos(),
            round_trip_ns: path.base_rtt().as_nanos(),
            bits_per_second: bottleneck(&path.forward),
            mss: u64::from(mtu) - HEADERS,
        }
    }

    /// The same for bursts that are asked for by opening a connection: before each there is a round trip, and the
    /// third packet of the handshake. (What is lost of the handshake only makes it longer.)
    pub fn of_answers(self) -> Bound {
        Bound { opening_ns: 2 * self.round_trip_ns - self.one_way_ns, ..self }
    }

    /// Least latency, in seconds, of the burst that takes `burst` of the stream and of which the
    /// last byte arrived at `arrived_ns`.
    ///
    /// The whole burst goes out at once, and each packet that the channel lost is sent again one round-trip
    /// time later, as often as it was lost. So the bound is the largest, over all bytes, of one-way delay +
    /// serialisation up to that byte + round-trip time * times lost. When a lost packet is repaired, packets
    /// that were lost before it took no time at the bottleneck. A loss less than a round trip and a one-way
    /// delay before the burst's arrival cannot have mattered: the copy that was lost was not needed.
    pub fn seconds(&self, burst: Range<u64>, arrived_ns: u64, lost: &[Lost]) -> f64 {
        let mattered = arrived_ns.saturating_sub(self.round_trip_ns + self.one_way_ns);
        let mut lost: Vec<&Range<u64>> = lost
            .iter()
            .filter(|lost| lost.at_ns <= mattered)
            .map(|lost| &lost.range)
            .filter(|range| range.start < burst.end && burst.start < range.end)
            .collect();
        lost.sort_by_key(|range| range.start);
        let whole = self.serialisation_ns(burst.end - burst.start);
        let repaired = lost.iter().map(|piece| {
            // The number of times that a byte was lost rises only where a lost piece begins.
            let first = piece.start.max(burst.start);
            let times = lost.iter().filter(|other| other.contains(&first)).count() as u64;
            let before = burst.start..first;
            let passed = first + 1 - burst.start - covered(&lost, before);
            self.serialisation_ns(passed) + times * self.round_trip_ns
        });
        let latest = repaired.chain([whole]).max().expect("there is the whole burst");
        (self.opening_ns + self.one_way_ns + latest) as f64 / 1e9
    }

    /// Propagation of a round trip, in seconds.
    pub fn round_trip_s(&self) -> f64 {
        self.round_trip_ns as f64 / 1e9
    }

    /// Time at the bottleneck for so many bytes of the stream and their headers, nanoseconds.
    fn serialisation_ns(&self, bytes: u64) -> u64 {
        let bits = 8 * u128::from(bytes + bytes.div_ceil(self.mss) * HEADERS);
        self.bits_per_second.map_or(0, |rate| (bits * 1_000_000_000 / u128::from(rate)) as u64)
    }
}

/// Bytes of `within` that lie in any of the ranges, which are in order of their start.
fn covered(ranges: &[&Range<u64>], within: Range<u64>) -> u64 {
    let mut bytes = 0;
    let mut at = within.start;
    for range in ranges {
        let new = range.start.max(at)..range.end.min(within.end);
        if !new.is_empty() {
            bytes += new.end - new.start;
            at = new.end;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use kirikae_path::{ElementSpec, QueueLimit, Span};

    use super::*;

    const LATE: u64 = u64::MAX;

    /// A path with an RTT of 200 ms and 10 Mbit/s.
    fn bound() -> Bound {
        let delay = ElementSpec::Delay { delay: Span::from_millis(100) };
        let limit = QueueLimit::Packets(100);
        let rate = ElementSpec::Rate { bits_per_second: 10_000_000, limit };
        Bound::new(&PathSpec { forward: vec![rate, delay.clone()], backward: vec![delay] }, 1500)
    }

    fn lost(range: Range<u64>, at_ns: u64) -> Lost {
        Lost { range, at_ns }
    }

    #[track_caller]
    fn assert_seconds(burst: Range<u64>, arrived_ns: u64, lost: &[Lost], expected: f64) {
        let found = bound().seconds(burst, arrived_ns, lost);
        assert!((found - expected).abs() < 1e-8, "{found}, not {expected}");
    }

    #[test]
    fn without_loss_it_is_delay_and_serialisation() {
        // 46 packets: (65536 + 46 * 52) * 8 bits / 10 Mbit/s = 54.3424 ms.
        assert_seconds(0..65_536, LATE, &[], 0.154_342_4);
    }

    #[test]
    fn an_answer_waits_for_the_handshake() {
        // SYN, SYN-ACK and ACK, 100 ms each.
        let found = bound().of_answers().seconds(0..65_536, LATE, &[]);
        assert!((found - 0.454_342_4).abs() < 1e-8, "{found}");
    }

    #[test]
    fn each_loss_of_the_same_packet_costs_a_round_trip() {
        // The burst's second packet, lost twice: 100 ms + 400 ms + (1449 + 2 * 52) bytes.
        let burst = 65_536..131_072;
        let second = 65_536 + 1448..65_536 + 2896;
        let twice = [lost(second.clone(), 0), lost(second, 1)];
        assert_seconds(burst, LATE, &twice, 0.501_242_4);
    }

    #[test]
    fn losses_of_different_packets_are_repaired_together() {
        // The later of the two counts; the earlier packet took no time at the bottleneck: 100 ms + 200 ms +
        // (5793 + 5 * 52) bytes.
        let losses = [lost(7240..8688, 0), lost(1448..2896, 0)];
        assert_seconds(0..65_536, LATE, &losses, 0.304_842_4);
    }

    #[test]
    fn what_overlaps_is_covered_once() {
        assert_eq!(covered(&[&(0..700), &(100..200), &(500..1448), &(2000..9000)], 50..3000), 2398);
    }

    #[test]
    fn other_bursts_and_needless_copies_do_not_count() {
        assert_seconds(0..65_536, LATE, &[lost(65_536..66_984, 0)], 0.154_342_4);
        let needless = lost(1448..2896, 700_000_001);
        assert_seconds(0..65_536, 1_000_000_000, &[needless], 0.154_342_4);
    }
}
