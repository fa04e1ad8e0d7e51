//! Explains what a latency table says of a path.

use kirikae_algorithms::{Belief, Measured, Predicted};
use kirikae_table::Condition;
use kirikae_terminal::{CellAlignment, Table, table_of_figures};
use serde::Serialize;

/// A path, and what is written on it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Asked {
    /// Round-trip time without waiting, seconds.
    pub rtt_s: f64,
    /// Rate of the bottleneck, Mbit/s.
    pub rate_mbit: f64,
    /// What is written.
    #[serde(flatten)]
    pub load: Load,
    /// Probability of an isolated loss.
    pub loss: f64,
    /// Probability that a burst loss begins.
    pub burst_loss: f64,
    /// Packets in the bottleneck's queue.
    pub queue: u32,
}

/// What a program writes.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub enum Load {
    /// Bursts of that size, with idle time in between.
    Burst {
        /// Size of a burst, bytes.
        burst_bytes: u32,
    },
    /// A stream of that rate, without idle time.
    Stream {
        /// Rate of the stream, Mbit/s.
        stream_mbit: f64,
    },
}

/// The candidates and which of them would be chosen.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The path and the load that were asked for.
    pub asked: Asked,
    /// The candidates, the one expected to be fastest first.
    pub candidates: Vec<Candidate>,
    /// The fastest candidate at each loss rate of the table; everything else is as asked.
    pub by_loss: Vec<Best>,
}

/// What is expected of a candidate.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// In-kernel name.
    pub name: String,
    /// Expected latency of a burst, or of a write of the stream, seconds.
    pub latency_s: f64,
    /// Its latency over that of the best candidate.
    pub over_best: f64,
}

/// The fastest candidate at a loss rate.
#[derive(Clone, Debug, Serialize)]
pub struct Best {
    /// Probability of an isolated loss.
    pub loss: f64,
    /// In-kernel name.
    pub name: String,
    /// Expected latency, seconds.
    pub latency_s: f64,
}

/// The reason why a table does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unanswerable(String);

/// Looks up in a table what was asked.
///
/// # Errors
/// Fails for a stream, if the table has no streams or the path carries less than the stream writes.
pub fn explain(
    table: &kirikae_table::LatencyTable,
    asked: Asked,
) -> Result<Explanation, Unanswerable> {
    let (burst, share) = match asked.load {
        Load::Burst { burst_bytes } => (burst_bytes, 0),
        Load::Stream { .. } if table.grid.streams.is_empty() => {
            let lacks = "the table has no streams; allowed: --burst (docs/tables.md)";
            return Err(Unanswerable(lacks.into()));
        }
        Load::Stream { stream_mbit } if stream_mbit >= asked.rate_mbit => {
            let lacks = format!("--stream: {stream_mbit} Mbit/s; allowed: less than --rate");
            return Err(Unanswerable(lacks));
        }
        Load::Stream { stream_mbit } => {
            let share = stream_mbit / asked.rate_mbit;
            (0, (share * f64::from(kirikae_interface::SHARE_ONE)).ceil() as u32)
        }
    };
    let kernel = table.kernel_table();
    let conditions = &table.grid.conditions;
    let expected = |asked: &Asked| {
        let measured = Measured {
            rtt_us: (asked.rtt_s * 1e6) as u32,
            rate: (asked.rate_mbit * 125.0) as u32,
            burst,
            share,
            latency_us: 0,
        };
        let predicted =
            Belief::from_weights(&weights(conditions, asked)).predict(&kernel, &measured);
        candidates(&table.algorithms, &predicted)
    };
    let mut losses: Vec<f64> = conditions.iter().map(|condition| condition.loss).collect();
    losses.sort_by(f64::total_cmp);
    losses.dedup();
    let best_at = |loss: f64| {
        let Candidate { name, latency_s, .. } = expected(&Asked { loss, ..asked }).remove(0);
        Best { loss, name, latency_s }
    };
    Ok(Explanation {
        asked,
        candidates: expected(&asked),
        by_loss: losses.into_iter().map(best_at).collect(),
    })
}

/// The candidates, the fastest first.
fn candidates(names: &[String], predicted: &[Predicted]) -> Vec<Candidate> {
    let best = predicted.iter().map(|predicted| predicted.latency_s).fold(f64::MAX, f64::min);
    let candidate = |(name, predicted): (&String, &Predicted)| Candidate {
        name: name.clone(),
        latency_s: predicted.latency_s,
        over_best: predicted.latency_s / best,
    };
    let mut candidates: Vec<Candidate> = names.iter().zip(predicted).map(candidate).collect();
    candidates.sort_by(|a, b| a.latency_s.total_cmp(&b.latency_s));
    candidates
}

/// Weights of the table's conditions. Only those with the burst loss nearest to what was asked count, and of
/// these those with the nearest queue. Of them the two with loss rates around that asked for share the weight.
fn weights(conditions: &[Condition], asked: &Asked) -> Vec<f64> {
    // A probability of 0 counts as 1e-6: what matters is how often a burst meets a loss.
    let log = |probability: f64| probability.max(1e-6).ln();
    let nearest = |of: &dyn Fn(&Condition) -> f64, wanted: f64| {
        let distance = |condition: &&Condition| (of(condition) - wanted).abs();
        let found = conditions.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        of(found.expect("a table has a condition"))
    };
    let burst_loss = nearest(&|c| log(c.burst_loss), log(asked.burst_loss));
    let with_it = |c: &Condition| log(c.burst_loss) == burst_loss;
    let queue = nearest(
        &|c| if with_it(c) { f64::from(c.queue).ln() } else { f64::MAX },
        f64::from(asked.queue).ln(),
    );
    let fits = |c: &Condition| with_it(c) && f64::from(c.queue).ln() == queue;
    let losses = || conditions.iter().filter(|c| fits(c)).map(|c| log(c.loss));
    let wanted = log(asked.loss);
    let below = losses().filter(|loss| *loss <= wanted).reduce(f64::max);
    let above = losses().filter(|loss| *loss >= wanted).reduce(f64::min);
    let (below, above) = (below.or(above).unwrap_or(0.0), above.or(below).unwrap_or(0.0));
    let share = if above > below { (wanted - below) / (above - below) } else { 0.0 };
    let weight = |c: &Condition| match log(c.loss) {
        _ if !fits(c) => 0.0,
        loss if loss == below => 1.0 - share,
        loss if loss == above => share,
        _ => 0.0,
    };
    conditions.iter().map(weight).collect()
}

/// The explanation as text: a table with bars, and the choice by loss rate.
pub fn render(explanation: &Explanation) -> String {
    const BAR: f64 = 30.0;
    let Asked { rtt_s, rate_mbit, load, loss, burst_loss, queue } = explanation.asked;
    let load = match load {
        Load::Burst { burst_bytes } => format!("bursts of {burst_bytes} bytes"),
        Load::Stream { stream_mbit } => format!("a stream of {stream_mbit} Mbit/s"),
    };
    let slowest = explanation.candidates.last().map_or(1.0, |last| last.latency_s);
    let mut candidates = figures(["candidate", "latency", "vs best", ""]);
    for Candidate { name, latency_s, over_best } in &explanation.candidates {
        let bar = "█".repeat((latency_s / slowest * BAR).round() as usize);
        candidates.add_row([
            name.clone(),
            format!("{latency_s:.3} s"),
            format!("{over_best:.2}"),
            bar,
        ]);
    }
    let mut by_loss = figures(["isolated loss", "chosen", "latency"]);
    for Best { loss, name, latency_s } in &explanation.by_loss {
        by_loss.add_row([percent(*loss), name.clone(), format!("{latency_s:.3} s")]);
    }
    format!(
        "RTT {:.0} ms, {rate_mbit} Mbit/s, queue {queue}; {load}; isolated loss \
         {}, burst loss {}\n{candidates}\n\nThe same at other loss rates:\n{by_loss}\n",
        rtt_s * 1e3,
        percent(loss),
        percent(burst_loss),
    )
}

fn percent(probability: f64) -> String {
    format!("{} %", (probability * 1e6).round() / 1e4)
}

fn figures<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Table {
    let mut table = table_of_figures(header);
    for column in table.column_iter_mut().skip(1).take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
