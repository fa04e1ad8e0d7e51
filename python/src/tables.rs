//! What came of a comparison as tables. Columns are called as in the records' lines.

use std::sync::Arc;

use arrow_array::builder::{
    Float64Builder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, UInt64Array};
use kirikae_results::outcome::{Burst, Outcome};
use kirikae_results::play::PlayedFlow;
use kirikae_vocabulary::Switch;

/// What a row is about.
#[derive(Clone, Copy)]
struct Row<'a, T> {
    scenario: &'a str,
    contender: &'static str,
    seed: u64,
    of: T,
}

/// Columns of rows that are gone through once for each.
struct Columns<I> {
    rows: I,
    /// Name, values, whether some may be missing.
    columns: Vec<(&'static str, ArrayRef, bool)>,
}

impl<'a, T, I: Iterator<Item = Row<'a, T>> + Clone> Columns<I> {
    /// With what every row says.
    fn of(rows: I) -> Columns<I> {
        Columns { rows, columns: Vec::new() }
            .text("scenario", |row| row.scenario.to_owned())
            .text("contender", |row| row.contender.to_owned())
            .whole("seed", |row| row.seed)
    }

    /// Texts that recur.
    fn text<S: AsRef<str>>(self, name: &'static str, text: impl Fn(Row<'a, T>) -> S) -> Self {
        let mut texts = StringDictionaryBuilder::<Int32Type>::new();
        self.rows.clone().for_each(|row| texts.append_value(text(row)));
        self.with(name, Arc::new(texts.finish()), false)
    }

    fn whole(self, name: &'static str, number: impl Fn(Row<'a, T>) -> u64) -> Self {
        let numbers = UInt64Array::from_iter_values(self.rows.clone().map(number));
        self.with(name, Arc::new(numbers), false)
    }

    fn whole_if_any(self, name: &'static str, number: impl Fn(Row<'a, T>) -> Option<u64>) -> Self {
        let numbers: UInt64Array = self.rows.clone().map(number).collect();
        self.with(name, Arc::new(numbers), true)
    }

    fn number(self, name: &'static str, number: impl Fn(Row<'a, T>) -> f64) -> Self {
        let numbers = Float64Array::from_iter_values(self.rows.clone().map(number));
        self.with(name, Arc::new(numbers), false)
    }

    fn number_if_any(self, name: &'static str, number: impl Fn(Row<'a, T>) -> Option<f64>) -> Self {
        let numbers: Float64Array = self.rows.clone().map(number).collect();
        self.with(name, Arc::new(numbers), true)
    }

    fn truth(self, name: &'static str, truth: impl Fn(Row<'a, T>) -> bool) -> Self {
        let truths: BooleanArray = self.rows.clone().map(|row| Some(truth(row))).collect();
        self.with(name, Arc::new(truths), false)
    }

    fn with(mut self, name: &'static str, column: ArrayRef, may_miss: bool) -> Self {
        self.columns.push((name, column, may_miss));
        self
    }

    fn table(self) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(self.columns).expect("columns of the same rows")
    }
}

/// Every burst, warm-up included.
pub fn bursts(outcome: &Outcome) -> RecordBatch {
    let rows = outcome.comparisons.iter().flat_map(|comparison| {
        comparison.performances.iter().flat_map(|performance| {
            performance.bursts.iter().map(|burst| Row::<&Burst> {
                scenario: &comparison.scenario.title,
                contender: performance.contender.name(),
                seed: performance.seed,
                of: burst,
            })
        })
    });
    Columns::of(rows)
        .whole("index", |row| row.of.index.into())
        .truth("warmup", |row| row.of.warmup)
        .whole("start_ns", |row| row.of.start_ns)
        .text("algorithm_before", |row| &*row.of.algorithm_before)
        .text("algorithm_after", |row| &*row.of.algorithm_after)
        .whole("switches", |row| row.of.switches as u64)
        .number_if_any("latency_s", |row| Some(row.of.delivery?.latency_s))
        .number_if_any("first_to_last_s", |row| Some(row.of.delivery?.first_to_last_s))
        .number_if_any("bound_s", |row| Some(row.of.delivery?.bound_s))
        .table()
}

fn played(outcome: &Outcome) -> impl Iterator<Item = Row<'_, &PlayedFlow>> + Clone {
    outcome.comparisons.iter().flat_map(|comparison| {
        comparison.plays.iter().flat_map(|play| {
            play.flows.iter().map(|flow| Row {
                scenario: &comparison.scenario.title,
                contender: play.contender.name(),
                seed: play.seed,
                of: flow,
            })
        })
    })
}

/// Every flow.
pub fn flows(outcome: &Outcome) -> RecordBatch {
    let rows = played(outcome);
    let mut latencies = ListBuilder::new(Float64Builder::new());
    for row in rows.clone() {
        latencies.values().append_slice(&row.of.latencies_s);
        latencies.append(true);
    }
    Columns::of(rows)
        .text("flow", |row| &*row.of.flow)
        .whole("index", |row| row.of.index.into())
        .text("played", |row| row.of.played.name())
        .number_if_any("start_s", |row| row.of.start_s)
        .number("end_s", |row| row.of.end_s)
        .number_if_any("measured_from_s", |row| Some(row.of.measured_s?.0))
        .number_if_any("measured_to_s", |row| Some(row.of.measured_s?.1))
        .whole("arrived_client", |row| row.of.arrived[0])
        .whole("arrived_server", |row| row.of.arrived[1])
        .number_if_any("goodput", |row| row.of.goodput)
        .whole("segments", |row| row.of.segments)
        .whole("retransmissions", |row| row.of.retransmissions)
        .number_if_any("srtt_s", |row| row.of.srtt_s)
        .whole("left_bytes", |row| row.of.left.map_or(0, |left| left.bytes))
        .truth("left_more", |row| row.of.left.is_some_and(|left| left.more))
        .whole("writes", |row| row.of.writes as u64)
        .with("latencies_s", Arc::new(latencies.finish()), false)
        .table()
}

/// Every switch of a flow's congestion control.
pub fn switches(outcome: &Outcome) -> RecordBatch {
    let rows = played(outcome).flat_map(|Row { scenario, contender, seed, of: flow }| {
        let of = move |switch| Row::<(&PlayedFlow, &Switch)> {
            scenario,
            contender,
            seed,
            of: (flow, switch),
        };
        flow.switches.iter().map(of)
    });
    let mut predicted = MapBuilder::new(None, StringBuilder::new(), Float64Builder::new());
    for Row { of: (_, switch), .. } in rows.clone() {
        for (name, latency_s) in &switch.predicted_s {
            predicted.keys().append_value(name);
            predicted.values().append_value(*latency_s);
        }
        predicted.append(true).expect("a value for each key");
    }
    Columns::of(rows)
        .text("flow", |row| &*row.of.0.flow)
        .whole("index", |row| row.of.0.index.into())
        .whole("at_ns", |row| row.of.1.at_ns)
        .text("from", |row| &*row.of.1.from)
        .text("to", |row| &*row.of.1.to)
        .text("reason", |row| row.of.1.reason.to_string())
        .truth("observed", |row| row.of.1.observed)
        .number("rtt_s", |row| row.of.1.rtt_s)
        .whole_if_any("rate_bit_s", |row| row.of.1.rate_bit_s)
        .whole_if_any("burst_bytes", |row| row.of.1.burst_bytes.map(u64::from))
        .number_if_any("stream_share", |row| row.of.1.stream_share)
        .number("isolated_loss", |row| row.of.1.isolated_loss)
        .number("burst_loss", |row| row.of.1.burst_loss)
        .with("predicted_s", Arc::new(predicted.finish()), false)
        .whole_if_any("known_age_s", |row| row.of.1.known.map(|known| known.age_s.into()))
        .number_if_any("known_rtt_s", |row| row.of.1.known.map(|known| known.rtt_s))
        .whole_if_any("known_rate_bit_s", |row| row.of.1.known.and_then(|known| known.rate_bit_s))
        .whole_if_any("known_window_bytes", |row| row.of.1.known.map(|it| it.window_bytes.into()))
        .whole_if_any("known_jump_bytes", |row| row.of.1.known.map(|it| it.jump_bytes.into()))
        .table()
}
