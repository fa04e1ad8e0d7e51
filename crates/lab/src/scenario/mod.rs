//! The scenario file: a path, what the application does on it, and what is compared.
//!
//! The same file means the same to the simulator and to the emulated path. It is read and
//! validated as a whole before anything is created.

mod contender;
mod path;
mod quantity;
mod refusal;
mod section;
pub(crate) mod stack;
mod sweep;

use std::path::{Path, PathBuf};
use std::time::Duration;

use kirikae_agent::Period;
use kirikae_path::PathSpec;
use kirikae_tcp::Profile;
use serde::{Serialize, Serializer};
use toml::Spanned;
use toml::de::DeTable;

pub use contender::Contender;
pub use refusal::Refusal;

use crate::workload::{Spacing, Workload};
use quantity::{Quantity, Size};
use section::{Binding, Field, Section, Source};

/// A scenario file, validated.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// The file that it was read from.
    pub file: PathBuf,
    /// What it is about, in a line.
    pub title: String,
    /// Seed of every random stream: losses and spacing of the bursts.
    pub seed: u64,
    /// What the application writes.
    pub workload: Workload,
    /// What packets meet on their way.
    pub path: PathSpec,
    /// How the hosts' TCP behaves in the simulator; a real kernel is as it is.
    pub stack: Profile,
    /// What is compared, in the order of the table's rows.
    pub contenders: Vec<Contender>,
    /// How long the switcher counts before it updates its rates.
    #[serde(serialize_with = "write_period")]
    pub period: Period,
}

impl Scenario {
    /// Reads and validates a scenario file: one scenario, or one for each combination of its sweep.
    ///
    /// # Errors
    /// The first thing wrong with it, with file, line, key and what is allowed.
    pub fn load(file: &Path) -> Result<Vec<Scenario>, Refusal> {
        let source = Source::read(file)?;
        let table = source.root()?;
        let sweep = sweep::read(&Section::root(&source, &table, &[]))?;
        sweep.iter().map(|bindings| Scenario::read(&source, &table, bindings)).collect()
    }

    fn read(
        source: &Source,
        table: &Spanned<DeTable>,
        bindings: &[Binding],
    ) -> Result<Scenario, Refusal> {
        let root = Section::root(source, table, bindings);
        root.allow(&["title", "seed", "workload", "path", "stack", "bench", "sweep"])?;

        const TITLE: &str = "a line of text that is not empty";
        let title = root.required("title", TITLE)?;
        let text = title.text(TITLE)?;
        if text.trim().is_empty() || text.contains('\n') {
            return Err(title.refuse(TITLE));
        }
        let seed = root.required("seed", "a whole number, such as 1")?.whole(0..=u64::MAX)?;
        let workload = workload(&root)?;
        let path = path::read(&root)?;
        let stack = stack::read(&root)?;
        let (contenders, period) = bench(&root)?;
        Ok(Scenario {
            file: source.file.clone(),
            title: sweep::title(text, bindings, source),
            seed,
            workload,
            path,
            stack,
            contenders,
            period,
        })
    }
}

fn workload(root: &Section) -> Result<Workload, Refusal> {
    let section = root.section("workload", "[workload] with burst, interval, count")?;
    section.allow(&["burst", "interval", "spacing", "count", "warmup"])?;
    let Size(burst) = section.quantity("burst")?;
    let interval = section.quantity("interval")?;
    let spacing = match section.optional("spacing") {
        None => Spacing::Fixed,
        Some(field) => {
            [Spacing::Fixed, Spacing::Exponential][field.choice(&["fixed", "exponential"])?]
        }
    };
    let field = section.required("count", "a whole number, such as 60")?;
    let count = field.whole(1..=1_000_000)? as u32;
    let warmup = section.optional("warmup").map_or(Ok(1), |field| field.whole(0..=1_000))? as u32;
    let workload = Workload { burst, interval, spacing, count, warmup };
    // TCP's sequence numbers would wrap, and a place in the stream be ambiguous.
    if workload.bytes() > u64::from(u32::MAX) {
        return Err(field
            .refuse("so many bursts, warm-up included, that they have less than 4 GiB together"));
    }
    Ok(workload)
}

fn bench(root: &Section) -> Result<(Vec<Contender>, Period), Refusal> {
    let Some(field) = root.optional("bench") else {
        return Ok((Contender::usual(), Period::RoundTrip));
    };
    let section = field.section("[bench] with contenders, period")?;
    section.allow(&["contenders", "period"])?;
    let contenders = section
        .optional("contenders")
        .map_or_else(|| Ok(Contender::usual()), |field| contenders(&field))?;
    let period =
        section.optional("period").map_or(Ok(Period::RoundTrip), |field| period(&field))?;
    Ok((contenders, period))
}

fn contenders(field: &Field) -> Result<Vec<Contender>, Refusal> {
    let all = Contender::all();
    let names: Vec<&str> = all.iter().map(|contender| contender.name()).collect();
    let mut chosen = Vec::new();
    for entry in field.list(&names.join(", "))? {
        let contender = all[entry.choice(&names)?];
        if chosen.contains(&contender) {
            return Err(entry.refuse("each contender once"));
        }
        chosen.push(contender);
    }
    Ok(chosen)
}

fn period(field: &Field) -> Result<Period, Refusal> {
    let allowed = format!(r#""round-trip" or {}"#, Duration::ALLOWED);
    match field.text(&allowed)? {
        "round-trip" => Ok(Period::RoundTrip),
        text => Duration::parse(text).map(Period::Fixed).ok_or_else(|| field.refuse(allowed)),
    }
}

/// Writes a period as a scenario file does.
fn write_period<S: Serializer>(period: &Period, serializer: S) -> Result<S::Ok, S::Error> {
    match period {
        Period::RoundTrip => serializer.serialize_str("round-trip"),
        Period::Fixed(time) => serializer.collect_str(&format_args!("{} ns", time.as_nanos())),
    }
}
