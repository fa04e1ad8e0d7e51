//! The grid file: where what is measured, and how exactly.

use std::path::Path;

use kirikae_algorithms::Algorithm;
use kirikae_path::{QueueLimit, Span};
use kirikae_scenario::{Refusal, stack};
use kirikae_settings::quantity::{Rate, Size};
use kirikae_settings::section::{Field, Section, Source};
use kirikae_table::{ALGORITHMS, CONDITIONS, Condition, Grid, LOADS, RATES, RTTS};
use kirikae_tcp::Profile;

/// A grid file, validated.
#[derive(Clone, Debug)]
pub struct GridFile {
    /// Its lines without those that are empty or comments.
    pub lines: Vec<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Where is measured.
    pub grid: Grid,
    /// What is measured.
    pub algorithms: Vec<Algorithm>,
    /// Places among `algorithms` of those that the table gets.
    pub candidates: Vec<usize>,
    /// How the hosts' TCP behaves.
    pub stack: Profile,
    /// How exactly is measured.
    pub confidence: Confidence,
}

/// When a latency is known well enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// Half the width of its 95 % interval, at most, divided by itself.
    pub interval: f64,
    /// Connections that are simulated at least, 2 or more.
    pub least: u32,
    /// Connections that are simulated at most.
    pub most: u32,
    /// Bursts that are measured on a connection, at least.
    pub least_writes: u32,
    /// Bursts that are measured on a connection, at most.
    pub most_writes: u32,
    /// As many bursts as have so many bytes together are measured on a connection, but for the two
    /// limits above.
    pub volume: u64,
}

impl Confidence {
    /// Bursts of this size that are measured on a connection.
    pub fn writes(&self, burst: u64) -> u32 {
        let writes = u32::try_from(self.volume / burst).unwrap_or(u32::MAX);
        writes.clamp(self.least_writes, self.most_writes)
    }
}

const USUAL: Confidence = Confidence {
    interval: 0.05,
    least: 3,
    most: 12,
    least_writes: 4,
    most_writes: 1000,
    volume: 4 << 20,
};

/// The highest loss that is measured: beyond it a connection mostly waits for its timer.
const LOSS_MOST: f64 = 0.5;

/// The longest that a burst takes by the rate alone, seconds: a latency in a table is below 4000 s.
const SERIALISATION_MOST_S: u64 = 1000;

impl GridFile {
    /// Reads and validates a grid file.
    ///
    /// # Errors
    /// The first thing wrong with it, with file, line, key and what is allowed.
    pub fn load(file: &Path) -> Result<GridFile, Refusal> {
        GridFile::of(&Source::read(file, "a grid file, such as tables/default.toml")?)
    }

    /// The same of a text that was read.
    pub(super) fn of(source: &Source) -> Result<GridFile, Refusal> {
        let table = source.root()?;
        let root = Section::root(source, &table, &[]);
        root.allow(&[
            "seed",
            "algorithms",
            "candidates",
            "rtt",
            "rate",
            "burst",
            "stream",
            "loss",
            "queue",
            "burst-loss",
            "confidence",
            "stack",
        ])?;
        let seed = root.required("seed", "a whole number, such as 1")?.whole(0..=u64::MAX)?;
        let (algorithms, candidates) = algorithms(&root)?;
        let confidence = confidence(&root)?;
        let rtts_us = axis(&root, "rtt", RTTS, rtt)?;
        let rates = axis(&root, "rate", RATES, rate)?;
        let slowest = rates[0];
        let bursts = axis(&root, "burst", LOADS, |field| burst(field, slowest, &confidence))?;
        let streams = streams(&root, LOADS - bursts.len())?;
        let grid = Grid { rtts_us, rates, bursts, streams, conditions: conditions(&root)? };
        let told = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
        let lines = source.text.lines().filter(told).map(|line| line.trim_end().into()).collect();
        let stack = stack::read(&root)?;
        Ok(GridFile { lines, seed, grid, algorithms, candidates, stack, confidence })
    }
}

/// What stands for whatever a connection came with.
const STOCK: &str = "cubic";

/// Those that are measured, and which of them are candidates.
fn algorithms(root: &Section) -> Result<(Vec<Algorithm>, Vec<usize>), Refusal> {
    let measured: Vec<Algorithm> = match root.optional("algorithms") {
        None => Algorithm::all().collect(),
        Some(field) => {
            let all: Vec<Algorithm> = Algorithm::all().chain(Algorithm::stock(STOCK)).collect();
            let names: Vec<&str> = all.iter().map(|algorithm| algorithm.name()).collect();
            named(&field, &names)?.into_iter().map(|place| all[place]).collect()
        }
    };
    let names: Vec<&str> = measured.iter().map(|algorithm| algorithm.name()).collect();
    let most = format!("1 to {ALGORITHMS} of algorithms: a table has no more columns");
    let candidates = match root.optional("candidates") {
        Some(field) => {
            let candidates = named(&field, &names)?;
            if candidates.len() > ALGORITHMS {
                return Err(field.refuse(most));
            }
            candidates
        }
        None if measured.len() > ALGORITHMS => {
            root.required("candidates", &most)?;
            unreachable!("it is not there")
        }
        None => (0..measured.len()).collect(),
    };
    Ok((measured, candidates))
}

/// Each of the names in a list, as its place among all.
fn named(field: &Field, names: &[&str]) -> Result<Vec<usize>, Refusal> {
    let mut places = Vec::new();
    for entry in field.list(&names.join(", "))? {
        let place = entry.choice(names)?;
        if places.contains(&place) {
            return Err(entry.refuse("each algorithm once"));
        }
        places.push(place);
    }
    Ok(places)
}

/// The values of an axis of the grid.
fn axis<T: PartialOrd>(
    root: &Section,
    key: &str,
    most: usize,
    read: impl Fn(&Field) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    let allowed = format!("a list of 1 to {most} values");
    let field = root.required(key, &allowed)?;
    let list = field.list(&allowed)?;
    if list.len() > most {
        return Err(field.refuse(allowed));
    }
    let mut values: Vec<T> = Vec::new();
    for entry in &list {
        let value = read(entry)?;
        if values.last().is_some_and(|last| *last >= value) {
            return Err(entry.refuse("values in ascending order"));
        }
        values.push(value);
    }
    Ok(values)
}

/// Microseconds.
fn rtt(field: &Field) -> Result<u32, Refusal> {
    let span: Span = field.quantity()?;
    let us = span.as_nanos() / 1000;
    if !span.as_nanos().is_multiple_of(1000) || !(1..=4_000_000).contains(&us) {
        return Err(field.refuse(r#"whole microseconds from "1 us" to "4 s""#));
    }
    Ok(us as u32)
}

fn rate(field: &Field) -> Result<u64, Refusal> {
    let Rate(rate) = field.quantity()?;
    if rate < 10_000 {
        return Err(field.refuse(r#"a rate from "10 kbit/s" to "100 Gbit/s""#));
    }
    Ok(rate)
}

fn burst(field: &Field, slowest: u64, confidence: &Confidence) -> Result<u32, Refusal> {
    let Size(burst) = field.quantity()?;
    if burst * 8 / slowest > SERIALISATION_MOST_S {
        return Err(field.refuse(format!(
            "a size that takes at most {SERIALISATION_MOST_S} s at the lowest rate"
        )));
    }
    // TCP's sequence numbers would wrap.
    let bytes = burst * u64::from(confidence.writes(burst) + 1);
    if bytes > u64::from(u32::MAX) {
        let allowed = "a size of which the bursts of a connection have less than 4 GiB together, \
                       see confidence.volume";
        return Err(field.refuse(allowed));
    }
    Ok(burst as u32)
}

/// Those that have room beside the bursts.
fn streams(root: &Section, most: usize) -> Result<Vec<f64>, Refusal> {
    let Some(field) = root.optional("stream") else { return Ok(Vec::new()) };
    if most == 0 {
        return Err(field.refuse(format!("none beside {LOADS} bursts: both together are {LOADS}")));
    }
    axis(root, "stream", most, |field| field.number(0.01..=0.95, "a share from 0.01 to 0.95"))
}

fn queue(field: &Field) -> Result<u32, Refusal> {
    match field.quantity()? {
        QueueLimit::Packets(packets) => Ok(packets as u32),
        QueueLimit::Bytes(_) => Err(field.refuse(r#"packets, such as "100 packets""#)),
    }
}

/// Every loss with every queue; and burst losses with the lowest loss and the deepest queue, where
/// nothing else is lost.
fn conditions(root: &Section) -> Result<Vec<Condition>, Refusal> {
    let loss = |lowest: f64| {
        move |field: &Field| {
            let allowed = format!("a probability from {lowest} to {LOSS_MOST}");
            field.number(lowest..=LOSS_MOST, &allowed)
        }
    };
    let losses = axis(root, "loss", CONDITIONS, loss(0.0))?;
    let queues = axis(root, "queue", CONDITIONS, queue)?;
    let burst_losses = match root.optional("burst-loss") {
        None => Vec::new(),
        Some(_) => axis(root, "burst-loss", CONDITIONS, loss(1e-9))?,
    };
    let mut conditions = Vec::new();
    for &loss in &losses {
        for &queue in &queues {
            conditions.push(Condition { loss, burst_loss: 0.0, queue });
        }
    }
    let (lowest, deepest) = (losses[0], queues[queues.len() - 1]);
    for burst_loss in burst_losses {
        conditions.push(Condition { loss: lowest, burst_loss, queue: deepest });
    }
    if conditions.len() > CONDITIONS {
        let field = root.required("loss", "")?;
        return Err(field.refuse(format!(
            "so many that there are at most {CONDITIONS} conditions; every loss with every queue, \
             and every burst-loss, are {}",
            conditions.len(),
        )));
    }
    Ok(conditions)
}

fn confidence(root: &Section) -> Result<Confidence, Refusal> {
    let Some(field) = root.optional("confidence") else { return Ok(USUAL) };
    let section = field.section("[confidence] with interval, repetitions, writes, volume")?;
    section.allow(&["interval", "repetitions", "writes", "volume"])?;
    let mut confidence = USUAL;
    if let Some(field) = section.optional("interval") {
        confidence.interval = field.number(1e-4..=1.0, "a number from 0.0001 to 1")?;
    }
    if let Some(field) = section.optional("repetitions") {
        [confidence.least, confidence.most] = limits(&field, 2)?;
    }
    if let Some(field) = section.optional("writes") {
        [confidence.least_writes, confidence.most_writes] = limits(&field, 1)?;
    }
    if let Some(Size(volume)) = section.optional_quantity("volume")? {
        confidence.volume = volume;
    }
    Ok(confidence)
}

/// `[least, most]`
fn limits(field: &Field, lowest: u64) -> Result<[u32; 2], Refusal> {
    let allowed = format!("[least, most], whole numbers from {lowest} to 100000");
    match &field.list(&allowed)?[..] {
        [least, most] => {
            let least = least.whole(lowest..=100_000)?;
            Ok([least as u32, most.whole(least..=100_000)? as u32])
        }
        _ => Err(field.refuse(allowed)),
    }
}
