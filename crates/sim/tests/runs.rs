//! Many simulations, how they end, and what is refused.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::{bursts, flow, link, lossy, one};
use kirikae_path::{ElementSpec, PathSpec, Span, Time};
use kirikae_sim::{
    Flow, Interval, Outcome, Routes, Simulation, SimulationError, Workload, Write, observe_all,
    run_all, staggered,
};

/// Simulations of different length, with losses and shared queues.
fn simulations() -> Vec<Simulation> {
    let shared = |seed| {
        let starts = staggered(10, Span::from_secs(1), seed);
        let flow = flow(Routes::through(&[0]), bursts(4));
        let flows = starts.into_iter().map(|start| Flow { start, ..flow.clone() }).collect();
        let links = vec![lossy(0.01, link(10, 50, 100))];
        Simulation { seed, links, flows, duration: Span::from_secs(100) }
    };
    let alone =
        |seed| Simulation { seed, ..one(lossy(0.02, link(10, 50, 50)), bursts(seed * 5), 200) };
    (1..7).flat_map(|seed| [shared(seed), alone(seed)]).collect()
}

#[test]
fn the_same_bytes_come_out_for_any_number_of_threads() {
    let simulations = simulations();
    let bytes = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let outcomes = pool.install(|| run_all(&simulations, |_| ())).unwrap();
        serde_json::to_vec(&outcomes).unwrap()
    };
    let one = bytes(1);
    assert!(one == bytes(2) && one == bytes(8) && one == bytes(1), "outcomes differ");
    assert!(one.len() > 10_000);
}

#[test]
fn each_run_is_told_once_it_is_done() {
    let simulations = simulations();
    let done = std::sync::Mutex::new(vec![0; simulations.len()]);
    run_all(&simulations, |index| done.lock().unwrap()[index] += 1).unwrap();
    assert_eq!(done.into_inner().unwrap(), vec![1; simulations.len()]);
}

#[test]
fn a_simulation_is_made_when_it_begins() {
    let simulations = simulations();
    let (live, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let simulation = |index: usize| {
        most.fetch_max(live.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        simulations[index].clone()
    };
    let done = |index, (), outcome: Outcome| {
        live.fetch_sub(1, Ordering::SeqCst);
        Ok::<_, SimulationError>((index, outcome))
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let play = || observe_all(simulations.len(), simulation, |_, _| Ok(()), done);
    let kept = pool.install(play).unwrap();
    assert!(most.into_inner() <= 2);
    let (places, outcomes): (Vec<usize>, Vec<Outcome>) = kept.into_iter().unzip();
    assert!(places.into_iter().eq(0..simulations.len()));
    assert_eq!(outcomes, run_all(&simulations, |_| ()).unwrap());
}

#[test]
fn another_seed_gives_another_outcome() {
    let simulation = one(lossy(0.02, link(10, 50, 50)), bursts(10), 200);
    let other = Simulation { seed: 2, ..simulation.clone() };
    assert_eq!(simulation.run(), simulation.run());
    assert_ne!(simulation.run(), other.run());
}

#[test]
fn a_run_ends_at_its_duration_and_says_what_was_left() {
    let outcome = one(link(10, 100, 200), bursts(5), 3).run().unwrap();
    assert_eq!(outcome.end, Time::ZERO + Span::from_secs(3));
    // The second burst has just arrived at 2.5 s; three were not written.
    let [left] = outcome.left[..] else { panic!("one flow") };
    assert_eq!((left.flow, left.bytes, left.more), (0, 0, true));
    assert_eq!(outcome.flows[0].client.len(), 2);

    // Cut within a burst: some of it has not arrived.
    let outcome = one(link(1, 100, 200), Workload::Bulk { bytes: Some(500_000) }, 3).run().unwrap();
    let [left] = outcome.left[..] else { panic!("one flow") };
    assert!((100_000..400_000).contains(&left.bytes) && !left.more, "{left:?}");
    assert_eq!(outcome.flows[0].client[0].last, None);
}

#[test]
fn a_path_that_delivers_nothing_ends_at_the_duration_too() {
    let dead = PathSpec {
        forward: vec![
            ElementSpec::ListedLoss { packets: (0..1000).collect() },
            ElementSpec::Delay { delay: Span::from_millis(1) },
        ],
        backward: vec![],
    };
    let outcome = one(dead, bursts(1), 1000).run().unwrap();
    assert_eq!((outcome.end, outcome.left.len()), (Time::ZERO + Span::from_secs(1000), 1));
    assert_eq!(outcome.flows[0].client[0].first, None);
}

#[test]
fn what_cannot_be_run_is_refused_with_its_place() {
    let good = || one(link(10, 100, 200), bursts(1), 10);
    let refused = |change: &dyn Fn(&mut Simulation)| {
        let mut simulation = good();
        change(&mut simulation);
        simulation.run().unwrap_err().to_string()
    };
    let workload = |workload: Workload| {
        refused(&move |simulation| simulation.flows[0].activities[0].workload = workload.clone())
    };
    assert_eq!(
        refused(&|simulation| simulation.flows[0].routes.backward = [].into()),
        "flow 0: no route for what the server sends"
    );
    assert_eq!(
        refused(&|simulation| simulation.flows[0].routes = Routes::through(&[0, 3])),
        "flow 0: its route takes link 3, which is not there"
    );
    assert_eq!(
        refused(&|simulation| simulation.links[0] = PathSpec::default()),
        "flow 0: a round trip takes no time"
    );
    assert!(
        refused(&|simulation| simulation.links[0] = lossy(1.5, link(10, 100, 200)))
            .starts_with("link 0: forward element 0")
    );
    let (zero, one) = (Interval::Fixed(Span::ZERO), Interval::Fixed(Span::from_secs(1)));
    let write = |at, bytes| Write { at: Span::from_secs(at), bytes };
    let requests =
        |request, response, count| Workload::Requests { request, response, think: one, count };
    let on_off =
        |bytes, bits_per_second, on| Workload::OnOff { bytes, bits_per_second, on, off: one };
    for (unfit, fault) in [
        (Workload::Writes([].into()), "no writes"),
        (Workload::Writes([write(0, 1), write(1, 0)].into()), "a write of 0 bytes"),
        (
            Workload::Writes([write(2, 1), write(1, 1)].into()),
            "a write earlier than the one before it",
        ),
        (Workload::Bulk { bytes: Some(0) }, "a write of 0 bytes"),
        (requests(0, 1, 1), "a write of 0 bytes"),
        (requests(1, 0, 1), "a write of 0 bytes"),
        (requests(1, 1, 0), "no requests"),
        (on_off(0, 1, one), "a write of 0 bytes"),
        (on_off(1, 0, one), "a rate of 0 bit/s"),
        (on_off(1, 1, zero), "no time to write in"),
    ] {
        assert_eq!(workload(unfit), format!("flow 0, activity 0: {fault}"));
    }
    assert_eq!(good().validate(), Ok(()));
}

#[test]
fn nothing_is_played_if_one_is_refused() {
    let mut simulations = simulations();
    simulations[4].flows[2].routes = Routes::through(&[]);
    let refused = run_all(&simulations, |_| panic!("one was played"));
    assert!(matches!(refused, Err(SimulationError::NoRoute { flow: 2, .. })));
}
