//! What every algorithm does at every place of a grid, in virtual time: the latency table by which
//! the switcher chooses.

mod grid_file;
mod measurement;
mod records;
mod sharded;

use std::path::{Path, PathBuf};
use std::time::Instant;

use kirikae_provenance::table_line;
use kirikae_results::Error;
use kirikae_results::statistics::quantile;
use kirikae_table::{LatencyTable, row_text};
use serde::Serialize;

use crate::shards::{self, Computed, Shard};
pub use grid_file::{Confidence, GridFile};
pub use measurement::Measurement;
use records::Records;
pub use sharded::{merge, run_shard};

/// Where the results go.
#[derive(Clone, Debug)]
pub struct Options {
    /// The table's file. One that is there is replaced as a whole.
    pub output: PathBuf,
    /// Directory for a Parquet file of all that was measured, if it is wanted.
    pub records: Option<PathBuf>,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Places of the grid.
    pub places: usize,
    /// How many of them an earlier run had measured, which ended early.
    pub resumed: usize,
    /// Algorithms measured at each.
    pub algorithms: usize,
    /// Connections simulated.
    pub repetitions: u64,
    /// Bursts measured on them.
    pub writes: u64,
    /// How many of them did not arrive in time.
    pub unfinished: u64,
    /// Latencies whose interval is wider than asked for, after the most repetitions.
    pub capped: usize,
    /// Half widths of the 95 % intervals, divided by the latency: their median.
    pub interval_p50: f64,
    /// The 95th percentile of them.
    pub interval_p95: f64,
    /// What this run took, seconds.
    pub wall_s: f64,
}

/// Measures, on as many threads as the surrounding rayon pool has, and writes the table, the same
/// bytes for any number of them. Ends early on SIGINT, SIGTERM and SIGHUP; the same call then goes on
/// where it was, with the same bytes in the end.
///
/// # Errors
/// A journal of something else, files that cannot be written, records that are there already,
/// [`Error::Interrupted`].
pub fn run(grid: &GridFile, options: &Options) -> Result<Report, Error> {
    let began = Instant::now();
    let records = Records::of(options)?;
    let header = sharded::header(grid, Shard::WHOLE);
    let measure = |place, _: &_| measure(grid, place);
    let computed = shards::compute(&header, &options.output, "places", measure)?;
    let Computed { results, resumed, journal } = computed;
    let results: Vec<Vec<Measurement>> = results.into_values().collect();
    let report = write(grid, &results, &options.output, records)?;
    journal.remove()?;
    Ok(Report { resumed, wall_s: began.elapsed().as_secs_f64(), ..report })
}

/// How many places a grid has. They are numbered from 0, in the order of
/// [`Grid::places`](kirikae_table::Grid::places).
pub fn places(grid: &GridFile) -> usize {
    grid.grid.len()
}

/// What every algorithm does at a place, in the order of [`GridFile::algorithms`]. It depends on nothing but the
/// grid and the place: places may be measured in any order, and anywhere.
///
/// # Errors
/// A place that cannot be simulated.
///
/// # Panics
/// Panics if the grid has no such place.
pub fn measure(grid: &GridFile, place: usize) -> Result<Vec<Measurement>, Error> {
    let place = grid.grid.place(place);
    let algorithms = grid.algorithms.iter();
    algorithms.map(|algorithm| Ok(measurement::measure(grid, &place, *algorithm)?)).collect()
}

/// Writes the table of what [`measure`] gave for each place, in their order: the bytes that [`run`] writes.
///
/// # Errors
/// Other places or algorithms than the grid has, files that cannot be written, records that are there already.
pub fn combine(
    grid: &GridFile,
    measured: &[Vec<Measurement>],
    options: &Options,
) -> Result<Report, Error> {
    let algorithms = grid.algorithms.len();
    if measured.len() != places(grid) || measured.iter().any(|row| row.len() != algorithms) {
        return Err(Error::Failed(format!(
            "what was measured is not of this grid: allowed: {algorithms} algorithms at each of {} places",
            places(grid)
        )));
    }
    let began = Instant::now();
    let report = write(grid, measured, &options.output, Records::of(options)?)?;
    Ok(Report { wall_s: began.elapsed().as_secs_f64(), ..report })
}

/// Writes the table and, if they are wanted, the records.
fn write(
    grid: &GridFile,
    measured: &[Vec<Measurement>],
    output: &Path,
    records: Option<Records>,
) -> Result<Report, Error> {
    let text = table(grid, measured).to_text();
    LatencyTable::parse(&text)
        .map_err(|error| Error::Failed(format!("what was measured makes no table: {error}")))?;
    shards::replace(output, &text)?;
    records.map_or(Ok(()), |records| records.write(grid, measured))?;
    let all = || measured.iter().flatten();
    let mut intervals: Vec<f64> = all().map(|it| it.half_width_s / it.mean_s).collect();
    intervals.sort_by(f64::total_cmp);
    let interval = |q| quantile(&intervals, q).expect("a place and an algorithm");
    Ok(Report {
        places: measured.len(),
        resumed: 0,
        algorithms: grid.algorithms.len(),
        repetitions: all().map(|it| u64::from(it.repetitions)).sum(),
        writes: all().map(|it| u64::from(it.writes)).sum(),
        unfinished: all().map(|it| u64::from(it.unfinished)).sum(),
        capped: all().filter(|it| it.capped).count(),
        interval_p50: interval(0.5),
        interval_p95: interval(0.95),
        wall_s: 0.0,
    })
}

/// The row of a table for a place: what each candidate does there. Places are numbered in the order of
/// [`Grid::places`](kirikae_table::Grid::places).
///
/// # Errors
/// A place that cannot be simulated.
pub fn row(grid: &GridFile, place: usize) -> Result<String, Error> {
    let place = grid.grid.place(place);
    let candidates = grid.candidates.iter().map(|&candidate| grid.algorithms[candidate]);
    let measured = candidates.map(|algorithm| measurement::measure(grid, &place, algorithm));
    let row: Vec<_> = measured.map(|it| Ok(it?.expectation())).collect::<Result<_, Error>>()?;
    Ok(row_text(&place, &row))
}

fn table(grid: &GridFile, measured: &[Vec<Measurement>]) -> LatencyTable {
    let candidates =
        || measured.iter().flat_map(|row| grid.candidates.iter().map(|&column| &row[column]));
    let name = |&column: &usize| grid.algorithms[column].name().to_owned();
    LatencyTable {
        origin: origin(grid, candidates().filter(|measurement| measurement.capped).count()),
        grid: grid.grid.clone(),
        algorithms: grid.candidates.iter().map(name).collect(),
        barred_in_bulk: Vec::new(),
        expectations: candidates().map(Measurement::expectation).collect(),
    }
}

/// How it was built.
fn origin(grid: &GridFile, capped: usize) -> Vec<String> {
    let latencies = grid.grid.len() * grid.candidates.len();
    let mut lines = vec![
        format!("Mean latencies in the simulator of kirikae {}.", env!("CARGO_PKG_VERSION")),
        format!(
            "{capped} of {latencies} have intervals wider than asked for, after the most repetitions.",
        ),
        table_line(),
        "`kirikae-lab characterize` builds it of this grid:".into(),
    ];
    lines.extend(grid.lines.iter().map(|line| format!("    {line}")));
    lines
}
