//! What every algorithm does at every place of a grid, in virtual time: the latency table by which
//! the switcher chooses.

mod grid_file;
mod journal;
mod measurement;
mod records;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use kirikae_provenance::table_line;
use kirikae_results::interruption::Interruption;
use kirikae_results::statistics::quantile;
use kirikae_results::{Error, While};
use kirikae_table::{LatencyTable, row_text};
use rayon::prelude::*;
use serde::Serialize;

pub use grid_file::{Confidence, GridFile};
use journal::Journal;
pub use measurement::Measurement;
use records::Records;

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
    let output = &options.output;
    let records = options.records.as_deref().map(|directory| Records::plan(directory, output));
    let records = records.transpose()?;
    let (journal, mut done) = Journal::open(output, grid)?;
    let resumed = done.len();
    let left: Vec<usize> = (0..grid.grid.len()).filter(|place| !done.contains_key(place)).collect();

    let interruption = Interruption::listen()?;
    let bar = progress(resumed, grid.grid.len());
    // One at a time: they differ in length.
    let measured = left.into_par_iter().with_max_len(1).map(|place| {
        if interruption.came() {
            return Ok(None);
        }
        let measurements = measure(grid, place)?;
        journal.add(place, &measurements)?;
        bar.inc(1);
        Ok(Some((place, measurements)))
    });
    let measured = measured.collect::<Result<Vec<_>, Error>>()?;
    bar.finish_and_clear();
    done.extend(measured.into_iter().flatten());
    if done.len() < grid.grid.len() {
        return Err(Error::Interrupted(format!(
            "{} of {} places are measured and kept in {}; the same command goes on from there",
            done.len(),
            grid.grid.len(),
            journal.path().display(),
        )));
    }

    let measured: Vec<Vec<Measurement>> = done.into_values().collect();
    write_table(output, &table(grid, &measured).to_text())?;
    records.map_or(Ok(()), |records| records.write(grid, &measured))?;
    journal.remove()?;
    let all = || measured.iter().flatten();
    let mut intervals: Vec<f64> = all().map(|it| it.half_width_s / it.mean_s).collect();
    intervals.sort_by(f64::total_cmp);
    let interval = |q| quantile(&intervals, q).expect("a place and an algorithm");
    Ok(Report {
        places: measured.len(),
        resumed,
        algorithms: grid.algorithms.len(),
        repetitions: all().map(|it| u64::from(it.repetitions)).sum(),
        writes: all().map(|it| u64::from(it.writes)).sum(),
        unfinished: all().map(|it| u64::from(it.unfinished)).sum(),
        capped: all().filter(|it| it.capped).count(),
        interval_p50: interval(0.5),
        interval_p95: interval(0.95),
        wall_s: began.elapsed().as_secs_f64(),
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

/// Every algorithm at a place.
fn measure(grid: &GridFile, place: usize) -> Result<Vec<Measurement>, Error> {
    let place = grid.grid.place(place);
    let algorithms = grid.algorithms.iter();
    algorithms.map(|algorithm| Ok(measurement::measure(grid, &place, *algorithm)?)).collect()
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

/// Whoever reads the file meanwhile finds the one that was there, or the new one, whole.
fn write_table(output: &Path, text: &str) -> Result<(), Error> {
    LatencyTable::parse(text)
        .map_err(|error| Error::Failed(format!("what was measured makes no table: {error}")))?;
    let mut name = output.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, output)
    };
    write().during(|| format!("writing {}", output.display()))
}

/// How many are done, and the time left; only on a terminal.
fn progress(done: usize, places: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} places, {eta} left");
    let bar = ProgressBar::new(places as u64).with_style(style.expect("a valid template"));
    bar.set_position(done as u64);
    bar.reset_eta();
    bar
}
