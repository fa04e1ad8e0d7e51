//! On whole connections quiet ACKs of the two BBRs leave what ACKs do for which everything is looked
//! at: `Algorithm::checked` panics where they do not.

mod common;

use std::sync::Arc;

use common::{bursts, flow, link, lossy, ms};
use kirikae_algorithms::Algorithm;
use kirikae_path::{
    ElementSpec, GilbertElliottSpec, LinkSpec, Order, PathSpec, QueueLimit, QueueSpec, RateSpec,
    Span, Time,
};
use kirikae_sim::{End, Flow, Interval, Observer, Routes, Simulation, Workload};
use kirikae_tcp::{Control, Endpoint, Profile};

const BULK: Workload = Workload::Bulk { bytes: Some(1 << 31) };

/// ACKs that were compared, by flow, and those of them after which samples were only noted.
struct Compared(Vec<(u64, u64)>);

impl Observer for Compared {
    fn received(&mut self, _now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        let compared = endpoint.socket().and_then(|socket| socket.compared());
        if let (End::Client, Some(compared)) = (end, compared) {
            self.0[flow] = (compared.acks, compared.noted);
        }
    }
}

fn checked(algorithm: &str, workload: Workload) -> Flow {
    let algorithm = Algorithm::named(algorithm).expect("one of ours").checked();
    let mut flow = flow(Routes::through(&[0]), workload);
    flow.client.control = Arc::new(Control { algorithm, switcher: None });
    flow
}

/// Plays the flows over the link, each checked, and gives the ACKs of all together.
fn play(path: PathSpec, flows: Vec<Flow>) -> (u64, u64) {
    let mut compared = Compared(vec![(0, 0); flows.len()]);
    let simulation =
        Simulation { seed: 1, links: vec![path], flows, duration: Span::from_secs(40) };
    simulation.observe(&mut compared).expect("a simulation");
    compared.0.iter().fold((0, 0), |(acks, noted), one| (acks + one.0, noted + one.1))
}

fn with(element: ElementSpec) -> PathSpec {
    let mut path = link(20, 60, 50);
    path.forward.push(element);
    path
}

/// A queue that marks from 20 packets on.
fn marking() -> PathSpec {
    let queue = QueueSpec {
        mark: Some(QueueLimit::Packets(20)),
        ..QueueSpec::drop_tail(QueueLimit::Packets(200))
    };
    let mut path = link(20, 200, 50);
    path.forward[0] = ElementSpec::Link(LinkSpec::new(RateSpec::Constant(20_000_000), queue));
    path
}

#[test]
fn on_paths_of_many_kinds() {
    let burst_loss = GilbertElliottSpec { p: 0.001, r: 0.3, k: 0.0, h: 0.5 };
    let reordering = ElementSpec::Jitter { delay: ms(10), jitter: ms(4), order: Order::Free };
    let paths = [
        link(20, 200, 50),
        link(20, 10, 50),
        lossy(0.001, link(20, 200, 50)),
        lossy(0.05, link(20, 200, 50)),
        with(ElementSpec::GilbertElliott(burst_loss)),
        with(reordering),
    ];
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let played = paths.clone().map(|path| play(path, vec![checked(algorithm, BULK)]));
        let (acks, noted) = played.iter().fold((0, 0), |(a, n), one| (a + one.0, n + one.1));
        assert!(acks > 100_000 && noted > 1000, "{algorithm}: {noted} of {acks}");
    }
}

#[test]
fn with_congestion_marks() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let mut flow = checked(algorithm, BULK);
        let profile = Arc::new(Profile { ecn: true, ..Profile::linux_6() });
        flow.client.profile = profile.clone();
        flow.server.profile = profile;
        let (acks, noted) = play(marking(), vec![flow]);
        assert!(acks > 10_000 && noted > 1000, "{algorithm}: {noted} of {acks}");
    }
}

/// Limited by the application, idle in between, and beside each other.
#[test]
fn with_applications_of_many_kinds() {
    let on_off = Workload::OnOff {
        bytes: 3000,
        bits_per_second: 5_000_000,
        on: Interval::Fixed(ms(1500)),
        off: Interval::Exponential(ms(700)),
    };
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let flows = [bursts(18), on_off.clone(), BULK, BULK].map(|load| checked(algorithm, load));
        let (acks, noted) = play(link(20, 100, 40), flows.into());
        assert!(acks > 10_000 && noted > 1000, "{algorithm}: {noted} of {acks}");
    }
}
