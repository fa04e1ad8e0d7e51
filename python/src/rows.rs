//! The results of simulations again, of the columns that `crate::tables::simulations` made of them.

use std::borrow::Cow;
use std::net::SocketAddr;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, UInt64Type};
use arrow_array::{
    Array, BooleanArray, DictionaryArray, Float64Array, MapArray, PrimitiveArray, StringArray,
    StructArray, UInt64Array,
};
use kirikae_path::{Direction, DropCause};
use kirikae_results::contest::Kept;
use kirikae_results::outcome::{Burst, Delivery, Performance};
use kirikae_results::play::{Play, PlayedFlow, PlayedLink};
use kirikae_results::watched::Watched;
use kirikae_scenario::Contender;
use kirikae_sim::Left;
use kirikae_vocabulary::{
    DirectionReport, DroppedPacket, KnownPath, Reason, Report, Segment, Switch, TimingError,
};
use serde::de::value::Error;
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::out_of_tree;

/// The results of the simulations that are the rows of this.
///
/// # Errors
/// A text that is no name of what is named there.
pub fn kept(simulations: &StructArray) -> Result<Vec<Kept>, Error> {
    let of = Columns(simulations);
    let (seed, end_s) = (of.whole("seed"), of.number("end_s"));
    let (end_ns, unfinished) = (of.whole("end_ns"), of.whole("unfinished"));
    let recoveries = of.0.column_by_name("recoveries_s").expect("checked").as_list::<i32>();
    let contender = of.texts("contender", contender)?;
    // All rows of each kind, and how many of them are of each simulation.
    let (mut bursts, burst_count) = (bursts(of.list("bursts"))?, of.lengths("bursts"));
    let (mut drops, drop_count) = (drops(of.list("drops"))?, of.lengths("drops"));
    let (mut links, link_count) = (links(of.list("links"))?, of.lengths("links"));
    let (mut flows, flow_count) = (flows(of.list("flows"))?, of.lengths("flows"));
    let (mut switches, switch_count) = (switches(of.list("switches"))?, of.lengths("switches"));
    let kept = (0..simulations.len()).map(|row| {
        let (contender, seed) = (contender(row), seed.value(row));
        let mut switches = switches.by_ref().take(switch_count(row)).peekable();
        let flows = flows.by_ref().take(flow_count(row)).enumerate().map(|(place, mut flow)| {
            let own = |(of, index, _): &(_, _, _)| (of, index) == (&flow.flow, &flow.index);
            let own = std::iter::from_fn(|| switches.next_if(own));
            flow.switches = own.map(|(_, _, switch)| switch).collect();
            flow.left = flow.left.map(|left| Left { flow: place, ..left });
            flow
        });
        let flows: Vec<PlayedFlow> = flows.collect();
        let links: Vec<PlayedLink> = links.by_ref().take(link_count(row)).collect();
        let bursts: Vec<Burst> = bursts.by_ref().take(burst_count(row)).collect();
        let drops = drops.by_ref().take(drop_count(row)).collect();
        let performance = given(end_ns, row).map(|end_ns| Performance {
            contender,
            seed,
            bursts,
            unfinished: unfinished.value(row) as u32,
            end_ns,
            switches: in_order_of_time(&flows),
            recoveries: recoveries.value(row).as_primitive::<Float64Type>().iter().collect(),
            report: report(&links, drops),
        });
        let play = Play { contender, seed, end_s: end_s.value(row), flows, links };
        (performance, play)
    });
    Ok(kept.collect())
}

fn in_order_of_time(flows: &[PlayedFlow]) -> Vec<Switch> {
    let mut switches: Vec<Switch> = flows.iter().flat_map(|it| &it.switches).cloned().collect();
    switches.sort_by_key(|switch| switch.at_ns);
    switches
}

/// What the only link did, in virtual time, in which nothing is late.
fn report(links: &[PlayedLink], drops: Vec<DroppedPacket>) -> Report {
    let direction = |way: Direction| {
        let link = links.iter().find(|link| link.direction == way).expect("both directions");
        DirectionReport {
            offered: link.offered,
            delivered: link.delivered,
            dropped: link.dropped.clone(),
            inside: link.inside,
            device_drops: 0,
            timing_error: TimingError { p50_us: 0.0, p99_us: 0.0, max_us: 0.0 },
            late_limit_us: 0.0,
            late: 0,
        }
    };
    Report {
        forward: direction(Direction::Forward),
        backward: direction(Direction::Backward),
        drops,
        held: links.iter().all(|link| link.held),
    }
}

fn bursts(rows: &StructArray) -> Result<impl Iterator<Item = Burst>, Error> {
    let of = Columns(rows);
    let (index, warmup, start_ns) = (of.whole("index"), of.truth("warmup"), of.whole("start_ns"));
    let before = of.texts("algorithm_before", algorithm)?;
    let after = of.texts("algorithm_after", algorithm)?;
    let (switches, latency_s) = (of.whole("switches"), of.number("latency_s"));
    let (first_to_last_s, bound_s) = (of.number("first_to_last_s"), of.number("bound_s"));
    Ok((0..rows.len()).map(move |row| Burst {
        index: index.value(row) as u32,
        warmup: warmup.value(row),
        start_ns: start_ns.value(row),
        algorithm_before: before(row),
        algorithm_after: after(row),
        switches: switches.value(row) as usize,
        delivery: given(latency_s, row).map(|latency_s| Delivery {
            latency_s,
            first_to_last_s: first_to_last_s.value(row),
            bound_s: bound_s.value(row),
        }),
    }))
}

fn flows(rows: &StructArray) -> Result<impl Iterator<Item = PlayedFlow>, Error> {
    let of = Columns(rows);
    let (flow, index) = (of.texts("flow", owned)?, of.whole("index"));
    let played = of.texts("played", contender)?;
    let (start_s, end_s, goodput) =
        (of.number("start_s"), of.number("end_s"), of.number("goodput"));
    let (from_s, to_s) = (of.number("measured_from_s"), of.number("measured_to_s"));
    let arrived = [of.whole("arrived_client"), of.whole("arrived_server")];
    let (segments, retransmissions) = (of.whole("segments"), of.whole("retransmissions"));
    let (srtt_s, writes) = (of.number("srtt_s"), of.whole("writes"));
    let (left_bytes, left_more) = (of.whole("left_bytes"), of.truth("left_more"));
    let latencies_s = of.0.column_by_name("latencies_s").expect("checked").as_list::<i32>();
    let (pictures, late) = (of.whole("watched_pictures"), of.whole("watched_late"));
    let frozen_s = of.number("watched_frozen_s");
    Ok((0..rows.len()).map(move |row| PlayedFlow {
        flow: flow(row),
        index: index.value(row) as u32,
        played: played(row),
        start_s: given(start_s, row),
        end_s: end_s.value(row),
        measured_s: given(from_s, row).map(|from_s| (from_s, to_s.value(row))),
        arrived: arrived.map(|bytes| bytes.value(row)),
        goodput: given(goodput, row),
        segments: segments.value(row),
        retransmissions: retransmissions.value(row),
        srtt_s: given(srtt_s, row),
        // Whose they are is told by the order of flows.
        left: given(left_bytes, row).map(|bytes| Left {
            flow: 0,
            bytes,
            more: left_more.value(row),
        }),
        writes: writes.value(row) as usize,
        latencies_s: latencies_s.value(row).as_primitive::<Float64Type>().values().to_vec(),
        watched: given(pictures, row).map(|pictures| Watched {
            pictures: pictures as u32,
            late: late.value(row) as u32,
            frozen_s: frozen_s.value(row),
        }),
        switches: Vec::new(),
    }))
}

fn links(rows: &StructArray) -> Result<impl Iterator<Item = PlayedLink>, Error> {
    let of = Columns(rows);
    let (link, direction) = (of.texts("link", owned)?, of.texts("direction", kind::<Direction>)?);
    let (offered, delivered) = (of.whole("offered"), of.whole("delivered"));
    let (inside, held) = (of.whole("inside"), of.truth("held"));
    let dropped = of.entries::<UInt64Type, _>("dropped", kind::<DropCause>)?;
    let mut dropped = dropped.into_iter();
    Ok((0..rows.len()).map(move |row| PlayedLink {
        link: link(row),
        direction: direction(row),
        offered: offered.value(row),
        delivered: delivered.value(row),
        dropped: dropped.next().expect("one for each row").into_iter().collect(),
        inside: inside.value(row),
        timing_error: None,
        held: held.value(row),
    }))
}

/// Switches, each with the group and index of its flow.
fn switches(rows: &StructArray) -> Result<impl Iterator<Item = (String, u32, Switch)>, Error> {
    let of = Columns(rows);
    let (flow, index, at_ns) = (of.texts("flow", owned)?, of.whole("index"), of.whole("at_ns"));
    let (local, remote) = (of.texts("local", address)?, of.texts("remote", address)?);
    let (from, to) = (of.texts("from", owned)?, of.texts("to", owned)?);
    let (reason, observed) = (of.texts("reason", kind::<Reason>)?, of.truth("observed"));
    let (rtt_s, rate_bit_s) = (of.number("rtt_s"), of.whole("rate_bit_s"));
    let (burst_bytes, stream_share) = (of.whole("burst_bytes"), of.number("stream_share"));
    let (isolated_loss, burst_loss) = (of.number("isolated_loss"), of.number("burst_loss"));
    let predicted_s = of.entries::<Float64Type, _>("predicted_s", owned)?;
    let mut predicted_s = predicted_s.into_iter();
    let (age_s, known_rtt_s) = (of.whole("known_age_s"), of.number("known_rtt_s"));
    let known_rate_bit_s = of.whole("known_rate_bit_s");
    let (window, jump) = (of.whole("known_window_bytes"), of.whole("known_jump_bytes"));
    let is_first_flight = of.truth("known_is_first_flight");
    Ok((0..rows.len()).map(move |row| {
        let switch = Switch {
            at_ns: at_ns.value(row),
            local: local(row),
            remote: remote(row),
            namespace: 0,
            from: from(row),
            to: to(row),
            reason: reason(row),
            observed: observed.value(row),
            rtt_s: rtt_s.value(row),
            rate_bit_s: given(rate_bit_s, row),
            burst_bytes: given(burst_bytes, row).map(|bytes| bytes as u32),
            stream_share: given(stream_share, row),
            isolated_loss: isolated_loss.value(row),
            burst_loss: burst_loss.value(row),
            predicted_s: predicted_s.next().expect("one for each row"),
            known: given(age_s, row).map(|age_s| KnownPath {
                age_s: age_s as u32,
                rtt_s: known_rtt_s.value(row),
                rate_bit_s: given(known_rate_bit_s, row),
                window_bytes: window.value(row) as u32,
                jump_bytes: jump.value(row) as u32,
                is_first_flight: is_first_flight.value(row),
            }),
        };
        (flow(row), index.value(row) as u32, switch)
    }))
}

fn drops(rows: &StructArray) -> Result<impl Iterator<Item = DroppedPacket>, Error> {
    let of = Columns(rows);
    let (at_ns, number) = (of.whole("monotonic_ns"), of.whole("number"));
    let direction = of.texts("direction", kind::<Direction>)?;
    let cause = of.texts("cause", kind::<DropCause>)?;
    let (source, destination) = (of.whole("source_port"), of.whole("destination_port"));
    let (syn, sequence) = (of.truth("syn"), of.whole("sequence"));
    let (payload, offset) = (of.whole("payload_bytes"), of.whole("stream_offset"));
    Ok((0..rows.len()).map(move |row| DroppedPacket {
        monotonic_ns: at_ns.value(row),
        direction: direction(row),
        number: number.value(row),
        cause: cause(row),
        segment: given(source, row).map(|source| Segment {
            source_port: source as u16,
            destination_port: destination.value(row) as u16,
            syn: syn.value(row),
            sequence: sequence.value(row) as u32,
            payload_bytes: payload.value(row) as u32,
            stream_offset: given(offset, row).map(|offset| offset as u32),
        }),
    }))
}

/// The columns of rows, by name. Whoever asks has compared the schema.
struct Columns<'a>(&'a StructArray);

impl<'a> Columns<'a> {
    fn column(&self, name: &str) -> &'a dyn Array {
        self.0.column_by_name(name).expect("as in the schema")
    }

    fn whole(&self, name: &str) -> &'a UInt64Array {
        self.column(name).as_primitive()
    }

    fn number(&self, name: &str) -> &'a Float64Array {
        self.column(name).as_primitive()
    }

    fn truth(&self, name: &str) -> &'a BooleanArray {
        self.column(name).as_boolean()
    }

    /// What the texts of a column mean, of which each is read once.
    fn texts<T: Clone>(
        &self,
        name: &str,
        mean: fn(&str) -> Result<T, Error>,
    ) -> Result<impl Fn(usize) -> T + use<'a, T>, Error> {
        let column: &DictionaryArray<Int32Type> = self.column(name).as_dictionary();
        let texts = column.values().as_string::<i32>();
        let meanings: Vec<T> = texts.iter().flatten().map(mean).collect::<Result<_, _>>()?;
        Ok(move |row| meanings[column.keys().value(row) as usize].clone())
    }

    /// The entries of each map.
    fn entries<T: ArrowPrimitiveType, K>(
        &self,
        name: &str,
        mean: fn(&str) -> Result<K, Error>,
    ) -> Result<Vec<Entries<K, T::Native>>, Error> {
        let maps: &MapArray = self.column(name).as_map();
        let entries = |row: usize| {
            let entries = maps.value(row);
            let keys: &StringArray = entries.column(0).as_string();
            let values: &PrimitiveArray<T> = entries.column(1).as_primitive();
            let keys = keys.iter().flatten().map(mean);
            keys.zip(values.values()).map(|(key, value)| Ok((key?, *value))).collect()
        };
        (0..maps.len()).map(entries).collect()
    }

    /// The rows of a column of lists, one list after the other.
    fn list(&self, name: &str) -> &'a StructArray {
        self.column(name).as_list::<i32>().values().as_struct()
    }

    /// How long each of its lists is.
    fn lengths(&self, name: &str) -> impl Fn(usize) -> usize + use<'a> {
        let lists = self.column(name).as_list::<i32>();
        move |row| lists.value_length(row) as usize
    }
}

type Entries<K, V> = Vec<(K, V)>;

/// A value that may be missing.
fn given<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

fn owned(text: &str) -> Result<String, Error> {
    Ok(text.into())
}

/// A name of an algorithm, which need not be kept for each burst.
fn algorithm(name: &str) -> Result<Cow<'static, str>, Error> {
    let ours = Contender::all().into_iter().find(|it| it.congestion_control() == name);
    let known = ours.or_else(|| out_of_tree::contender(name));
    Ok(known.map_or(Cow::Owned(name.into()), |it| Cow::Borrowed(it.congestion_control())))
}

fn contender(name: &str) -> Result<Contender, Error> {
    out_of_tree::contender(name).map_or_else(|| kind(name), Ok)
}

/// One of several kinds, by what the records call it.
fn kind<T: DeserializeOwned>(name: &str) -> Result<T, Error> {
    T::deserialize(name.into_deserializer())
}

fn address(text: &str) -> Result<SocketAddr, Error> {
    kind(text)
}
