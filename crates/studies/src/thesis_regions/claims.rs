//! What chapter 3 says of each region, held against who is best there.

use std::collections::BTreeMap;

use kirikae_results::Error;
use kirikae_table::{Kind, printed};

use super::super::{Cell, Column, Published, Row, Table};
use super::contest::{Contest, Order, lowest};

/// A round trip is large from here on, in ms, and a burst above this, in KiB (3.2).
const LARGE_RTT_MS: f64 = 200.0;
const SMALL_BURST_KIB: f64 = 64.0;
/// Losses are few below this (3.2).
const FEW: f64 = 0.001;

/// Who is said to be best in a part of a region.
pub(super) struct Claim {
    pub region: String,
    pub large_rtt: bool,
    pub large_burst: bool,
    figure: String,
    algorithms: Vec<String>,
}

/// In how many places it is so.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub so: usize,
    pub not_so: usize,
    /// One that is named and one that is not are alike.
    pub alike: usize,
}

impl Count {
    /// Whether it is so in most places that tell.
    pub fn holds(&self) -> bool {
        self.so > self.not_so
    }
}

impl Claim {
    pub fn read(published: &Published) -> Result<Vec<Claim>, Error> {
        let claim = |row: super::super::PublishedRow<'_>| {
            Ok(Claim {
                region: row.text("region")?.into(),
                large_rtt: row.text("rtt")? == "large",
                large_burst: row.text("burst")? == "large",
                figure: row.text("figure")?.into(),
                algorithms: row.text("algorithms")?.split(' ').map(str::to_owned).collect(),
            })
        };
        published.rows().map(claim).collect()
    }

    fn names(&self, algorithm: &str) -> bool {
        self.algorithms.iter().any(|name| name == algorithm)
    }

    fn is_of(&self, contest: &Contest) -> bool {
        contest.swept("region.name") == self.region
            && (contest.rtt_ms() >= LARGE_RTT_MS) == self.large_rtt
            && (burst_kib(contest) > SMALL_BURST_KIB) == self.large_burst
    }

    /// Where the best one that is named is below the best one that is not, and where it is above.
    pub fn count(&self, contests: &[Contest], margin: f64) -> Count {
        let mut count = Count::default();
        for contest in contests.iter().filter(|contest| self.is_of(contest)) {
            let is_named = |name: &str| self.names(name);
            let named = lowest(contest.fixed().filter(|entry| is_named(&entry.name())));
            let other = lowest(contest.fixed().filter(|entry| !is_named(&entry.name())));
            let (Some(named), Some(other)) = (named, other) else { continue };
            match named.against(other, margin) {
                Order::Less => count.so += 1,
                Order::More => count.not_so += 1,
                Order::Alike => count.alike += 1,
            }
        }
        count
    }
}

/// The burst's size.
pub(super) fn burst_kib(contest: &Contest) -> f64 {
    let size = contest.swept("burst.size").split(' ').next();
    size.and_then(|size| size.parse().ok()).unwrap_or(f64::NAN)
}

/// Each claim, in how many places it is so, and who is best in most.
pub(super) fn table(claims: &[Claim], contests: &[Contest], margin: f64) -> Table {
    let headings = ["said to be best", "so", "not so", "alike", "best here"];
    let columns = headings.map(|heading| Column::new(heading, 0));
    let title =
        "Who is best in the regions of chapter 3, Linux 2.6.33: places by RTT and burst size";
    let mut table = Table::new(title, "region (figure)", columns);
    for claim in claims {
        let count = claim.count(contests, margin);
        let mut best: BTreeMap<String, usize> = BTreeMap::new();
        for contest in contests.iter().filter(|contest| claim.is_of(contest)) {
            if let Some(winner) = contest.winner(margin) {
                *best.entry(winner.name()).or_default() += 1;
            }
        }
        let best: Vec<String> = best.iter().map(|(name, n)| format!("{name} {n}")).collect();
        let size = |large: bool| if large { "large" } else { "small" };
        let Claim { region, large_rtt, large_burst, figure, algorithms } = claim;
        let (rtt, burst) = (size(*large_rtt), size(*large_burst));
        let heading = format!("{region}, {rtt} RTT, {burst} bursts ({figure})");
        let number = |n: usize| Cell::word(n.to_string());
        let cells = vec![
            Cell::word(algorithms.join(", ")),
            number(count.so).judged(count.holds()),
            number(count.not_so),
            number(count.alike),
            Cell::word(if best.is_empty() { "nobody".into() } else { best.join(", ") }),
        ];
        table.rows.push(Row::new(heading, cells));
    }
    table
}

/// In how many rows of the thesis' own latency tables, of bursts of 64 KB and isolated loss, the algorithm is
/// the lowest that chapter 3 says is best; and of how many.
pub(super) fn in_own_tables(claims: &[Claim]) -> Result<(usize, usize), Error> {
    let tables =
        printed(Kind::IsolatedLatency).map_err(|error| Error::Failed(error.to_string()))?;
    let (mut so, mut all) = (0, 0);
    for table in &tables {
        for (place, loss) in table.points.iter().enumerate() {
            let region = if *loss < FEW { "few losses" } else { "isolated loss" };
            let large_rtt = f64::from(table.rtt_ms) >= LARGE_RTT_MS;
            let claim = claims.iter().find(|claim| {
                claim.region == region && claim.large_rtt == large_rtt && !claim.large_burst
            });
            let values = table.algorithms.iter().map(|(name, values)| (name, values[place]));
            let lowest = values.min_by(|a, b| a.1.total_cmp(&b.1));
            let (Some(claim), Some((lowest, _))) = (claim, lowest) else { continue };
            all += 1;
            so += usize::from(claim.names(lowest));
        }
    }
    Ok((so, all))
}
