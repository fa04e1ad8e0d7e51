//! Tests whole chains: order, conservation, determinism, and independence of how the driver calls.

use kirikae_path::{
    AdaptiveModulationSpec, ArqSpec, Chain, CoDelSpec, CrossTrafficSpec, Direction, DirectionSpec,
    DropCause, Ecn, ElementSpec, GilbertElliottSpec, Intervals, LinkChangeSpec, LinkSpec, Movement,
    Order, OutageSpec, PathLoss, PathSpec, QueueLimit, QueueSpec, RadioSpec, RateSpec, RateStep,
    RecordedDelays, RecordedRate, RetrySpec, RunLossSpec, Span, Time, Turns, UsedLink,
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

fn any_limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![(0u64..6).prop_map(QueueLimit::Packets), (0u64..2_000).prop_map(QueueLimit::Bytes),]
}

fn any_queue() -> impl Strategy<Value = QueueSpec> {
    let codel = (1u64..500, 1u64..2_000, any::<bool>()).prop_map(|(target, interval, mark)| {
        let (target, interval) = (Span::from_nanos(target), Span::from_nanos(interval));
        CoDelSpec { target, interval, mark }
    });
    let parts = (any_limit(), proptest::option::of(any_limit()), proptest::option::of(codel));
    parts.prop_map(|(limit, mark, codel)| QueueSpec { limit, mark, codel, reorder_interval: None })
}

fn any_rate() -> impl Strategy<Value = RateSpec> {
    let bits_per_second = || 1_000_000u64..20_000_000_000;
    let step = (1u64..5_000, bits_per_second());
    let recording = "0\n1\n1\n3\n";
    prop_oneof![
        bits_per_second().prop_map(RateSpec::Constant),
        (bits_per_second(), step).prop_map(|(first, (at, second))| {
            let step = |at, bits_per_second| RateStep { at: Time::from_nanos(at), bits_per_second };
            RateSpec::Scheduled(vec![step(0, first), step(at, 0), step(2 * at, second)])
        }),
        Just(RateSpec::Recorded(RecordedRate::parse("test", recording).unwrap())),
    ]
}

fn any_link_change() -> impl Strategy<Value = ElementSpec> {
    (any_queue(), 1u64..5_000, 0u64..3_000, 0u64..1_000).prop_map(|(queue, at, silence, delay)| {
        let link = |at, silence, bits_per_second| UsedLink {
            at: Time::from_nanos(at),
            silence: Span::from_nanos(silence),
            bits_per_second,
            delay: Span::from_nanos(delay),
        };
        let links = vec![link(0, 0, 8_000_000_000), link(at, silence, 800_000_000)];
        ElementSpec::LinkChange(LinkChangeSpec { queue, links })
    })
}

/// A radio link 20 m to 2 km from its base station.
fn any_radio() -> impl Strategy<Value = ElementSpec> {
    (any_queue(), 0u32..4, 0u64..3_000).prop_map(|(queue, retries, retry_delay)| {
        let radio = RadioSpec {
            fastest_bits_per_second: 18_000_000_000,
            budget_db: 155.0,
            path_loss: PathLoss {
                frequency_mhz: 2000.0,
                base_height_m: 30.0,
                mobile_height_m: 1.5,
                metropolitan: false,
            },
            movement: Movement { radius_km: 2.0, slowest_kmh: 1.0, fastest_kmh: 20.0 },
        };
        let arq = ArqSpec { retries, retry_delay: Span::from_nanos(retry_delay) };
        let spec = AdaptiveModulationSpec { radio, arq, queue, cross: None };
        ElementSpec::AdaptiveModulation(spec)
    })
}

/// Any element that keeps the order of packets.
fn any_element() -> impl Strategy<Value = ElementSpec> {
    let channel = (0.0..=1.0, 0.01..=1.0, 0.01..=1.0, 0.0..=1.0)
        .prop_map(|(p, r, k, h)| GilbertElliottSpec { p, r, k, h });
    let retries =
        (channel.clone(), 0u32..4).prop_map(|(channel, limit)| RetrySpec { channel, limit });
    let outage = (0u64..2_000, 1u64..2_000, any::<bool>(), any::<bool>());
    prop_oneof![
        (0u64..3_000).prop_map(delay),
        (0u64..3_000, any_limit()).prop_map(|(nanos, limit)| ElementSpec::LimitedDelay {
            delay: Span::from_nanos(nanos),
            limit,
        }),
        (0u64..3_000, 0u64..3_000).prop_map(|(least, more)| ElementSpec::Jitter {
            delay: Span::from_nanos(least),
            jitter: Span::from_nanos(more),
            order: Order::Kept,
        }),
        Just(ElementSpec::RecordedDelay {
            delays: RecordedDelays::parse("test", "0 0.002\n0.003 0.0005\n").unwrap(),
            order: Order::Kept,
        }),
        (any_rate(), 0..100u32, any_queue(), proptest::option::of(retries)).prop_map(
            |(rate, overhead, queue, retries)| {
                ElementSpec::Link(LinkSpec { rate, overhead, queue, retries, cross: None })
            }
        ),
        any_link_change(),
        any_radio(),
        (0.0..1.0).prop_map(|probability| ElementSpec::Loss { probability }),
        channel.prop_map(ElementSpec::GilbertElliott),
        (0.0..=1.0, 1u64..5).prop_map(|(begin, length)| {
            ElementSpec::RunLoss(RunLossSpec { begin, lengths: vec![(1, 1.0), (length, 0.5)] })
        }),
        proptest::collection::vec(0u64..60, 0..5)
            .prop_map(|packets| ElementSpec::ListedLoss { packets }),
        (0.0..1.0, 0u32..4, 0u64..3_000).prop_map(|(loss, retries, delay)| ElementSpec::Arq {
            loss,
            arq: ArqSpec { retries, retry_delay: Span::from_nanos(delay) },
        }),
        (68u32..1500).prop_map(|bytes| ElementSpec::Mtu { bytes }),
        outage.prop_map(|(from, length, repeats, hold)| {
            ElementSpec::Outage(OutageSpec {
                when: intervals(from, length, repeats),
                hold,
                carrier: false,
            })
        }),
        (0u64..2_000, 1u64..2_000, any::<bool>(), 0.0..1.0).prop_map(
            |(from, length, repeats, probability)| ElementSpec::During {
                loss: Box::new(ElementSpec::Loss { probability }),
                when: intervals(from, length, repeats),
            }
        ),
    ]
}

fn intervals(from: u64, length: u64, repeats: bool) -> Intervals {
    let intervals = vec![(Time::from_nanos(from), Time::from_nanos(from + length))];
    Intervals { intervals, every: repeats.then(|| Span::from_nanos(from + length + 100)) }
}

/// Any element that may let packets overtake each other.
fn any_reordering_element() -> impl Strategy<Value = ElementSpec> {
    prop_oneof![
        (0u64..3_000).prop_map(|more| ElementSpec::Jitter {
            delay: Span::ZERO,
            jitter: Span::from_nanos(more),
            order: Order::Free,
        }),
        (any_rate(), any_queue(), 1u32..4).prop_map(|(rate, queue, interval)| {
            let queue = QueueSpec { reorder_interval: Some(interval), ..queue };
            ElementSpec::Link(LinkSpec::new(rate, queue))
        }),
    ]
}

fn any_arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    proptest::collection::vec((0u64..500, 20u32..1500), 0..60)
}

/// Asserts that every packet that entered has left once, and that times do not go back.
fn assert_conserved(departures: &[Departure], arrivals: &[Arrival]) {
    let mut numbers: Vec<u64> = departures.iter().map(|(_, number, _)| *number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..arrivals.len() as u64).collect::<Vec<_>>());
    assert!(departures.is_sorted_by_key(|(at, _, _)| *at));
}

/// Cross traffic takes a part of the link. It sends for ever, so the chain always has events.
#[test]
fn with_cross_traffic_packets_are_neither_invented_nor_lost_uncounted() {
    let turns = Turns { on: Span::from_nanos(900), off: Span::from_nanos(700), exponential: true };
    let cross =
        CrossTrafficSpec { bits_per_second: 6_000_000_000, packet_bytes: 100, turns: Some(turns) };
    let codel =
        CoDelSpec { target: Span::from_nanos(200), interval: Span::from_nanos(900), mark: false };
    let queue = QueueSpec { codel: Some(codel), ..QueueSpec::drop_tail(QueueLimit::Packets(10)) };
    let rate = RateSpec::Constant(8_000_000_000);
    let link = ElementSpec::Link(LinkSpec { cross: Some(cross), ..LinkSpec::new(rate, queue) });
    let mut chain = chain(vec![link, delay(500)], 1);
    let (mut numbers, mut causes) = (Vec::new(), std::collections::BTreeMap::new());
    let mut sink = |_, fate: Result<kirikae_path::Packet<()>, kirikae_path::Dropped<()>>| {
        let (number, cause) = match fate {
            Ok(packet) => (packet.number, None),
            Err(dropped) => (dropped.packet.number, Some(dropped.cause)),
        };
        numbers.push(number);
        *causes.entry(cause).or_insert(0) += 1;
    };
    let mut now = Time::ZERO;
    for n in 0..20_000 {
        now += Span::from_nanos(n % 5 * 60);
        chain.enqueue(now, 100, Ecn::NotEct, (), &mut sink);
    }
    chain.advance(now + Span::from_nanos(100_000), &mut sink);
    assert_eq!(chain.inside(), 0);
    assert!(chain.next().is_some());
    numbers.sort_unstable();
    assert_eq!(numbers, (0..20_000).collect::<Vec<_>>());
    let met = |cause| causes.get(&cause).copied().unwrap_or(0) > 100;
    assert!(
        met(None) && met(Some(DropCause::QueueFull)) && met(Some(DropCause::CoDel)),
        "{causes:?}"
    );
}

#[test]
fn marks_reach_the_end_of_the_chain() {
    let queue = QueueSpec {
        mark: Some(QueueLimit::Packets(1)),
        ..QueueSpec::drop_tail(QueueLimit::Packets(9))
    };
    let link = ElementSpec::Link(LinkSpec::new(RateSpec::Constant(8_000_000_000), queue));
    let mut chain = chain(vec![link, delay(500)], 1);
    let mut ecn = Vec::new();
    for offered in [Ecn::Ect, Ecn::Ect, Ecn::Ect, Ecn::NotEct] {
        chain.enqueue(Time::ZERO, 100, offered, (), |_, _| ());
    }
    chain.advance(Time::from_nanos(10_000), |_, fate| ecn.push(fate.unwrap().ecn));
    // One packet is sent at once and one may wait.
    assert_eq!(ecn, [Ecn::Ect, Ecn::Ect, Ecn::Ce, Ecn::NotEct]);
}

proptest! {
    #[test]
    fn every_packet_leaves_once_in_order_and_in_time(
        direction in proptest::collection::vec(any_element(), 0..5),
        arrivals in any_arrivals(),
        seed: u64,
    ) {
        let departures = run(chain(direction, seed), &arrivals, None);
        assert_conserved(&departures, &arrivals);
        let delivered = departures.iter().filter(|(_, _, cause)| cause.is_none());
        prop_assert!(delivered.map(|(_, number, _)| number).is_sorted());
    }

    #[test]
    fn reordering_invents_and_loses_nothing(
        direction in proptest::collection::vec(any_reordering_element(), 1..4),
        arrivals in any_arrivals(),
        seed: u64,
    ) {
        assert_conserved(&run(chain(direction, seed), &arrivals, None), &arrivals);
    }

    #[test]
    fn how_often_the_driver_calls_changes_nothing(
        direction in proptest::collection::vec(
            prop_oneof![3 => any_element(), 1 => any_reordering_element()],
            0..4,
        ),
        arrivals in any_arrivals(),
        cadence in 1u64..2_000,
        seed: u64,
    ) {
        let run = |cadence| run(chain(direction.clone(), seed), &arrivals, cadence);
        let rarely = run(None);
        prop_assert_eq!(&rarely, &run(None));
        prop_assert_eq!(&rarely, &run(Some(Span::from_nanos(7))));
        prop_assert_eq!(&rarely, &run(Some(Span::from_nanos(cadence))));
    }

    #[test]
    fn channels_lose_the_same_packets_however_they_are_sent(
        probability in 0.0..0.9,
        retries in 0u32..4,
        seed: u64,
    ) {
        let arq = ArqSpec { retries, retry_delay: Span::from_nanos(50) };
        let runs = RunLossSpec { begin: probability, lengths: vec![(1, 1.0), (4, 1.0)] };
        let channel = GilbertElliottSpec { p: probability, r: 0.5, k: 1.0, h: 0.1 };
        let retries = Some(RetrySpec { channel, limit: retries });
        let queue = QueueSpec::drop_tail(QueueLimit::Packets(1_000));
        let rate = RateSpec::Constant(8_000_000_000);
        let direction = || vec![
            ElementSpec::RunLoss(runs.clone()),
            ElementSpec::Arq { loss: probability, arq },
            ElementSpec::Link(LinkSpec { retries, ..LinkSpec::new(rate.clone(), queue.clone()) }),
        ];
        let lost = |gap| {
            let departures = run(chain(direction(), seed), &[(gap, 100); 300], None);
            lost_numbers(departures)
        };
        prop_assert_eq!(lost(0), lost(5_000));
    }
}
