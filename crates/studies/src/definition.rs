//! study.toml: what a study is about, what it is made of, and what it asks.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use kirikae_scenario::Refusal;
use kirikae_settings::section::{Field, Section, Source};

use super::findings::{Bound, Criterion};
use super::{Cell, Names, Table};

/// In a study's directory.
const FILE: &str = "study.toml";
/// Beside it: what is claimed, and what had to be assumed.
const README: &str = "README.md";

/// What a study.toml says.
#[derive(Clone, Debug)]
pub struct Definition {
    /// What the study rebuilds, in a line.
    pub about: String,
    /// Who published it, what, where and when.
    pub source: String,
    /// What its README says; nothing where there is none.
    pub(super) readme: String,
    /// Its scenario files.
    pub(super) scenarios: Vec<PathBuf>,
    /// Its files of printed numbers.
    pub(super) published: Vec<PathBuf>,
    pub(super) criteria: Vec<Asked>,
    thresholds: BTreeMap<String, f64>,
    explanations: BTreeMap<String, String>,
}

/// A `[[criterion]]`.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    key: String,
    /// The sentence that is told, with words in braces that the module fills in.
    pub what: String,
    /// None where it is only told.
    pub limit: Option<Limit>,
    /// Told where it is missed.
    why: Option<String>,
    /// The row and column of the cell that this explains.
    why_of: Option<[String; 2]>,
    pub calibrated: bool,
    pub judged_when_short: bool,
}

/// What is asked of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    AtMost(Amount),
    AtLeast(Amount),
    /// From the lower to the higher, both included.
    Between(f64, f64),
}

/// A number, or so many of those that a value is of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Amount {
    Number(f64),
    All,
    /// A share, rounded up.
    Share {
        some: u32,
        of: u32,
    },
}

/// A criterion, by its key in study.toml, and the words that its sentence may have in braces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub name: &'static str,
    pub words: &'static [&'static str],
}

/// What came out for a criterion.
pub(super) struct Found {
    key: Key,
    value: f64,
    /// Of how many cells, rows or samples.
    of: usize,
    words: Vec<(&'static str, String)>,
    /// Whether study.toml tells why, if it is missed.
    explained: bool,
}

impl Key {
    pub const fn new(name: &'static str) -> Key {
        Key { name, words: &[] }
    }

    pub const fn with(name: &'static str, words: &'static [&'static str]) -> Key {
        Key { name, words }
    }
}

impl Found {
    pub fn new(key: Key, value: f64, of: usize) -> Found {
        Found { key, value, of, words: Vec::new(), explained: true }
    }

    /// How many cells of a table are as asked, of those of which something is asked. A miss is explained
    /// where that of each cell is.
    pub fn cells(key: Key, table: &Table) -> Found {
        let cells = table.rows.iter().flat_map(|row| &row.cells);
        let asked: Vec<&Cell> = cells.filter(|cell| cell.agrees.is_some()).collect();
        let is_good = |cell: &&&Cell| cell.agrees == Some(true);
        let good = asked.iter().filter(is_good).count();
        let explained = asked.iter().all(|cell| is_good(&cell) || cell.why.is_some());
        Found { explained, ..Found::new(key, good as f64, asked.len()) }
    }

    /// Says what stands in place of a word in braces.
    pub fn word(mut self, name: &'static str, text: impl Into<String>) -> Found {
        self.words.push((name, text.into()));
        self
    }
}

impl Definition {
    /// Reads the study.toml of a directory, which has to have all that a module names, and nothing else.
    pub(super) fn load(directory: &Path, names: &Names) -> Result<Definition, Refusal> {
        let source =
            Source::read(&directory.join(FILE), "what a study is about, and what it asks")?;
        let table = source.root()?;
        let root = Section::root(&source, &table, &[]);
        root.allow(&[
            "about",
            "source",
            "scenarios",
            "published",
            "thresholds",
            "explanations",
            "criterion",
        ])?;
        let text = |key| Ok::<_, Refusal>(root.required(key, TEXT)?.text(TEXT)?.to_owned());
        let published = root.optional("published").map(|field| files(&field)).transpose()?;
        let published = published.unwrap_or_default();
        let is_missing = |name: &&&str| !published.iter().any(|file| file.ends_with(name));
        if let Some(missing) = names.published.iter().find(is_missing) {
            let allowed = format!("a list with {}", names.published.join(", "));
            return Err(root.refuse_at("published", &format!("{missing} is missing"), &allowed));
        }
        Ok(Definition {
            about: text("about")?,
            source: text("source")?,
            readme: fs::read_to_string(directory.join(README)).unwrap_or_default(),
            scenarios: files(&root.required("scenarios", FILES)?)?,
            published,
            criteria: criteria(&root, names.criteria)?,
            thresholds: all_named(&root, "thresholds", names.thresholds, |field| {
                field.number(f64::MIN..=f64::MAX, "a number")
            })?,
            explanations: all_named(&root, "explanations", names.explanations, |field| {
                Ok(field.text(TEXT)?.to_owned())
            })?,
        })
    }

    /// A threshold that the study's module names.
    pub(super) fn threshold(&self, name: &str) -> f64 {
        self.thresholds[name]
    }

    /// An explanation that the study's module names.
    pub(super) fn explanation(&self, name: &str) -> &str {
        &self.explanations[name]
    }

    /// A criterion that the study's module names.
    fn asked(&self, key: Key) -> &Asked {
        let asked = self.criteria.iter().find(|asked| asked.key == key.name);
        asked.unwrap_or_else(|| unreachable!("the module does not name {} as its", key.name))
    }

    /// Whether there is a criterion of this key that asks something to which the scenarios were not set.
    pub(super) fn asks(&self, key: &str) -> bool {
        let asks = |it: &&Asked| it.key == key && it.limit.is_some() && !it.calibrated;
        self.criteria.iter().any(|asked| asks(&asked))
    }

    /// What a criterion tells.
    pub(super) fn what(&self, key: Key) -> &str {
        &self.asked(key).what
    }

    /// Why a criterion is missed, where that is explained by a cell: the one in this row and column.
    pub(super) fn why(&self, key: Key, row: &str, column: &str) -> Option<&str> {
        let asked = self.asked(key);
        let is_it = asked.why_of.as_ref().is_some_and(|cell| *cell == [row, column]);
        asked.why.as_deref().filter(|_| is_it)
    }

    /// Whether a value would meet what a criterion asks.
    pub(super) fn is_met(&self, key: Key, value: f64, of: usize) -> bool {
        self.asked(key).limit.is_some_and(|limit| limit.bound(of).is_met(value, of))
    }

    /// A criterion with what came out for it.
    pub(super) fn criterion(&self, found: &Found, short: bool) -> Criterion {
        let Found { key, value, of, ref words, explained } = *found;
        let asked = self.asked(key);
        let what = words.iter().fold(asked.what.clone(), |what, (name, text)| {
            what.replace(&format!("{{{name}}}"), text)
        });
        let bound = asked.limit.map(|limit| limit.bound(of));
        let met = bound.map(|bound| bound.is_met(value, of));
        let met = met.filter(|_| asked.judged_when_short || !short);
        let why = asked.why.clone().filter(|_| met == Some(false) && explained);
        let key = key.name;
        Criterion {
            key,
            what,
            value,
            of,
            bound,
            met,
            why,
            calibrated: asked.calibrated,
            blocks: None,
        }
    }
}

const TEXT: &str = "a text";
const FILES: &str = "a list of files in the study's directory";

fn files(field: &Field) -> Result<Vec<PathBuf>, Refusal> {
    field.list(FILES)?.iter().map(|each| each.file(FILES)).collect()
}

/// A table with these keys, all of them and no others.
fn all_named<T>(
    root: &Section,
    table: &str,
    names: &[&str],
    read: impl Fn(Field) -> Result<T, Refusal>,
) -> Result<BTreeMap<String, T>, Refusal> {
    let allowed = format!("a table of {}", names.join(", "));
    let Some(field) = root.optional(table) else {
        return match names {
            [] => Ok(BTreeMap::new()),
            _ => Err(root.refuse_at(table, "missing required key", &allowed)),
        };
    };
    let section = field.section(&allowed)?;
    section.allow(names)?;
    let read = |name: &&str| Ok((name.to_string(), read(section.required(name, &allowed)?)?));
    names.iter().map(read).collect()
}

/// One of each key, in any order.
fn criteria(root: &Section, keys: &[Key]) -> Result<Vec<Asked>, Refusal> {
    let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let allowed = format!("[[criterion]] of each key: {}", names.join(", "));
    let mut criteria: Vec<Asked> = Vec::new();
    for section in root.required("criterion", &allowed)?.tables(&allowed)? {
        let key = section.required("key", &names.join(", "))?;
        let asked = Asked::read(&section, &keys[key.choice(&names)?])?;
        if criteria.iter().any(|other| other.key == asked.key) {
            return Err(key.refuse("a key that no other criterion has"));
        }
        criteria.push(asked);
    }
    let is_missing = |name: &&&str| criteria.iter().all(|asked| asked.key != **name);
    match names.iter().find(is_missing) {
        Some(name) => {
            Err(root.refuse_at("criterion", &format!("none has the key {name}"), &allowed))
        }
        None => Ok(criteria),
    }
}

impl Asked {
    fn read(section: &Section, key: &Key) -> Result<Asked, Refusal> {
        section.allow(&[
            "key",
            "what",
            "at-most",
            "at-least",
            "between",
            "why",
            "why-of",
            "calibrated",
            "judged-when-short",
        ])?;
        let what = section.required("what", TEXT)?;
        let text = what.text(TEXT)?;
        if let Some(unknown) = in_braces(text).find(|word| !key.words.contains(word)) {
            let allowed = format!("a text, in braces: {}", key.words.join(", "));
            return Err(section.refuse_at("what", &format!("found {{{unknown}}}"), &allowed));
        }
        let amount = |key| section.optional(key).map(|field| Amount::read(&field)).transpose();
        let between = section.optional("between").map(|field| between(&field)).transpose()?;
        let limits = [
            ("at-most", amount("at-most")?.map(Limit::AtMost)),
            ("at-least", amount("at-least")?.map(Limit::AtLeast)),
            ("between", between),
        ];
        let mut given = limits.into_iter().filter_map(|(key, limit)| Some((key, limit?)));
        let limit = given.next();
        if let (Some((first, _)), Some((second, _))) = (limit, given.next()) {
            let found = format!("{first} is given, too");
            return Err(section.refuse_at(second, &found, "one of them"));
        }
        let limit = limit.map(|(_, limit)| limit);
        let why = section.optional("why").map(|why| why.text(TEXT)).transpose()?;
        let why_of = section.optional("why-of").map(|cell| cell_of(&cell)).transpose()?;
        let judged = section.optional("judged-when-short").map(|judged| judged.boolean());
        Ok(Asked {
            key: key.name.into(),
            what: text.into(),
            limit,
            why: why.map(str::to_owned),
            why_of,
            calibrated: section.flag("calibrated")?,
            judged_when_short: judged.transpose()?.unwrap_or(true),
        })
    }
}

fn between(field: &Field) -> Result<Limit, Refusal> {
    const ALLOWED: &str = "the lowest and the highest, such as [0.9, 1.1]";
    let numbers = field.list(ALLOWED)?;
    let numbers = numbers.iter().map(|each| each.number(f64::MIN..=f64::MAX, ALLOWED));
    match numbers.collect::<Result<Vec<f64>, Refusal>>()?[..] {
        [low, high] if low <= high => Ok(Limit::Between(low, high)),
        _ => Err(field.refuse(ALLOWED)),
    }
}

fn cell_of(field: &Field) -> Result<[String; 2], Refusal> {
    const ALLOWED: &str = "a row and a column, such as [\"100\", \"cubic\"]";
    let texts = field.list(ALLOWED)?;
    let texts = texts.iter().map(|each| Ok(each.text(ALLOWED)?.to_owned()));
    let texts: Vec<String> = texts.collect::<Result<_, Refusal>>()?;
    texts.try_into().map_err(|_| field.refuse(ALLOWED))
}

/// The words of a sentence that stand in braces.
fn in_braces(what: &str) -> impl Iterator<Item = &str> {
    what.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

impl Limit {
    fn bound(self, of: usize) -> Bound {
        match self {
            Limit::AtMost(amount) => Bound::AtMost(amount.of(of)),
            Limit::AtLeast(amount) => Bound::AtLeast(amount.of(of)),
            Limit::Between(low, high) => Bound::Between(low, high),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::AtMost(amount) => write!(f, "at most {amount}"),
            Limit::AtLeast(Amount::All) => f.write_str("all"),
            Limit::AtLeast(amount) => write!(f, "at least {amount}"),
            Limit::Between(low, high) => write!(f, "{low} to {high}"),
        }
    }
}

impl Amount {
    fn read(field: &Field) -> Result<Amount, Refusal> {
        const ALLOWED: &str = "a number, \"all\", or a share such as \"40 of 45\"";
        let Ok(text) = field.text(ALLOWED) else {
            return Ok(Amount::Number(field.number(f64::MIN..=f64::MAX, ALLOWED)?));
        };
        let share = || {
            let (some, of) = text.split_once(" of ")?;
            Some(Amount::Share {
                some: some.parse().ok()?,
                of: of.parse().ok().filter(|of| *of > 0)?,
            })
        };
        if text == "all" { Ok(Amount::All) } else { share().ok_or_else(|| field.refuse(ALLOWED)) }
    }

    /// Where a value is of so many.
    fn of(self, all: usize) -> f64 {
        match self {
            Amount::Number(number) => number,
            Amount::All => all as f64,
            Amount::Share { some, of } => (f64::from(some) / f64::from(of) * all as f64).ceil(),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Number(number) => write!(f, "{number}"),
            Amount::All => f.write_str("all"),
            Amount::Share { some, of } => write!(f, "{some} of {of}"),
        }
    }
}
