//! Results as Arrow's tables, which other libraries take without a copy.

use std::sync::Arc;

use arrow_array::builder::{
    Float64Builder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch,
    RecordBatchIterator, StringArray, UInt32Array, UInt64Array,
};
use kirikae_results::outcome::{Burst, Comparison, Delivery, Outcome};
use kirikae_results::play::{Play, PlayedFlow};
use kirikae_vocabulary::Switch;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// What a table has rows of.
#[derive(Clone, Copy)]
pub enum Kind {
    Bursts,
    Flows,
    Switches,
}

/// A table that speaks Arrow: polars.DataFrame(table), pyarrow.table(table), duckdb and others take it.
/// len() is its number of rows.
#[pyclass(frozen, module = "kirikae")]
pub struct Table {
    results: Arc<Outcome>,
    kind: Kind,
}

impl Table {
    pub fn new(results: Arc<Outcome>, kind: Kind) -> Table {
        Table { results, kind }
    }

    /// A batch for each contender and seed of each scenario, made when it is asked for.
    pub fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let kind = self.kind;
        let schema = kind.batch(&Of::default(), Rows::default()).schema();
        let places: Vec<(usize, usize)> = (0..)
            .zip(&self.results.comparisons)
            .flat_map(|(place, it)| (0..it.plays.len()).map(move |index| (place, index)))
            .collect();
        let results = Arc::clone(&self.results);
        let batches = places.into_iter().map(move |(place, index)| {
            let (of, rows) = played(&results.comparisons[place], index);
            Ok(kind.batch(&of, rows))
        });
        let stream = RecordBatchIterator::new(batches, schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(stream));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        let comparisons = &self.results.comparisons;
        let plays = || comparisons.iter().flat_map(|it| &it.plays);
        let switches =
            |play: &Play| play.flows.iter().map(|flow| flow.switches.len()).sum::<usize>();
        match self.kind {
            Kind::Bursts => {
                comparisons.iter().flat_map(|it| &it.performances).map(|it| it.bursts.len()).sum()
            }
            Kind::Flows => plays().map(|play| play.flows.len()).sum(),
            Kind::Switches => plays().map(switches).sum(),
        }
    }
}

#[pymethods]
impl Table {
    /// Whoever makes a stream may pass over which schema was requested.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.stream(py)
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    fn __repr__(&self) -> String {
        let rows = match self.kind {
            Kind::Bursts => "bursts",
            Kind::Flows => "flows",
            Kind::Switches => "switches",
        };
        format!("<Table of {} {rows}>", self.rows())
    }
}

/// What all rows of a batch have in common.
#[derive(Default)]
struct Of<'a> {
    scenario: &'a str,
    contender: &'a str,
    seed: u64,
}

/// What rows are made of.
#[derive(Clone, Copy, Default)]
struct Rows<'a> {
    bursts: &'a [Burst],
    flows: &'a [PlayedFlow],
}

/// One contender with one seed. Performances, where there are any, are in the order of the plays.
fn played(comparison: &Comparison, index: usize) -> (Of<'_>, Rows<'_>) {
    let play = &comparison.plays[index];
    let of = Of {
        scenario: &comparison.scenario.title,
        contender: play.contender.name(),
        seed: play.seed,
    };
    let bursts = comparison.performances.get(index).map_or(&[][..], |it| &it.bursts);
    (of, Rows { bursts, flows: &play.flows })
}

/// A name, the values, and whether some may be missing.
type Column = (&'static str, ArrayRef, bool);

impl Kind {
    fn batch(self, of: &Of, rows: Rows) -> RecordBatch {
        let (length, own) = match self {
            Kind::Bursts => (rows.bursts.len(), bursts(rows.bursts)),
            Kind::Flows => (rows.flows.len(), flows(rows.flows)),
            Kind::Switches => {
                let switches: Vec<(&PlayedFlow, &Switch)> = rows
                    .flows
                    .iter()
                    .flat_map(|flow| flow.switches.iter().map(move |switch| (flow, switch)))
                    .collect();
                (switches.len(), self::switches(&switches))
            }
        };
        let common: [Column; 3] = [
            ("scenario", repeated(of.scenario, length), false),
            ("contender", repeated(of.contender, length), false),
            ("seed", Arc::new(UInt64Array::from_value(of.seed, length)), false),
        ];
        RecordBatch::try_from_iter_with_nullable(common.into_iter().chain(own))
            .expect("columns of one length, and nulls only where they may be")
    }
}

fn bursts(rows: &[Burst]) -> Vec<Column> {
    let delivery = |of: fn(Delivery) -> f64| reals(rows.iter().map(move |it| it.delivery.map(of)));
    let warmup = rows.iter().map(|it| Some(it.warmup)).collect::<BooleanArray>();
    vec![
        ("index", whole(rows.iter().map(|it| it.index)), false),
        ("warmup", Arc::new(warmup), false),
        ("start_ns", long(rows.iter().map(|it| Some(it.start_ns))), false),
        ("algorithm_before", names(rows.iter().map(|it| &*it.algorithm_before)), false),
        ("algorithm_after", names(rows.iter().map(|it| &*it.algorithm_after)), false),
        ("switches", whole(rows.iter().map(|it| it.switches as u32)), false),
        ("latency_s", delivery(|it| it.latency_s), true),
        ("first_to_last_s", delivery(|it| it.first_to_last_s), true),
        ("bound_s", delivery(|it| it.bound_s), true),
    ]
}

fn flows(rows: &[PlayedFlow]) -> Vec<Column> {
    let mut latencies = ListBuilder::new(Float64Builder::new());
    for row in rows {
        latencies.values().append_slice(&row.latencies_s);
        latencies.append(true);
    }
    let unfinished = rows.iter().map(|it| Some(it.left.is_some())).collect::<BooleanArray>();
    vec![
        ("flow", names(rows.iter().map(|it| &*it.flow)), false),
        ("index", whole(rows.iter().map(|it| it.index)), false),
        ("played", names(rows.iter().map(|it| it.played.name())), false),
        ("start_s", reals(rows.iter().map(|it| it.start_s)), true),
        ("end_s", reals(rows.iter().map(|it| Some(it.end_s))), false),
        ("measured_from_s", reals(rows.iter().map(|it| Some(it.measured_s?.0))), true),
        ("measured_to_s", reals(rows.iter().map(|it| Some(it.measured_s?.1))), true),
        ("arrived_from_client", long(rows.iter().map(|it| Some(it.arrived[0]))), false),
        ("arrived_from_server", long(rows.iter().map(|it| Some(it.arrived[1]))), false),
        ("goodput_bit_s", reals(rows.iter().map(|it| it.goodput)), true),
        ("segments", long(rows.iter().map(|it| Some(it.segments))), false),
        ("retransmissions", long(rows.iter().map(|it| Some(it.retransmissions))), false),
        ("srtt_s", reals(rows.iter().map(|it| it.srtt_s)), true),
        ("unfinished", Arc::new(unfinished), false),
        ("writes", long(rows.iter().map(|it| Some(it.writes as u64))), false),
        ("latencies_s", Arc::new(latencies.finish()), false),
    ]
}

fn switches(rows: &[(&PlayedFlow, &Switch)]) -> Vec<Column> {
    let of = || rows.iter().map(|(_, switch)| *switch);
    let mut predicted = MapBuilder::new(None, StringBuilder::new(), Float64Builder::new());
    for switch in of() {
        for (algorithm, latency_s) in &switch.predicted_s {
            predicted.keys().append_value(algorithm);
            predicted.values().append_value(*latency_s);
        }
        predicted.append(true).expect("as many keys as values");
    }
    let reasons: Vec<String> = of().map(|it| it.reason.to_string()).collect();
    let bytes = of().map(|it| it.burst_bytes).collect::<UInt32Array>();
    vec![
        ("flow", names(rows.iter().map(|(flow, _)| &*flow.flow)), false),
        ("index", whole(rows.iter().map(|(flow, _)| flow.index)), false),
        ("at_ns", long(of().map(|it| Some(it.at_ns))), false),
        ("from", names(of().map(|it| &*it.from)), false),
        ("to", names(of().map(|it| &*it.to)), false),
        ("reason", names(reasons.iter().map(String::as_str)), false),
        ("rtt_s", reals(of().map(|it| Some(it.rtt_s))), false),
        ("rate_bit_s", long(of().map(|it| it.rate_bit_s)), true),
        ("burst_bytes", Arc::new(bytes), true),
        ("stream_share", reals(of().map(|it| it.stream_share)), true),
        ("isolated_loss", reals(of().map(|it| Some(it.isolated_loss))), false),
        ("burst_loss", reals(of().map(|it| Some(it.burst_loss))), false),
        ("predicted_s", Arc::new(predicted.finish()), false),
    ]
}

/// The same text in every row.
fn repeated(text: &str, rows: usize) -> ArrayRef {
    let texts = Arc::new(StringArray::from_iter_values([text]));
    Arc::new(DictionaryArray::new(Int32Array::from_value(0, rows), texts))
}

/// Few texts in many rows.
fn names<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    values.for_each(|value| builder.append_value(value));
    Arc::new(builder.finish())
}

fn reals(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.collect::<Float64Array>())
}

fn whole(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

fn long(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(values.collect::<UInt64Array>())
}
