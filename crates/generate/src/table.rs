//! `tables/default.csv`

use anyhow::ensure;
use kirikae_scenario::Refusal;
use kirikae_simlab::characterize::{self, GridFile, Options, Report};
use kirikae_table::LatencyTable;

use crate::places::{Remade, seeded};
use crate::root;

const GRID: &str = "tables/default.toml";
const TABLE: &str = "tables/default.csv";
/// Places that are measured again.
const PLACES: usize = 20;

/// Measures the table; what is finished is kept meanwhile, and an interrupted run goes on from there.
pub fn make() -> anyhow::Result<Vec<Option<String>>> {
    let options = Options { output: root().join(TABLE), records: None };
    let report = characterize::run(&grid()?, &options)?;
    Ok(vec![None, Some(page(&report))])
}

fn grid() -> Result<GridFile, Refusal> {
    GridFile::load(&root().join(GRID))
}

fn page(report: &Report) -> String {
    let Report { places, algorithms, repetitions, writes, unfinished, capped, .. } = report;
    format!(
        "{places} places, {algorithms} algorithms measured; {repetitions} connections with {writes} \
         bursts, {unfinished} of which\ndid not arrive in time. Half of the latencies are known within \
         {:.1} %, 95 % of them within {:.1} %; {capped} of {} had\nthe most repetitions and are less exact \
         than asked for.\n",
        report.interval_p50 * 100.0,
        report.interval_p95 * 100.0,
        places * algorithms,
    )
}

/// Rows as they are and as they are measured now.
pub fn places(seed: u64, text: &str) -> anyhow::Result<Vec<Remade>> {
    let (grid, table) = (grid()?, LatencyTable::parse(text)?);
    for line in &grid.lines {
        let told = table.origin.iter().any(|it| it.trim() == line.trim());
        ensure!(told, "{TABLE} is of another grid: {GRID} has {line:?}");
    }
    ensure!(table.grid == grid.grid, "{TABLE} has other places than {GRID}");
    let column = |&place: &usize| grid.algorithms[place].name();
    let columns: Vec<&str> = grid.candidates.iter().map(column).collect();
    ensure!(table.algorithms == columns, "{TABLE} has other candidates than {GRID}");

    let all = (0..grid.grid.len()).collect();
    let is_row = |line: &&str| line.starts_with(|it: char| it.is_ascii_digit());
    let rows: Vec<&str> = text.lines().filter(is_row).collect();
    let again = |place: usize| {
        let (of, written) = (grid.grid.place(place).to_string(), rows[place].to_owned());
        Ok(Remade { of, written, now: characterize::row(&grid, place)? })
    };
    seeded(all, PLACES, seed).into_iter().map(again).collect()
}
