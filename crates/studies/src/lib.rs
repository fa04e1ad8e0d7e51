//! Published results rebuilt: each study is a directory with scenarios, printed numbers, a study.toml that says
//! what has to hold and a page that says what is claimed and assumed; and a module here that computes the values
//! that are held against what was printed.

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

pub use definition::Definition;
use definition::{Found, Key};
pub use figure::{Axis, Figure, Form, Panel, Point, Scale, Series, Whose};
pub use findings::{Bound, Criterion, Findings};
pub use page::page;
pub use published::{Published, PublishedRow};
pub use readme::readme;
pub use table::{Cell, Column, Row, Table};
pub use text::render;

/// Repetitions in a short run: the fewest that give an interval.
const SHORT: u32 = 2;

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
struct Computed {
    /// In the order in which it is told.
    found: Vec<Found>,
    tables: Vec<Table>,
    figures: Vec<Figure>,
}

/// Every study there is, in the order of docs/studies.md.
pub const STUDIES: [Study; 11] = [
    thesis_tables::STUDY,
    thesis_fairness::STUDY,
    thesis_wifi::STUDY,
    thesis_wimax::STUDY,
    thesis_lte::STUDY,
    rtt_fairness::STUDY,
    large_bdp::STUDY,
    reordering::STUDY,
    handover::STUDY,
    loss_differentiation::STUDY,
    snoop::STUDY,
];

/// What a study is made of.
pub struct Material {
    /// What it is about and asks.
    pub definition: Definition,
    /// Its scenarios, file by file; all, or those that are to be looked at.
    pub scenarios: Vec<Scenario>,
    /// Its printed numbers, file by file.
    pub published: Vec<Published>,
    /// Whether it is run with few repetitions.
    pub short: bool,
}

impl Study {
    /// The study of this name.
    pub fn named(name: &str) -> Option<Study> {
        STUDIES.into_iter().find(|study| study.name == name)
    }

    /// What it is about and asks, from a directory that holds the studies' directories.
    ///
    /// # Errors
    /// A study.toml that is not there or is refused.
    pub fn definition(&self, from: &Path) -> Result<Definition, Refusal> {
        Definition::load(&from.join(self.name), &self.names)
    }

    /// Its files, from a directory that holds the studies' directories; with few repetitions of each
    /// scenario where it is to be short.
    ///
    /// # Errors
    /// A file that is not there or is refused.
    pub fn material(&self, from: &Path, short: bool) -> Result<Material, Error> {
        let definition = self.definition(from)?;
        let mut scenarios = Scenario::load_all(&definition.scenarios)?;
        if short {
            for scenario in &mut scenarios {
                scenario.repetitions = scenario.repetitions.min(SHORT);
            }
        }
        let published = definition.published.iter().map(|file| Published::load(file));
        let published = published.collect::<Result<_, _>>()?;
        Ok(Material { definition, scenarios, published, short })
    }

    /// Simulates its scenarios, all or some of them, and holds them against what was published.
    ///
    /// # Errors
    /// A scenario for which nothing was published.
    pub fn compare(&self, material: &Material) -> Result<Findings, Error> {
        let Material { definition, short, .. } = material;
        let Computed { found, tables, figures } = (self.compute)(material)?;
        Ok(Findings {
            study: self.name,
            about: definition.about.clone(),
            source: definition.source.clone(),
            short: *short,
            criteria: found.iter().map(|found| definition.criterion(found, *short)).collect(),
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
