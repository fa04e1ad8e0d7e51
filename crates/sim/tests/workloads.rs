//! Each workload over a path on which its latency can be told beforehand.

mod common;

use std::sync::Arc;

use common::{MS, bursts, flow, link, lossy, ms, one};
use kirikae_path::{ElementSpec, LinkSpec, PathSpec, QueueLimit, QueueSpec, RateSpec, Span};
use kirikae_sim::{
    Activity, Interval, Observer, Outcome, Passage, Routes, Simulation, Step, Video, Workload,
    Write, Written,
};
use kirikae_tcp::Ecn;

fn latencies_ms(writes: &[Written]) -> Vec<f64> {
    writes.iter().map(|write| write.latency().unwrap().as_secs_f64() * 1e3).collect()
}

fn run(simulation: &Simulation) -> Outcome {
    simulation.run().unwrap()
}

#[test]
fn a_write_that_fits_the_initial_window_takes_delay_and_serialisation() {
    // SYN and its answer: 100 ms and 60 bytes at 10 Mb/s, 48 us. The ACK of the SYN has 52 bytes,
    // 41.6 us; then 3000 bytes: 1500 + 1500 + 156 on the wire, 2524.8 us; half a round trip.
    let write = Workload::Writes([Write { at: Span::ZERO, bytes: 3000 }].into());
    let outcome = run(&one(link(10, 100, 100), write, 10));
    let [written] = outcome.flows[0].client[..] else { panic!("one write") };
    let expected_us = 100_048 + 2_566 + 50_000;
    assert_eq!(written.latency().unwrap().as_nanos() / 1000, expected_us);
    // First to last: the second and third segment.
    assert_eq!(written.first_to_last().unwrap().as_nanos() / 100, 13_248);
    assert_eq!((outcome.left.len(), outcome.end), (0, written.last.unwrap()));
}

#[test]
fn bursts_wait_for_no_one_and_arrive_in_order() {
    let outcome = run(&one(link(10, 100, 200), bursts(5), 60));
    let flow = &outcome.flows[0];
    let starts: Vec<u64> = flow.client.iter().map(|write| write.start.as_nanos()).collect();
    assert_eq!(starts, [0, 2_000 * MS, 4_000 * MS, 6_000 * MS, 8_000 * MS]);
    let ranges: Vec<_> = flow.client.iter().map(Written::range).collect();
    assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert_eq!(ranges[4].end, 5 * 65_536);
    // Slow start from a window of 10: 10, 20 and 16 segments, so two and a half round trips after
    // an idle restart, and one more for the first burst's handshake.
    let latencies = latencies_ms(&flow.client);
    assert!((700.0..730.0).contains(&latencies[0]), "{latencies:?}");
    assert!(latencies[1..].iter().all(|ms| (500.0..530.0).contains(ms)), "{latencies:?}");
    assert_eq!(flow.server, []);
}

#[test]
fn bulk_fills_the_link() {
    // A queue of one BDP: cubic keeps the link busy. 20 Mb/s for 30 s less the start.
    let outcome = run(&one(link(20, 67, 40), Workload::Bulk { bytes: None }, 30));
    let [left] = outcome.left[..] else { panic!("an unlimited write never ends") };
    assert_eq!((left.flow, left.bytes, left.more), (0, 0, true));
    let sent = outcome.links[0].delivered * 1500 * 8;
    assert!(sent as f64 > 0.95 * 20e6 * 30.0, "{sent} bit");
    let [client, server] = outcome.flows[0].traffic;
    // Each segment but the last has 1448 bytes in 1500; the last half round trip's are under way.
    assert!((0.95..1.0).contains(&(client.arrived as f64 * 8.0 / (sent as f64 * 1448.0 / 1500.0))));
    assert_eq!(client.retransmissions, outcome.counters.retransmissions);
    assert!(client.segments > client.arrived / 1448 && client.srtt > Some(ms(40)));
    assert_eq!((server.arrived, server.segments), (0, 0));
}

#[test]
fn a_limited_bulk_ends_with_its_last_byte() {
    let outcome = run(&one(link(20, 67, 40), Workload::Bulk { bytes: Some(1_000_000) }, 30));
    let [written] = outcome.flows[0].client[..] else { panic!("one write") };
    assert_eq!((outcome.left.len(), Some(outcome.end)), (0, written.last));
}

#[test]
fn requests_are_answered_one_after_the_other() {
    let workload = Workload::Requests {
        request: 200,
        response: 4000,
        think: Interval::Fixed(ms(500)),
        count: 4,
    };
    let outcome = run(&one(link(10, 100, 100), workload, 60));
    let flow = &outcome.flows[0];
    assert_eq!((flow.client.len(), flow.server.len(), outcome.left.len()), (4, 4, 0));
    for (request, response) in flow.client.iter().zip(&flow.server) {
        assert_eq!(request.last, Some(response.start));
        assert_eq!((request.bytes, response.bytes), (200, 4000));
        // Nothing but delay on the way back: the response arrives at once.
        assert_eq!(response.latency(), Some(ms(50)));
    }
    for (response, next) in flow.server.iter().zip(&flow.client[1..]) {
        assert_eq!(next.start - response.last.unwrap(), ms(500));
    }
}

#[test]
fn on_and_off_goes_on_until_the_end() {
    let workload = Workload::OnOff {
        bytes: 1000,
        bits_per_second: 800_000,
        on: Interval::Fixed(ms(100)),
        off: Interval::Fixed(ms(900)),
    };
    let outcome = run(&one(link(10, 100, 20), workload, 10));
    // Ten writes every second; the last second's have arrived.
    let writes = &outcome.flows[0].client;
    assert_eq!(writes.len(), 101, "ten seconds, and the first write of the next");
    assert!(writes[..100].iter().all(|write| write.last.is_some()));
    assert_eq!((outcome.left[0].bytes, outcome.left[0].more), (1000, true));
}

#[test]
fn a_mix_shares_one_stream() {
    let mut simulation = one(link(10, 100, 100), bursts(3), 60);
    let workload = Workload::Requests {
        request: 100,
        response: 100,
        think: Interval::Exponential(ms(300)),
        count: 10,
    };
    simulation.flows[0].activities.push(Activity { after: ms(1000), workload });
    let outcome = run(&simulation);
    let writes = &outcome.flows[0].client;
    let of = |activity| writes.iter().filter(move |write| write.activity == activity).count();
    assert_eq!((of(0), of(1), outcome.flows[0].server.len()), (3, 10, 10));
    assert!(outcome.flows[0].server.iter().all(|write| write.activity == 1));
    assert!(writes.windows(2).all(|pair| pair[0].range().end == pair[1].offset));
    assert!(writes.windows(2).all(|pair| pair[0].last <= pair[1].last));
    assert_eq!(outcome.left, []);
}

#[test]
fn what_the_channel_lost_is_told_with_its_place_in_the_stream() {
    // Packet 0 is the SYN, 1 the ACK of its answer; 2 to 11 the first ten segments.
    let mut path = link(10, 100, 100);
    path.forward.insert(0, ElementSpec::ListedLoss { packets: vec![4] });
    let outcome = run(&one(path, bursts(1), 60));
    let [drop] = &outcome.links[0].drops[..] else { panic!("one packet was lost") };
    assert_eq!(drop.stream, 2 * 1448..3 * 1448);
    assert!(drop.cause.is_channel_loss());
    assert_eq!(outcome.counters.retransmissions, 1);
}

#[test]
fn the_same_seed_loses_the_same_packets_as_the_path_does() {
    // The fates of the packets are those that the path alone would give them.
    let path = lossy(0.05, link(10, 100, 100));
    let outcome = run(&one(path.clone(), bursts(20), 120));
    let (mut chain, _) = path.build::<()>(1).unwrap();
    let mut lost = Vec::new();
    for number in 0..outcome.links[0].offered {
        let now = kirikae_path::Time::from_nanos(number * 10 * MS);
        chain.enqueue(now, 40, kirikae_path::Ecn::NotEct, (), |_, fate| {
            lost.extend(fate.err().map(|dropped| dropped.packet.number));
        });
    }
    let numbers: Vec<u64> = outcome.links[0].drops.iter().map(|drop| drop.number).collect();
    assert!(numbers.len() > 20);
    assert_eq!(numbers, lost);
}

/// Counts packets that leave a link with a mark.
#[derive(Default)]
struct Marks(u64);

impl Observer for Marks {
    fn packet(&mut self, passage: Passage<'_>) {
        self.0 += u64::from(passage.step == Step::Leaves && passage.segment.ecn == Ecn::Ce);
    }
}

#[test]
fn marks_arrive_and_slow_the_sender_down() {
    // A queue that marks once five packets wait, and has room for all.
    let queue = QueueSpec {
        mark: Some(QueueLimit::Packets(5)),
        ..QueueSpec::drop_tail(QueueLimit::Packets(10_000))
    };
    let rate = LinkSpec::new(RateSpec::Constant(10_000_000), queue);
    let delay = ElementSpec::Delay { delay: ms(20) };
    let path =
        PathSpec { forward: vec![ElementSpec::Link(rate), delay.clone()], backward: vec![delay] };
    let mut simulation = one(path, Workload::Bulk { bytes: Some(3_000_000) }, 60);
    let queues = |simulation: &Simulation| {
        let mut marks = Marks::default();
        let outcome = simulation.observe(&mut marks).unwrap();
        (marks.0, outcome.links[0].drops.len())
    };
    assert_eq!(queues(&simulation), (0, 0));
    let flow = &mut simulation.flows[0];
    for host in [&mut flow.client, &mut flow.server] {
        Arc::make_mut(&mut host.profile).ecn = true;
    }
    // 2072 segments; were the window not cut, all but the first few dozen would be marked.
    let (marked, dropped) = queues(&simulation);
    assert!((10..600).contains(&marked) && dropped == 0, "{marked} marked, {dropped} dropped");
}

#[test]
fn idle_flows_cost_nothing_once_open() {
    let later = Workload::Writes([Write { at: Span::from_secs(3000), bytes: 1 }].into());
    let simulation = Simulation {
        seed: 1,
        links: vec![link(10, 100, 100)],
        flows: vec![flow(Routes::through(&[0]), later); 50],
        duration: Span::from_secs(2000),
    };
    let outcome = run(&simulation);
    assert_eq!(outcome.left.len(), 50);
    assert!(outcome.counters.events < 50 * 20, "{:?}", outcome.counters);
}

/// 30 s of pictures each 33 ms, of which the best quality is 8 Mbit/s.
fn video() -> Workload {
    Workload::Video(Video {
        interval: Span::from_millis(33),
        ladder: [4_000, 16_000, 33_000].into(),
        key_every: 30,
        key_times: 4,
        late: Span::from_millis(300),
        count: 900,
    })
}

/// How many pictures were written, and the bytes of the last that was no key picture.
fn written(rate_mbit: u64) -> (usize, u64) {
    let outcome = run(&one(link(rate_mbit, 200, 40), video(), 40));
    let [flow] = &outcome.flows[..] else { panic!("one flow") };
    assert_eq!(flow.client.len(), flow.server.len(), "each is reported");
    let no_key = |write: &&Written| [4_000, 16_000, 33_000].contains(&write.bytes);
    (flow.client.len(), flow.client.iter().rfind(no_key).unwrap().bytes)
}

#[test]
fn a_video_takes_the_quality_that_the_path_carries() {
    assert_eq!(written(20), (900, 33_000));
    // Of 3 Mbit/s the lowest quality is a third, and the next more than all.
    let (pictures, bytes) = written(3);
    assert!((600..900).contains(&pictures), "{pictures}");
    assert!(bytes < 33_000, "{bytes}");
}
