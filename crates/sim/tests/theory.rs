//! Throughput of a long connection against theory, one packet in 1/p lost at even distances, as the
//! formulas have it.

use std::sync::Arc;

use kirikae_algorithms::Algorithm;
use kirikae_path::{ElementSpec, PathSpec, Span, Time};
use kirikae_sim::{Activity, End, Flow, Host, Observer, Routes, Simulation, Workload};
use kirikae_tcp::{Control, Endpoint, Profile};

const RTT_S: f64 = 0.1;
/// Losses that are looked at after as many that are not: until then slow start is forgotten.
const LOSSES: u64 = 4;
/// Three decades. At 1 % recovery itself, which the formulas leave out, takes a share of the time.
const LOSS_RATES: [f64; 4] = [1e-3, 1e-4, 1e-5, 1e-6];

/// When and how much was ACKed first and last after the connection has come into its stride.
#[derive(Default)]
struct Progress {
    packets_before: u64,
    first: Option<(Time, u64)>,
    last: Option<(Time, u64)>,
}

impl Observer for Progress {
    fn received(&mut self, now: Time, _flow: usize, end: End, endpoint: &Endpoint) {
        let acked = endpoint.acked() / u64::from(endpoint.mss());
        if end == End::Client && acked > self.packets_before {
            self.first.get_or_insert((now, acked));
            self.last = Some((now, acked));
        }
    }
}

/// Mean window in segments: what is ACKed in a round trip. A first loss ends slow start at about twice
/// the window of theory: CUBIC, which comes back to where it was, keeps for many losses to a window
/// that is too large or too small.
fn window(algorithm: &str, loss_rate: f64, theory: f64) -> f64 {
    let apart = (1.0 / loss_rate).round() as u64;
    let regular = (1..=2 * LOSSES).map(|n| n * apart);
    let lost = [theory as u64].into_iter().chain(regular).collect();
    let delay =
        |seconds: f64| ElementSpec::Delay { delay: Span::from_nanos((seconds * 1e9) as u64) };
    let path = PathSpec {
        forward: vec![ElementSpec::ListedLoss { packets: lost }, delay(RTT_S / 2.0)],
        backward: vec![delay(RTT_S / 2.0)],
    };
    let algorithm = Algorithm::named(algorithm).unwrap();
    let host = Host {
        profile: Arc::new(Profile {
            receive_window_max: 1 << 30,
            send_buffer_max: 1 << 30,
            ..Profile::linux_6()
        }),
        control: Arc::new(Control { algorithm, switcher: None }),
        address: 0,
    };
    let packets = 2 * LOSSES * apart;
    let bulk = Workload::Bulk { bytes: Some(packets * 1448) };
    let simulation = Simulation {
        seed: 1,
        links: vec![path],
        flows: vec![Flow {
            start: Time::ZERO,
            after: None,
            routes: Routes::through(&[0]),
            client: host.clone(),
            server: host,
            activities: vec![Activity { after: Span::ZERO, workload: bulk }],
            mobile: None,
            split: None,
        }],
        duration: Span::from_secs(1_000_000),
    };
    let mut progress = Progress { packets_before: packets / 2, ..Progress::default() };
    simulation.observe(&mut progress).unwrap();
    let (from, to) = (progress.first.unwrap(), progress.last.unwrap());
    (to.1 - from.1) as f64 / (to.0 - from.0).as_secs_f64() * RTT_S
}

/// Holds the mean window against theory at every loss rate.
#[track_caller]
fn assert_follows(algorithm: &str, theory: impl Fn(f64) -> f64) {
    let mut all = true;
    for loss_rate in LOSS_RATES {
        let theory = theory(loss_rate);
        let simulated = window(algorithm, loss_rate, theory);
        let ratio = simulated / theory;
        println!(
            "{algorithm} p={loss_rate:e}: {simulated:.1} segments, theory {theory:.1}, {ratio:.3}"
        );
        all &= (ratio - 1.0).abs() < 0.1;
    }
    assert!(all);
}

/// Mathis et al., "The macroscopic behavior of the TCP congestion avoidance algorithm" (1997): the
/// mean window is sqrt(3 / 2p) where each segment ACKed counts.
fn square_root(loss_rate: f64) -> f64 {
    (1.5 / loss_rate).sqrt()
}

#[test]
fn reno_follows_the_square_root_formula() {
    assert_follows("kk_reno", square_root);
}

/// RFC 9438, sections 5.1 and 5.2: C 0.4, beta 0.7; and Reno's where that is more.
#[test]
fn cubic_follows_its_response_function() {
    assert_follows("kk_cubic", |loss_rate| {
        let (c, beta) = (0.4_f64, 0.7);
        let factor = (c * (3.0 + beta) / (4.0 * (1.0 - beta))).powf(0.25);
        (factor * (RTT_S / loss_rate).powf(0.75)).max(square_root(loss_rate))
    });
}
