//! Holds the simulator against the kernel: it plays the same scenarios in both and compares the results.

mod cell;
mod recorded;
mod side;
mod table;

use kirikae_path::{Direction, ElementSpec, Order, Span};
use kirikae_results::outcome::Comparison;
use kirikae_results::play::Play;
use kirikae_results::summary::{GroupSummary, ScenarioSummary};
use kirikae_scenario::{Contender, FlowGroup, Scenario, Workload};

pub use cell::{Cell, Goodput, Latencies, MEAN_WITHIN, P95_WITHIN, SHARE_WITHIN};
pub use recorded::recorded;
pub use side::{Measured, Side, side};
pub use table::render;

/// A criterion on which cells may agree, and the share of them that has to agree.
#[derive(Clone, Copy)]
pub struct Criterion {
    has_it: fn(&Cell) -> bool,
    agrees: fn(&Cell) -> bool,
    /// The wanted share (0 to 1) of the cells to which the criterion applies.
    pub wanted: f64,
}

/// The criterion for latencies: mean and 95th percentile.
pub const LATENCIES: Criterion =
    Criterion { has_it: |cell| cell.has_latencies, agrees: Cell::latencies_agree, wanted: 0.95 };
/// The criterion for the goodput of bulk: its share of the link.
pub const SHARES: Criterion =
    Criterion { has_it: |cell| cell.has_share, agrees: Cell::share_agrees, wanted: 0.90 };

impl Criterion {
    /// How many of the cells agree, and to how many the criterion applies.
    pub fn count(&self, cells: &[Cell]) -> (usize, usize) {
        let having = || cells.iter().filter(|cell| (self.has_it)(cell));
        (having().filter(|cell| (self.agrees)(cell)).count(), having().count())
    }

    fn is_met(&self, cells: &[Cell]) -> bool {
        let (agreeing, of) = self.count(cells);
        agreeing as f64 >= self.wanted * of as f64
    }
}

/// Whether enough of the cells agree.
pub fn enough_agree(cells: &[Cell]) -> bool {
    !cells.is_empty() && [LATENCIES, SHARES].iter().all(|criterion| criterion.is_met(cells))
}

/// The scenario as the emulator plays it: packets leave a little late, by 20 to 40 us and 30 us in the
/// median. (docs/measurements.md has medians of the emulator's paths from 24 to 46 us.) Without such noise a
/// minimum RTT would never be renewed, and two things that are due at the same time would always come in the
/// same order.
pub fn as_emulated(scenario: &Scenario) -> Scenario {
    let spread = Span::from_nanos(20_000);
    let late = ElementSpec::Jitter { delay: spread, jitter: spread, order: Order::Kept };
    let mut scenario = scenario.clone();
    for link in &mut scenario.links {
        link.path.forward.push(late.clone());
        link.path.backward.push(late.clone());
    }
    scenario
}

/// The cells of every contender of every scenario, in that order; one for each group of flows if the scenario
/// is compared flow by flow.
pub fn cells(scenarios: &[Scenario], mut kernel: Side, mut simulated: Side) -> Vec<Cell> {
    let mut cells = Vec::new();
    for scenario in scenarios {
        for &contender in &scenario.contenders {
            let key = (scenario.title.clone(), contender);
            let sides = [&mut kernel, &mut simulated].map(|side| side.remove(&key));
            let [kernel, simulated] = sides.map(Option::unwrap_or_default);
            if scenario.timed().is_some() {
                cells.push(timed(scenario, contender, &kernel, &simulated));
            } else {
                cells.extend(by_group(scenario, contender, kernel, simulated));
            }
        }
    }
    cells
}

/// The cell of a contender that is compared write by write.
fn timed(
    scenario: &Scenario,
    contender: Contender,
    kernel: &Measured,
    simulated: &Measured,
) -> Cell {
    let pairs: Vec<(f64, f64)> = kernel
        .bursts
        .iter()
        .filter_map(|(number, kernel_s)| Some((*simulated.bursts.get(number)?, *kernel_s)))
        .collect();
    let (_, workload) = scenario.timed().expect("it is compared write by write");
    let expected = workload.count() as usize * scenario.repetitions as usize;
    let missing = |side: &Measured| expected.saturating_sub(side.bursts.len());
    Cell {
        scenario: scenario.title.clone(),
        contender: contender.to_string(),
        flow: None,
        n: pairs.len(),
        kernel_missing: missing(kernel),
        simulated_missing: missing(simulated),
        held: kernel.held,
        has_latencies: true,
        latencies: Latencies::new(&pairs),
        has_share: false,
        goodput: None,
    }
}

/// The cells of a contender that is compared flow by flow, one for each group.
fn by_group(
    scenario: &Scenario,
    contender: Contender,
    kernel: Measured,
    simulated: Measured,
) -> Vec<Cell> {
    let held = kernel.held;
    let sides = [kernel, simulated].map(|side| {
        let scenario = scenario.clone();
        Comparison { scenario, performances: Vec::new(), plays: side.plays }
    });
    let summaries = sides.each_ref().map(|side| ScenarioSummary::of(side).flows);
    let [kernel, simulated] = &sides;
    let cell = |(place, group): (usize, &FlowGroup)| {
        let activities = || group.activities.iter().map(|activity| &activity.workload);
        let [of_kernel, of_simulator] = summaries.each_ref().map(|side| side.get(place));
        let pairs = pairs(group, &kernel.plays, &simulated.plays);
        // The number of writes is known if all are written at given times.
        let timed = activities().all(Workload::is_timed);
        let counted: u32 = activities().map(Workload::count).sum();
        let expected = if timed { group.count * counted * scenario.repetitions } else { 0 };
        let missing = |side: &Comparison, summary: Option<&GroupSummary>| {
            let arrived = summary.map_or(0, |summary| summary.writes);
            let plays = scenario.repetitions as usize - side.plays.len();
            plays + (expected as usize).saturating_sub(arrived)
        };
        let both = [Direction::Forward, Direction::Backward];
        let has_rate = both.iter().any(|way| group.bottleneck(&scenario.links, *way).is_some());
        Cell {
            scenario: scenario.title.clone(),
            contender: contender.to_string(),
            flow: Some(group.name.clone()),
            n: pairs.len(),
            kernel_missing: missing(kernel, of_kernel),
            simulated_missing: missing(simulated, of_simulator),
            held,
            has_latencies: !activities().all(Workload::is_bulk),
            latencies: Latencies::new(&pairs),
            has_share: has_rate && activities().any(Workload::is_bulk),
            goodput: of_kernel.zip(of_simulator).and_then(|(kernel, simulated)| {
                Some(Goodput {
                    kernel_mbit: kernel.total_mbit?,
                    simulated_mbit: simulated.total_mbit?,
                    kernel_share: kernel.share,
                    simulated_share: simulated.share,
                })
            }),
        }
    };
    scenario.flows.iter().enumerate().map(cell).collect()
}

/// The latencies of a group's writes that arrived in the simulator and on the kernel. The first write of each
/// flow is paired with the first, and so on.
fn pairs(group: &FlowGroup, kernel: &[Play], simulated: &[Play]) -> Vec<(f64, f64)> {
    let mut pairs = Vec::new();
    for kernel in kernel {
        let Some(simulated) = simulated.iter().find(|play| play.seed == kernel.seed) else {
            continue;
        };
        let [kernel, simulated] = [kernel, simulated]
            .map(|play| play.flows.iter().filter(|flow| flow.flow == group.name));
        for (kernel, simulated) in kernel.zip(simulated) {
            pairs.extend(simulated.latencies_s.iter().copied().zip(kernel.latencies_s.clone()));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use kirikae_results::play::{PlayedFlow, PlayedLink};

    const SCENARIO: &str = r#"title = "a path"
        seed = 1
        workload = { burst = "64 KiB", interval = "2 s", count = 40 }
        [path]
        forward = [{ element = "delay", delay = "1 s" }]
        backward = [{ element = "delay", delay = "1 s" }]
        [bench]
        contenders = ["cubic"]"#;

    const SHARED: &str = r#"title = "a link"
        seed = 1
        sim = { duration = "10 s" }
        [[link]]
        name = "shared"
        forward = [{ element = "rate", rate = "10 Mbit/s", queue = "10 packets" }]
        backward = [{ element = "delay", delay = "1 s" }]
        [[flow]]
        name = "bulk"
        route = ["shared"]
        workload = { kind = "bulk", bytes = "unlimited" }
        [[flow]]
        name = "fresh"
        count = 2
        route = ["shared"]
        workload = { burst = "64 KiB", interval = "1 s", count = 1, warmup = 0 }
        [bench]
        contenders = ["cubic"]"#;

    fn scenarios(text: String) -> Vec<Scenario> {
        Scenario::parse(std::path::Path::new("x.toml"), text).unwrap()
    }

    fn key(title: &str) -> (String, Contender) {
        (title.into(), Contender::BASELINE)
    }

    fn side(bursts: &[f64]) -> Side {
        let bursts = (1..).map(|number| (1, number)).zip(bursts.iter().copied()).collect();
        Side::from([(key("a path"), Measured { bursts, ..Measured::held() })])
    }

    /// The only cell of a scenario with so many bursts.
    fn only(count: usize, kernel: Side, simulated: Side) -> Cell {
        let scenarios = scenarios(SCENARIO.replace("40", &count.to_string()));
        let mut cells = cells(&scenarios, kernel, simulated);
        assert_eq!(cells.len(), 1);
        cells.remove(0)
    }

    #[test]
    fn cells_agree_or_do_not() {
        let kernel = || side(&[0.5; 40]);
        let near = only(40, kernel(), side(&[0.52; 40]));
        let ratio = near.latencies.as_ref().unwrap().mean_ratio;
        assert!((ratio.value - 1.04).abs() < 1e-9 && near.latencies_agree());
        let far = only(40, kernel(), side(&[0.53; 40]));
        assert_eq!((far.reservations(), far.latencies_agree()), (vec!["mean".into()], false));
        let mut tail = [0.5; 40];
        tail[..4].fill(0.56);
        assert_eq!(only(40, kernel(), side(&tail)).reservations(), ["p95"]);
        let mut unheld = kernel();
        unheld.values_mut().next().unwrap().held = false;
        let unheld = only(40, unheld, kernel());
        assert_eq!(unheld.reservations(), ["path not held"]);
        assert!(!unheld.latencies_agree());
        assert!(enough_agree(std::slice::from_ref(&near)));
        assert!(!enough_agree(&[far]) && !enough_agree(&[]));
    }

    #[test]
    fn what_is_missing_is_told() {
        // Burst 3 arrived on the kernel alone, burst 9 in the simulator alone.
        let kernel = || side(&[0.1, 0.2, 0.3]);
        let mut simulated = side(&[0.1, 0.2]);
        simulated.values_mut().next().unwrap().bursts.insert((1, 9), 7.0);
        let cell = only(4, kernel(), simulated);
        assert_eq!((cell.n, cell.latencies.as_ref().unwrap().mean_ratio.value), (2, 1.0));
        let missing = ["1 missing from the kernel", "1 missing from the simulator"];
        assert_eq!(cell.reservations(), missing);
        assert!(render(&[cell]).contains(&missing.join(", ")));

        let absent = only(3, Side::new(), kernel());
        assert_eq!(absent.reservations(), ["too few", "3 missing from the kernel"]);
        assert!(render(std::slice::from_ref(&absent)).contains("0 of 1 cells agree"));
        let cell = serde_json::to_value(&absent).unwrap();
        assert_eq!((&cell["n"], &cell["kernel_missing"]), (&0.into(), &3.into()));
        assert_eq!(only(1, side(&[0.1]), side(&[0.1])).reservations(), ["too few"]);
    }

    /// A bulk flow with this share of 10 Mbit/s in 10 s, and two flows whose writes had these latencies.
    fn play(share: f64, latencies_s: [f64; 2]) -> Side {
        let flow = |name: &str, index, bytes, latencies_s: Vec<f64>| PlayedFlow {
            flow: name.into(),
            index,
            played: Contender::BASELINE,
            start_s: Some(0.0),
            end_s: 10.0,
            measured_s: Some((0.0, 10.0)),
            arrived: [bytes, 0],
            goodput: Some(bytes as f64 * 0.8),
            segments: 100,
            retransmissions: 0,
            srtt_s: None,
            left: None,
            writes: 1,
            latencies_s,
            watched: None,
            switches: Vec::new(),
        };
        let flows = vec![
            flow("bulk", 0, (share * 12.5e6) as u64, Vec::new()),
            flow("fresh", 0, 65_536, vec![latencies_s[0]]),
            flow("fresh", 1, 65_536, vec![latencies_s[1]]),
        ];
        let contender = Contender::BASELINE;
        let play = Play { contender, seed: 1, end_s: 10.0, flows, links: Vec::<PlayedLink>::new() };
        Side::from([(key("a link"), Measured { plays: vec![play], ..Measured::held() })])
    }

    #[test]
    fn groups_have_cells_of_their_own() {
        let scenarios = scenarios(SHARED.into());
        let of = |simulated| cells(&scenarios, play(0.9, [0.2, 0.4]), simulated);
        let near = of(play(0.86, [0.21, 0.39]));
        let [bulk, fresh] = &near[..] else { panic!("two groups") };
        assert_eq!(
            (bulk.flow.as_deref(), bulk.has_latencies, bulk.has_share),
            (Some("bulk"), false, true)
        );
        let [kernel, simulated] = bulk.goodput.as_ref().unwrap().shares().unwrap();
        assert!((kernel - 0.9).abs() < 1e-6 && (simulated - 0.86).abs() < 1e-6);
        assert_eq!((fresh.n, fresh.has_share), (2, false));
        assert!((fresh.latencies.as_ref().unwrap().mean_ratio.value - 1.0).abs() < 1e-9);
        assert!(bulk.reservations().is_empty() && fresh.reservations().is_empty());
        assert_eq!((LATENCIES.count(&near), SHARES.count(&near)), ((1, 1), (1, 1)));
        assert!(enough_agree(&near));

        let far = of(play(0.84, [0.2, 0.5]));
        assert_eq!(far[0].reservations(), ["share"]);
        assert_eq!(far[1].reservations(), ["mean", "p95"]);
        assert_eq!((LATENCIES.count(&far), SHARES.count(&far)), ((0, 1), (0, 1)));

        let absent = of(Side::new());
        assert_eq!(absent[0].reservations(), ["1 missing from the simulator"]);
        assert_eq!(absent[1].reservations(), ["too few", "3 missing from the simulator"]);
        assert_eq!(SHARES.count(&absent), (0, 1));
        let text = render(&absent);
        assert!(text.contains("0 of 1 cells agree (90 % are wanted) in goodput"), "{text}");
    }
}
