//! Writes flows for people: a row for each contender and group.

use kirikae_scenario::{FlowGroup, Link, Scenario};
use kirikae_terminal::{Cell, figures};

use super::{estimate, seeds};
use crate::statistics::Estimate;
use crate::summary::{GroupSummary, ScenarioSummary};

const COLUMNS: [&str; 12] = [
    "contender",
    "flow",
    "flows",
    "Mbit/s each",
    "together",
    "share",
    "fair",
    "of all",
    "resent",
    "latency",
    "p95",
    "srtt",
];

/// What the columns mean.
pub(super) const LEGEND: &str = "\
Goodput in Mbit/s, both directions, from the first write to the last byte or the end: of a flow in the
mean, and of the group together; share: that of the narrowest rate on the way, one direction. fair:
Jain's index of the flows' goodputs, in the group and of all flows. resent: share of segments sent
again. Latency of writes in seconds, of a request until the end of its response. srtt: smoothed
round-trip time at the end. With repetitions, each figure is their mean with Student's 95 % interval.
";

/// A heading that says what is compared.
pub(super) fn heading(scenario: &Scenario) -> String {
    let mut text = format!("{} ({})\n", scenario.title, scenario.file.display());
    for group in &scenario.flows {
        text += &way(group, &scenario.links);
    }
    if let Some(duration) = scenario.duration {
        text += &format!("at most {} s; ", duration.as_secs_f64());
    }
    text + &seeds(scenario) + "\n"
}

fn way(group: &FlowGroup, links: &[Link]) -> String {
    let names: Vec<&str> = group.forward.iter().map(|link| links[*link].name.as_str()).collect();
    let played = group.contender.map_or(String::new(), |contender| format!(", always {contender}"));
    let rate = group.bottleneck(links, group.sent());
    let flows = group.connections();
    format!(
        "{}: {} over {}, RTT {:.0} ms, {}{played}\n",
        group.name,
        if flows == 1 { "1 flow".into() } else { format!("{flows} flows") },
        names.join(", "),
        group.base_rtt(links).as_secs_f64() * 1e3,
        rate.map_or("no rate limit".into(), |rate| format!("{} Mbit/s", rate as f64 / 1e6)),
    )
}

/// The table.
pub(super) fn table(summary: &ScenarioSummary, colour: bool) -> String {
    let rows = summary.flows.iter().map(|group| cells(group).map(Cell::new).to_vec());
    figures(&COLUMNS, rows, 2, colour)
}

fn cells(group: &GroupSummary) -> [String; COLUMNS.len()] {
    [
        group.contender.to_string(),
        group.flow.clone(),
        group.flows.to_string(),
        estimate(group.goodput_mbit, 3),
        estimate(group.total_mbit, 2),
        percent(group.share),
        estimate(group.fairness, 3),
        estimate(group.fairness_of_all, 3),
        percent(group.retransmitted),
        estimate(group.mean_s, 3),
        estimate(group.p95_s, 3),
        estimate(group.srtt_s, 3),
    ]
}

fn percent(share: Option<Estimate>) -> String {
    let percent = |Estimate { value, half_width }| Estimate {
        value: value * 100.0,
        half_width: half_width.map(|half| half * 100.0),
    };
    share.map_or("-".into(), |share| format!("{} %", estimate(Some(percent(share)), 2)))
}

/// Describes how videos were seen.
pub(super) fn videos(summary: &ScenarioSummary) -> String {
    let line = |group: &GroupSummary| {
        let late = percent(Some(group.late?));
        let frozen = estimate(group.frozen_s, 2);
        Some(format!(
            "{}, {}: {late} of the pictures late or left out; frozen for {frozen} s\n",
            group.contender, group.flow
        ))
    };
    summary.flows.iter().filter_map(line).collect()
}

/// Describes what was not finished at the end of all repetitions. Bytes of unlimited writes are not counted.
pub(super) fn notes(summary: &ScenarioSummary, repetitions: u32) -> String {
    let mut text = String::new();
    for of_contender in summary.flows.chunk_by(|a, b| a.contender == b.contender) {
        let flows: usize = of_contender.iter().map(|group| group.left_flows).sum();
        let bytes: u64 = of_contender.iter().map(|group| group.left_bytes).sum();
        let writes: usize = of_contender.iter().map(|group| group.unfinished).sum();
        if flows == 0 {
            continue;
        }
        let all: usize = of_contender.iter().map(|group| group.flows as usize).sum();
        let all = all * repetitions as usize;
        let contender = of_contender[0].contender;
        text += &format!("{contender} ended with something left to do in {flows} of {all} flows");
        if bytes > 0 {
            text += &format!("; {bytes} bytes had been written and not arrived");
        }
        if writes > 0 {
            text += &format!(", {writes} writes, which the latencies leave out");
        }
        text.push('\n');
    }
    text
}
