//! What came of a comparison as tables. Columns are called as in the records' lines.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::{Float64Type, Int32Type, UInt64Type};
use arrow_array::{ArrayRef, ListArray, RecordBatch, StructArray, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{Field, Schema, SchemaRef};
use kirikae_results::outcome::{Burst, Comparison, Outcome, Performance};
use kirikae_results::play::{Play, PlayedFlow};
use kirikae_vocabulary::{DroppedPacket, Switch};
use serde::Serialize;
use serde_variant::to_variant_name;

use crate::columns::Columns;

/// A contender of a scenario with one seed.
#[derive(Clone, Copy)]
pub struct Played<'a> {
    /// The scenario's title.
    pub scenario: &'a str,
    pub play: &'a Play,
    /// None where nothing is compared write by write.
    pub performance: Option<&'a Performance>,
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

    fn drops(self) -> &'a [DroppedPacket] {
        self.performance.map_or(&[], |performance| &performance.report.drops)
    }

    fn switches(self) -> impl Iterator<Item = (&'a PlayedFlow, &'a Switch)> + Clone {
        self.play.flows.iter().flat_map(|flow| flow.switches.iter().map(move |it| (flow, it)))
    }
}

/// What a table has rows of.
pub struct Kind {
    rows: fn(Played) -> usize,
    columns: fn(&[Played]) -> RecordBatch,
}

/// Every burst of what is compared write by write, warm-up included.
pub static BURSTS: Kind = Kind { rows: |played| played.bursts().len(), columns: bursts };
/// Every flow.
pub static FLOWS: Kind = Kind { rows: |played| played.play.flows.len(), columns: flows };
/// Both directions of every link.
static LINKS: Kind = Kind { rows: |played| played.play.links.len(), columns: links };
/// Every switch of a flow's congestion control.
pub static SWITCHES: Kind = Kind { rows: |played| played.switches().count(), columns: switches };
/// Every packet that was dropped in what is compared write by write.
static DROPS: Kind = Kind { rows: |played| played.drops().len(), columns: drops };

impl Kind {
    /// Number of rows of this contender and seed.
    pub fn rows(&self, played: &Played) -> usize {
        (self.rows)(*played)
    }

    /// The rows of these contenders and seeds, which say whose they are.
    pub fn batch(&self, played: &[Played]) -> RecordBatch {
        let whose = whose(played, self.rows);
        let own = (self.columns)(played);
        let fields = [&whose, &own].map(|it| it.schema().fields().to_vec()).concat();
        let columns = [whose.columns(), own.columns()].concat();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("of the same rows")
    }

    /// The columns, which are the same for all rows.
    pub fn schema(&self) -> SchemaRef {
        self.batch(&[]).schema()
    }

    /// The rows of each of these contenders and seeds as a list.
    fn lists(&self, played: &[Played]) -> ArrayRef {
        let rows = StructArray::from((self.columns)(played));
        let lengths = OffsetBuffer::from_lengths(played.iter().map(|it| self.rows(it)));
        let item = Field::new_list_field(arrow_array::Array::data_type(&rows).clone(), false);
        Arc::new(ListArray::new(Arc::new(item), lengths, Arc::new(rows), None))
    }
}

/// All that came of these contenders and seeds, a row for each: `crate::rows` makes the same of it again.
pub fn simulations(played: &[Played]) -> RecordBatch {
    let whose = whose(played, |_| 1);
    let scenarios = Arc::clone(whose.column(0));
    let contenders = Arc::clone(whose.column(1));
    Columns::of(played.iter())
        .with("scenario", scenarios, false)
        .with("contender", contenders, false)
        .whole("seed", |it| it.play.seed)
        .number("end_s", |it| it.play.end_s)
        .whole_if_any("end_ns", |it| Some(it.performance?.end_ns))
        .whole_if_any("unfinished", |it| Some(it.performance?.unfinished.into()))
        .numbers("recoveries_s", |it| {
            it.performance.into_iter().flat_map(|it| it.recoveries.clone())
        })
        .with("bursts", BURSTS.lists(played), false)
        .with("flows", FLOWS.lists(played), false)
        .with("links", LINKS.lists(played), false)
        .with("switches", SWITCHES.lists(played), false)
        .with("drops", DROPS.lists(played), false)
        .table()
}

/// Whose rows these are, `each` of a contender with one seed.
fn whose(played: &[Played], each: fn(Played) -> usize) -> RecordBatch {
    let mut scenarios = StringDictionaryBuilder::<Int32Type>::new();
    let mut contenders = StringDictionaryBuilder::<Int32Type>::new();
    for played in played {
        let rows = each(*played);
        scenarios.append_values(played.scenario, rows);
        contenders.append_values(played.play.contender.name(), rows);
    }
    let seeds = played.iter().flat_map(|it| std::iter::repeat_n(it.play.seed, each(*it)));
    let seeds = UInt64Array::from_iter_values(seeds);
    Columns::of(std::iter::empty::<()>())
        .with("scenario", Arc::new(scenarios.finish()), false)
        .with("contender", Arc::new(contenders.finish()), false)
        .with("seed", Arc::new(seeds), false)
        .table()
}

fn bursts(played: &[Played]) -> RecordBatch {
    Columns::of(played.iter().flat_map(|played| played.bursts()))
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
    Columns::of(played.iter().flat_map(|played| &played.play.flows))
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
        .whole_if_any("left_bytes", |row| Some(row.left?.bytes))
        .truth_if_any("left_more", |row| Some(row.left?.more))
        .whole("writes", |row| row.writes as u64)
        .numbers("latencies_s", |row| row.latencies_s.iter().map(|it| Some(*it)))
        .whole_if_any("watched_pictures", |row| Some(row.watched?.pictures.into()))
        .whole_if_any("watched_late", |row| Some(row.watched?.late.into()))
        .number_if_any("watched_frozen_s", |row| Some(row.watched?.frozen_s))
        .table()
}

fn links(played: &[Played]) -> RecordBatch {
    Columns::of(played.iter().flat_map(|played| &played.play.links))
        .text("link", |row| &*row.link)
        .text("direction", |row| called(&row.direction))
        .whole("offered", |row| row.offered)
        .whole("delivered", |row| row.delivered)
        .map::<UInt64Type, _, _>("dropped", |row| {
            row.dropped.iter().map(|(cause, n)| (called(cause), *n))
        })
        .whole("inside", |row| row.inside)
        .truth("held", |row| row.held)
        .table()
}

fn switches(played: &[Played]) -> RecordBatch {
    Columns::of(played.iter().flat_map(|played| played.switches()))
        .text("flow", |row| &*row.0.flow)
        .whole("index", |row| row.0.index.into())
        .whole("at_ns", |row| row.1.at_ns)
        .text("local", |row| row.1.local.to_string())
        .text("remote", |row| row.1.remote.to_string())
        .text("from", |row| &*row.1.from)
        .text("to", |row| &*row.1.to)
        .text("reason", |row| called(&row.1.reason))
        .truth("observed", |row| row.1.observed)
        .number("rtt_s", |row| row.1.rtt_s)
        .whole_if_any("rate_bit_s", |row| row.1.rate_bit_s)
        .whole_if_any("burst_bytes", |row| row.1.burst_bytes.map(u64::from))
        .number_if_any("stream_share", |row| row.1.stream_share)
        .number("isolated_loss", |row| row.1.isolated_loss)
        .number("burst_loss", |row| row.1.burst_loss)
        .map::<Float64Type, _, _>("predicted_s", |row| {
            row.1.predicted_s.iter().map(|(name, s)| (name, *s))
        })
        .whole_if_any("known_age_s", |row| row.1.known.map(|known| known.age_s.into()))
        .number_if_any("known_rtt_s", |row| row.1.known.map(|known| known.rtt_s))
        .whole_if_any("known_rate_bit_s", |row| row.1.known.and_then(|known| known.rate_bit_s))
        .whole_if_any("known_window_bytes", |row| row.1.known.map(|it| it.window_bytes.into()))
        .whole_if_any("known_jump_bytes", |row| row.1.known.map(|it| it.jump_bytes.into()))
        .truth_if_any("known_is_first_flight", |row| row.1.known.map(|it| it.is_first_flight))
        .table()
}

fn drops(played: &[Played]) -> RecordBatch {
    Columns::of(played.iter().flat_map(|played| played.drops()))
        .whole("monotonic_ns", |row| row.monotonic_ns)
        .text("direction", |row| called(&row.direction))
        .whole("number", |row| row.number)
        .text("cause", |row| called(&row.cause))
        .whole_if_any("source_port", |row| Some(row.segment?.source_port.into()))
        .whole_if_any("destination_port", |row| Some(row.segment?.destination_port.into()))
        .truth_if_any("syn", |row| Some(row.segment?.syn))
        .whole_if_any("sequence", |row| Some(row.segment?.sequence.into()))
        .whole_if_any("payload_bytes", |row| Some(row.segment?.payload_bytes.into()))
        .whole_if_any("stream_offset", |row| row.segment?.stream_offset.map(u64::from))
        .table()
}

/// What the records call one of several kinds.
fn called(kind: &impl Serialize) -> &'static str {
    to_variant_name(kind).expect("a variant without fields")
}
