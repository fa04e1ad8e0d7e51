//! What is switched compared with what is not: spans of bursts, and the lots that are drawn for them.

use kirikae_algorithms::{Algorithm, BurstSpans, Socket, Span, Switcher};
use kirikae_interface::{policy, scope};
use kirikae_table::thesis;

const MS: u32 = 1000;
const MSS: u32 = 1448;
const SETTLING: usize = 3;
const COUNTED: usize = 5;

/// A span whose settling bursts take very long, and the others so many milliseconds.
fn span(spans: &mut BurstSpans, counted_ms: [u32; COUNTED]) -> Option<Span> {
    let all: Vec<u32> = [100_000; SETTLING].into_iter().chain(counted_ms).collect();
    let (last, before) = all.split_last().unwrap();
    assert!(before.iter().all(|ms| !spans.burst(ms * MS)));
    assert!(spans.burst(last * MS));
    spans.end()
}

fn is_near(span: Option<Span>, stratum: usize, octaves: f64) {
    let span = span.expect("it is counted");
    assert_eq!(span.stratum, stratum);
    assert!((span.octaves - octaves).abs() < 0.02, "{}, not {octaves}", span.octaves);
}

#[test]
fn spans_are_told_against_the_connections_past() {
    let mut spans = BurstSpans::default();
    assert_eq!(span(&mut spans, [100, 400, 100, 400, 200]), None);
    // Usual is 200 ms; a spread that nobody knows is a quarter of an octave.
    is_near(span(&mut spans, [400; COUNTED]), 3, 1.0);
    // Usual is half an octave more.
    is_near(span(&mut spans, [400; COUNTED]), 3, 0.5);
    let strata: Vec<usize> =
        (0..60).map(|_| span(&mut spans, [400; COUNTED]).unwrap().stratum).collect();
    assert!(strata.is_sorted_by(|a, b| a >= b) && strata[59] == 0, "{strata:?}");
}

#[test]
fn a_single_timeout_counts_as_little_as_is_said() {
    let mut spans = BurstSpans::default();
    span(&mut spans, [100; COUNTED]);
    is_near(span(&mut spans, [100, 100, 6400, 100, 100]), 3, 1.5 / 5.0);
    let mut spans = BurstSpans::default();
    span(&mut spans, [100; COUNTED]);
    is_near(span(&mut spans, [1; COUNTED]), 3, -1.5);
}

#[test]
fn what_is_begun_anew_counts_for_nothing() {
    let mut spans = BurstSpans::default();
    span(&mut spans, [100; COUNTED]);
    for _ in 0..6 {
        spans.burst(30_000 * MS);
    }
    spans.begin();
    is_near(span(&mut spans, [200; COUNTED]), 3, 1.0);
}

/// How many of so many spans count.
fn counted(spans: usize) -> usize {
    let mut all = BurstSpans::default();
    (0..spans).filter(|_| span(&mut all, [100; COUNTED]).is_some()).count()
}

#[test]
fn a_connection_that_lasts_does_not_outweigh_those_of_its_group() {
    // The first one only tells what is usual.
    assert_eq!(counted(65), 64);
    for doublings in 1..8 {
        let more = counted(1 + (64 << doublings)) - counted(1 + (64 << (doublings - 1)));
        assert!((32..=64).contains(&more), "{more} more with twice as many spans");
    }
    // Ten connections of an hour outweigh one of a week.
    assert!(counted(20_000) < 10 * counted(65), "{}", counted(20_000));
}

/// What a connection has, burst by burst, of which this share of the spans (in 1/2^32) is held back; a burst takes two
/// round trips.
fn lives(holdback: u32, bursts: u32) -> Vec<&'static str> {
    let table = thesis::published().unwrap();
    let candidates: Vec<_> =
        table.names().iter().map(|name| Algorithm::named(name).unwrap()).collect();
    let policy = policy::one(scope { holdback, ..scope::usual() });
    let mut switcher = Switcher::thesis(policy, table, &candidates).unwrap();
    let mut socket = Socket::new(Algorithm::stock("cubic").unwrap(), MSS);
    socket.fields.tcp_mstamp = 1_000_000;
    socket.fields.rto_min_us = 200_000;
    switcher.met(&mut socket);
    let mut in_use = Vec::new();
    for _ in 0..bursts {
        for _ in 0..2 {
            socket.fields.tcp_mstamp += 200_000;
            socket.fields.data_segs_out += 5;
            socket.fields.srtt_us = 200_000 << 3;
            socket.fields.rtt_min.s[0].v = 200_000;
            switcher.rtt_sample(&mut socket, 200_000);
        }
        in_use.push(socket.algorithm().name());
        let is_stock = socket.algorithm().name() == "cubic";
        assert_eq!(socket.fields.rto_min_us == 200_000, is_stock, "timeouts follow, too");
        assert_eq!(switcher.wants_segments(), is_stock, "and so do the callbacks");
        let bursts = &mut socket.connection.as_mut().unwrap().bursts;
        bursts.begun += 1;
        bursts.latest_us = 200_000;
    }
    in_use
}

#[test]
fn a_connection_is_held_back_in_some_of_its_spans() {
    let in_use = lives(u32::MAX / 2, 4000);
    let stock = in_use.iter().filter(|name| **name == "cubic").count();
    assert!((1600..2400).contains(&stock), "{stock} of 4000 bursts");
    let runs: Vec<usize> = in_use.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
    let (_last, whole) = runs.split_last().unwrap();
    assert!(whole.len() > 100, "{runs:?}");
    // Before the first round trip of all there is nothing to choose by.
    assert!(whole.iter().all(|run| run.is_multiple_of(SETTLING + COUNTED)), "{runs:?}");
}

#[test]
fn where_nothing_is_held_back_there_are_no_lots() {
    assert!(lives(0, 400).iter().all(|name| *name == "kk_hybla"));
    assert!(lives(u32::MAX, 400).iter().all(|name| *name == "cubic"));
}
