//! Findings, which are told in a line each.

use serde::Serialize;

/// A property of the host, and what it means for the path.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Its name, which does not change between versions.
    pub name: &'static str,
    /// What it means.
    pub verdict: Verdict,
    /// What was read, with its value.
    pub measured: String,
    /// The effect on the path.
    pub effect: String,
    /// The bound that it sets, if it sets one.
    pub limit: Option<Limit>,
    /// The rate to be expected in practice, bit/s, if it is less than the bound.
    pub expected: Option<f64>,
    /// The formula that was used.
    pub formula: Option<&'static str>,
    /// Commands or settings that change it. The doctor itself changes nothing.
    pub change: Vec<String>,
}

/// What a finding means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It keeps the path below its rate, or makes answers later than necessary.
    Limits,
    /// It may do so under conditions that are not known here, or is worth knowing.
    Note,
    /// It is as it should be.
    Fine,
    /// It could not be read.
    Unknown,
}

/// A bound on the path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The largest rate of data, bit/s.
    Throughput(f64),
    /// The time by which answers are later, s.
    Latency(f64),
}

impl Verdict {
    /// The verdict in a word.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Limits => "LIMITS",
            Verdict::Note => "note",
            Verdict::Fine => "fine",
            Verdict::Unknown => "unknown",
        }
    }
}

impl Finding {
    /// Makes a finding without a bound, formula or change.
    pub(crate) fn new(
        name: &'static str,
        verdict: Verdict,
        measured: impl Into<String>,
        effect: impl Into<String>,
    ) -> Finding {
        Finding {
            name,
            verdict,
            measured: measured.into(),
            effect: effect.into(),
            limit: None,
            expected: None,
            formula: None,
            change: Vec::new(),
        }
    }

    /// Makes a finding that something could not be read, and why.
    pub(crate) fn unknown(name: &'static str, why: impl Into<String>) -> Finding {
        Finding::new(name, Verdict::Unknown, "", why)
    }

    pub(crate) fn limit(mut self, limit: Limit) -> Finding {
        self.limit = Some(limit);
        self
    }

    pub(crate) fn by(mut self, formula: &'static str) -> Finding {
        self.formula = Some(formula);
        self
    }

    /// Adds a command or setting that changes it, if it is not as it should be.
    pub(crate) fn change(mut self, change: impl Into<String>) -> Finding {
        let change = change.into();
        if self.verdict != Verdict::Fine && !change.is_empty() {
            self.change.push(change);
        }
        self
    }
}
