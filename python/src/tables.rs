//! What came of a comparison as tables. Columns are called as in the records' lines.

use std::sync::Arc;

use arrow_array::builder::{
    Float64Builder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use kirikae_results::outcome::{Burst, Comparison, Outcome, Performance};
use kirikae_results::play::{Play, PlayedFlow};
use kirikae_vocabulary::Switch;

use crate::columns::Columns;

/// A contender of a scenario with one seed.
#[derive(Clone, Copy)]
pub struct Played<'a> {
    scenario: &'a str,
    play: &'a Play,
    /// None where nothing is compared write by write.
    performance: Option<&'a Performance>,
}

impl<'a> Played<'a> {
    /// Those of a whole outcome, in order.
    pub fn all(outcome: &'a Outcome) -> impl Iterator<Item = Played<'a>> {
        outcome.comparisons.iter().flat_map(|Comparison { scenario, performances, plays }| {
            plays.iter().enumerate().map(|(place, play)| Played {
                scenario: &scenario.title,
                play,
                // They are in the same order.
                performance: performances.get(place),
            })
        })
    }

    fn bursts(self) -> &'a [Burst] {
        self.performance.map_or(&[], |performance| &performance.bursts)
    }

    fn switches(self) -> impl Iterator<Item = (&'a PlayedFlow, &'a Switch)> + Clone {
        self.play.flows.iter().flat_map(|flow| flow.switches.iter().map(move |it| (flow, it)))
    }
}

/// What a table has rows of.
pub struct Kind {
    rows: fn(Played) -> usize,
    batch: fn(&[Played]) -> RecordBatch,
}

/// Every burst of what is compared write by write, warm-up included.
pub static BURSTS: Kind = Kind { rows: |played| played.bursts().len(), batch: bursts };
/// Every flow.
pub static FLOWS: Kind = Kind { rows: |played| played.play.flows.len(), batch: flows };
/// Every switch of a flow's congestion control.
pub static SWITCHES: Kind = Kind { rows: |played| played.switches().count(), batch: switches };

impl Kind {
    /// Number of rows of this contender and seed.
    pub fn rows(&self, played: &Played) -> usize {
        (self.rows)(*played)
    }

    /// The rows of these contenders and seeds.
    pub fn batch(&self, played: &[Played]) -> RecordBatch {
        (self.batch)(played)
    }

    /// The columns, which are the same for all rows.
    pub fn schema(&self) -> SchemaRef {
        self.batch(&[]).schema()
    }
}

/// No columns yet of these rows, `each` of a contender with one seed, but those that are the same in all of these.
fn columns<'a, R, I: Iterator<Item = R> + Clone>(
    played: &'a [Played<'a>],
    rows: I,
    each: fn(Played) -> usize,
) -> Columns<I> {
    let mut scenarios = StringDictionaryBuilder::<Int32Type>::new();
    let mut contenders = StringDictionaryBuilder::<Int32Type>::new();
    for played in played {
        let rows = each(*played);
        scenarios.append_values(played.scenario, rows);
        contenders.append_values(played.play.contender.name(), rows);
    }
    let seeds = played.iter().flat_map(|it| std::iter::repeat_n(it.play.seed, each(*it)));
    let seeds = UInt64Array::from_iter_values(seeds);
    Columns::of(rows)
        .with("scenario", Arc::new(scenarios.finish()), false)
        .with("contender", Arc::new(contenders.finish()), false)
        .with("seed", Arc::new(seeds), false)
}

fn bursts(played: &[Played]) -> RecordBatch {
    let rows = played.iter().flat_map(|played| played.bursts());
    columns(played, rows, BURSTS.rows)
        .whole("index", |row| row.index.into())
        .truth("warmup", |row| row.warmup)
        .whole("start_ns", |row| row.start_ns)
        .text("algorithm_before", |row| &*row.algorithm_before)
        .text("algorithm_after", |row| &*row.algorithm_after)
        .whole("switches", |row| row.switches as u64)
        .number_if_any("latency_s", |row| Some(row.delivery?.latency_s))
        .number_if_any("first_to_last_s", |row| Some(row.delivery?.first_to_last_s))
        .number_if_any("bound_s", |row| Some(row.delivery?.bound_s))
        .table()
}

fn flows(played: &[Played]) -> RecordBatch {
    let rows = played.iter().flat_map(|played| &played.play.flows);
    let mut latencies = ListBuilder::new(Float64Builder::new());
    for row in rows.clone() {
        latencies.values().append_slice(&row.latencies_s);
        latencies.append(true);
    }
    columns(played, rows, FLOWS.rows)
        .text("flow", |row| &*row.flow)
        .whole("index", |row| row.index.into())
        .text("played", |row| row.played.name())
        .number_if_any("start_s", |row| row.start_s)
        .number("end_s", |row| row.end_s)
        .number_if_any("measured_from_s", |row| Some(row.measured_s?.0))
        .number_if_any("measured_to_s", |row| Some(row.measured_s?.1))
        .whole("arrived_client", |row| row.arrived[0])
        .whole("arrived_server", |row| row.arrived[1])
        .number_if_any("goodput", |row| row.goodput)
        .whole("segments", |row| row.segments)
        .whole("retransmissions", |row| row.retransmissions)
        .number_if_any("srtt_s", |row| row.srtt_s)
        .whole("left_bytes", |row| row.left.map_or(0, |left| left.bytes))
        .truth("left_more", |row| row.left.is_some_and(|left| left.more))
        .whole("writes", |row| row.writes as u64)
        .with("latencies_s", Arc::new(latencies.finish()), false)
        .table()
}

fn switches(played: &[Played]) -> RecordBatch {
    let rows = played.iter().flat_map(|played| played.switches());
    let mut predicted = MapBuilder::new(None, StringBuilder::new(), Float64Builder::new());
    for (_, switch) in rows.clone() {
        for (name, latency_s) in &switch.predicted_s {
            predicted.keys().append_value(name);
            predicted.values().append_value(*latency_s);
        }
        predicted.append(true).expect("a value for each key");
    }
    columns(played, rows, SWITCHES.rows)
        .text("flow", |row| &*row.0.flow)
        .whole("index", |row| row.0.index.into())
        .whole("at_ns", |row| row.1.at_ns)
        .text("from", |row| &*row.1.from)
        .text("to", |row| &*row.1.to)
        .text("reason", |row| row.1.reason.to_string())
        .truth("observed", |row| row.1.observed)
        .number("rtt_s", |row| row.1.rtt_s)
        .whole_if_any("rate_bit_s", |row| row.1.rate_bit_s)
        .whole_if_any("burst_bytes", |row| row.1.burst_bytes.map(u64::from))
        .number_if_any("stream_share", |row| row.1.stream_share)
        .number("isolated_loss", |row| row.1.isolated_loss)
        .number("burst_loss", |row| row.1.burst_loss)
        .with("predicted_s", Arc::new(predicted.finish()), false)
        .whole_if_any("known_age_s", |row| row.1.known.map(|known| known.age_s.into()))
        .number_if_any("known_rtt_s", |row| row.1.known.map(|known| known.rtt_s))
        .whole_if_any("known_rate_bit_s", |row| row.1.known.and_then(|known| known.rate_bit_s))
        .whole_if_any("known_window_bytes", |row| row.1.known.map(|it| it.window_bytes.into()))
        .whole_if_any("known_jump_bytes", |row| row.1.known.map(|it| it.jump_bytes.into()))
        .table()
}
