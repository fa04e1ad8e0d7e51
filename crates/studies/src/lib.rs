//! Published results rebuilt: each study is a directory with scenarios, printed numbers, a study.toml that says
//! what has to hold and a page that says what is claimed and assumed; and a module here that computes the values
//! that are held against what was printed.

mod claims;
mod definition;
mod drawing;
mod figure;
mod findings;
mod grid;
mod handover;
mod large_bdp;
mod loss_differentiation;
mod page;
mod published;
mod readme;
mod reordering;
mod rtt_fairness;
mod snoop;
mod table;
mod text;
mod thesis_fairness;
mod thesis_lte;
mod thesis_regions;
mod thesis_remedies;
mod thesis_tables;
mod thesis_wifi;
mod thesis_wimax;
mod watch;
mod wireless;

use std::path::Path;

use kirikae_algorithms::Algorithm;
use kirikae_results::Error;
use kirikae_results::outcome::Outcome;
use kirikae_scenario::{Controls, Refusal, Scenario};
use kirikae_simlab::sim::{self, Files};

pub use claims::{JudgedClaim, JudgedPaper, Paper, Verdict, papers};
pub use definition::Definition;
use definition::{Found, Key};
pub use figure::{Axis, Figure, Form, Panel, Point, Scale, Series, Whose};
pub use findings::{Bound, Criterion, Findings, Spread};
pub use page::page;
pub use published::{Published, PublishedRow};
pub use readme::readme;
pub use table::{Cell, Column, Row, Table};
pub use text::{render, render_claims};

/// Repetitions in a short run: the fewest that give an interval.
const SHORT: u32 = 2;

/// From the first seed of a block to that of the next: no repetition of one has a seed of another.
const BLOCK: u64 = 10_000;

/// How a study is run where that is not as its scenarios say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    /// Few repetitions, and criteria that need more are not judged.
    pub short: bool,
    /// The first seed of each scenario.
    pub seed: Option<u64>,
    /// How often a scenario is repeated that is repeated at all. One that is not has no chance in it.
    pub repetitions: Option<u32>,
    /// With so many other blocks of seeds as well, from 10,000, 20,000 and so on.
    pub blocks: u32,
}

/// A published result that can be rebuilt.
pub struct Study {
    /// Its name, and its directory's.
    pub name: &'static str,
    names: Names,
    compute: fn(&Material) -> Result<Computed, Error>,
}

/// What a module uses of its study.toml. All of it has to be there, and nothing else.
struct Names {
    /// The files of printed numbers that it reads.
    published: &'static [&'static str],
    /// Each criterion for which it gives values.
    criteria: &'static [Key],
    thresholds: &'static [&'static str],
    explanations: &'static [&'static str],
}

/// What a module gives.
#[derive(Default)]
struct Computed {
    /// In the order in which it is told.
    found: Vec<Found>,
    tables: Vec<Table>,
    figures: Vec<Figure>,
}

/// Every study there is, in the order of docs/studies.md.
pub const STUDIES: &[Study] = &[
    thesis_tables::STUDY,
    thesis_regions::STUDY,
    thesis_fairness::STUDY,
    thesis_wifi::STUDY,
    thesis_wimax::STUDY,
    thesis_lte::STUDY,
    thesis_remedies::STUDY,
    rtt_fairness::STUDY,
    large_bdp::STUDY,
    reordering::STUDY,
    handover::STUDY,
    loss_differentiation::STUDY,
    snoop::STUDY,
];

/// What a study is made of.
#[derive(Clone)]
pub struct Material {
    /// What it is about and asks.
    pub definition: Definition,
    /// Its scenarios, file by file; all, or those that are to be looked at.
    pub scenarios: Vec<Scenario>,
    /// Its printed numbers, file by file.
    pub published: Vec<Published>,
    /// How it is run.
    pub run: Run,
}

impl Study {
    /// The study of this name.
    pub fn named(name: &str) -> Option<&'static Study> {
        STUDIES.iter().find(|study| study.name == name)
    }

    /// What it is about and asks, from a directory that holds the studies' directories.
    ///
    /// # Errors
    /// A study.toml that is not there or is refused.
    pub fn definition(&self, from: &Path) -> Result<Definition, Refusal> {
        Definition::load(&from.join(self.name), &self.names)
    }

    /// Its files, from a directory that holds the studies' directories, as they are to be run.
    ///
    /// # Errors
    /// A file that is not there or is refused.
    pub fn material(&self, from: &Path, run: Run) -> Result<Material, Error> {
        let definition = self.definition(from)?;
        let mut scenarios = Scenario::load_all(&definition.scenarios)?;
        for scenario in &mut scenarios {
            if scenario.repetitions > 1 {
                let repetitions = run.repetitions.unwrap_or(scenario.repetitions);
                scenario.repetitions = if run.short { repetitions.min(SHORT) } else { repetitions };
            }
            scenario.seed = run.seed.unwrap_or(scenario.seed);
        }
        let published = definition.published.iter().map(|file| Published::load(file));
        let published = published.collect::<Result<_, _>>()?;
        Ok(Material { definition, scenarios, published, run })
    }

    /// Simulates its scenarios, all or some of them, and holds them against what was published.
    ///
    /// # Errors
    /// A scenario for which nothing was published.
    pub fn compare(&self, material: &Material) -> Result<Findings, Error> {
        let mut findings = self.compare_once(material)?;
        let blocks = (1..=u64::from(material.run.blocks)).map(|block| {
            let mut other = material.clone();
            other.scenarios.iter_mut().for_each(|scenario| scenario.seed = block * BLOCK);
            self.compare_once(&other)
        });
        if material.run.blocks > 0 {
            findings.beside(&blocks.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(findings)
    }

    fn compare_once(&self, material: &Material) -> Result<Findings, Error> {
        let Material { definition, run, .. } = material;
        let Computed { found, tables, figures } = (self.compute)(material)?;
        Ok(Findings {
            study: self.name,
            about: definition.about.clone(),
            source: definition.source.clone(),
            short: run.short,
            played: played(&material.scenarios),
            readme: definition.readme.clone(),
            criteria: found.iter().map(|found| definition.criterion(found, run.short)).collect(),
            tables,
            figures,
        })
    }
}

impl Material {
    /// The printed numbers of a file that the module names.
    fn printed(&self, file: &str) -> &Published {
        let found = self.published.iter().find(|published| published.is_of(file));
        found.unwrap_or_else(|| unreachable!("study.toml was looked at for {file}"))
    }
}

/// How many scenarios there are, and with which seeds each is played, in a sentence.
fn played(scenarios: &[Scenario]) -> String {
    let mut kinds: Vec<(u64, u32, usize)> = Vec::new();
    for Scenario { seed, repetitions, .. } in scenarios {
        match kinds.iter_mut().find(|kind| (kind.0, kind.1) == (*seed, *repetitions)) {
            Some(kind) => kind.2 += 1,
            None => kinds.push((*seed, *repetitions, 1)),
        }
    }
    let told = |(seed, repetitions, count): (u64, u32, usize)| {
        let scenarios = if count == 1 { "scenario" } else { "scenarios" };
        match u64::from(repetitions) {
            1 => format!("{count} {scenarios} with seed {seed}"),
            n => format!("{count} {scenarios} with seeds {seed} to {}", seed.wrapping_add(n - 1)),
        }
    };
    format!("Played: {}.", kinds.into_iter().map(told).collect::<Vec<_>>().join(", "))
}

/// The number that a name of a scenario's sweep stands for, without its unit.
fn swept(scenario: &Scenario, name: &str) -> Option<f64> {
    scenario.swept.get(name)?.split_whitespace().next()?.parse().ok()
}

/// What ships, but our algorithms without idle keep, pacing included: of the time of the papers.
fn idle_keep_off() -> Controls {
    let algorithms = Algorithm::all().map(|it| it.with("idle_keep", 0).unwrap_or(it)).collect();
    Controls { algorithms, ..Controls::default() }
}

/// Every contender of the scenarios in virtual time, on all cores, with a bar that tells how many are
/// done.
fn simulate(scenarios: &[Scenario], controls: Controls) -> Result<Outcome, Error> {
    sim::run(scenarios, &sim::Options { output: None, files: Files::default(), controls })
}
