//! Searches for paths on which the switcher loses, as `kirikae-lab search` does.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use kirikae_algorithms::Algorithm;
use kirikae_policy::WarmStart;
use kirikae_results::While;
use kirikae_scenario::{Contender, Controls};
use kirikae_simlab::search::{self, Examined, Options, Report, Tested, Tried};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::columns::Columns;
use crate::errors::{Error, failed};
use crate::html::preformatted;
use crate::json::dict;
use crate::latency_table::{LatencyTable, candidates};
use crate::plan::{Names, within};
use crate::simulate::{caught, count, until_signal};
use crate::table::Table;

/// What is searched, from plain values, so that parts of it can be searched elsewhere.
#[pyclass(frozen, module = "kirikae._kirikae")]
pub struct SearchOptions(Options);

#[pymethods]
impl SearchOptions {
    /// The arguments are those of `kirikae.search`; `table` is the text of one.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "they are the options of the command line")]
    #[pyo3(signature = (seed, than, new_connections, loss, table, friendliness, *, count = 1, climbs = 0))]
    fn new(
        seed: i128,
        than: Names,
        new_connections: Option<&str>,
        loss: f64,
        table: Option<&str>,
        friendliness: Option<&str>,
        count: i128,
        climbs: i128,
    ) -> PyResult<SearchOptions> {
        let table = table.map(kirikae_table::LatencyTable::parse).transpose();
        let table = table.map_err(|error| Error::new_err(format!("table: {error}")))?;
        let table = table.map(|table| LatencyTable(Cow::Owned(table)));
        let chosen = candidates(table.as_ref(), friendliness)?;
        Ok(SearchOptions(Options {
            seed: within("seed", seed, 0..=u64::MAX)?,
            count: within("count", count, 1..=100_000_000)?,
            climbs: within("climbs", climbs, 0..=1000)? as usize,
            generations: search::GENERATIONS,
            than: others(than)?,
            new_connections: new_connections.map(start).transpose()?,
            loss: ratio(loss)?,
            output: None,
            controls: Controls {
                algorithms: Algorithm::all().collect(),
                table: chosen.kernel_table().into(),
                ..Controls::default()
            },
        }))
    }

    /// Plays `count` of the drawn paths, from the one with the index `first`, on so many threads, and returns what
    /// came of them as MessagePack.
    #[pyo3(signature = (first, count, threads = None))]
    fn play<'py>(
        &self,
        first: u64,
        count: u64,
        threads: Option<i128>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let options = self.0.clone();
        let play = move |stop: &AtomicBool| -> Result<Vec<Examined>, kirikae_results::Error> {
            // One at a time: they differ in length.
            let indexes: Vec<u64> = (first..first + count).collect();
            let each = indexes.into_par_iter().with_max_len(1);
            each.map(|index| caught(|| search::examine(&options, index, stop))).collect()
        };
        computed(threads, play, py)
    }

    /// From which paths it climbs, of all that `play` returned, in order.
    fn starts(&self, paths: Vec<PyBackedBytes>) -> PyResult<Vec<u64>> {
        Ok(search::starts(&self.0, &examined(&paths)?))
    }

    /// Climbs from the drawn path with this index on so many threads, and returns where that leads to as MessagePack.
    #[pyo3(signature = (index, threads = None))]
    fn climb<'py>(
        &self,
        index: u64,
        threads: Option<i128>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let options = self.0.clone();
        computed(threads, move |stop: &_| caught(|| search::climb(&options, index, stop)), py)
    }

    /// The drawn path with this index, from 0, as the text of a scenario file.
    fn path(&self, index: i128, py: Python) -> PyResult<String> {
        let index = within("index", index, 0..=u64::MAX)?;
        search::only(&self.0, index).map_err(|error| failed(py, &error))
    }
}

/// What is computed on so many threads, as MessagePack.
fn computed<'py, T: Serialize + Send + 'static>(
    threads: Option<i128>,
    compute: impl FnOnce(&AtomicBool) -> Result<T, kirikae_results::Error> + Send + 'static,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyBytes>> {
    let computed = until_signal(py, count(threads)?, compute, |_| Ok(()))?;
    let packed = rmp_serde::to_vec(&computed.map_err(|error| failed(py, &error))?);
    let packed =
        packed.map_err(|error| Error::new_err(format!("results as MessagePack: {error}")))?;
    Ok(PyBytes::new(py, &packed))
}

fn unpacked<T: DeserializeOwned>(packed: &[u8]) -> PyResult<T> {
    rmp_serde::from_slice(packed)
        .map_err(|error| Error::new_err(format!("results of a search: {error}")))
}

fn examined(paths: &[PyBackedBytes]) -> PyResult<Vec<Examined>> {
    let parts = paths.iter().map(|it| unpacked(it)).collect::<PyResult<Vec<Vec<Examined>>>>()?;
    Ok(parts.into_iter().flatten().collect())
}

fn others(than: Names) -> PyResult<Vec<Contender>> {
    let refuse = |why: String| Error::new_err(format!("than: {why}"));
    let than = than.contenders().map_err(refuse)?;
    match than.iter().find(|contender| contender.is_kirikae()) {
        Some(own) => Err(refuse(format!("found {:?}; allowed: any others", own.name()))),
        None => Ok(than),
    }
}

fn start(name: &str) -> PyResult<WarmStart> {
    WarmStart::ALL.into_iter().find(|start| start.name() == name).ok_or_else(|| {
        let allowed = WarmStart::ALL.map(WarmStart::name).join(", ");
        Error::new_err(format!("new_connections: found {name:?}; allowed: {allowed}"))
    })
}

fn ratio(loss: f64) -> PyResult<f64> {
    match loss > 1.0 && loss <= 100.0 {
        true => Ok(loss),
        false => Err(Error::new_err(format!("loss: found {loss}; allowed: above 1, up to 100"))),
    }
}

/// A search, what `play` and what `climb` returned of all its parts, in order, and how many seconds it took.
type Parts = (Py<SearchOptions>, Vec<PyBackedBytes>, Vec<PyBackedBytes>, f64);

/// What a search found: what is told, and the files.
struct Found {
    seed: u64,
    json: String,
    text: String,
    finds: Vec<Find>,
    worst: Vec<Row>,
}

/// A path on which the switcher loses.
struct Find {
    file: String,
    content: String,
    /// Ratio of the mean latencies as it was found.
    found: f64,
    /// As it is in the file.
    reduced: Row,
}

/// A path that was tried, and what came of it: a row of a table.
struct Row {
    path: u64,
    changed: bool,
    title: String,
    parts: String,
    ratio: f64,
    half_width: Option<f64>,
    repetitions: u64,
    mean_s: f64,
    best: String,
    best_mean_s: f64,
}

impl From<&Tried> for Row {
    fn from(tried: &Tried) -> Row {
        let Tried { path, changed, title, parts, verdict, .. } = tried;
        Row {
            path: *path,
            changed: *changed,
            title: title.clone(),
            parts: parts.join(", "),
            ratio: verdict.ratio.value,
            half_width: verdict.ratio.half_width,
            repetitions: verdict.repetitions as u64,
            mean_s: verdict.mean_s,
            best: verdict.best.name().into(),
            best_mean_s: verdict.best_mean_s,
        }
    }
}

impl Found {
    fn of((options, paths, climbs, wall_s): Parts, py: Python) -> PyResult<Found> {
        let examined = examined(&paths)?;
        let climbed = climbs.iter().map(|it| unpacked(it)).collect::<PyResult<Vec<_>>>()?;
        let options = options.get().0.clone();
        let found = py.detach(move || Found::concluded(options, &examined, &climbed, wall_s));
        found.map_err(|error| failed(py, &error))
    }

    fn concluded(
        mut options: Options,
        examined: &[Examined],
        climbed: &[Option<Tested>],
        wall_s: f64,
    ) -> Result<Found, kirikae_results::Error> {
        // The laboratory writes finds into directories alone.
        let directory = tempfile::tempdir().during(|| "making a directory".into())?;
        options.output = Some(directory.path().to_owned());
        let concluded = search::conclude(&options, examined, climbed)?;
        let mut report = Report { wall_s, ..concluded };
        let mut finds = Vec::new();
        for find in &mut report.finds {
            let file = find.file.take().expect("files were asked for");
            let content =
                fs::read_to_string(&file).during(|| format!("reading {}", file.display()))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let (found, reduced) = (find.found.verdict.ratio.value, Row::from(&find.reduced));
            finds.push(Find { file: name, content, found, reduced });
        }
        Ok(Found {
            seed: report.seed,
            json: serde_json::to_string_pretty(&report).expect("a report is JSON") + "\n",
            text: search::render(&report, false),
            finds,
            worst: report.worst.iter().map(Row::from).collect(),
        })
    }
}

/// On which paths the switcher loses, by a search or several. `print` shows what `kirikae-lab search` prints, of
/// several one after the other.
#[pyclass(frozen, module = "kirikae")]
pub struct Search(Vec<Found>);

#[pymethods]
impl Search {
    /// Of each search the options, what `play` and what `climb` returned, in order, and how many seconds it took.
    #[new]
    fn new(searches: Vec<Parts>, py: Python) -> PyResult<Search> {
        searches.into_iter().map(|parts| Found::of(parts, py)).collect::<PyResult<_>>().map(Search)
    }

    /// The paths on which it loses, made simple, of each search the worst first. `scenario` is the text of a scenario
    /// file.
    #[getter]
    fn finds(&self) -> Table {
        let rows = self.0.iter().flat_map(|it| it.finds.iter().map(|find| (it.seed, find)));
        let columns = of_paths(rows, |(seed, find)| (seed, &find.reduced))
            .number("found_ratio", |(_, find)| find.found)
            .text("file", |(_, find)| &find.file)
            .text("scenario", |(_, find)| &find.content);
        Table::made(columns.table())
    }

    /// Of the paths that were played again and are no finds, the worst.
    #[getter]
    fn worst(&self) -> Table {
        let rows = self.0.iter().flat_map(|it| it.worst.iter().map(|path| (it.seed, path)));
        Table::made(of_paths(rows, |row| row).table())
    }

    /// Everything as JSON: what `kirikae-lab search --json` prints, byte for byte but for `wall_s`, what it took; of
    /// several searches one after the other.
    fn to_json(&self) -> String {
        self.0.iter().map(|it| &*it.json).collect()
    }

    /// The same as a list of dicts, one for each search.
    #[getter]
    fn summaries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.0.iter().map(|it| dict(&it.json, py)).collect()
    }

    /// Writes the finds as scenario files into a new or empty directory: the files of `kirikae-lab search --output`. Of
    /// several searches each has a directory in it, called by its seed. Raises Error where something is in it, or it
    /// cannot be written.
    fn write(&self, directory: PathBuf, py: Python) -> PyResult<()> {
        let written = py.detach(|| {
            fs::create_dir_all(&directory)?;
            if fs::read_dir(&directory)?.next().is_some() {
                return Err(io::Error::other("it is not empty; allowed: a new or empty directory"));
            }
            if let [Found { finds, .. }] = &self.0[..] {
                return write(&directory, finds);
            }
            self.0.iter().try_for_each(|Found { seed, finds, .. }| {
                let directory = directory.join(format!("seed-{seed}"));
                fs::create_dir(&directory)?;
                write(&directory, finds)
            })
        });
        written.map_err(|error| Error::new_err(format!("writing {}: {error}", directory.display())))
    }

    fn __str__(&self) -> String {
        self.0.iter().map(|it| &*it.text).collect()
    }

    fn __repr__(&self) -> String {
        let finds: usize = self.0.iter().map(|it| it.finds.len()).sum();
        format!("<kirikae.Search of {} seeds: {finds} finds>", self.0.len())
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.__str__())
    }
}

fn write(directory: &Path, finds: &[Find]) -> io::Result<()> {
    finds.iter().try_for_each(|find| fs::write(directory.join(&find.file), &find.content))
}

/// The columns of paths that were tried, each with the seed of its search.
fn of_paths<'a, R, I: Iterator<Item = R> + Clone>(
    rows: I,
    of: impl Fn(R) -> (u64, &'a Row) + Copy,
) -> Columns<I> {
    let path = move |row| of(row).1;
    Columns::of(rows)
        .whole("seed", |row| of(row).0)
        .whole("path", |row| path(row).path)
        .truth("changed", |row| path(row).changed)
        .text("title", |row| &path(row).title)
        .text("parts", |row| &path(row).parts)
        .number("ratio", |row| path(row).ratio)
        .number_if_any("half_width", |row| path(row).half_width)
        .whole("repetitions", |row| path(row).repetitions)
        .number("mean_s", |row| path(row).mean_s)
        .text("best", |row| &path(row).best)
        .number("best_mean_s", |row| path(row).best_mean_s)
}
