//! Whoever watches sees everything, and changes nothing.

mod common;

use common::{bursts, flow, link, lossy};
use kirikae_path::{Span, Time};
use kirikae_sim::{End, Observer, Passage, Routes, Simulation, Step, Workload};
use kirikae_tcp::Endpoint;
use proptest::prelude::*;

/// Counts packets at each link.
#[derive(Default)]
struct Count {
    /// Entered, left, dropped, by direction of a link.
    steps: Vec<[u64; 3]>,
    /// Of the packets under way, what entered less what left or was dropped.
    latest: Time,
    received: [u64; 2],
    windows: Vec<u32>,
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
