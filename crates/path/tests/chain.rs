//! Whole chains: order, conservation, determinism, and independence of how the driver calls.

use kirikae_path::{
    Chain, Direction, DirectionSpec, DropCause, Ecn, ElementSpec, GilbertElliottSpec, PathSpec,
    QueueLimit, Span, Time,
};
use proptest::prelude::*;

/// A packet on arrival: nanoseconds since the one before, and its length.
type Arrival = (u64, u32);

/// What left a chain: when, which packet, and the cause if it was dropped.
type Departure = (Time, u64, Option<DropCause>);

fn chain(direction: DirectionSpec, seed: u64) -> Chain<()> {
    PathSpec { forward: direction, backward: vec![] }.build(seed).unwrap().0
}

/// Offers the arrivals to the chain, which is also told the time at these intervals (`None`: only
/// when a packet arrives), then lets it run empty.
fn run(mut chain: Chain<()>, arrivals: &[Arrival], cadence: Option<Span>) -> Vec<Departure> {
    let mut departures = Vec::new();
    let mut sink = |at, fate: Result<kirikae_path::Packet<()>, kirikae_path::Dropped<()>>| {
        departures.push(match fate {
            Ok(packet) => (at, packet.number, None),
            Err(dropped) => (at, dropped.packet.number, Some(dropped.cause)),
        });
    };
    let (mut now, mut tick) = (Time::ZERO, Time::ZERO);
    for &(gap, bytes) in arrivals {
        now += Span::from_nanos(gap);
        while let Some(cadence) = cadence
            && tick < now
        {
            chain.advance(tick, &mut sink);
            tick += cadence;
        }
        chain.enqueue(now, bytes, Ecn::NotEct, (), &mut sink);
    }
    match cadence {
        None => chain.advance(now + Span::from_secs(1_000_000), &mut sink),
        Some(_) => {
            while let Some(next) = chain.next() {
                chain.advance(next, &mut sink);
            }
        }
    }
    assert_eq!(chain.inside(), 0);
    assert_eq!(chain.offered(), arrivals.len() as u64);
    departures
}

fn lossy_bottleneck() -> DirectionSpec {
    vec![
        ElementSpec::Loss { probability: 0.05 },
        ElementSpec::GilbertElliott(GilbertElliottSpec { p: 0.02, r: 0.3, k: 1.0, h: 0.1 }),
        // 100 bytes take 100 ns.
        ElementSpec::Rate { bits_per_second: 8_000_000_000, limit: QueueLimit::Packets(4) },
        ElementSpec::Delay { delay: Span::from_nanos(500) },
        ElementSpec::Rate { bits_per_second: 6_000_000_000, limit: QueueLimit::Bytes(350) },
    ]
}

#[test]
fn an_empty_chain_passes_everything_at_once() {
    let departures = run(chain(vec![], 1), &[(5, 40), (0, 40)], None);
    let at = Time::from_nanos(5);
    assert_eq!(departures, [(at, 0, None), (at, 1, None)]);
}

#[test]
fn a_packet_may_enter_a_full_queue_as_another_leaves() {
    let link = ElementSpec::Rate { bits_per_second: 8_000_000_000, limit: QueueLimit::Packets(0) };
    let departures = run(chain(vec![link], 1), &[(0, 100), (99, 100), (1, 100)], None);
    let full = Some(DropCause::QueueFull);
    let times = [99, 100, 200].map(Time::from_nanos);
    assert_eq!(departures, [(times[0], 1, full), (times[1], 0, None), (times[2], 2, None)]);
}

#[test]
fn elements_delay_one_after_the_other() {
    let direction = vec![
        ElementSpec::Delay { delay: Span::from_millis(3) },
        ElementSpec::Rate { bits_per_second: 10_000_000, limit: QueueLimit::Packets(9) },
        ElementSpec::Delay { delay: Span::from_millis(4) },
    ];
    let departures = run(chain(direction, 1), &[(0, 1500), (0, 1500)], None);
    let times = [8_200_000, 9_400_000].map(Time::from_nanos);
    assert_eq!(departures, [(times[0], 0, None), (times[1], 1, None)]);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let arrivals: Vec<Arrival> = (0..20_000).map(|n| (n % 7 * 40, 40 + n as u32 % 200)).collect();
    let bytes = |seed| format!("{:?}", run(chain(lossy_bottleneck(), seed), &arrivals, None));
    assert_eq!(bytes(1), bytes(1));
    assert_ne!(bytes(1), bytes(2));
}

#[test]
fn the_same_packets_are_lost_however_they_are_sent() {
    let direction = || {
        vec![
            ElementSpec::Loss { probability: 0.05 },
            ElementSpec::GilbertElliott(GilbertElliottSpec { p: 0.02, r: 0.3, k: 1.0, h: 0.1 }),
            ElementSpec::Delay { delay: Span::from_millis(1) },
        ]
    };
    let lost = |arrivals: &[Arrival]| -> Vec<(u64, DropCause)> {
        run(chain(direction(), 9), arrivals, None)
            .into_iter()
            .filter_map(|(_, number, cause)| Some((number, cause?)))
            .collect()
    };
    let slow: Vec<Arrival> = (0..10_000).map(|n| (n * 1000, 1500)).collect();
    let burst = vec![(0, 40); 10_000];
    assert!(!lost(&slow).is_empty());
    assert_eq!(lost(&slow), lost(&burst));
}

#[test]
fn directions_and_elements_draw_from_streams_of_their_own() {
    let loss = || ElementSpec::Loss { probability: 0.5 };
    let pattern = |path: PathSpec, direction| {
        let (forward, backward) = path.build::<()>(1).unwrap();
        let chain = if direction == Direction::Forward { forward } else { backward };
        run(chain, &[(0, 40); 100], None)
    };
    let both = PathSpec { forward: vec![loss()], backward: vec![loss()] };
    let second = PathSpec { forward: vec![delay(0), loss()], backward: vec![] };
    let followed = PathSpec { forward: vec![loss(), delay(0)], backward: vec![] };
    let first = lost_numbers(pattern(both.clone(), Direction::Forward));
    assert_ne!(first, lost_numbers(pattern(both, Direction::Backward)));
    assert_ne!(first, lost_numbers(pattern(second, Direction::Forward)));
    assert_eq!(first, lost_numbers(pattern(followed, Direction::Forward)));
}

fn delay(nanos: u64) -> ElementSpec {
    ElementSpec::Delay { delay: Span::from_nanos(nanos) }
}

fn lost_numbers(departures: Vec<Departure>) -> Vec<u64> {
    let mut lost: Vec<u64> =
        departures.into_iter().filter_map(|(_, number, cause)| cause.map(|_| number)).collect();
    lost.sort_unstable();
    lost
}

#[test]
#[should_panic(expected = "time went back")]
fn time_going_back_panics() {
    let mut chain = chain(vec![], 1);
    chain.advance(Time::from_nanos(2), |_, _| ());
    chain.advance(Time::from_nanos(1), |_, _| ());
}

fn any_element() -> impl Strategy<Value = ElementSpec> {
    let limit = prop_oneof![
        (0u64..6).prop_map(QueueLimit::Packets),
        (0u64..2_000).prop_map(QueueLimit::Bytes),
    ];
    prop_oneof![
        (0u64..3_000).prop_map(delay),
        (1_000_000u64..20_000_000_000, limit)
            .prop_map(|(bits_per_second, limit)| ElementSpec::Rate { bits_per_second, limit }),
        (0.0..1.0).prop_map(|probability| ElementSpec::Loss { probability }),
        (0.0..=1.0, 0.0..=1.0, 0.0..=1.0, 0.0..=1.0).prop_map(|(p, r, k, h)| {
            ElementSpec::GilbertElliott(GilbertElliottSpec { p, r, k, h })
        }),
        proptest::collection::vec(0u64..60, 0..5)
            .prop_map(|packets| ElementSpec::ListedLoss { packets }),
    ]
}

proptest! {
    #[test]
    fn every_packet_leaves_once_in_order_and_in_time(
        direction in proptest::collection::vec(any_element(), 0..5),
        arrivals in proptest::collection::vec((0u64..500, 20u32..1500), 0..60),
        seed: u64,
    ) {
        let departures = run(chain(direction, seed), &arrivals, None);
        let mut numbers: Vec<u64> = departures.iter().map(|(_, number, _)| *number).collect();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..arrivals.len() as u64).collect::<Vec<_>>());
        prop_assert!(departures.is_sorted_by_key(|(at, _, _)| *at));
        // None of these elements reorders.
        let delivered = departures.iter().filter(|(_, _, cause)| cause.is_none());
        prop_assert!(delivered.map(|(_, number, _)| number).is_sorted());
    }

    #[test]
    fn how_often_the_driver_calls_changes_nothing(
        arrivals in proptest::collection::vec((0u64..300, 20u32..200), 0..60),
        cadence in 1u64..2_000,
        seed: u64,
    ) {
        let run = |cadence| run(chain(lossy_bottleneck(), seed), &arrivals, cadence);
        let rarely = run(None);
        prop_assert_eq!(&rarely, &run(Some(Span::from_nanos(1))));
        prop_assert_eq!(&rarely, &run(Some(Span::from_nanos(cadence))));
    }
}
