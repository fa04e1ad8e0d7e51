//! What was found out, one line each.

use serde::Serialize;

/// Something of the host, and what it means for the path.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Its name, which stays.
    pub name: &'static str,
    /// What it means.
    pub verdict: Verdict,
    /// What was read, with its value.
    pub measured: String,
    /// What follows for the path.
    pub effect: String,
    /// The bound that it sets, if it sets one.
    pub limit: Option<Limit>,
    /// What comes of it in practice, bit/s, where that is less than the bound.
    pub expected: Option<f64>,
    /// By which formula.
    pub formula: Option<&'static str>,
    /// What to write to change it; nothing is changed here.
    pub change: Vec<String>,
}

/// What a finding means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It keeps the path from its rate, or makes answers late that need not be.
    Limits,
    /// It may under conditions that are not known here, or is worth knowing.
    Note,
    /// As it should be.
    Fine,
    /// It could not be read.
    Unknown,
}

/// A bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// No more than this, bit/s of data.
    Throughput(f64),
    /// So much later, s.
    Latency(f64),
}

impl Verdict {
    /// In a word.
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
    /// A finding without a bound, formula or change.
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

    /// What could not be read, and why.
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

    /// What to write where it is not as it should be, if anything.
    pub(crate) fn change(mut self, change: impl Into<String>) -> Finding {
        let change = change.into();
        if self.verdict != Verdict::Fine && !change.is_empty() {
            self.change.push(change);
        }
        self
    }
}
