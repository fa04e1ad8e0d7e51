//! The list of figures, `scenarios/figures/figures.toml`: what is played, what is compared, and what is wanted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kirikae_scenario::{Contender, Scenario};
use kirikae_settings::Refusal;
use kirikae_settings::section::{Section, Source};

use crate::bound::Bound;

/// An entry of the list: a figure for each of its contenders and each value that it is split by.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What its figures' names begin with.
    pub name: String,
    /// The scenario file, as found from the present directory.
    pub file: PathBuf,
    /// The scenarios of that file, with as many repetitions as the entry says.
    pub scenarios: Vec<Scenario>,
    /// Where they are played.
    pub half: Half,
    /// Whose figures they are.
    pub contenders: Vec<Contender>,
    /// What is measured.
    pub measure: Measure,
    /// What it is divided by.
    pub over: Over,
    /// What is wanted.
    pub bound: Bound,
    /// Names of the scenarios' sweep: for each of their values there is a figure.
    pub by: Vec<String>,
    /// How the scenarios of a figure become one value.
    pub of: Of,
}

/// A half of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Half {
    /// In virtual time.
    Simulated,
    /// On the real kernel, over emulated paths; it needs root.
    Kernel,
}

/// What is measured of a contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The mean latency of its writes.
    Latency,
    /// From when a path is back until something new arrives, in the mean.
    Recovery,
    /// The goodput of the flows of this group, which play beside it.
    Goodput(String),
    /// Switches for each 100 writes, without the first [`LEARNING`](crate::measured::LEARNING) of a connection.
    Switches,
}

/// What a figure is a ratio to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The same of the best of the fixed contenders that the scenario names.
    BestFixed,
    /// The same of the algorithm that the contender's host had.
    Own,
    /// The same of this contender.
    One(Contender),
    /// Nothing: switches are counted.
    Nothing,
}

/// How several scenarios become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The one that is farthest from what is wanted.
    Worst,
    /// The mean of all.
    Mean,
}

impl Entry {
    /// Every contender that has to be played for a figure of it.
    pub fn played(&self, scenario: &Scenario) -> BTreeSet<Contender> {
        let mut played: BTreeSet<Contender> = self.contenders.iter().copied().collect();
        match self.over {
            Over::BestFixed => played.extend(fixed(scenario)),
            Over::Own => played.extend(self.contenders.iter().map(|it| own(*it))),
            Over::One(other) => drop(played.insert(other)),
            Over::Nothing => {}
        }
        played
    }
}

/// The algorithm that the contender's host had.
pub fn own(contender: Contender) -> Contender {
    if contender == Contender::KirikaeOnBbr { Contender::Stock("bbr") } else { Contender::BASELINE }
}

/// The fixed contenders that the scenario names.
fn fixed(scenario: &Scenario) -> impl Iterator<Item = Contender> {
    scenario.contenders.iter().copied().filter(|contender| contender.is_fixed())
}

const KEYS: [&str; 12] = [
    "name",
    "scenario",
    "where",
    "contenders",
    "measure",
    "flow",
    "over",
    "at-most",
    "at-least",
    "by",
    "of",
    "repetitions",
];
const MEASURES: [&str; 4] = ["latency", "recovery", "goodput", "switches"];

/// Reads the list, and all scenarios that it names.
///
/// # Errors
/// The first thing that is wrong: its file, line and key, and what is allowed.
pub fn read(file: &Path) -> Result<Vec<Entry>, Refusal> {
    parse(&Source::read(file, "the list of figures")?)
}

/// The same of a text.
///
/// # Errors
/// As [`read`].
pub fn parse(source: &Source) -> Result<Vec<Entry>, Refusal> {
    const ALLOWED: &str = "[[figures]], each with name, scenario, where and more";
    let table = source.root()?;
    let root = Section::root(source, &table, &[]);
    root.allow(&["figures"])?;
    let sections = root.required("figures", ALLOWED)?.tables(ALLOWED)?;
    let mut entries: Vec<Entry> = Vec::new();
    for section in &sections {
        let entry = entry(section)?;
        if entries.iter().any(|other| other.name == entry.name) {
            return Err(section.required("name", "")?.refuse("a name that no other has"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(section: &Section) -> Result<Entry, Refusal> {
    section.allow(&KEYS)?;
    let half = section.required("where", "simulated, kernel")?.choice(&["simulated", "kernel"])?;
    let half = [Half::Simulated, Half::Kernel][half];
    let measure = measure(section)?;
    let (file, scenarios) = scenarios(section, half, &measure)?;
    let of = section.choice_or_first("of", &["worst", "mean"])?;
    Ok(Entry {
        name: name(section)?,
        file,
        half,
        contenders: contenders(section)?,
        over: over(section, &measure, &scenarios)?,
        measure,
        bound: bound(section)?,
        by: by(section, &scenarios)?,
        of: [Of::Worst, Of::Mean][of],
        scenarios,
    })
}

fn name(section: &Section) -> Result<String, Refusal> {
    const ALLOWED: &str = "a line of text without a semicolon";
    let field = section.required("name", ALLOWED)?;
    let name = field.text(ALLOWED)?;
    let is_line = !name.trim().is_empty() && !name.contains([';', '\n']);
    if is_line { Ok(name.to_owned()) } else { Err(field.refuse(ALLOWED)) }
}

fn measure(section: &Section) -> Result<Measure, Refusal> {
    let measure = section.required("measure", &MEASURES.join(", "))?.choice(&MEASURES)?;
    let flow = section.optional("flow");
    if let Some(field) = flow.as_ref().filter(|_| MEASURES[measure] != "goodput") {
        return Err(field.refuse("none but with the measure goodput"));
    }
    Ok(match MEASURES[measure] {
        "latency" => Measure::Latency,
        "recovery" => Measure::Recovery,
        "switches" => Measure::Switches,
        _ => {
            const ALLOWED: &str = "the name of a [[flow]] of the scenario";
            Measure::Goodput(section.required("flow", ALLOWED)?.text(ALLOWED)?.to_owned())
        }
    })
}

/// The scenarios, which can be played there and have what is measured.
fn scenarios(
    section: &Section,
    half: Half,
    measure: &Measure,
) -> Result<(PathBuf, Vec<Scenario>), Refusal> {
    const ALLOWED: &str = "a scenario file, as seen from the list";
    let field = section.required("scenario", ALLOWED)?;
    let file = field.file(ALLOWED)?;
    if !file.is_file() {
        return Err(field.refuse(ALLOWED));
    }
    let mut scenarios = Scenario::load(&file)?;
    // Of one connection the writes are the samples, if there is only one.
    let least = if matches!(measure, Measure::Latency | Measure::Recovery) { 1 } else { 2 };
    let repetitions = section.whole("repetitions", least..=100)? as u32;
    for scenario in &mut scenarios {
        scenario.repetitions = repetitions;
        match half {
            Half::Simulated => scenario.in_simulator()?,
            Half::Kernel => scenario.on_real_kernel()?,
        }
        match measure {
            Measure::Goodput(flow) if scenario.flows.iter().all(|it| it.name != *flow) => {
                let names: Vec<&str> = scenario.flows.iter().map(|it| it.name.as_str()).collect();
                let allowed = format!("a flow of the scenario: {}", names.join(", "));
                return Err(section.required("flow", "")?.refuse(allowed));
            }
            Measure::Goodput(_) => {}
            _ if scenario.timed().is_none() => {
                let allowed =
                    "goodput, where the scenario is not one connection that writes by the clock";
                return Err(section.required("measure", "")?.refuse(allowed));
            }
            _ => {}
        }
    }
    Ok((file, scenarios))
}

fn contenders(section: &Section) -> Result<Vec<Contender>, Refusal> {
    let all = Contender::all();
    let names: Vec<&str> = all.iter().map(|contender| contender.name()).collect();
    let allowed = names.join(", ");
    let fields = section.required("contenders", &allowed)?.list(&allowed)?;
    fields.iter().map(|field| Ok(all[field.choice(&names)?])).collect()
}

fn over(section: &Section, measure: &Measure, scenarios: &[Scenario]) -> Result<Over, Refusal> {
    let all = Contender::all();
    let names = ["best fixed", "own"].into_iter().chain(all.iter().map(|it| it.name()));
    let names: Vec<&str> = names.collect();
    if *measure == Measure::Switches {
        let refused = |field: kirikae_settings::section::Field| {
            field.refuse("none with the measure switches, which are counted")
        };
        return section.optional("over").map_or(Ok(Over::Nothing), |field| Err(refused(field)));
    }
    let field = section.required("over", &names.join(", "))?;
    match field.choice(&names)? {
        0 if *measure != Measure::Latency => {
            Err(field.refuse("own, or a contender: the best is that of latencies"))
        }
        0 if scenarios.iter().any(|scenario| fixed(scenario).next().is_none()) => {
            Err(field.refuse("own, or a contender: the scenario names no fixed one"))
        }
        0 => Ok(Over::BestFixed),
        1 => Ok(Over::Own),
        place => Ok(Over::One(all[place - 2])),
    }
}

fn bound(section: &Section) -> Result<Bound, Refusal> {
    const NUMBER: &str = "a number from 0 to 1000";
    const ONE: &str = "at-most or at-least, one of the two";
    match (section.optional("at-most"), section.optional("at-least")) {
        (Some(most), None) => Ok(Bound::AtMost(most.number(0.0..=1000.0, NUMBER)?)),
        (None, Some(least)) => Ok(Bound::AtLeast(least.number(0.0..=1000.0, NUMBER)?)),
        (Some(_), Some(least)) => Err(least.refuse(ONE)),
        (None, None) => section.required("at-most", ONE).map(|_| unreachable!("it is missing")),
    }
}

fn by(section: &Section, scenarios: &[Scenario]) -> Result<Vec<String>, Refusal> {
    let Some(field) = section.optional("by") else { return Ok(Vec::new()) };
    let names: Vec<&str> = scenarios[0].swept.keys().map(String::as_str).collect();
    let allowed = format!("a list of names of the scenario's sweep: {}", names.join(", "));
    let fields = field.list(&allowed)?;
    fields.iter().map(|field| Ok(names[field.choice(&names)?].to_owned())).collect()
}
