//! What Kirikae does beside others under each policy: the second half of docs/friendliness.md.

use std::path::PathBuf;

use anyhow::Context;
use kirikae_results::summary::{ContenderSummary, GroupSummary, ScenarioSummary, Summary};
use kirikae_scenario::{Contender, Controls, Scenario};
use kirikae_simlab::sim::{self, Files, Options};
use kirikae_table::Friendliness;

use crate::markdown::{estimate, table};
use crate::places::{Remade, seeded};
use crate::root;

/// What is played: three with flows that share, and those with a path of their own.
pub const SCENARIOS: &[&str] = &[
    "scenarios/friendliness/kirikae/bursts.toml",
    "scenarios/friendliness/kirikae/bulk.toml",
    "scenarios/friendliness/kirikae/alike.toml",
    "scenarios/long-bursts.toml",
    "scenarios/long-clean.toml",
    "scenarios/long-isolated-0.1.toml",
    "scenarios/long-isolated-1.toml",
    "scenarios/long-isolated-3.toml",
    "scenarios/shallow-isolated-0.5.toml",
    "scenarios/shallow.toml",
    "scenarios/short-isolated-1.toml",
];
const BURSTS: &[&str] = &[SCENARIOS[0]];
const BULK: &[&str] = &[SCENARIOS[1]];
const ALIKE: &[&str] = &[SCENARIOS[2]];

/// Who is compared: without and with the switcher.
const STOCK: [Contender; 2] = [Contender::BASELINE, Contender::Stock("bbr")];
const OURS: [Contender; 1] = [Contender::Kirikae];

/// A row is a scenario; what stock algorithms did, and Kirikae under each policy.
struct Row {
    stock: ScenarioSummary,
    ours: Vec<ScenarioSummary>,
}

/// Plays everything.
pub fn make() -> anyhow::Result<Vec<Option<String>>> {
    let [bursts, bulk, alike, alone] =
        [BURSTS, BULK, ALIKE, &SCENARIOS[3..]].map(|files| rows(&scenarios(files)?));
    Ok(vec![
        Some(beside_bulk(&bursts?)?),
        Some(flows_table(&bulk?, "cubic beside cubic", |row| &row.total_mbit, "cubic")?),
        Some(flows_table(&alike?, "cubic", |row| &row.fairness, "contender")?),
        Some(alone_table(&alone?)?),
    ])
}

fn scenarios(files: &[&str]) -> anyhow::Result<Vec<Scenario>> {
    let files: Vec<PathBuf> = files.iter().map(|file| root().join(file)).collect();
    Ok(Scenario::load_all(&files)?)
}

fn rows(scenarios: &[Scenario]) -> anyhow::Result<Vec<Row>> {
    let stock = play(scenarios, &STOCK, Friendliness::default())?;
    let ours = Friendliness::ALL.map(|policy| play(scenarios, &OURS, policy));
    let mut ours =
        ours.into_iter().map(|it| it.map(Vec::into_iter)).collect::<anyhow::Result<Vec<_>>>()?;
    let row = |stock| Row { stock, ours: ours.iter_mut().filter_map(Iterator::next).collect() };
    Ok(stock.into_iter().map(row).collect())
}

fn play(
    scenarios: &[Scenario],
    contenders: &[Contender],
    policy: Friendliness,
) -> anyhow::Result<Vec<ScenarioSummary>> {
    let mut scenarios = scenarios.to_vec();
    for scenario in &mut scenarios {
        scenario.contenders = contenders.to_vec();
    }
    let table = policy.apply(kirikae_table::shipped())?.kernel_table().into();
    let controls = Controls { table, ..Controls::default() };
    let outcome =
        sim::run(&scenarios, &Options { output: None, files: Files::default(), controls })?;
    Ok(Summary::of(&outcome).scenarios)
}

/// A group of flows where one contends.
fn group<'a>(
    scenario: &'a ScenarioSummary,
    contender: Contender,
    name: &str,
) -> anyhow::Result<&'a GroupSummary> {
    let found = scenario.flows.iter().find(|it| it.contender == contender && it.flow == name);
    found.with_context(|| format!("{}: no group {name} of {contender}", scenario.title))
}

/// Each policy, with what Kirikae did under it.
fn policies(row: &Row) -> impl Iterator<Item = (String, &ScenarioSummary)> {
    let names = Friendliness::ALL.iter().map(|policy| format!("kirikae, `{policy}`"));
    names.zip(&row.ours)
}

fn beside_bulk(rows: &[Row]) -> anyhow::Result<String> {
    let mut cells = Vec::new();
    for row in rows {
        let stock = STOCK.map(|contender| (contender.to_string(), contender, &row.stock));
        let ours = policies(row).map(|(name, summary)| (name, Contender::Kirikae, summary));
        for (name, contender, summary) in stock.into_iter().chain(ours) {
            let (bursts, bulk) =
                (group(summary, contender, "bursts")?, group(summary, contender, "bulk")?);
            let resent = bursts.retransmitted.map_or(0.0, |share| share.value * 100.0);
            cells.push(vec![
                row.stock.title.clone(),
                name,
                estimate(bursts.mean_s, 3),
                estimate(bursts.p95_s, 3),
                format!("{resent:.1} %"),
                estimate(bulk.goodput_mbit, 2),
            ]);
        }
    }
    Ok(table(
        &["path", "bursts by", "latency, s", "p95, s", "resent", "bulk cubic keeps, Mbit/s"],
        cells,
    ))
}

/// A figure of a group of flows, where stock cubic contends and under each policy.
fn flows_table(
    rows: &[Row],
    stock: &str,
    of: fn(&GroupSummary) -> &Option<kirikae_results::statistics::Estimate>,
    name: &str,
) -> anyhow::Result<String> {
    let mut cells = Vec::new();
    for row in rows {
        let mut all = vec![row.stock.title.clone()];
        all.push(estimate(*of(group(&row.stock, Contender::BASELINE, name)?), 2));
        for summary in &row.ours {
            all.push(estimate(*of(group(summary, Contender::Kirikae, name)?), 2));
        }
        cells.push(all);
    }
    Ok(table(&["path", stock, "`friendly`", "`balanced`", "`fast`"], cells))
}

fn alone_table(rows: &[Row]) -> anyhow::Result<String> {
    let of = |summary: &ScenarioSummary, contender| -> anyhow::Result<String> {
        let found: Option<&ContenderSummary> =
            summary.contenders.iter().find(|it| it.contender == contender);
        Ok(estimate(found.context("whoever contends")?.mean_s, 3))
    };
    let mut cells = Vec::new();
    for row in rows {
        let n = row.stock.contenders.first().context("somebody contends")?.n;
        let mut all = vec![row.stock.title.clone(), n.to_string()];
        for contender in STOCK {
            all.push(of(&row.stock, contender)?);
        }
        for summary in &row.ours {
            all.push(of(summary, Contender::Kirikae)?);
        }
        cells.push(all);
    }
    Ok(table(&["scenario", "n", "cubic", "bbr", "`friendly`", "`balanced`", "`fast`"], cells))
}

/// A path of bursts beside bulk is played again, as a whole.
pub fn places(seed: u64, text: &str) -> anyhow::Result<Vec<Remade>> {
    let again = |scenario: Scenario| -> anyhow::Result<Vec<Remade>> {
        let now = beside_bulk(&rows(&[scenario])?)?;
        let place = |now: &str| {
            let names: Vec<&str> = now.split(" | ").take(2).collect();
            let begin = format!("{} | ", names.join(" | "));
            let written = text.lines().find(|line| line.starts_with(&begin)).unwrap_or_default();
            Remade { of: names.join(" | "), written: written.into(), now: now.into() }
        };
        Ok(now.lines().skip(2).map(place).collect())
    };
    let chosen = seeded(scenarios(BURSTS)?, 1, seed);
    Ok(chosen.into_iter().map(again).collect::<anyhow::Result<Vec<_>>>()?.concat())
}
