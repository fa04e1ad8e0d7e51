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
}

/// What is asked of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

impl Bound {
    /// Whether a value of so many is what is asked; one of none never is.
    pub(super) fn is_met(self, value: f64, of: usize) -> bool {
        let holds = match self {
            Bound::AtMost(most) => value <= most,
            Bound::AtLeast(least) => value >= least,
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

/// Counts are whole.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { value.to_string() } else { format!("{value:.3}") }
}

impl Findings {
    /// How many criteria are met, but for what the scenarios were set to, and how many are missed.
    pub fn met_and_missed(&self) -> (usize, usize) {
        let met = |it: &&Criterion| it.met == Some(true) && !it.calibrated;
        let missed = |it: &&Criterion| it.met == Some(false);
        let criteria = || self.criteria.iter();
        (criteria().filter(met).count(), criteria().filter(missed).count())
    }

    /// Whether everything holds that is asked.
    pub fn agrees(&self) -> bool {
        self.criteria.iter().all(|criterion| criterion.met != Some(false))
    }
}
