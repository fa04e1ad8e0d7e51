//! What the switcher makes of a program that writes without idle time, round trip by round trip.

use kirikae_algorithms::{RoundTripSeen, Stream};

const RTT_US: u32 = 100_000;
/// What is written in a round trip, bytes.
const WRITTEN: u32 = 10_000;
const DEMAND: u32 = WRITTEN * 10;
/// What it is taken to ask for in a round trip while it is behind.
const ASKED: u32 = WRITTEN + WRITTEN / 4;

/// A program that writes `WRITTEN` in each round trip, or what becomes free where its send buffer is full.
struct Program {
    stream: Stream,
    seen: RoundTripSeen,
}

impl Program {
    /// One whose stream is known.
    fn known() -> Program {
        let seen = RoundTripSeen {
            burst: 1,
            rtt_us: RTT_US,
            srtt_us: RTT_US,
            min_rtt_us: RTT_US,
            waiting: WRITTEN,
            ..RoundTripSeen::default()
        };
        let mut program = Program { stream: Stream::default(), seen };
        program.with_room(40);
        assert!(program.stream.is_known());
        assert_eq!((program.stream.demand(), program.stream.owed()), (DEMAND, 0));
        program
    }

    fn look(&mut self, written: u32, waits: bool) {
        self.seen.at_us += u64::from(RTT_US);
        self.seen.written += u64::from(written);
        self.seen.waits = waits.into();
        self.stream.update(&self.seen);
    }

    fn with_room(&mut self, round_trips: u32) {
        for _ in 0..round_trips {
            self.look(WRITTEN, false);
        }
    }

    /// Its send buffer is full, and in each round trip so many bytes are ACKed and written.
    fn behind(&mut self, round_trips: u32, carried: u32) {
        for _ in 0..round_trips {
            self.look(carried, true);
        }
    }

    /// One of which nobody knows what it asks for, and which looks like bulk.
    fn unknown() -> Program {
        let mut program = Program::known();
        program.stream = Stream::default();
        program.behind(1, WRITTEN);
        program
    }

    /// So many round trips of bulk that have lost something, each so much longer than the shortest.
    fn losing(&mut self, round_trips: u32, queue_us: u32) {
        (self.seen.rtt_us, self.seen.srtt_us) = (RTT_US + queue_us, RTT_US + queue_us);
        self.seen.has_lost = 1;
        self.behind(round_trips, WRITTEN);
    }

    /// How many round trips with a full buffer it takes until it is none any more.
    fn is_stream_for(&mut self, carried: u32) -> u32 {
        let mut round_trips = 0;
        while self.stream.is_known() {
            self.behind(1, carried);
            round_trips += 1;
        }
        round_trips
    }
}

#[test]
fn what_is_asked_for_and_not_acked_is_owed_until_there_is_room() {
    let mut program = Program::known();
    program.behind(6, WRITTEN / 2);
    assert_eq!(program.stream.owed(), 6 * (ASKED - WRITTEN / 2));
    program.behind(2, 2 * WRITTEN);
    let left = 6 * (ASKED - WRITTEN / 2) - 2 * (2 * WRITTEN - ASKED);
    assert_eq!(program.stream.owed(), left, "more than is asked for is carried");
    program.with_room(1);
    assert_eq!(program.stream.owed(), 0);
}

/// What the send buffer takes is not carried before it is ACKed.
#[test]
fn what_only_fills_the_buffer_is_owed() {
    let mut program = Program::known();
    program.seen.waiting += 5 * WRITTEN;
    program.behind(1, 5 * WRITTEN);
    assert_eq!(program.stream.owed(), ASKED);
}

#[test]
fn what_owes_stays_a_stream_for_sixteen_times_as_long() {
    let usual = Program::known().is_stream_for(ASKED);
    let owing = Program::known().is_stream_for(WRITTEN / 2);
    assert!((60..=64).contains(&usual), "{usual}");
    assert!((15 * usual..=16 * usual).contains(&owing), "{owing} for {usual}");
}

/// 40 round trips of which nothing was ACKed take 160 that carry a quarter more than what is taken for asked.
#[test]
fn what_catches_up_stays_a_stream() {
    let mut program = Program::known();
    program.behind(40, 0);
    for _ in 0..159 {
        program.behind(1, ASKED + ASKED / 4);
        assert!(program.stream.owed() > 0 && program.stream.is_known());
    }
    let stays = program.is_stream_for(ASKED + ASKED / 4);
    assert!((60..70).contains(&stays), "{stays} round trips after it has caught up");
}

#[test]
fn what_was_never_known_is_probed_after_three_losses_without_a_queue() {
    let mut program = Program::unknown();
    program.losing(2, 0);
    assert!(!program.stream.is_known());
    program.losing(9, RTT_US / 4);
    program.losing(2, 0);
    assert!(!program.stream.is_known(), "a queue makes them count anew");
    program.losing(1, 0);
    assert!(program.stream.is_known());
}

/// It began when the queue was full.
#[test]
fn losses_count_anew_where_the_shortest_round_trip_gets_shorter() {
    let mut program = Program::unknown();
    program.losing(2, 0);
    program.seen.min_rtt_us = RTT_US - RTT_US / 32;
    program.losing(5, 0);
    assert!(!program.stream.is_known());
    program.losing(1, 0);
    assert!(program.stream.is_known());
}

#[test]
fn a_queue_soon_ends_a_probe_for_what_was_never_known() {
    let probed = |queue_us| {
        let mut program = Program::unknown();
        program.losing(3, 0);
        (0..2000)
            .take_while(|_| {
                program.losing(1, queue_us);
                program.stream.is_known()
            })
            .count()
    };
    assert_eq!((probed(RTT_US / 4), probed(0)), (3, 63 * 16 - 1));
}

#[test]
fn idle_time_ends_what_is_owed() {
    let mut program = Program::known();
    program.behind(6, WRITTEN / 2);
    program.seen.burst += 1;
    program.look(WRITTEN, true);
    assert_eq!(program.stream.owed(), 0);
}

/// Half a round trip, since as much waits as is written in one.
#[test]
fn a_latency_is_known_after_what_the_one_before_left_waiting() {
    let mut program = Program::known();
    assert_eq!(program.stream.latency_us(), RTT_US / 2);
    program.stream.switched();
    program.with_room(21);
    assert_eq!(program.stream.latency_us(), 0);
    program.with_room(1);
    assert_eq!(program.stream.latency_us(), RTT_US / 2);
}

/// A fifth of what is asked for is not carried, which would wait for two seconds more after ten.
#[test]
fn what_falls_behind_is_taken_to_wait_longer() {
    let mut program = Program::known();
    program.stream.switched();
    program.behind(60, WRITTEN * 4 / 5);
    let latency_us = program.stream.latency_us();
    let wanted_us = RTT_US / 2 + 2_000_000;
    assert!(latency_us.abs_diff(wanted_us) < wanted_us / 100, "{latency_us}");
}

/// A megabyte and more at once is another burst, unless it is what waited.
#[test]
fn what_waited_is_no_other_burst() {
    let mut program = Program::known();
    program.look(1 << 20, false);
    assert!(!program.stream.is_known());
    let mut program = Program::known();
    program.behind(100, WRITTEN / 2);
    program.look(1 << 20, false);
    assert!(program.stream.is_known());
}
