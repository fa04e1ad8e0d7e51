//! What a comparison compares.

use std::fmt;

use kirikae_algorithms::Algorithm;
use serde::{Serialize, Serializer};

/// Congestion controls that the kernel brings; the first is the baseline of every comparison.
const STOCK: [&str; 3] = ["cubic", "bbr", "reno"];
/// How many of them are compared where a scenario names nobody.
const USUAL_STOCK: usize = 2;

/// A congestion control, or the switching among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contender {
    /// One of the kernel's own, by name.
    Stock(&'static str),
    /// Stock cubic where the window does not fall back after an idle time (sysctl
    /// `net.ipv4.tcp_slow_start_after_idle` at 0).
    CubicWithoutIdleRestart,
    /// One of `bpf/algorithms/`, by its in-kernel name `kk_...`.
    Fixed(&'static str),
    /// The switcher, starting from stock cubic.
    Kirikae,
}

impl Contender {
    /// What every contender is compared with.
    pub const BASELINE: Contender = Contender::Stock(STOCK[0]);

    /// Every contender there is, stock ones first.
    pub fn all() -> Vec<Contender> {
        let fixed = Algorithm::all().map(|algorithm| algorithm.name());
        let mut all = Contender::around(&STOCK, fixed);
        all.insert(STOCK.len(), Contender::CubicWithoutIdleRestart);
        all
    }

    /// Those of a scenario that names none: stock ones, what the switcher chooses among, and it.
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
            Contender::Stock(name) | Contender::Fixed(name) => name,
            Contender::CubicWithoutIdleRestart => "cubic-no-idle-restart",
            Contender::Kirikae => "kirikae",
        }
    }

    /// The kernel's name of the congestion control that its connections start with.
    pub fn congestion_control(self) -> &'static str {
        match self {
            Contender::Stock(name) | Contender::Fixed(name) => name,
            Contender::CubicWithoutIdleRestart | Contender::Kirikae => STOCK[0],
        }
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
