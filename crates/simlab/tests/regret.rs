//! Regrets, the answers to which can be worked out from the latencies; and the rules that switch.

use kirikae_results::outcome::{Comparison, Outcome, Performance};
use kirikae_results::report;
use kirikae_results::summary::{ContenderSummary, ScenarioSummary, Summary};
use kirikae_scenario::Contender;
use kirikae_testing::simulate;

/// Bursts every 2 s over 10 Mbit/s and 200 ms, which lose what `element` says.
fn text(title: &str, sweep: &str, count: u32, element: &str) -> String {
    format!(
        r#"title = "{title}"
seed = 2
{sweep}
[workload]
burst = "64 KiB"
interval = "2 s"
count = {count}
{element}
[[path.forward]]
element = "rate"
rate = "10 Mbit/s"
queue = "100 packets"
[[path.forward]]
element = "delay"
delay = "100 ms"
[[path.backward]]
element = "delay"
delay = "100 ms"
[bench]
contenders = ["cubic", "bbr", "cubic-no-idle-restart", "kk_reno", "kirikae", "r-tcp", "bpftune"]
"#
    )
}

const LOSS: &str = "[[path.forward]]\nelement = \"loss\"\nprobability = \"$loss\"\n";

fn performance(comparison: &Comparison, contender: Contender) -> &Performance {
    comparison.performances.iter().find(|it| it.contender == contender).unwrap()
}

fn of(scenario: &ScenarioSummary, contender: Contender) -> &ContenderSummary {
    scenario.contenders.iter().find(|it| it.contender == contender).unwrap()
}

/// The sum of what the bursts took.
fn seconds(performance: &Performance) -> f64 {
    performance.waits().map(|(_, seconds)| seconds).sum()
}

fn two_scenarios() -> Outcome {
    simulate(&text("Loss $loss", "[sweep]\nloss = [0, 0.03]\n", 30, LOSS), &[])
}

#[test]
fn the_regret_is_over_the_best_that_does_not_switch() {
    let outcome = two_scenarios();
    let summary = Summary::of(&outcome);
    let both = outcome.comparisons.iter().zip(&summary.scenarios);
    for ((comparison, scenario), lossy) in both.zip([false, true]) {
        let fixed =
            [Contender::Stock("cubic"), Contender::Stock("bbr"), Contender::Fixed("kk_reno")];
        let seconds = |contender| seconds(performance(comparison, contender));
        let best = fixed.into_iter().min_by(|a, b| seconds(*a).total_cmp(&seconds(*b))).unwrap();
        assert_eq!(scenario.best_fixed, Some(best));
        let own = of(scenario, best).over_best_fixed.unwrap();
        assert_eq!((own.value, own.half_width.unwrap().abs() < 1e-12), (1.0, true));
        for contender in [Contender::Bpftune, Contender::CubicWithoutIdleRestart] {
            let expected = seconds(contender) / seconds(best);
            let found = of(scenario, contender).over_best_fixed.unwrap();
            assert!((found.value - expected).abs() < 1e-12, "{contender}: {found:?}");
            // Where nothing is lost, bursts may all take the same time.
            assert!(!lossy || found.half_width.unwrap() > 0.0, "{contender}: {found:?}");
        }
    }
}

#[test]
fn the_overview_is_of_all_scenarios() {
    let outcome = two_scenarios();
    let summary = Summary::of(&outcome);
    assert_eq!(summary.overview.len(), 7, "one for each contender");
    let cubic = &summary.overview[0];
    let regrets = [0, 1].map(|place| {
        of(&summary.scenarios[place], Contender::BASELINE).over_best_fixed.unwrap().value
    });
    assert!(regrets[0] > 1.05 && regrets[1] > regrets[0], "{regrets:?}");
    assert_eq!((cubic.contender, cubic.scenarios), (Contender::BASELINE, 2));
    assert!((cubic.mean - (regrets[0] + regrets[1]) / 2.0).abs() < 1e-12);
    assert!((cubic.median - cubic.mean).abs() < 1e-12);
    assert!((cubic.p95 - (regrets[0] + 0.95 * (regrets[1] - regrets[0]))).abs() < 1e-12);
    assert_eq!((cubic.worst.ratio, cubic.worst.scenario.as_str()), (regrets[1], "Loss 0.03"));
    assert_eq!((cubic.good, cubic.worst_over_cubic.as_ref().unwrap().ratio), (0.0, 1.0));
    let kirikae = summary.overview.iter().find(|it| it.contender == Contender::Kirikae).unwrap();
    assert!(kirikae.good > 0.0 && kirikae.worst_over_cubic.as_ref().unwrap().ratio < 1.0);

    let text = report::render(&outcome, false);
    assert!(text.contains("Regret over 2 scenarios: "), "{text}");
    let tables = text.lines().filter(|line| line.starts_with([' ', '─', '═']));
    let widest = tables.map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 140, "{widest} columns:\n{text}");

    let one = simulate(&text_without_loss(), &[]);
    assert!(
        Summary::of(&one).overview.is_empty()
            && !report::render(&one, false).contains("Regret over")
    );
}

fn text_without_loss() -> String {
    text("One", "", 5, "")
}

/// Bursts are due at 2, 4, ..., the last 12 s, the first for warm-up; from 11 s on nothing passes.
#[test]
fn what_does_not_arrive_counts_with_its_waiting() {
    const OUTAGE: &str = "[[path.forward]]\nelement = \"outage\"\n\
                          intervals = [{ from = \"11 s\", to = \"60 min\" }]\n";
    let outcome = simulate(&text("Cut", "", 5, OUTAGE), &[]);
    let reno = performance(&outcome.comparisons[0], Contender::Fixed("kk_reno"));
    let waits: Vec<f64> = reno.waits().map(|(_, seconds)| seconds).collect();
    assert_eq!((waits.len(), reno.unfinished, reno.unwritten()), (5, 1, 0));
    // A run goes on for a minute after its last write.
    assert!((waits[4] - 60.0).abs() < 1e-6, "{waits:?}");
    let summary = &Summary::of(&outcome).scenarios[0];
    let cubic = seconds(performance(&outcome.comparisons[0], Contender::BASELINE));
    let found = of(summary, reno.contender).over_cubic.unwrap().value;
    assert!((found - seconds(reno) / cubic).abs() < 1e-12, "{found}");

    // Where the run ends before the last writes are due, nobody is best.
    let short = text("Short", "", 5, "[sim]\nduration = \"9 s\"\n");
    let outcome = simulate(&short, &[]);
    assert_eq!(outcome.comparisons[0].performances[0].unwritten(), 2);
    let summary = &Summary::of(&outcome).scenarios[0];
    assert_eq!(summary.best_fixed, None);
    assert!(summary.contenders.iter().all(|it| it.over_best_fixed.is_none()));
}

#[test]
fn bpftune_takes_bbr_once_too_much_was_sent_again() {
    let outcome = two_scenarios();
    let switches =
        |place: usize| &performance(&outcome.comparisons[place], Contender::Bpftune).switches;
    assert_eq!(switches(0), &[]);
    let [switch] = &switches(1)[..] else { panic!("once and for good: {:?}", switches(1)) };
    assert_eq!((switch.from.as_str(), switch.to.as_str()), ("cubic", "bbr"));
    // Lines end where the terminal does.
    let text = report::render(&outcome, false).replace('\n', " ");
    assert!(text.contains("it switched once: cubic to bbr (retransmit-rate) at RTT 2"), "{text}");
}
