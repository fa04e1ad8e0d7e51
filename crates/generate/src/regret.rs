//! `scenarios/held-out/regret.csv`, what each contender does on the scenarios kept for judging; and the
//! tables of docs/regret.md.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use kirikae_results::summary::{Extreme, GOOD, Overview, ScenarioSummary, Summary};
use kirikae_scenario::{Contender, Controls, Scenario};
use kirikae_simlab::sim::{self, Files, Options};

use crate::places::{Remade, seeded};
use crate::{markdown, root};

/// What is played. (Recorded cellular links are not ours to ship.)
pub const SCENARIOS: &[&str] = &["scenarios/held-out/steady", "scenarios/held-out/changing"];
/// Runs of each scenario.
const REPETITIONS: u32 = 100;
/// Contenders of scenarios that are played again.
const PLACES: usize = 4;
const HEADING: &str = "scenario;contender;mean_s;regret;regret_half_width";

/// Plays every contender of every scenario.
pub fn make() -> anyhow::Result<Vec<Option<String>>> {
    let mut rows = format!("{HEADING}\n");
    let mut pages = Vec::new();
    for directory in SCENARIOS {
        let mut scenarios = scenarios(directory)?;
        for scenario in &mut scenarios {
            scenario.contenders = Contender::all();
        }
        let summary = play(&scenarios)?;
        for scenario in &summary.scenarios {
            rows += &rows_of(scenario)?;
        }
        pages.push(Some(page(&summary)));
    }
    Ok(std::iter::once(Some(rows)).chain(pages).collect())
}

/// In the order of their files, as the shell has it.
fn scenarios(directory: &str) -> anyhow::Result<Vec<Scenario>> {
    let entries = fs::read_dir(root().join(directory)).with_context(|| directory.to_owned())?;
    let files =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    let toml = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "toml");
    let mut files: Vec<PathBuf> = files.into_iter().filter(toml).collect();
    files.sort();
    let mut scenarios = Scenario::load_all(&files)?;
    for scenario in &mut scenarios {
        scenario.repetitions = REPETITIONS;
    }
    Ok(scenarios)
}

fn play(scenarios: &[Scenario]) -> anyhow::Result<Summary> {
    let options = Options { output: None, files: Files::default(), controls: Controls::default() };
    Ok(Summary::of(&sim::run(scenarios, &options)?))
}

fn rows_of(scenario: &ScenarioSummary) -> anyhow::Result<String> {
    let mut rows = String::new();
    for it in &scenario.contenders {
        let regret = it.over_best_fixed.context("there is a best")?;
        writeln!(
            rows,
            "{};{};{};{:.4};{:.4}",
            scenario.title,
            it.contender,
            mean(it.mean_s.context("something arrived")?.value),
            regret.value,
            regret.half_width.context("several repetitions")?,
        )?;
    }
    Ok(rows)
}

fn mean(seconds: f64) -> String {
    format!("{seconds:.5}")
}

fn page(summary: &Summary) -> String {
    let found = |extreme: &Extreme| format!("{:.2} ({})", extreme.ratio, extreme.scenario);
    let row = |it: &Overview| {
        let over_cubic =
            it.worst_over_cubic.as_ref().filter(|_| it.contender != Contender::BASELINE);
        vec![
            it.contender.to_string(),
            format!("{:.3}", it.mean),
            format!("{:.3}", it.median),
            format!("{:.3}", it.p95),
            found(&it.worst),
            format!("{:.0} %", it.good * 100.0),
            over_cubic.map_or("-".into(), |extreme| format!("{:.2}", extreme.ratio)),
        ]
    };
    let good = format!("within {GOOD}");
    let heading =
        ["contender", "mean", "median", "p95", "worst", &good, "worst against stock cubic"];
    let regrets: Vec<f64> = summary
        .scenarios
        .iter()
        .flat_map(|scenario| &scenario.contenders)
        .filter(|it| it.contender == Contender::Kirikae)
        .filter_map(|it| Some(it.over_best_fixed?.value))
        .collect();
    let count = |of: &dyn Fn(f64) -> bool| regrets.iter().filter(|regret| of(**regret)).count();
    format!(
        "{}\n`kirikae` is above {GOOD} in {} of {}, and below 1 in {}.\n",
        markdown::table(&heading, summary.overview.iter().map(row)),
        count(&|regret| regret > GOOD),
        regrets.len(),
        count(&|regret| regret < 1.0),
    )
}

/// Mean latencies of seeded contenders, as written and as they come out now.
pub fn places(seed: u64, text: &str) -> anyhow::Result<Vec<Remade>> {
    let mut all = Vec::new();
    for directory in SCENARIOS {
        all.extend(scenarios(directory)?);
    }
    let again = |row: &str| {
        let cells: Vec<&str> = row.split(';').collect();
        let [title, contender, written, ..] = cells[..] else { anyhow::bail!("no row: {row}") };
        let known = all.iter().find(|scenario| scenario.title == title);
        let mut scenario = known.with_context(|| format!("no scenario {title:?}"))?.clone();
        scenario.contenders = Contender::list(contender).map_err(anyhow::Error::msg)?;
        let summary = play(&[scenario])?;
        let now = summary.scenarios[0].contenders[0].mean_s.context("something arrived")?;
        let of = format!("{title}, {contender}");
        Ok(Remade { of, written: written.to_owned(), now: mean(now.value) })
    };
    seeded(text.lines().skip(1).collect(), PLACES, seed).into_iter().map(again).collect()
}
