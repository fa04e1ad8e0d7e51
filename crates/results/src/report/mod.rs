//! Writes a run for people: a table for each scenario, and notes to it.

mod flows;
mod overview;

use std::collections::BTreeMap;
use std::fmt::Write;

use kirikae_path::{PathSpec, sustained_rate};
use kirikae_scenario::{Connection, Scenario, Workload};
use kirikae_terminal::{Attribute, Cell, Color, figures, wrapped};
use kirikae_vocabulary::{Switch, TimingError};

use crate::outcome::{Comparison, Outcome, Performance};
use crate::recovery::Recovery;
use crate::statistics::Estimate;
use crate::summary::{ContenderSummary, ScenarioSummary, Summary};

const COLUMNS: [&str; 12] = [
    "contender",
    "n",
    "mean ± 95 %",
    "p50",
    "p95",
    "p99",
    "< 1 s",
    "vs cubic",
    "vs best",
    "vs bound",
    "drops",
    "switches",
];

const LEGEND: &str = "\
Latency in seconds, from the start of a burst's write to its last byte in order; mean with Student's
95 % interval; quantiles interpolated. < 1 s: share of responses (latency + RTT/2) under one second.
vs cubic: ratio to the mean of stock cubic, paired by burst. vs best: the same to the best of those
that are neither switched nor cubic-no-idle-restart, known afterwards: the regret. In both a burst
that did not arrive took until the end of the run. vs bound: ratio to the lower bound: one-way delay,
serialisation, and one RTT for each time that the channel lost the same packet; what overflows a queue
is the sender's own doing and not in it. Drops: by the channel / by full queues, both directions.
";

/// The whole run as text.
pub fn render(outcome: &Outcome, colour: bool) -> String {
    let mut text = String::new();
    let summaries = Summary::of(outcome);
    for (comparison, summary) in outcome.comparisons.iter().zip(&summaries.scenarios) {
        let Some((path, workload)) = comparison.scenario.timed() else {
            text += &wrapped(&flows::heading(&comparison.scenario));
            text += &flows::table(summary, colour);
            text += &wrapped(&flows::videos(summary));
            text += &wrapped(&flows::notes(summary, comparison.scenario.repetitions));
            text += &wrapped(&network_notes(comparison));
            text.push('\n');
            continue;
        };
        text += &wrapped(&heading(&comparison.scenario, path, workload));
        text += &table(summary, colour);
        text += &recoveries(summary, colour);
        text += &wrapped(&network_notes(comparison));
        text += &wrapped(&unfinished_notes(summary));
        let by_contender = comparison.performances.chunk_by(|a, b| a.contender == b.contender);
        for repetitions in by_contender {
            if repetitions[0].contender.is_switched() {
                text += &wrapped(&choice(repetitions));
            }
        }
        text.push('\n');
    }
    text += &overview::render(&summaries, colour);
    for (legend, timed) in [(LEGEND, true), (flows::LEGEND, false)] {
        if outcome.comparisons.iter().any(|it| it.scenario.timed().is_some() == timed) {
            text += legend;
        }
    }
    if outcome.interrupted {
        text += "INTERRUPTED: the figures are of the bursts that had arrived until then.\n";
    }
    if let Some(records) = &outcome.records {
        writeln!(text, "Records: {}", records.display()).expect("writing to a string");
    }
    text
}

fn heading(scenario: &Scenario, path: &PathSpec, workload: &Workload) -> String {
    let rate = sustained_rate(&path.forward)
        .map_or("no rate limit".into(), |rate| format!("{} Mbit/s", rate as f64 / 1e6));
    format!(
        "{} ({})\nRTT {:.0} ms, {rate}; {}; {}\n",
        scenario.title,
        scenario.file.display(),
        path.base_rtt().as_secs_f64() * 1e3,
        writes(workload),
        seeds(scenario),
    )
}

fn writes(workload: &Workload) -> String {
    let Workload::Bursts(bursts) = workload else {
        return format!("{} writes as recorded", workload.count());
    };
    let warmup = match bursts.warmup {
        0 => "no warm-up".into(),
        1 => "1 before them for warm-up, which is not counted".into(),
        n => format!("{n} before them for warm-up, which are not counted"),
    };
    let (burst, interval, count) = (bursts.burst, bursts.interval, bursts.count);
    let each = match bursts.connection {
        Connection::Kept => "",
        Connection::New => ", each on a new connection and measured from its SYN",
    };
    format!("{burst} bytes every {interval:?}{each}; {count} bursts, {warmup}")
}

fn seeds(scenario: &Scenario) -> String {
    match (scenario.seed, scenario.seeds().last()) {
        (first, Some(last)) if last != first => format!("seeds {first} to {last}"),
        (only, _) => format!("seed {only}"),
    }
}

fn table(summary: &ScenarioSummary, colour: bool) -> String {
    let best = summary
        .contenders
        .iter()
        .filter_map(|contender| Some(contender.mean_s?.value))
        .min_by(f64::total_cmp);
    let rows = summary.contenders.iter().map(|contender| {
        let best = best.is_some() && contender.mean_s.map(|mean| mean.value) == best;
        let cell = |text| {
            let cell = Cell::new(text);
            if best { cell.fg(Color::Green).add_attribute(Attribute::Bold) } else { cell }
        };
        cells(contender).map(cell).to_vec()
    });
    figures(&COLUMNS, rows, 1, colour)
}

/// A table of how soon data flowed again after outages, if there were any.
fn recoveries(summary: &ScenarioSummary, colour: bool) -> String {
    let row = |contender: &ContenderSummary| {
        let Recovery { n, unfinished, p50_s, p95_s, max_s } = contender.recovery?;
        let seconds = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
        let counts = [contender.contender.to_string(), n.to_string(), unfinished.to_string()];
        let cells = counts.into_iter().chain([p50_s, p95_s, max_s].map(seconds));
        Some(cells.map(Cell::new).collect())
    };
    let rows: Vec<Vec<Cell>> = summary.contenders.iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let heading = ["contender", "path back", "never", "new data: p50", "p95", "max"];
    format!(
        "Seconds from when the path is back until something new arrives in order\n{}",
        figures(&heading, rows.into_iter(), 1, colour)
    )
}

fn cells(contender: &ContenderSummary) -> [String; COLUMNS.len()] {
    let seconds = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
    [
        contender.contender.to_string(),
        contender.n.to_string(),
        estimate(contender.mean_s, 3),
        seconds(contender.p50_s),
        seconds(contender.p95_s),
        seconds(contender.p99_s),
        contender.under_1_s.map_or("-".into(), |share| format!("{:.1} %", share * 100.0)),
        estimate(contender.over_cubic, 2),
        estimate(contender.over_best_fixed, 2),
        ratio(contender.over_bound.map(|over| over.value)),
        format!("{}/{}", contender.channel_drops, contender.queue_drops),
        contender.switches.to_string(),
    ]
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"))
}

/// An estimate with so many digits, and its half width if it has one; a dash if there is no estimate.
pub fn estimate(estimate: Option<Estimate>, digits: usize) -> String {
    match estimate {
        None => "-".into(),
        Some(Estimate { value, half_width: None }) => format!("{value:.digits$}"),
        Some(Estimate { value, half_width: Some(half) }) => {
            format!("{value:.digits$} ± {half:.digits$}")
        }
    }
}

/// Describes how well the emulator kept time, at worst, and where it did not keep to the links' description.
/// Virtual time is exact.
fn network_notes(comparison: &Comparison) -> String {
    let links = comparison.plays.iter().flat_map(|play| &play.links);
    let errors: Vec<TimingError> = links.filter_map(|link| link.timing_error).collect();
    if errors.is_empty() {
        return String::new();
    }
    let worst = |of: fn(&TimingError) -> f64| errors.iter().map(of).fold(0.0, f64::max);
    let mut text = format!(
        "Emulated links: packets late by {:.0} us (p50), {:.0} us (p99), {:.0} us at most, in the \
         worst of the links\n",
        worst(|error| error.p50_us),
        worst(|error| error.p99_us),
        worst(|error| error.max_us),
    );
    for play in comparison.plays.iter().filter(|play| !play.held()) {
        let (contender, seed) = (play.contender, play.seed);
        text += &format!(
            "WARNING: the machine did not keep up with the links of {contender}, seed {seed}: its \
             figures are of others than those described\n"
        );
    }
    text
}

fn unfinished_notes(summary: &ScenarioSummary) -> String {
    let mut text = String::new();
    for contender in &summary.contenders {
        let (name, missing) = (contender.contender, contender.unfinished);
        if missing > 0 {
            text += &format!(
                "WARNING: {missing} bursts of {name} had not arrived at the end of the run; its \
                 mean and quantiles leave them out\n"
            );
        }
    }
    text
}

/// A sentence on what a switching contender chose in all repetitions, and why.
fn choice(repetitions: &[Performance]) -> String {
    let name = repetitions[0].contender;
    let bursts = repetitions.iter().flat_map(|repetition| &repetition.bursts);
    let counted = bursts.filter(|burst| !burst.warmup);
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    for burst in counted {
        *used.entry(&burst.algorithm_before).or_default() += 1;
    }
    let Some((favourite, often)) = used.iter().max_by_key(|(_, often)| **often) else {
        return format!("{name} wrote no burst that counts.\n");
    };
    let of: usize = used.values().sum();
    let switches: Vec<&Switch> = repetitions.iter().flat_map(|it| &it.switches).collect();
    let switches = match &switches[..] {
        [] => "it never switched".into(),
        [only] => format!("it switched once: {}", because(only)),
        [.., last] => format!("{} switches, the last: {}", switches.len(), because(last)),
    };
    format!("{name} began {often} of {of} bursts with {favourite}; {switches}.\n")
}

fn because(switch: &Switch) -> String {
    let Switch { from, to, reason, .. } = switch;
    let at = format!("{from} to {to} ({reason}) at RTT {:.0} ms", switch.rtt_s * 1e3);
    if switch.predicted_s.is_empty() {
        return at;
    }
    let predicted: Vec<String> =
        switch.predicted_s.iter().map(|(name, seconds)| format!("{name} {seconds:.3} s")).collect();
    format!(
        "{at}, {:.2} % isolated and {:.2} % burst loss, predicted {}",
        switch.isolated_loss * 100.0,
        switch.burst_loss * 100.0,
        predicted.join(", "),
    )
}
