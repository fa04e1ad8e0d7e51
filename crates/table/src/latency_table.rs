//! A table as a file: which latency each algorithm had at each place of a grid.
//!
//! The file is CSV with a row for each place, in the order of [`Grid::places`], and three columns for each
//! algorithm. Lines before it begin with `#`: the first names the version, the others say how the table was
//! built. A last line shows that the file is complete.

use std::fmt::Write as _;

use crate::grid::{Condition, Expectation, Grid, Load, Place};
use crate::kernel_table::{ALGORITHMS, CONDITIONS, LOADS, RATES, RTTS};

/// The prefix of the in-kernel names of `bpf/algorithms/`.
pub(crate) const OURS: &str = "kk_";
/// First line of a file.
const VERSION: &str = "# kirikae latency table, version 1";
/// Last line of a file.
const END: &str = "# end";
const AXES: [&str; 6] = ["rtt_ms", "rate_mbit", "burst_bytes", "loss", "burst_loss", "queue"];
/// In the column of the burst's size, this stands before the share of a stream.
const STREAM: &str = "stream ";
/// The suffixes of an algorithm's name in its three columns.
const FIELDS: [&str; 3] = ["", ".isolated", ".bursts"];

/// Latencies, with the grid and the algorithms that they were measured for.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyTable {
    /// The lines that say how it was built.
    pub origin: Vec<String>,
    /// The grid of places.
    pub grid: Grid,
    /// In-kernel names of the measured algorithms, which are the candidates. If one of the kernel's own is
    /// among them, it stands for what a connection came with.
    pub algorithms: Vec<String>,
    /// The candidates that are last in bulk, for which the largest burst stands, unless a connection came
    /// with them. A file names none.
    pub barred_in_bulk: Vec<String>,
    /// The expectations, place by place, and at each place algorithm by algorithm.
    pub expectations: Vec<Expectation>,
}

/// The reason why a file is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TableError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what is allowed.
    pub problem: String,
}

impl LatencyTable {
    /// The expectations of each place.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, Expectation> {
        self.expectations.chunks_exact(self.algorithms.len())
    }

    /// Whether a column is that of one of the kernel's own algorithms, which stands for what a connection
    /// came with.
    pub fn has_stock(&self) -> bool {
        self.algorithms.iter().any(|name| !name.starts_with(OURS))
    }

    /// The same table with only the named candidates.
    #[must_use]
    pub fn restricted(&self, names: &[&str]) -> LatencyTable {
        let kept: Vec<usize> = (0..self.algorithms.len())
            .filter(|&column| names.contains(&self.algorithms[column].as_str()))
            .collect();
        LatencyTable {
            origin: self.origin.clone(),
            grid: self.grid.clone(),
            algorithms: kept.iter().map(|&column| self.algorithms[column].clone()).collect(),
            barred_in_bulk: self.barred_in_bulk.clone(),
            expectations: self
                .rows()
                .flat_map(|row| kept.iter().map(|&column| row[column]))
                .collect(),
        }
    }

    /// The table as the text of a file.
    pub fn to_text(&self) -> String {
        let mut text = format!("{VERSION}\n");
        for line in &self.origin {
            text += format!("# {line}").trim_end();
            text.push('\n');
        }
        let columns = self
            .algorithms
            .iter()
            .flat_map(|name| FIELDS.iter().map(move |field| format!("{name}{field}")));
        let header: Vec<String> = AXES.iter().map(ToString::to_string).chain(columns).collect();
        text += &header.join(",");
        text.push('\n');
        for (place, row) in self.grid.places().zip(self.rows()) {
            text += &row_text(&place, row);
            text.push('\n');
        }
        text + END + "\n"
    }

    /// Reads a file's text; all of it must be right.
    ///
    /// # Errors
    /// Fails with the first thing that is wrong: another version, a column or row that is missing or
    /// misplaced, or an invalid value.
    pub fn parse(text: &str) -> Result<LatencyTable, TableError> {
        let mut lines = (1..).zip(text.lines());
        match lines.next() {
            Some((_, VERSION)) => {}
            _ => return Err(refusal(1, format!("not the first line of a table: `{VERSION}`"))),
        }
        let mut origin = Vec::new();
        let mut header = None;
        for (number, line) in lines.by_ref() {
            let Some(comment) = line.strip_prefix('#') else {
                header = Some((number, line));
                break;
            };
            origin.push(comment.strip_prefix(' ').unwrap_or(comment).to_owned());
        }
        let (number, header) =
            header.ok_or_else(|| refusal(origin.len() + 2, "the columns' names are missing"))?;
        let algorithms = algorithms(number, header)?;
        let mut places = Vec::new();
        let mut expectations = Vec::new();
        loop {
            let last = origin.len() + 2 + places.len();
            let (number, line) = lines
                .next()
                .ok_or_else(|| refusal(last, format!("`{END}` is missing behind it")))?;
            if line == END {
                break;
            }
            let row = Row { number, line, algorithms: &algorithms };
            places.push((number, row.read(&mut expectations)?));
        }
        if let Some((number, _)) = lines.next() {
            return Err(refusal(number, format!("something behind `{END}`")));
        }
        let grid = grid(number, &places)?;
        Ok(LatencyTable { origin, grid, algorithms, barred_in_bulk: Vec::new(), expectations })
    }
}

/// A row of the file: a place, and what each algorithm was measured to do there.
pub fn row_text(place: &Place, row: &[Expectation]) -> String {
    let Place { rtt_us, rate, load, condition } = place;
    let Condition { loss, burst_loss, queue } = condition;
    let (rtt_ms, rate) = (f64::from(*rtt_us) / 1e3, *rate as f64 / 1e6);
    let load = match load {
        Load::Burst(bytes) => bytes.to_string(),
        Load::Stream(share) => format!("{STREAM}{share}"),
    };
    let mut text = format!("{rtt_ms},{rate},{load},{loss},{burst_loss},{queue}");
    for Expectation { latency_s, isolated, bursts } in row {
        let (isolated, bursts) = (rounded(*isolated, 2), rounded(*bursts, 2));
        write!(text, ",{},{isolated},{bursts}", rounded(*latency_s, 4))
            .expect("writing to a string");
    }
    text
}

/// The value with so many significant digits.
fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    // It goes by way of the text, so that it is the number nearest to the decimal text.
    let text = format!("{value:.*e}", (digits - 1) as usize);
    text.parse().expect("a number")
}

fn refusal(line: usize, problem: impl Into<String>) -> TableError {
    TableError { line, problem: problem.into() }
}

fn algorithms(number: usize, header: &str) -> Result<Vec<String>, TableError> {
    let columns: Vec<&str> = header.split(',').collect();
    for (place, axis) in AXES.iter().enumerate() {
        if columns.get(place) != Some(axis) {
            return Err(refusal(number, format!("column {} is not {axis}", place + 1)));
        }
    }
    let mut algorithms: Vec<String> = Vec::new();
    for columns in columns[AXES.len()..].chunks(FIELDS.len()) {
        let name = columns[0];
        for (place, field) in FIELDS.iter().enumerate() {
            if columns.get(place) != Some(&format!("{name}{field}").as_str()) {
                return Err(refusal(number, format!("after {name}: {name}{field} is missing")));
            }
        }
        if name.is_empty() || name.len() >= kirikae_interface::NAME_BYTES {
            let most = kirikae_interface::NAME_BYTES - 1;
            return Err(refusal(number, format!("`{name}` is no name of 1 to {most} bytes")));
        }
        if algorithms.iter().any(|known| known == name) {
            return Err(refusal(number, format!("{name} is there twice")));
        }
        algorithms.push(name.to_owned());
    }
    if !(1..=ALGORITHMS).contains(&algorithms.len()) {
        let found = algorithms.len();
        return Err(refusal(number, format!("{found} algorithms; allowed: 1 to {ALGORITHMS}")));
    }
    Ok(algorithms)
}

/// A row of the file.
struct Row<'a> {
    number: usize,
    line: &'a str,
    algorithms: &'a [String],
}

impl Row<'_> {
    fn read(&self, expectations: &mut Vec<Expectation>) -> Result<Place, TableError> {
        let values: Vec<&str> = self.line.split(',').collect();
        let wanted = AXES.len() + FIELDS.len() * self.algorithms.len();
        if values.len() != wanted {
            let found = values.len();
            return Err(self.refuse(format!("{found} values instead of {wanted}")));
        }
        let (axes, values) = values.split_at(AXES.len());
        let place = Place {
            rtt_us: self
                .number(AXES[0], axes[0], "above 0, up to 4000", |ms| {
                    (1e-3..=4000.0).contains(&ms)
                })?
                .mul_add(1e3, 0.5) as u32,
            rate: self
                .number(AXES[1], axes[1], "0.01 to 100000", |mbit| (0.01..=1e5).contains(&mbit))?
                .mul_add(1e6, 0.5) as u64,
            load: match axes[2].strip_prefix(STREAM) {
                None => Load::Burst(self.whole(AXES[2], axes[2])?),
                Some(share) => Load::Stream(self.number(
                    "a stream's share",
                    share,
                    "above 0, below 1",
                    |share| share > 0.0 && share < 1.0,
                )?),
            },
            condition: Condition {
                loss: self.probability(AXES[3], axes[3])?,
                burst_loss: self.probability(AXES[4], axes[4])?,
                queue: self.whole(AXES[5], axes[5])?,
            },
        };
        for (name, values) in self.algorithms.iter().zip(values.chunks_exact(FIELDS.len())) {
            let latency = |s: f64| s > 0.0 && s < 4000.0;
            expectations.push(Expectation {
                latency_s: self.number(name, values[0], "above 0, below 4000", latency)?,
                isolated: self.probability(&format!("{name}{}", FIELDS[1]), values[1])?,
                bursts: self.probability(&format!("{name}{}", FIELDS[2]), values[2])?,
            });
        }
        Ok(place)
    }

    fn number(
        &self,
        column: &str,
        text: &str,
        allowed: &str,
        fits: impl Fn(f64) -> bool,
    ) -> Result<f64, TableError> {
        match text.parse() {
            Ok(value) if fits(value) => Ok(value),
            _ => Err(self.refuse(format!("{column} = `{text}`; allowed: a number {allowed}"))),
        }
    }

    fn probability(&self, column: &str, text: &str) -> Result<f64, TableError> {
        self.number(column, text, "from 0 to 1", |p| (0.0..=1.0).contains(&p))
    }

    fn whole(&self, column: &str, text: &str) -> Result<u32, TableError> {
        match text.parse() {
            Ok(value) if value > 0 => Ok(value),
            _ => Err(self.refuse(format!("{column} = `{text}`; allowed: a whole number from 1"))),
        }
    }

    fn refuse(&self, problem: String) -> TableError {
        refusal(self.number, problem)
    }
}

/// The grid with these places, each given with its line.
fn grid(header: usize, places: &[(usize, Place)]) -> Result<Grid, TableError> {
    let mut grid = Grid {
        rtts_us: vec![],
        rates: vec![],
        bursts: vec![],
        streams: vec![],
        conditions: vec![],
    };
    for (_, place) in places {
        add(&mut grid.rtts_us, place.rtt_us);
        add(&mut grid.rates, place.rate);
        match place.load {
            Load::Burst(bytes) => add(&mut grid.bursts, bytes),
            Load::Stream(share) => add(&mut grid.streams, share),
        }
        add(&mut grid.conditions, place.condition);
    }
    let axes = [
        (AXES[0], grid.rtts_us.len(), RTTS),
        (AXES[1], grid.rates.len(), RATES),
        (AXES[2], grid.bursts.len(), LOADS),
        ("bursts and streams", grid.loads(), LOADS),
        ("conditions", grid.conditions.len(), CONDITIONS),
    ];
    for (axis, found, most) in axes {
        if !(1..=most).contains(&found) {
            let problem = format!("{axis}: {found} different values below; allowed: 1 to {most}");
            return Err(refusal(header, problem));
        }
    }
    let ascending = grid.rtts_us.is_sorted()
        && grid.rates.is_sorted()
        && grid.bursts.is_sorted()
        && grid.streams.is_sorted();
    if !ascending {
        let problem = "round-trip times, rates, bursts and streams are not ascending";
        return Err(refusal(header, problem));
    }
    for (place, wanted) in grid.places().enumerate() {
        match places.get(place) {
            Some((_, found)) if *found == wanted => {}
            Some((line, _)) => {
                return Err(refusal(*line, format!("this is the place of the row for {wanted}")));
            }
            None => {
                let line = places.last().map_or(header, |(line, _)| *line) + 1;
                return Err(refusal(line, format!("the row for {wanted} is missing")));
            }
        }
    }
    match places.get(grid.len()) {
        None => Ok(grid),
        Some((line, _)) => Err(refusal(*line, "a place that was there already")),
    }
}

fn add<T: PartialEq>(axis: &mut Vec<T>, value: T) {
    if !axis.contains(&value) {
        axis.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> LatencyTable {
        let condition = |loss, queue| Condition { loss, burst_loss: 0.0, queue };
        let grid = Grid {
            rtts_us: vec![10_000, 200_000],
            rates: vec![300_000, 10_000_000],
            bursts: vec![4096],
            streams: vec![0.25],
            conditions: vec![condition(1e-5, 10), condition(0.03, 100)],
        };
        let expectation = |place: usize, column: usize| Expectation {
            latency_s: 0.0123 * (place + 1) as f64 / (column + 1) as f64,
            isolated: 0.0011,
            bursts: 0.0,
        };
        let text = LatencyTable {
            origin: vec!["stack = linux-6".into(), String::new()],
            expectations: (0..16).flat_map(|p| [expectation(p, 0), expectation(p, 1)]).collect(),
            grid,
            algorithms: vec!["kk_cubic".into(), "kk_hybla".into()],
            barred_in_bulk: Vec::new(),
        }
        .to_text();
        LatencyTable::parse(&text).unwrap()
    }

    /// A table that is written, read, and written again gives the same bytes.
    #[test]
    fn a_table_survives_its_file() {
        let table = table();
        assert_eq!(table.grid.len(), 16);
        assert_eq!(table.rows().nth(3).unwrap()[1].latency_s, 0.0246);
        assert_eq!(LatencyTable::parse(&table.to_text()).unwrap(), table);
    }

    #[test]
    fn what_is_no_table_is_refused_as_a_whole() {
        let text = table().to_text();
        let refused = |text: &str| LatencyTable::parse(text).unwrap_err();
        let (line, column) = (6, text.lines().nth(5).unwrap().to_owned());
        assert!(column.starts_with("10,0.3,4096,0.03,0,100,0.0246,0.0011,0,"), "{column}");
        let with = |column: &str, value: &str| text.replacen(column, value, 1);

        assert_eq!(refused(&with("version 1", "version 2")).line, 1);
        assert_eq!(refused("").line, 1);
        let missing = refused(&with("burst_loss,", ""));
        assert_eq!(missing.to_string(), "line 4: column 5 is not burst_loss");
        for value in ["0", "-0.1", "NaN", "inf", "soon"] {
            let refusal = refused(&with("100,0.0246,", &format!("100,{value},")));
            assert_eq!(refusal.line, line);
            assert!(refusal.problem.contains(value) && refusal.problem.contains("kk_cubic"));
        }
        let lines: Vec<&str> = text.lines().collect();
        let truncated = refused(&lines[..12].join("\n"));
        assert_eq!(truncated.to_string(), "line 12: `# end` is missing behind it");
        let mut without = lines.clone();
        without.remove(19);
        let without = refused(&without.join("\n"));
        assert!(without.line == 20 && without.problem.contains("missing"), "{without}");
        let mut swapped = lines.clone();
        swapped.swap(7, 8);
        assert_eq!(refused(&swapped.join("\n")).line, 8);
        let mut twice = lines.clone();
        twice.insert(lines.len() - 1, lines[5]);
        assert_eq!(refused(&twice.join("\n")).problem, "a place that was there already");
    }

    #[test]
    fn a_restricted_table_has_fewer_columns() {
        let (table, hybla) = (table(), table().restricted(&["kk_hybla"]));
        assert_eq!(hybla.algorithms, ["kk_hybla"]);
        assert!(table.rows().zip(hybla.rows()).all(|(all, kept)| all[1] == kept[0]));
    }
}
