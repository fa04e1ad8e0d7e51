//! Finds losses of a TCP connection, at its receiver or at its sender.
//!
//! At the receiver a loss is a hole in the sequence that is filled later, by a segment that was sent later.
//! It is counted at the place where the hole was seen. Retransmissions that are lost are not seen there. At
//! the sender all transmissions are seen: one is lost if its data is sent again, unless the receiver says
//! that it had the data (DSACK, RFC 2883) or acknowledges with the timestamp of the earlier one (Eifel, RFC
//! 3522).

use std::collections::BTreeMap;

use serde::Serialize;

use super::Evidence;
use super::flows::Arrival;

/// The end at which a capture was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Every transmission is in it.
    Sender,
    /// What was lost is not in it.
    Receiver,
}

/// What became of a transmission.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passed,
    Lost,
    /// It is not known, and left out.
    Unknown,
}

/// The least share of a round trip that a retransmission takes; what comes sooner was overtaken.
const OVERTAKEN: f64 = 0.8;
/// A hole of more than the largest window (RFC 7323, 2.3), or of more segments than this, is a gap of the
/// capture.
const MOST_BYTES: u64 = 1 << 30;
const MOST_SEGMENTS: u64 = 1 << 17;
/// Least data of a segment that Linux sends (tcp_min_snd_mss), bytes.
const LEAST_MSS: u32 = 48;
/// A number before the first sequence number, so that what is below that has a number, too.
const BEGIN: u64 = 1 << 32;

/// What the segments from one end show. `side` is given, or found by what was captured.
pub(super) fn evidence(
    arrivals: &[Arrival],
    from_first: bool,
    side: Option<Side>,
) -> Result<Evidence, String> {
    let connection = Connection::new(arrivals, from_first)?;
    let received = Received::new(&connection);
    let told = if received.seen_before > received.filled { Side::Sender } else { Side::Receiver };
    let at = side.unwrap_or(told);
    let mut notes = vec![format!(
        "captured at the {} ({}): {} segments whose data were seen before, {} that filled a hole",
        match at {
            Side::Sender => "sender",
            Side::Receiver => "receiver",
        },
        if side.is_some() { "as given" } else { "by what is in it" },
        received.seen_before,
        received.filled,
    )];
    notes.push(format!("segments of {} B, {}", connection.mss, connection.mss_from));
    let (fates, more) = match at {
        Side::Receiver => received.finish(&connection),
        Side::Sender => Sent::new(&connection).finish(&connection),
    };
    notes.extend(more);
    let known = fates.into_iter().filter(|fate| *fate != Fate::Unknown);
    Ok(Evidence { fates: known.map(|fate| fate == Fate::Lost).collect(), notes })
}

/// The segments of a connection, from the point of view of the data of one end.
struct Connection<'a> {
    arrivals: &'a [Arrival],
    from_first: bool,
    /// Data in a full segment, bytes.
    mss: u32,
    mss_from: &'static str,
    /// The first sequence number of data.
    first: u32,
    /// The round-trip time of the handshake, ns.
    rtt_ns: Option<u64>,
}

impl<'a> Connection<'a> {
    fn new(arrivals: &'a [Arrival], from_first: bool) -> Result<Connection<'a>, String> {
        let is_sender = |it: &&Arrival| it.from_first == from_first;
        let data = || arrivals.iter().filter(is_sender).filter(|it| it.segment.len > 0);
        let one = data().next().ok_or("no data")?;
        let syn = |sender: bool| {
            arrivals.iter().find(|it| it.segment.syn && (it.from_first == from_first) == sender)
        };
        let agreed = [true, false].map(|sender| syn(sender)?.segment.mss);
        let (mss, mss_from) = match agreed {
            [Some(a), Some(b)] => {
                (u32::from(a.min(b)).saturating_sub(one.segment.options.into()), "as agreed on")
            }
            _ => {
                let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
                data().for_each(|it| *sizes.entry(it.segment.len).or_default() += 1);
                let most = sizes.into_iter().max_by_key(|(_, count)| *count);
                (
                    most.map_or(0, |(size, _)| size),
                    "the most frequent size: its beginning is not there",
                )
            }
        };
        // The time from the receiver's SYN, or from its answer to one, to the answer.
        let asked = syn(false).map(|it| it.at_ns);
        let answered = asked.and_then(|at| {
            arrivals.iter().filter(is_sender).map(|it| it.at_ns).find(|answer| *answer > at)
        });
        Ok(Connection {
            arrivals,
            from_first,
            mss: mss.max(LEAST_MSS),
            mss_from,
            first: syn(true).map_or(one.segment.seq, |it| it.segment.seq.wrapping_add(1)),
            rtt_ns: asked.zip(answered).map(|(asked, answered)| answered - asked),
        })
    }

    /// Pieces of a range as long as a segment, where offloads have joined several.
    fn pieces(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let mss = u64::from(self.mss);
        (from..to).step_by(mss as usize).map(move |start| (start, (start + mss).min(to)))
    }

    fn unwrapped(&self) -> Unwrapped {
        Unwrapped { near: BEGIN, first: self.first }
    }
}

/// Sequence numbers without their wrap.
struct Unwrapped {
    near: u64,
    first: u32,
}

impl Unwrapped {
    fn of(&mut self, seq: u32) -> u64 {
        let low = self.first.wrapping_add(self.near.wrapping_sub(BEGIN) as u32);
        let step = i64::from(seq.wrapping_sub(low).cast_signed());
        let number = self.near.saturating_add_signed(step);
        self.near = self.near.max(number);
        number
    }
}

/// A hole of the length of a segment.
struct Hole {
    end: u64,
    /// Its place among the fates.
    place: usize,
    /// When it was seen, ns, and with which timestamp.
    at_ns: u64,
    stamp: Option<u32>,
}

/// A connection as its receiver sees it.
struct Received {
    fates: Vec<Fate>,
    holes: BTreeMap<u64, Hole>,
    /// Segments whose data had been seen.
    seen_before: usize,
    /// Segments that filled a hole.
    filled: usize,
    /// Segments among these that were only overtaken.
    overtaken: usize,
    /// Places at which the capture lacks more than any window.
    jumps: usize,
    /// Up to where the receiver has acknowledged.
    acknowledged: u64,
}

impl Received {
    fn new(connection: &Connection) -> Received {
        let mut received = Received {
            fates: Vec::new(),
            holes: BTreeMap::new(),
            seen_before: 0,
            filled: 0,
            overtaken: 0,
            jumps: 0,
            acknowledged: 0,
        };
        let most = MOST_BYTES.min(MOST_SEGMENTS * u64::from(connection.mss));
        let mut numbers = connection.unwrapped();
        let mut next = BEGIN;
        for arrival in connection.arrivals {
            let segment = &arrival.segment;
            if arrival.from_first != connection.from_first {
                if let Some(ack) = segment.ack {
                    received.acknowledged = received.acknowledged.max(numbers.of(ack));
                }
                continue;
            }
            if segment.len == 0 {
                continue;
            }
            let start = numbers.of(segment.seq);
            let end = start + u64::from(segment.len);
            let stamp = segment.stamp.map(|(value, _)| value);
            if start > next + most {
                received.jumps += 1;
                next = start;
            }
            for (from, to) in connection.pieces(next, start) {
                let hole =
                    Hole { end: to, place: received.fates.len(), at_ns: arrival.at_ns, stamp };
                received.holes.insert(from, hole);
                received.fates.push(Fate::Lost);
            }
            if start < next {
                received.old(connection, start, end.min(next), arrival.at_ns, stamp);
            }
            received.fates.extend(connection.pieces(start.max(next), end).map(|_| Fate::Passed));
            next = next.max(end);
        }
        received
    }

    /// Takes in data from below what has been seen.
    fn old(
        &mut self,
        connection: &Connection,
        start: u64,
        end: u64,
        at_ns: u64,
        stamp: Option<u32>,
    ) {
        let below = self.holes.range(..end).rev();
        let overlapping = below.take_while(|(_, hole)| hole.end > start).map(|(from, _)| *from);
        let filled: Vec<u64> = overlapping.collect();
        if filled.is_empty() {
            self.seen_before += 1;
            self.fates.extend(connection.pieces(start, end).map(|_| Fate::Passed));
            return;
        }
        self.filled += 1;
        let mut overtaken = true;
        for from in filled {
            let Some(hole) = self.holes.remove(&from) else { continue };
            let late = match (stamp, hole.stamp, connection.rtt_ns) {
                // It was sent no later than what showed the hole.
                (Some(sent), Some(shown), _) => sent.wrapping_sub(shown).cast_signed() <= 0,
                (_, _, Some(rtt)) => {
                    (at_ns.saturating_sub(hole.at_ns) as f64) < OVERTAKEN * rtt as f64
                }
                _ => false,
            };
            if late {
                self.fates[hole.place] = Fate::Passed;
            } else {
                self.fates.push(Fate::Passed);
                overtaken = false;
            }
        }
        self.overtaken += usize::from(overtaken);
    }

    fn finish(mut self, connection: &Connection) -> (Vec<Fate>, Vec<String>) {
        // This is what the receiver had and the capture has not.
        let missed: Vec<usize> =
            self.holes.range(..self.acknowledged).map(|(_, hole)| hole.place).collect();
        missed.iter().for_each(|place| self.fates[*place] = Fate::Unknown);
        let how = match connection.arrivals.iter().any(|it| it.segment.stamp.is_some()) {
            true => "by timestamps",
            false if connection.rtt_ns.is_some() => "by the round-trip time of the handshake",
            false => "not to be told here: neither timestamps nor handshake",
        };
        let mut notes = vec![format!(
            "{} of the holes were overtaken segments, not losses ({how})",
            self.overtaken
        )];
        if self.jumps > 0 {
            notes.push(format!("{} gaps are longer than any window: left out", self.jumps));
        }
        if !missed.is_empty() {
            notes.push(format!(
                "{} segments were acknowledged and are not in the capture: left out",
                missed.len()
            ));
        }
        (self.fates, notes)
    }
}

/// A range of data as long as a segment, and its transmissions' places among the fates.
struct Piece {
    end: u64,
    sent: usize,
    again: Vec<usize>,
}

/// A piece that was sent more than once and has arrived.
struct Repeated {
    end: u64,
    transmissions: Vec<usize>,
    /// The transmission that arrived, if its acknowledgement shows it.
    arrived: Option<usize>,
    /// How often the receiver says that it had it already.
    duplicates: usize,
}

/// A connection as its sender sees it.
struct Sent {
    fates: Vec<Fate>,
    /// Timestamps of the transmissions.
    stamps: Vec<Option<u32>>,
    outstanding: BTreeMap<u64, Piece>,
    repeated: BTreeMap<u64, Repeated>,
    /// Up to where everything is acknowledged.
    acknowledged: u64,
}

impl Sent {
    fn new(connection: &Connection) -> Sent {
        let mut sent = Sent {
            fates: Vec::new(),
            stamps: Vec::new(),
            outstanding: BTreeMap::new(),
            repeated: BTreeMap::new(),
            acknowledged: BEGIN,
        };
        let mut numbers = connection.unwrapped();
        for arrival in connection.arrivals {
            let segment = &arrival.segment;
            if arrival.from_first == connection.from_first {
                let start = numbers.of(segment.seq);
                let stamp = segment.stamp.map(|(value, _)| value);
                for (from, to) in connection.pieces(start, start + u64::from(segment.len)) {
                    sent.transmit(from, to, stamp);
                }
            } else if let Some(ack) = segment.ack {
                let ack = numbers.of(ack);
                sent.acknowledge(ack, segment.stamp.map(|(_, echo)| echo));
                // A first block below the acknowledgement is of what arrived twice.
                let block = segment.sack.map(|(from, to)| (numbers.of(from), numbers.of(to)));
                if let Some((from, to)) = block.filter(|(_, to)| *to <= ack) {
                    sent.arrived_twice(from, to);
                }
            }
        }
        sent
    }

    fn transmit(&mut self, from: u64, to: u64, stamp: Option<u32>) {
        let place = self.fates.len();
        self.stamps.push(stamp);
        if to <= self.acknowledged {
            // The acknowledgement shows that it had arrived.
            self.fates.push(Fate::Passed);
            return;
        }
        self.fates.push(Fate::Unknown);
        let before = self.outstanding.range_mut(..to).rev();
        let mut known = None;
        for (_, piece) in before.take_while(|(_, piece)| piece.end > from) {
            piece.again.push(place);
            known = known.max(Some(piece.end));
        }
        let new = known.unwrap_or(from).max(self.acknowledged);
        if new < to {
            self.outstanding.insert(new, Piece { end: to, sent: place, again: Vec::new() });
        }
    }

    fn acknowledge(&mut self, ack: u64, echo: Option<u32>) {
        // An echo is that of the segment which moved the acknowledgement on: the first one it covers.
        let mut echo = echo;
        while let Some((from, piece)) = self.outstanding.first_key_value()
            && piece.end <= ack
        {
            let from = *from;
            let Some(Piece { end, sent, again }) = self.outstanding.remove(&from) else { break };
            let echo = echo.take();
            if again.is_empty() {
                self.fates[sent] = Fate::Passed;
                continue;
            }
            let transmissions = [&[sent][..], &again].concat();
            let since = |place: &usize| {
                let stamp = self.stamps[*place].zip(echo);
                stamp.map(|(stamp, echo)| echo.wrapping_sub(stamp).cast_signed() >= 0)
            };
            // The last that was sent no later than what is echoed, where all have timestamps.
            let sent_before: Option<Vec<bool>> = transmissions.iter().map(since).collect();
            let arrived = sent_before.and_then(|before| before.iter().rposition(|it| *it));
            self.repeated.insert(from, Repeated { end, transmissions, arrived, duplicates: 0 });
        }
        self.acknowledged = self.acknowledged.max(ack);
    }

    fn arrived_twice(&mut self, from: u64, to: u64) {
        let below = self.repeated.range_mut(..to).rev();
        for (_, repeated) in below.take_while(|(_, repeated)| repeated.end > from) {
            repeated.duplicates += 1;
        }
    }

    fn finish(mut self, connection: &Connection) -> (Vec<Fate>, Vec<String>) {
        let (mut again, mut needless) = (0, 0);
        for Repeated { transmissions, arrived, duplicates, .. } in self.repeated.values() {
            let sent = transmissions.len();
            // All but one were lost, unless the receiver had it more than once.
            let lost = sent - sent.min(1 + duplicates);
            let lost = arrived.map_or(lost, |arrived| arrived.min(lost));
            for (number, place) in transmissions.iter().enumerate() {
                self.fates[*place] = if number < lost { Fate::Lost } else { Fate::Passed };
            }
            again += sent - 1;
            needless += sent - 1 - lost;
        }
        let open = self.fates.iter().filter(|fate| **fate == Fate::Unknown).count();
        let answered = connection.arrivals.iter().any(|it| it.from_first != connection.from_first);
        let mut notes = vec![match answered {
            true => format!(
                "{again} segments were sent again, {needless} of them although the data had arrived (by \
                 DSACK and timestamps): no losses"
            ),
            false => format!(
                "{again} segments were sent again; there are no acknowledgements that would tell which were \
                 needless"
            ),
        }];
        if open > 0 {
            notes.push(format!("{open} segments are not acknowledged by its end: left out"));
        }
        (self.fates, notes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::headers::Segment;
    use super::*;

    const MSS: u32 = 1000;

    /// Data segment `n`, sent at this time of its timestamp clock, and captured at this many ms.
    fn data(n: u32, stamp: u32, ms: u64) -> Arrival {
        let seq = 1 + n * MSS;
        let segment = Segment { seq, len: MSS, stamp: Some((stamp, 0)), ..Segment::default() };
        Arrival { at_ns: ms * 1_000_000, from_first: true, segment }
    }

    /// An acknowledgement of all segments below `n`.
    fn ack(n: u32, echo: u32, sack: Option<(u32, u32)>) -> Arrival {
        let sack = sack.map(|(from, to)| (1 + from * MSS, 1 + to * MSS));
        let ack = Some(1 + n * MSS);
        let segment = Segment { ack, stamp: Some((0, echo)), sack, ..Segment::default() };
        Arrival { at_ns: 0, from_first: false, segment }
    }

    fn handshake() -> [Arrival; 2] {
        [(true, 0), (false, 0)].map(|(from_first, seq)| Arrival {
            at_ns: 0,
            from_first,
            segment: Segment { seq, syn: true, mss: Some(1000), ..Segment::default() },
        })
    }

    fn fates(arrivals: &[Arrival], side: Side) -> String {
        let all = [&handshake()[..], arrivals].concat();
        let found = evidence(&all, true, None).unwrap();
        assert!(found.notes[0].contains(&format!("{side:?}").to_lowercase()), "{:?}", found.notes);
        let run = |run: &super::super::fates::Run| {
            ".".repeat(run.passed as usize) + &"L".repeat(run.lost as usize)
        };
        found.fates.runs().iter().map(run).collect()
    }

    #[test]
    fn a_hole_that_is_filled_later_is_a_loss() {
        let arrivals = [
            data(0, 1, 0),
            data(1, 1, 0),
            data(4, 1, 1),
            data(2, 50, 50),
            data(3, 50, 50),
            data(5, 51, 51),
        ];
        assert_eq!(fates(&arrivals, Side::Receiver), "..LL....");
    }

    #[test]
    fn a_hole_that_is_filled_by_what_was_sent_before_is_none() {
        let arrivals = [data(0, 1, 0), data(2, 2, 1), data(1, 1, 2), data(3, 3, 3)];
        assert_eq!(fates(&arrivals, Side::Receiver), "....");
    }

    #[test]
    fn what_the_capture_missed_is_left_out() {
        let arrivals =
            [data(0, 1, 0), data(2, 1, 0), ack(3, 1, None), data(3, 2, 1), ack(4, 2, None)];
        assert_eq!(fates(&arrivals, Side::Receiver), "...");
    }

    #[test]
    fn what_is_sent_again_was_lost() {
        let arrivals = [
            data(0, 1, 0),
            data(1, 1, 0),
            data(2, 1, 0),
            ack(1, 1, None),
            data(1, 60, 60),
            data(1, 300, 300),
            ack(3, 300, None),
        ];
        assert_eq!(fates(&arrivals, Side::Sender), ".L.L.");
    }

    #[test]
    fn what_was_sent_again_for_nothing_was_not_lost() {
        // The acknowledgement echoes the first transmission; then the receiver tells of the second.
        let echo =
            [data(0, 1, 0), data(0, 60, 60), ack(1, 1, None), data(1, 61, 61), ack(2, 61, None)];
        assert_eq!(fates(&echo, Side::Sender), "...");
        // Without timestamps the duplicate tells alone.
        let mut arrivals = vec![
            data(0, 1, 0),
            data(0, 60, 60),
            ack(1, 1, None),
            ack(1, 1, Some((0, 1))),
            data(1, 61, 61),
            ack(2, 61, None),
        ];
        arrivals.iter_mut().for_each(|it| it.segment.stamp = None);
        assert_eq!(fates(&arrivals, Side::Sender), "...");
    }

    #[test]
    fn joined_segments_are_several() {
        let mut joined = data(0, 1, 0);
        joined.segment.len = 3 * MSS;
        let mut again = data(1, 60, 60);
        again.segment.len = 2 * MSS;
        let arrivals = [joined, ack(1, 1, None), again, ack(3, 60, None)];
        assert_eq!(fates(&arrivals, Side::Sender), ".LL..");
    }
}
