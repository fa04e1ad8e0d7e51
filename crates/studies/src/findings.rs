//! What came of a study: tables and figures beside the published ones, and whether its criteria are met.

use serde::Serialize;

use super::{Figure, Table};

/// What came of a study.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// Its name.
    pub study: &'static str,
    /// What it rebuilds, in a line.
    pub about: String,
    /// Who published it, what, where and when.
    pub source: String,
    /// Whether it was run with few repetitions.
    pub short: bool,
    /// How many scenarios were played, with which seeds, in a sentence.
    pub played: String,
    /// What is claimed, and what had to be assumed: the study's README.
    #[serde(skip)]
    pub readme: String,
    /// What has to hold, and what is told besides.
    pub criteria: Vec<Criterion>,
    /// Each published table.
    pub tables: Vec<Table>,
    /// Each published figure.
    pub figures: Vec<Figure>,
}

/// Something that is to hold, or only told.
#[derive(Clone, Debug, Serialize)]
pub struct Criterion {
    /// Its key in study.toml. Where one is asked of several figures, all have it.
    pub key: &'static str,
    /// What is counted or measured, with the unit.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// Of how many cells, rows or samples.
    pub of: usize,
    /// What is asked of it; none where it is only told.
    pub bound: Option<Bound>,
    /// Whether that holds; none where it is only told, or not judged in a short run.
    pub met: Option<bool>,
    /// Why it is missed. A miss that is explained is a miss.
    pub why: Option<String>,
    /// Whether the scenarios were set to the very figure. That it is met shows no more than that they were
    /// set well.
    pub calibrated: bool,
    /// What came out with other seeds; none where they were not played.
    pub blocks: Option<Spread>,
}

/// What a criterion came to several times: in blocks of seeds that have none in common, or for several figures.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// Each figure.
    pub values: Vec<f64>,
    /// For how many of them the criterion is met; none where it is only told.
    pub met: Option<usize>,
}

/// What is asked of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// From the lower to the higher, both included.
    Between(f64, f64),
}

impl Bound {
    /// Whether a value of so many is what is asked; one of none never is.
    pub(super) fn is_met(self, value: f64, of: usize) -> bool {
        let holds = match self {
            Bound::AtMost(most) => value <= most,
            Bound::AtLeast(least) => value >= least,
            Bound::Between(low, high) => (low..=high).contains(&value),
        };
        holds && of > 0
    }
}

impl Criterion {
    /// The figure, as people read it.
    pub fn found(&self) -> String {
        number(self.value)
    }

    /// What is asked, as people read it.
    pub fn asked(&self) -> Option<String> {
        Some(match self.bound? {
            Bound::AtMost(most) => format!("at most {}", number(most)),
            Bound::AtLeast(least) => format!("at least {}", number(least)),
            Bound::Between(low, high) => format!("{} to {}", number(low), number(high)),
        })
    }

    /// Whether it is met, in a word.
    pub fn verdict(&self) -> &'static str {
        match (self.bound, self.met) {
            (_, Some(true)) if self.calibrated => "set so",
            (_, Some(true)) => "met",
            (_, Some(false)) if self.why.is_some() => "MISSED, explained",
            (_, Some(false)) => "MISSED",
            (Some(_), None) => "not judged in a short run",
            (None, None) => "told",
        }
    }
}

impl Spread {
    /// For how many figures the criterion is met, and from where to where they go, as people read it.
    pub fn told(&self) -> String {
        let (lowest, highest) = self
            .values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lowest, highest), value| {
                (value.min(lowest), value.max(highest))
            });
        let range = format!("{} to {}", number(lowest), number(highest));
        let of = self.values.len();
        self.met.map_or(range.clone(), |met| format!("{met} of {of}: {range}"))
    }
}

/// Counts are whole.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { value.to_string() } else { format!("{value:.3}") }
}

impl Findings {
    /// Lays beside each criterion what it came to in other blocks of seeds, of the same scenarios: the same
    /// criterion of the same key, where one is asked of several figures.
    pub(super) fn beside(&mut self, blocks: &[Findings]) {
        let keys: Vec<&str> = self.criteria.iter().map(|criterion| criterion.key).collect();
        for (place, criterion) in self.criteria.iter_mut().enumerate() {
            let earlier = keys[..place].iter().filter(|key| **key == criterion.key).count();
            let others: Vec<&Criterion> = blocks
                .iter()
                .filter_map(|it| {
                    it.criteria.iter().filter(|it| it.key == criterion.key).nth(earlier)
                })
                .collect();
            let met = others.iter().filter(|other| other.met == Some(true)).count();
            let values = others.iter().map(|other| other.value).collect();
            criterion.blocks = Some(Spread { values, met: criterion.met.map(|_| met) });
        }
    }

    /// How many criteria are met, but for what the scenarios were set to, and how many are missed.
    pub fn met_and_missed(&self) -> (usize, usize) {
        let met = |it: &&Criterion| it.met == Some(true) && !it.calibrated;
        let missed = |it: &&Criterion| it.met == Some(false);
        let criteria = || self.criteria.iter();
        (criteria().filter(met).count(), criteria().filter(missed).count())
    }

    /// How many criteria are met because the scenarios were set to it.
    pub fn set(&self) -> usize {
        self.criteria.iter().filter(|it| it.met == Some(true) && it.calibrated).count()
    }

    /// Whether everything holds that is asked.
    pub fn agrees(&self) -> bool {
        self.criteria.iter().all(|criterion| criterion.met != Some(false))
    }
}
