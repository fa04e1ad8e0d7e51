//! Rebuilds published results, as `kirikae-lab reproduce` does.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder};
use kirikae_studies::{
    Bound as Asked, Criterion, Findings, JudgedPaper, Paper, Run, STUDIES, Study, Whose,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::columns::Columns;
use crate::errors::{Error, failed};
use crate::findings::{packed, unpacked};
use crate::html::preformatted;
use crate::plan::{Names, within};
use crate::simulate::{caught, count, until_signal};
use crate::table::Table;

/// Which studies are rebuilt, and how.
#[pyclass(frozen, module = "kirikae._kirikae")]
pub struct Studies {
    studies: Vec<&'static Study>,
    /// Where all studies are rebuilt: what becomes of the papers' claims is told by all of them together.
    papers: Vec<Paper>,
    run: Run,
}

#[pymethods]
impl Studies {
    /// The arguments are those of `kirikae.reproduce`. What cannot be read is told before anything is simulated.
    #[new]
    #[pyo3(signature = (studies, directory, *, short, seed, repetitions, seed_blocks))]
    fn new(
        studies: Option<Names>,
        directory: PathBuf,
        short: bool,
        seed: Option<i128>,
        repetitions: Option<i128>,
        seed_blocks: i128,
        py: Python,
    ) -> PyResult<Studies> {
        let seed = seed.map(|seed| within("seed", seed, 0..=u64::MAX)).transpose()?;
        let often = |count| within("repetitions", count, 1..=10_000);
        let repetitions = repetitions.map(often).transpose()?.map(|count| count as u32);
        let blocks = within("seed_blocks", seed_blocks, 0..=100)? as u32;
        let run = Run { short, seed, repetitions, blocks };
        let names = match studies {
            None => None,
            Some(Names::Text(name)) => Some(vec![name]),
            Some(Names::List(names)) => Some(names),
        };
        let studies = wanted(names.as_deref())?;
        for study in &studies {
            study.material(&directory, run).map_err(|error| failed(py, &error))?;
        }
        let papers = match names {
            None => kirikae_studies::papers(&directory),
            Some(_) => Ok(Vec::new()),
        };
        let papers = papers.map_err(|refusal| failed(py, &refusal.into()))?;
        Ok(Studies { studies, papers, run })
    }

    /// Their names, in the order of docs/studies.md.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        self.studies.iter().map(|study| study.name).collect()
    }

    /// How each is run, as `compare_study` takes it.
    #[getter]
    fn run(&self) -> Plain {
        let Run { short, seed, repetitions, blocks } = self.run;
        (short, seed, repetitions, blocks)
    }

    /// What came of all, of what `compare_study` returned of each, in order.
    fn reproduction(&self, findings: Vec<PyBackedBytes>, py: Python) -> PyResult<Reproduction> {
        let studies =
            py.detach(|| findings.iter().map(|packed| unpacked(packed)).collect::<Result<_, _>>());
        let studies: Vec<Findings> = studies.map_err(Error::new_err)?;
        let papers = self.papers.iter().map(|paper| paper.judged(&studies)).collect();
        Ok(Reproduction { studies, papers })
    }
}

/// How studies are run: few repetitions or not, first seed, repetitions, other blocks of seeds.
type Plain = (bool, Option<u64>, Option<u32>, u32);

/// The studies of these names, or all, in their order.
fn wanted(names: Option<&[String]>) -> PyResult<Vec<&'static Study>> {
    let Some(names) = names else { return Ok(STUDIES.iter().collect()) };
    let all = || STUDIES.iter().map(|study| study.name).collect::<Vec<_>>().join(", ");
    let refuse =
        |found: &str| Err(Error::new_err(format!("studies: found {found}; allowed: {}", all())));
    if let Some(unknown) = names.iter().find(|name| Study::named(name).is_none()) {
        return refuse(&format!("{unknown:?}"));
    }
    if names.is_empty() {
        return refuse("none");
    }
    Ok(STUDIES.iter().filter(|study| names.iter().any(|name| name == study.name)).collect())
}

/// Simulates a study and holds it against what was published, on so many threads, and returns the findings as
/// MessagePack. `files` is what is in the files of its directory, by their names.
#[pyfunction]
#[pyo3(signature = (name, files, run, threads = None))]
pub fn compare_study<'py>(
    name: &str,
    files: BTreeMap<PathBuf, PyBackedBytes>,
    run: Plain,
    threads: Option<i128>,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyBytes>> {
    let [study] = wanted(Some(&[name.to_owned()]))?[..] else { unreachable!("one is asked for") };
    let (short, seed, repetitions, blocks) = run;
    let run = Run { short, seed, repetitions, blocks };
    let compare = move |_: &_| {
        // Studies are read from directories alone.
        let directory = tempfile::tempdir()?;
        fs::create_dir(directory.path().join(study.name))?;
        for (file, content) in &files {
            fs::write(directory.path().join(study.name).join(file), content)?;
        }
        let compare = || study.compare(&study.material(directory.path(), run)?);
        let findings = caught(compare).map_err(std::io::Error::other)?;
        packed(&findings).map_err(std::io::Error::other)
    };
    let packed = until_signal(py, count(threads)?, compare, |_| Ok(()))?;
    Ok(PyBytes::new(py, &packed.map_err(|error| Error::new_err(error.to_string()))?))
}

/// Published results beside what came out: tables, figures, whether criteria are met, and what becomes of the papers'
/// claims. `print` shows what `kirikae-lab reproduce` prints.
#[pyclass(frozen, module = "kirikae")]
pub struct Reproduction {
    studies: Vec<Findings>,
    papers: Vec<JudgedPaper>,
}

/// What is told as JSON.
#[derive(Serialize)]
struct Printed<'a> {
    studies: &'a [Findings],
    papers: &'a [JudgedPaper],
}

#[pymethods]
impl Reproduction {
    /// Whether no criterion is missed.
    #[getter]
    fn agrees(&self) -> bool {
        self.studies.iter().all(Findings::agrees)
    }

    /// What has to hold, and what is told besides.
    #[getter]
    fn criteria(&self) -> Table {
        let rows = self.studies.iter().flat_map(|it| it.criteria.iter().map(|row| (it.study, row)));
        let mut blocks = ListBuilder::new(Float64Builder::new());
        for (_, Criterion { blocks: others, .. }) in rows.clone() {
            if let Some(others) = others {
                blocks.values().append_slice(&others.values);
            }
            blocks.append(others.is_some());
        }
        let columns = Columns::of(rows)
            .text("study", |(study, _)| study)
            .text("key", |(_, it)| it.key)
            .text("what", |(_, it)| &it.what)
            .number("value", |(_, it)| it.value)
            .whole("of", |(_, it)| it.of as u64)
            .number_if_any("at_least", |(_, it)| match it.bound? {
                Asked::AtLeast(low) | Asked::Between(low, _) => Some(low),
                Asked::AtMost(_) => None,
            })
            .number_if_any("at_most", |(_, it)| match it.bound? {
                Asked::AtMost(high) | Asked::Between(_, high) => Some(high),
                Asked::AtLeast(_) => None,
            })
            .text("verdict", |(_, it)| it.verdict())
            .text_if_any("why", |(_, it)| it.why.as_deref())
            .with("blocks", Arc::new(blocks.finish()), true);
        Table::made(columns.table())
    }

    /// The cells of all published tables, with ours beside theirs.
    #[getter]
    fn cells(&self) -> Table {
        let tables =
            self.studies.iter().flat_map(|it| it.tables.iter().map(|table| (it.study, table)));
        let rows = tables.flat_map(|(study, table)| {
            table.rows.iter().flat_map(move |row| {
                let cells = table.columns.iter().zip(&row.cells);
                cells.map(move |(column, cell)| {
                    (study, &*table.title, &*row.heading, &*column.heading, cell)
                })
            })
        });
        let columns = Columns::of(rows)
            .text("study", |(study, ..)| study)
            .text("table", |(_, table, ..)| table)
            .text("row", |(_, _, row, ..)| row)
            .text("column", |(.., column, _)| column)
            .number_if_any("published", |(.., cell)| cell.published)
            .number_if_any("ours", |(.., cell)| Some(cell.ours?.value))
            .number_if_any("half_width", |(.., cell)| cell.ours?.half_width)
            .whole("n", |(.., cell)| cell.n as u64)
            .number_if_any("difference", |(.., cell)| cell.difference)
            .truth_if_any("agrees", |(.., cell)| cell.agrees)
            .text_if_any("word", |(.., cell)| cell.word.as_deref());
        Table::made(columns.table())
    }

    /// The points of all published figures, theirs and ours.
    #[getter]
    fn points(&self) -> Table {
        let figures =
            self.studies.iter().flat_map(|it| it.figures.iter().map(|figure| (it.study, figure)));
        let rows = figures.flat_map(|(study, figure)| {
            figure.panels.iter().flat_map(move |panel| {
                panel.series.iter().flat_map(move |series| {
                    series.points.iter().map(move |point| (study, figure, panel, series, point))
                })
            })
        });
        let columns = Columns::of(rows)
            .text("study", |(study, ..)| study)
            .text("figure", |(_, figure, ..)| &figure.title)
            .text("panel", |(_, _, panel, ..)| &panel.title)
            .text("series", |(.., series, _)| &series.name)
            .truth("published", |(.., series, _)| series.whose == Whose::Published)
            .number("x", |(.., point)| point.x)
            .number("y", |(.., point)| point.y)
            .number_if_any("half_width", |(.., point)| point.half_width);
        Table::made(columns.table())
    }

    /// What becomes of each claim of the papers; nothing unless all studies are rebuilt.
    #[getter]
    fn claims(&self) -> Table {
        let rows =
            self.papers.iter().flat_map(|paper| paper.claims.iter().map(move |it| (paper, it)));
        let columns = Columns::of(rows)
            .text("paper", |(paper, _)| &paper.title)
            .text("place", |(_, claim)| &claim.place)
            .text("what", |(_, claim)| &claim.what)
            .text_if_any("verdict", |(_, claim)| Some(claim.verdict?.to_string()))
            .text("because", |(_, claim)| &claim.because)
            .text_if_any("note", |(_, claim)| claim.note.as_deref());
        Table::made(columns.table())
    }

    /// Everything as JSON, byte for byte what `kirikae-lab reproduce --json` prints.
    fn to_json(&self) -> String {
        let printed = Printed { studies: &self.studies, papers: &self.papers };
        serde_json::to_string_pretty(&printed).expect("findings are JSON") + "\n"
    }

    /// Writes the page of `kirikae-lab reproduce --report`, with tables and figures. One that is there is replaced as
    /// a whole. Raises Error where it cannot be written.
    fn write(&self, file: PathBuf, py: Python) -> PyResult<()> {
        let written = py.detach(|| {
            let mut new = file.clone().into_os_string();
            new.push(".new");
            fs::write(&new, kirikae_studies::page(&self.studies, &self.papers))?;
            fs::rename(&new, &file)
        });
        written.map_err(|error| Error::new_err(format!("writing {}: {error}", file.display())))
    }

    fn __str__(&self) -> String {
        let studies = self.studies.iter().map(kirikae_studies::render);
        studies.chain([kirikae_studies::render_claims(&self.papers)]).collect()
    }

    fn __repr__(&self) -> String {
        let each = self.studies.iter().map(Findings::met_and_missed);
        let (met, missed) = each.fold((0, 0), |all, it| (all.0 + it.0, all.1 + it.1));
        let studies = self.studies.len();
        format!("<kirikae.Reproduction of {studies} studies: {met} criteria met, {missed} missed>")
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.__str__())
    }
}
