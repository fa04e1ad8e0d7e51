//! Whoever watches sees everything, and changes nothing.

mod common;

use common::{bursts, flow, link, lossy};
use kirikae_path::{Direction, Span, Time};
use kirikae_sim::{End, Hop, LinkState, Observer, Passage, Routes, Simulation, Step, Workload};
use kirikae_tcp::Endpoint;
use proptest::prelude::*;

const FIRST: Hop = Hop { link: 0, direction: Direction::Forward };

/// Counts packets at each link.
#[derive(Default)]
struct Count {
    /// Entered, left, dropped, by direction of a link.
    steps: Vec<[u64; 3]>,
    /// Of the packets under way, what entered less what left or was dropped.
    latest: Time,
    received: [u64; 2],
    windows: Vec<u32>,
    /// When how many packets waited at the first link forward, at each change.
    queue: Vec<(Time, u64)>,
}

impl Observer for Count {
    fn packet(&mut self, passage: Passage<'_>) {
        let place = 2 * passage.hop.link + passage.hop.direction as usize;
        let kind = match passage.step {
            Step::Enters => 0,
            Step::Leaves => 1,
            Step::Dropped(_) => 2,
        };
        self.steps[place][kind] += 1;
        assert!(passage.at >= self.latest, "{} after {}", passage.at, self.latest);
        self.latest = passage.at;
    }

    fn link(&mut self, state: LinkState<'_>) {
        let (waiting, before) = (state.waiting(), self.queue.last());
        assert!(waiting.bytes >= waiting.packets * 40);
        if state.hop == FIRST && before.is_none_or(|(_, packets)| *packets != waiting.packets) {
            self.queue.push((state.at, waiting.packets));
        }
    }

    fn received(&mut self, now: Time, _flow: usize, end: End, endpoint: &Endpoint) {
        self.received[end as usize] += 1;
        assert!(now >= self.latest);
        self.windows.extend(endpoint.socket().map(|socket| socket.fields.snd_cwnd));
    }
}

fn watch(simulation: &Simulation) -> Count {
    let mut count = Count { steps: vec![[0; 3]; 2 * simulation.links.len()], ..Count::default() };
    let watched = simulation.observe(&mut count).unwrap();
    assert_eq!(Ok(&watched), simulation.run().as_ref());
    for (way, [entered, left, dropped]) in watched.links.iter().zip(&count.steps) {
        assert_eq!(
            (way.offered, way.delivered, way.dropped.values().sum::<u64>()),
            (*entered, *left, *dropped)
        );
        assert_eq!(way.offered, way.delivered + way.dropped.values().sum::<u64>() + way.inside);
    }
    count
}

#[test]
fn an_observer_sees_each_ack_with_the_window_after_it() {
    let simulation = common::one(link(10, 100, 100), bursts(2), 10);
    let count = watch(&simulation);
    // The answer to the SYN, and an ACK for every second segment at least.
    assert!(count.received[End::Client as usize] > 46);
    assert!(count.received[End::Server as usize] > 92);
    // Slow start: 10, and one more for each of a burst's 46 segments.
    assert_eq!(count.windows.iter().max(), Some(&56));
}

/// Whenever the engine looks: a packet leaves the queue while others are still in the delay behind.
#[test]
fn a_queue_is_told_of_with_the_time_of_each_change() {
    let simulation = common::one(link(10, 100, 100), bursts(1), 10);
    let queue = watch(&simulation).queue;
    // Ten segments behind the handshake's last, whose 52 bytes take 41.6 us; 1500 take 1.2 ms.
    let full = queue.iter().position(|(_, packets)| *packets == 10).unwrap();
    let (full_at, _) = queue[full];
    let left = |sent| full_at + Span::from_nanos(41_600) + Span::from_nanos(1_200_000) * sent;
    let expected: Vec<_> = (0..10).map(|sent| (left(sent), 9 - sent)).collect();
    assert_eq!(queue[full + 1..][..10], expected);
}

/// Later than any simulation.
const NEVER: Time = Time::from_nanos(u64::MAX);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Packets that enter a link leave it, are dropped or are inside at the end; and the bytes of
    /// each stream arrive in the order of its writes.
    #[test]
    fn nothing_is_lost_uncounted(
        seed in any::<u64>(),
        loss in prop::sample::select(vec![0.0, 0.01, 0.1, 0.3]),
        queue in 1..60u64,
        megabits in 1..40u64,
        rtt_ms in prop::sample::select(vec![2, 20, 200u64]),
        flows in 1..4usize,
        links in 1..4usize,
        seconds in 1..8u64,
    ) {
        let all: Vec<usize> = (0..links).collect();
        let path = lossy(loss, link(megabits, queue, rtt_ms));
        let workloads = [Workload::Bulk { bytes: None }, bursts(3), Workload::Bulk { bytes: Some(200_000) }];
        let simulation = Simulation {
            seed,
            links: vec![path; links],
            flows: workloads.into_iter().take(flows)
                .map(|workload| flow(Routes::through(&all), workload)).collect(),
            duration: Span::from_secs(seconds),
        };
        watch(&simulation);
        let outcome = simulation.run().unwrap();
        for flow in &outcome.flows {
            prop_assert!(flow.client.iter().all(|w| w.first.is_none_or(|first| w.start < first)));
            let whole = flow.client.iter().map(|write| write.last.unwrap_or(NEVER));
            prop_assert!(whole.is_sorted());
        }
    }
}
