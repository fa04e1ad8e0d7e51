//! Published results rebuilt: each study is a directory with scenarios, printed numbers and a page that
//! says what is claimed and assumed, and a module here that holds what comes out against what was
//! printed.

mod drawing;
mod figure;
mod findings;
mod grid;
mod handover;
mod large_bdp;
mod page;
mod published;
mod reordering;
mod rtt_fairness;
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
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim::{self, Files};

pub use figure::{Axis, Figure, Form, Panel, Point, Scale, Series, Whose};
pub use findings::{Bound, Criterion, Findings};
pub use page::page;
pub use published::{Published, PublishedRow};
pub use table::{Cell, Column, Row, Table};
pub use text::render;

/// Repetitions in a short run: the fewest that give an interval.
const SHORT: u32 = 2;

/// A published result that can be rebuilt.
pub struct Study {
    /// Its name, and its directory's.
    pub name: &'static str,
    /// What it rebuilds, in a line.
    pub about: &'static str,
    /// Who published it, what, where and when.
    pub source: &'static str,
    /// Its scenario files.
    scenarios: &'static [&'static str],
    /// Its files of printed numbers.
    published: &'static [&'static str],
    compare: fn(&Material) -> Result<Findings, Error>,
}

/// Every study there is, in the order of docs/studies.md.
pub const STUDIES: [Study; 9] = [
    thesis_tables::STUDY,
    thesis_fairness::STUDY,
    thesis_wifi::STUDY,
    thesis_wimax::STUDY,
    thesis_lte::STUDY,
    rtt_fairness::STUDY,
    large_bdp::STUDY,
    reordering::STUDY,
    handover::STUDY,
];

/// What a study is made of.
pub struct Material {
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

    /// Its files, from a directory that holds the studies' directories; with few repetitions of each
    /// scenario where it is to be short.
    ///
    /// # Errors
    /// A file that is not there or is refused.
    pub fn material(&self, from: &Path, short: bool) -> Result<Material, Error> {
        let own = |file: &&str| from.join(self.name).join(file);
        let mut scenarios = Scenario::load_all(self.scenarios.iter().map(own))?;
        if short {
            for scenario in &mut scenarios {
                scenario.repetitions = scenario.repetitions.min(SHORT);
            }
        }
        let published = self.published.iter().map(|file| Published::load(&own(file)));
        let published = published.collect::<Result<_, _>>()?;
        Ok(Material { scenarios, published, short })
    }

    /// Simulates its scenarios, all or some of them, and holds them against what was published.
    ///
    /// # Errors
    /// A scenario for which nothing was published.
    pub fn compare(&self, material: &Material) -> Result<Findings, Error> {
        (self.compare)(material)
    }

    /// Findings that tell nothing yet.
    fn findings(&self, material: &Material) -> Findings {
        let Study { name, about, source, .. } = *self;
        Findings {
            study: name,
            about,
            source,
            short: material.short,
            criteria: Vec::new(),
            tables: Vec::new(),
            figures: Vec::new(),
        }
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
