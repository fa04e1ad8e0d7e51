//! One direction of an emulated path: from one device through the elements to the other.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};

use hdrhistogram::Histogram;
use kirikae_path::{Chain, Direction, DropCause, Dropped, Ecn, ElementSpec, Packet, Span, Time};

use crate::clock::Clock;
use crate::ecn;
use crate::namespace::MTU;
use crate::report::{DirectionReport, DroppedPacket, TimingError};
use crate::segment::Connections;

/// Room for the largest packet.
pub(crate) type Buffer = Box<[u8; MTU as usize]>;

/// Packets read from one device before the other and the due ones get their turn: at about 3 us
/// each, nothing waits for more than 0.1 ms.
const BATCH: usize = 32;

/// One direction: its elements, and what is kept about the packets.
pub(crate) struct Way {
    chain: Chain<Buffer>,
    exit: Exit,
}

impl Way {
    pub(crate) fn new(direction: Direction, spec: &[ElementSpec], chain: Chain<Buffer>) -> Way {
        Way { chain, exit: Exit::new(direction, late_limit(spec)) }
    }

    /// When `put_out` has something to do, if nothing comes in before.
    pub(crate) fn next(&self) -> Option<Time> {
        self.chain.next()
    }

    /// Reads packets until there is none left or others have waited long enough.
    pub(crate) fn take_in(&mut self, mut from: &File, to: &File, clock: &Clock) -> io::Result<()> {
        let Way { chain, exit } = self;
        for _ in 0..BATCH {
            let mut buffer = exit.spare.pop().unwrap_or_else(|| Box::new([0; MTU as usize]));
            let length = match from.read(&mut *buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    exit.spare.push(buffer);
                    break;
                }
                Err(error) => return Err(error),
            };
            exit.connections.note(&buffer[..length]);
            let now = clock.now()?;
            let ecn = ecn::read(&buffer[..length]);
            chain.enqueue(now, length as u32, ecn, buffer, |at, fate| {
                exit.leave(at, fate, to, clock);
            });
        }
        exit.check()
    }

    /// Writes the packets that are due.
    pub(crate) fn put_out(&mut self, to: &File, clock: &Clock) -> io::Result<()> {
        let Way { chain, exit } = self;
        if chain.next().is_some() {
            chain.advance(clock.now()?, |at, fate| exit.leave(at, fate, to, clock));
        }
        exit.check()
    }

    /// What happened in this direction, and each packet that was dropped.
    pub(crate) fn report(self, device_drops: u64) -> (DirectionReport, Vec<DroppedPacket>) {
        let Way { chain, exit } = self;
        let mut dropped = BTreeMap::new();
        for drop in &exit.drops {
            *dropped.entry(drop.cause).or_insert(0) += 1;
        }
        let report = DirectionReport {
            offered: chain.offered(),
            delivered: exit.timing_error.len(),
            dropped,
            inside: chain.inside(),
            device_drops,
            timing_error: TimingError::of(&exit.timing_error),
            late_limit_us: exit.late_limit.as_nanos() as f64 / 1e3,
            late: exit.late,
        };
        (report, exit.drops)
    }
}

/// See [`DirectionReport::late_limit_us`].
fn late_limit(spec: &[ElementSpec]) -> Span {
    let serialisation = kirikae_path::bottleneck(spec)
        .map_or(0, |bits_per_second| u64::from(MTU) * 8 * 1_000_000_000 / bits_per_second);
    Span::from_millis(1).max(Span::from_nanos(serialisation))
}

/// Where packets leave a direction.
struct Exit {
    direction: Direction,
    late_limit: Span,
    late: u64,
    /// Actual less due time of each write, in nanoseconds.
    timing_error: Histogram<u64>,
    connections: Connections,
    drops: Vec<DroppedPacket>,
    /// Buffers to use again.
    spare: Vec<Buffer>,
    /// The first write that failed.
    failed: Option<io::Error>,
}

impl Exit {
    fn new(direction: Direction, late_limit: Span) -> Exit {
        const LONGEST: u64 = 3_600_000_000_000;
        Exit {
            direction,
            late_limit,
            late: 0,
            timing_error: Histogram::new_with_max(LONGEST, 3).expect("valid bounds"),
            connections: Connections::default(),
            drops: Vec::new(),
            spare: Vec::new(),
            failed: None,
        }
    }

    /// A packet leaves the elements at its time: to the device `to`, or lost.
    fn leave(
        &mut self,
        at: Time,
        fate: Result<Packet<Buffer>, Dropped<Buffer>>,
        to: &File,
        clock: &Clock,
    ) {
        let buffer = match fate {
            Ok(mut packet) => {
                if let Err(error) = self.deliver(at, &mut packet, to, clock) {
                    self.failed.get_or_insert(error);
                }
                packet.payload
            }
            Err(Dropped { packet, cause }) => {
                self.drops.push(self.describe(at, &packet, cause, clock));
                packet.payload
            }
        };
        self.spare.push(buffer);
    }

    fn deliver(
        &mut self,
        at: Time,
        packet: &mut Packet<Buffer>,
        mut to: &File,
        clock: &Clock,
    ) -> io::Result<()> {
        let bytes = &mut packet.payload[..packet.bytes as usize];
        if packet.ecn == Ecn::Ce && ecn::read(bytes) != Ecn::Ce {
            ecn::mark(bytes);
        }
        let error = clock.now()? - at;
        to.write_all(bytes)?;
        self.timing_error.saturating_record(error.as_nanos());
        self.late += u64::from(error > self.late_limit);
        Ok(())
    }

    fn describe(
        &self,
        at: Time,
        packet: &Packet<Buffer>,
        cause: DropCause,
        clock: &Clock,
    ) -> DroppedPacket {
        let segment = self.connections.segment(&packet.payload[..packet.bytes as usize]);
        DroppedPacket {
            monotonic_ns: clock.monotonic_ns(at),
            direction: self.direction,
            number: packet.number,
            cause,
            segment,
        }
    }

    fn check(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}
