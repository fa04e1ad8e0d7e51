//! The contenders of a comparison.

use std::fmt;

use kirikae_algorithms::Algorithm;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Congestion controls that the kernel brings; the first is the baseline of every comparison.
const STOCK: [&str; 3] = ["cubic", "bbr", "reno"];
/// How many of them are compared if a scenario names no contender.
const USUAL_STOCK: usize = 2;

/// A congestion control, or the switching among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Contender {
    /// One of the kernel's own, by name.
    Stock(&'static str),
    /// Stock cubic whose window does not fall back after idle time (sysctl
    /// `net.ipv4.tcp_slow_start_after_idle` at 0).
    CubicWithoutIdleRestart,
    /// One of `bpf/algorithms/`, by its in-kernel name `kk_...`.
    Fixed(&'static str),
    /// The switcher, starting from stock cubic.
    Kirikae,
    /// The switcher on a host whose default is bbr, so that it starts from stock bbr.
    KirikaeOnBbr,
    /// R-TCP as in the thesis, which chooses by the thesis' table (`tables/oguchi-2016`), starting from stock
    /// cubic.
    RTcp,
    /// Reno that tells losses of a wireless hop from others by a rule that the thesis names: `bias`, `spike` or
    /// `zigzag`.
    LossDifferentiation(&'static str),
    /// bpftune's rule, starting from stock cubic: [`kirikae_algorithms::Bpftune`].
    Bpftune,
}

impl Contender {
    /// The contender with which every other is compared.
    pub const BASELINE: Contender = Contender::Stock(STOCK[0]);

    /// Every contender, stock ones first.
    pub fn all() -> Vec<Contender> {
        let fixed = Algorithm::all().map(|algorithm| algorithm.name());
        let mut all = Contender::around(&STOCK, fixed);
        all.insert(STOCK.len(), Contender::CubicWithoutIdleRestart);
        all.extend([Contender::KirikaeOnBbr, Contender::RTcp, Contender::Bpftune]);
        all.extend(Algorithm::of_the_thesis().map(|it| Contender::LossDifferentiation(it.name())));
        all
    }

    /// Parses a list such as `cubic,kk_hybla,kirikae`; `all` stands for every contender.
    ///
    /// # Errors
    /// Fails if a name is unknown or there twice, and says what is allowed.
    pub fn list(text: &str) -> Result<Vec<Contender>, String> {
        let all = Contender::all();
        if text == "all" {
            return Ok(all);
        }
        let mut chosen = Vec::new();
        for name in text.split(',') {
            let found = all.iter().find(|contender| contender.name() == name);
            let Some(contender) = found.filter(|contender| !chosen.contains(*contender)) else {
                let names: Vec<&str> = all.iter().map(|contender| contender.name()).collect();
                let names = names.join(", ");
                return Err(format!("found {name:?}; allowed: all, or each once of {names}"));
            };
            chosen.push(*contender);
        }
        Ok(chosen)
    }

    /// The contenders of a scenario that names none: stock ones, the switcher's candidates, and the switcher.
    pub fn usual() -> Vec<Contender> {
        Contender::around(&STOCK[..USUAL_STOCK], kirikae_table::candidates())
    }

    fn around(stock: &[&'static str], fixed: impl Iterator<Item = &'static str>) -> Vec<Contender> {
        let stock = stock.iter().copied().map(Contender::Stock);
        stock.chain(fixed.map(Contender::Fixed)).chain([Contender::Kirikae]).collect()
    }

    /// Its name in scenario files, tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Contender::Stock(name)
            | Contender::Fixed(name)
            | Contender::LossDifferentiation(name) => name,
            Contender::CubicWithoutIdleRestart => "cubic-no-idle-restart",
            Contender::Kirikae => "kirikae",
            Contender::KirikaeOnBbr => "kirikae-on-bbr",
            Contender::RTcp => "r-tcp",
            Contender::Bpftune => "bpftune",
        }
    }

    /// The kernel's name of the congestion control with which its connections start.
    pub fn congestion_control(self) -> &'static str {
        match self {
            Contender::Stock(name)
            | Contender::Fixed(name)
            | Contender::LossDifferentiation(name) => name,
            Contender::CubicWithoutIdleRestart => STOCK[0],
            Contender::KirikaeOnBbr => STOCK[1],
            Contender::Kirikae | Contender::RTcp | Contender::Bpftune => STOCK[0],
        }
    }

    /// Whether it is one algorithm throughout, of the kernel or ours, with all sysctls at the kernel's
    /// preset.
    pub fn is_fixed(self) -> bool {
        matches!(self, Contender::Stock(_) | Contender::Fixed(_))
    }

    /// Whether a rule switches it while it runs.
    pub fn is_switched(self) -> bool {
        self.is_kirikae() || matches!(self, Contender::RTcp | Contender::Bpftune)
    }

    /// Whether it is the switcher, whatever it starts from.
    pub fn is_kirikae(self) -> bool {
        matches!(self, Contender::Kirikae | Contender::KirikaeOnBbr)
    }

    /// Whether the real kernel can play it.
    pub fn is_real(self) -> bool {
        !matches!(self, Contender::Bpftune | Contender::LossDifferentiation(_))
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Contender {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Contender {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Contender, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Contender::all().into_iter().find(|contender| contender.name() == name);
        found.ok_or_else(|| D::Error::custom(format!("no contender: {name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_each_once() {
        let all = Contender::all();
        let names: Vec<&str> = all.iter().map(|contender| contender.name()).collect();
        assert_eq!(Contender::list(&names.join(",")), Contender::list("all"));
        for (list, found) in
            [("", ""), ("cubic,kk_hyblo", "kk_hyblo"), ("bbr,bbr", "bbr"), ("all,bbr", "all")]
        {
            let refused = Contender::list(list).unwrap_err();
            assert!(
                refused.starts_with(&format!("found {found:?}; allowed: all, or ")),
                "{refused}"
            );
        }
    }
}
