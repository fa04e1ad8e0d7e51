//! What chapter 4 says of single features: SACK, a larger initial window, ECN, and what a fast algorithm leaves to
//! Reno. The paper measures none of it.

use kirikae_results::outcome::Comparison;
use kirikae_results::play::Play;
use kirikae_results::statistics::{Estimate, mean};

use super::super::{Cell, Column, Found, Key, Row, Table, swept};
use super::goodput_mbit;

pub(super) const SACK: Key = Key::with("sack", &["with", "without"]);
pub(super) const INITIAL_WINDOW: Key = Key::with("initial-window", &["saved"]);
pub(super) const ECN_LOSSES: Key = Key::with("ecn-losses", &["with", "without"]);
pub(super) const ECN_USED: Key = Key::new("ecn-used");
pub(super) const CONGESTS: Key = Key::with("congests", &["highspeed", "scalable", "reno"]);

/// Round trips that a first window of 10 instead of 2 saves 45 segments in slow start: 2 + 4 + 8 + 16 + 15 and
/// 10 + 20 + 15.
const SAVED: f64 = 2.0;
/// Of the link of the scenarios with ECN.
const ECN_MBIT: f64 = 1000.0;

/// SACK beside recovery without it.
pub(super) fn sack(comparisons: &[&Comparison]) -> Option<(Found, Table)> {
    let of = |sack: &str| {
        let its =
            |it: &&&Comparison| it.scenario.swept.get("sack").map(String::as_str) == Some(sack);
        comparisons.iter().find(its).and_then(|it| Some((goodput_mbit(it)?, it.plays.len())))
    };
    let ((with, n), (without, _)) = (of("true")?, of("false")?);
    let mut table = Table::new(
        "Download with losses, with SACK and without (section 4.1)",
        "loss recovery",
        [Column::new("goodput, Mbit/s", 2)],
    );
    for (name, value) in [("with SACK", with), ("by duplicates alone", without)] {
        table.rows.push(Row::new(name, vec![Cell::ours(value, n)]));
    }
    let found = Found::new(SACK, with.value / without.value, n);
    let mbit = |it: Estimate| format!("{:.1}", it.value);
    Some((found.word("with", mbit(with)).word("without", mbit(without)), table))
}

/// What a larger initial window saves, in round trips.
pub(super) fn initial_window(comparisons: &[&Comparison]) -> Option<(Found, Table)> {
    let mut table = Table::new(
        "A burst of 45 segments, by the initial window (section 4.1)",
        "initial window, segments",
        [Column::new("round trips", 2)],
    );
    let mut trips = Vec::new();
    for comparison in comparisons {
        let rtt_s = comparison.scenario.links.first()?.path.base_rtt().as_secs_f64();
        let latencies = comparison.performances.iter().flat_map(|it| it.counted());
        let latency = mean(&latencies.map(|(_, it)| it.latency_s / rtt_s).collect::<Vec<f64>>())?;
        let window = comparison.scenario.stack.initial_window;
        let cell = Cell::ours(latency, comparison.performances.len());
        table.rows.push(Row::new(window.to_string(), vec![cell]));
        trips.push((window, latency.value));
    }
    let of = |window: u32| trips.iter().find(|(its, _)| *its == window).map(|(_, trips)| *trips);
    let saved = of(2)? - of(10)?;
    let found = Found::new(INITIAL_WINDOW, (saved - SAVED).abs(), 2);
    Some((found.word("saved", format!("{saved:.2}")), table))
}

/// ECN: what is resent with it, and what of the link is used.
pub(super) fn ecn(comparisons: &[&Comparison]) -> (Vec<Found>, Option<Table>) {
    let mut table = Table::new(
        "A router that marks from half of a buffer of 1 BDP on, 1 Gbit/s (section 4.3)",
        "algorithm, RTT, ECN",
        [
            Column::new("goodput, Mbit/s", 1),
            Column::new("sent again, segments", 0),
            Column::new("smoothed RTT at the end, ms", 1),
        ],
    );
    let (mut resent_with, mut resent_without, mut used) = (Vec::new(), Vec::new(), Vec::new());
    for comparison in comparisons {
        let scenario = &comparison.scenario;
        let rtt_s = scenario.links.first().map_or(0.0, |it| it.path.base_rtt().as_secs_f64());
        for plays in comparison.plays.chunk_by(|a, b| a.contender == b.contender) {
            let each = |of: &dyn Fn(&Play) -> Option<f64>| {
                mean(&plays.iter().filter_map(of).collect::<Vec<f64>>())
            };
            let goodput = each(&|it| Some(it.flows[0].goodput? / 1e6));
            let resent = each(&|it| Some(it.flows[0].retransmissions as f64));
            let srtt = each(&|it| Some(it.flows[0].srtt_s? * 1e3));
            let (Some(goodput), Some(resent), Some(srtt)) = (goodput, resent, srtt) else {
                continue;
            };
            let asked = if scenario.stack.ecn { "with" } else { "without" };
            let name = format!("{}, {} ms, {asked}", plays[0].contender.name(), rtt_s * 1e3);
            let cells = [goodput, resent, srtt].map(|it| Cell::ours(it, plays.len())).to_vec();
            table.rows.push(Row::new(name, cells));
            if scenario.stack.ecn {
                resent_with.push(resent.value);
                used.push(goodput.value / ECN_MBIT);
            } else {
                resent_without.push(resent.value);
            }
        }
    }
    let sum = |all: &[f64]| all.iter().sum::<f64>();
    let mut found = Vec::new();
    if !resent_with.is_empty() && sum(&resent_without) > 0.0 {
        let (with, without) = (sum(&resent_with), sum(&resent_without));
        let losses = Found::new(ECN_LOSSES, with / without, resent_with.len());
        let losses = losses.word("with", format!("{with:.0}"));
        found.push(losses.word("without", format!("{without:.0}")));
        let least = used.iter().copied().fold(f64::INFINITY, f64::min);
        found.push(Found::new(ECN_USED, least, used.len()));
    }
    let table = (!table.rows.is_empty()).then_some(table);
    (found, table)
}

/// What a Reno flow keeps beside another flow, as a share of what it keeps beside Reno: the more that is left of
/// HighSpeed TCP and Scalable TCP.
pub(super) fn congests(comparisons: &[&Comparison]) -> Option<(Found, Table)> {
    let comparison = comparisons.first()?;
    let rtt_ms = swept(&comparison.scenario, "delay").map_or(0.0, |delay| 2.0 * delay);
    let mut table = Table::new(
        format!(
            "A Reno flow beside another, 100 Mbit/s, RTT {rtt_ms} ms, buffer of 1 BDP (section 4.1)"
        ),
        "the other",
        [Column::new("Reno, Mbit/s", 1), Column::new("the other, Mbit/s", 1)],
    );
    let mut kept = Vec::new();
    for plays in comparison.plays.chunk_by(|a, b| a.contender == b.contender) {
        let of = |flow: usize| {
            let each = plays.iter().filter_map(|play| Some(play.flows[flow].goodput? / 1e6));
            mean(&each.collect::<Vec<f64>>())
        };
        let (reno, other) = (of(0)?, of(1)?);
        let cells = [reno, other].map(|it| Cell::ours(it, plays.len())).to_vec();
        table.rows.push(Row::new(plays[0].contender.name(), cells));
        kept.push((plays[0].contender.name(), reno.value, plays.len()));
    }
    let of = |name: &str| kept.iter().find(|(its, _, _)| *its == name);
    let ((_, reno, n), (_, highspeed, _)) = (of("reno")?, of("kk_highspeed")?);
    let (_, scalable, _) = of("kk_scalable")?;
    let found = Found::new(CONGESTS, highspeed.max(*scalable) / reno, *n);
    let mbit = |it: &f64| format!("{it:.0}");
    let found = found.word("highspeed", mbit(highspeed)).word("scalable", mbit(scalable));
    Some((found.word("reno", mbit(reno)), table))
}
