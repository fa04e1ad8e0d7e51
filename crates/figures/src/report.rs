//! Tells of a run: a table for people, or JSON.

use kirikae_terminal::{
    Cell, CellAlignment, Color, ColumnConstraint, colour, colour_wanted, table, wrapped,
};
use serde::Serialize;

use crate::bound::Bound;
use crate::kept::Kept;
use crate::measured::{Figure, Value};
use crate::verdict::Verdict;

/// What a run has to tell, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Each figure.
    pub figures: Vec<Line>,
    /// How many are worse by more than their noise, or have no value: the run fails.
    pub failing: usize,
    /// How many are not as wanted; the run does not fail for that.
    pub short: usize,
}

/// A figure in a report.
#[derive(Debug, Serialize)]
pub struct Line {
    /// Its name.
    pub figure: String,
    /// Its value now.
    pub now: Option<Value>,
    /// The title of the scenario that it is of, or of the worst of several.
    pub scenario: String,
    /// Why it has no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<&'static str>,
    /// What is wanted.
    pub wanted: Bound,
    /// Whether it is as wanted; None if it has no value.
    pub as_wanted: Option<bool>,
    /// Its value when it was last kept.
    pub was: Option<Value>,
    /// The commit of that.
    pub was_at: Option<String>,
    /// The one beside the other.
    pub verdict: Verdict,
}

impl Report {
    /// Compares figures with what they were.
    pub fn of(figures: &[Figure], kept: &Kept) -> Report {
        let lines: Vec<Line> = figures.iter().map(|figure| line(figure, kept)).collect();
        Report {
            failing: lines.iter().filter(|line| line.verdict.fails()).count(),
            short: lines.iter().filter(|line| line.as_wanted == Some(false)).count(),
            figures: lines,
        }
    }

    /// A table, and below it what fails and what is missing, no wider than the terminal.
    pub fn text(&self) -> String {
        let coloured = colour_wanted();
        let mut shown = table(["figure", "now", "wanted", "was", "verdict"]);
        for line in &self.figures {
            let verdict = format!("{:?}", line.verdict).to_lowercase();
            let verdict = match line.as_wanted {
                Some(false) => Cell::new(format!("{verdict}, short")).fg(Color::Yellow),
                _ => Cell::new(verdict),
            };
            let verdict = if line.verdict.fails() { verdict.fg(Color::Red) } else { verdict };
            shown.add_row([
                Cell::new(&line.figure),
                Cell::new(line.now.map_or("-".into(), told)),
                Cell::new(line.wanted),
                Cell::new(line.was.map_or("-".into(), |was| format!("{:.3}", was.value))),
                verdict,
            ]);
        }
        for column in shown.column_iter_mut().skip(1).take(3) {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        colour(&mut shown, coloured);
        format!("{shown}\n{}", wrapped(&self.sentences()))
    }

    fn sentences(&self) -> String {
        let failing = self.figures.iter().filter(|line| line.verdict.fails());
        let mut text: String = failing.map(|line| sentence(line) + "\n").collect();
        let count = |verdict| self.figures.iter().filter(|it| it.verdict == verdict).count();
        text += &format!(
            "{} figures: {} worse, {} better, {} the same, {} new, {} without a value. Of what is wanted {} fall short.\n",
            self.figures.len(),
            count(Verdict::Worse),
            count(Verdict::Better),
            count(Verdict::Same),
            count(Verdict::New),
            count(Verdict::Unmeasured),
            self.short,
        );
        text
    }
}

fn line(figure: &Figure, kept: &Kept) -> Line {
    let last = kept.last(&figure.name);
    Line {
        figure: figure.name.clone(),
        now: figure.value.ok(),
        scenario: figure.scenario.clone(),
        why_not: figure.value.err(),
        wanted: figure.bound,
        as_wanted: figure.value.ok().map(|now| figure.bound.holds(now.value)),
        was: last.map(|(_, value)| value),
        was_at: last.map(|(commit, _)| commit.to_owned()),
        verdict: Verdict::of(figure, kept),
    }
}

fn sentence(line: &Line) -> String {
    let name = &line.figure;
    match (line.now, line.was, line.was_at.as_ref()) {
        (Some(now), Some(was), Some(commit)) => format!(
            "Worse: {name}: {}; it was {} at {commit}; wanted {} ({})",
            told(now),
            told(was),
            line.wanted,
            line.scenario,
        ),
        _ => format!("No value: {name}: {} ({})", line.why_not.unwrap_or_default(), line.scenario),
    }
}

fn told(Value { value, half_width }: Value) -> String {
    format!("{value:.3}±{half_width:.3}")
}
