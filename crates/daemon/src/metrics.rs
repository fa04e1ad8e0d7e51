//! Metrics in the text form of OpenMetrics, which Prometheus reads.

use std::fmt;

use kirikae_agent::{BURST_SIZES, Connection, Refusals, bucket_end_s};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::service::Measured;
use crate::status::{Guarding, NetworkStatus, PathMemoryStatus};

/// The content type that Prometheus is told.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const RTT_ENDS_S: [f64; 12] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, f64::INFINITY];
const LOSS_ENDS: [f64; 9] = [0.0, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, f64::INFINITY];

/// The metrics as they are now.
pub(crate) fn text(measured: &Measured) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Snapshot(Numbers::of(measured))));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).expect("writing to a string");
    text
}

/// The numbers of the metrics, prepared for encoding.
#[derive(Debug)]
struct Numbers {
    connections: Vec<([(&'static str, String); 2], usize)>,
    switches: Vec<(String, u64)>,
    observed: u64,
    events_lost: u64,
    lines_lost: u64,
    is_page_served: Option<bool>,
    asked_again: u64,
    unheard: usize,
    refused: Refusals,
    revived: u64,
    stranded: u64,
    destroyed: u64,
    network: NetworkStatus,
    paths: PathMemoryStatus,
    rtt_s: Histogram,
    isolated_loss: Histogram,
    burst_loss: Histogram,
    bursts: Vec<([(&'static str, String); 3], Histogram)>,
    guards: Vec<(String, Guarding)>,
    runs: u64,
    run_s: f64,
}

/// Counts of values up to each end. Values beyond an end are not in its count.
#[derive(Clone, Debug, Default)]
struct Histogram {
    sum: f64,
    buckets: Vec<(f64, u64)>,
}

impl Histogram {
    fn of(ends: &[f64], values: impl Iterator<Item = f64>) -> Histogram {
        let mut buckets: Vec<(f64, u64)> = ends.iter().map(|&end| (end, 0)).collect();
        let mut sum = 0.0;
        for value in values {
            sum += value;
            if let Some((_, count)) = buckets.iter_mut().find(|(end, _)| value <= *end) {
                *count += 1;
            }
        }
        Histogram { sum, buckets }
    }

    fn encode(&self, mut metric: MetricEncoder) -> fmt::Result {
        metric.encode_histogram::<[(&str, &str); 0]>(self.sum, self.count(), &self.buckets, None)
    }

    fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }
}

impl Numbers {
    fn of(Measured { status, connections, bursts }: &Measured) -> Numbers {
        let mut kinds: Vec<([(&str, String); 2], usize)> = Vec::new();
        let connections = &connections.connections;
        for connection in connections {
            let labels = [
                ("algorithm", connection.algorithm.clone()),
                ("treatment", connection.treatment.name().to_owned()),
            ];
            match kinds.iter_mut().find(|(known, _)| *known == labels) {
                Some((_, count)) => *count += 1,
                None => kinds.push((labels, 1)),
            }
        }
        let of_connections = |ends: &[f64], value: fn(&Connection) -> f64| {
            Histogram::of(ends, connections.iter().map(value))
        };
        let of_bursts = bursts.iter().map(|it| {
            let below = BURST_SIZES[it.size].map_or("+Inf".to_owned(), |bytes| bytes.to_string());
            let labels = [
                ("scope", it.scope.clone()),
                ("treatment", if it.switched { "switched" } else { "stock" }.to_owned()),
                ("bytes_below", below),
            ];
            let last = it.buckets.len() - 1;
            let end = |bucket| if bucket == last { f64::INFINITY } else { bucket_end_s(bucket) };
            let buckets = it.buckets.iter().enumerate().map(|(n, &count)| (end(n), count));
            (labels, Histogram { sum: it.sum_s, buckets: buckets.collect() })
        });
        let scopes = status.policy.scopes.iter();
        let guards = scopes.filter_map(|scope| Some((scope.name.clone(), scope.guard.clone()?)));
        Numbers {
            connections: kinds,
            switches: status.switches.clone().into_iter().collect(),
            observed: status.observed,
            events_lost: status.events_lost,
            lines_lost: status.lines_lost,
            is_page_served: status.page.map(|page| page.is_served),
            asked_again: status.asked_again,
            unheard: status.unheard,
            refused: status.refused,
            revived: status.revived,
            stranded: status.stranded,
            destroyed: status.destroyed,
            network: status.network,
            paths: status.paths,
            rtt_s: of_connections(&RTT_ENDS_S, |it| it.srtt_s),
            isolated_loss: of_connections(&LOSS_ENDS, |it| it.isolated_loss),
            burst_loss: of_connections(&LOSS_ENDS, |it| it.burst_loss),
            bursts: of_bursts.collect(),
            guards: guards.collect(),
            runs: status.cost.runs,
            run_s: status.cost.time.as_secs_f64(),
        }
    }
}

#[derive(Debug)]
struct Snapshot(Numbers);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let Snapshot(numbers) = self;
        encode_gauges(numbers, &mut encoder)?;
        encode_counters(numbers, &mut encoder)?;
        encode_histograms(numbers, &mut encoder)
    }
}

/// Encodes the present state: connections, and what the guards found.
fn encode_gauges(numbers: &Numbers, encoder: &mut DescriptorEncoder) -> fmt::Result {
    let ratio = Unit::Other("ratio".into());

    let mut family = encoder.encode_descriptor(
        "kirikae_connections",
        "Connections remembered, by the algorithm in use and what becomes of them",
        None,
        MetricType::Gauge,
    )?;
    for (labels, count) in &numbers.connections {
        ConstGauge::new(*count as i64).encode(family.encode_family(labels)?)?;
    }

    let unheard = encoder.encode_descriptor(
        "kirikae_connections_unheard",
        "Connections whose callbacks another sock_ops program has taken, and that cannot be asked for again",
        None,
        MetricType::Gauge,
    )?;
    ConstGauge::new(numbers.unheard as i64).encode(unheard)?;

    let alive = encoder.encode_descriptor(
        "kirikae_network_thread_alive",
        "Whether the thread that watches the networks of connections runs (1), or not (0)",
        None,
        MetricType::Gauge,
    )?;
    ConstGauge::new(i64::from(numbers.network.is_alive)).encode(alive)?;

    let known = encoder.encode_descriptor(
        "kirikae_paths",
        "Paths of which something is known",
        None,
        MetricType::Gauge,
    )?;
    ConstGauge::new(numbers.paths.known as i64).encode(known)?;

    if let Some(is_served) = numbers.is_page_served {
        let served = encoder.encode_descriptor(
            "kirikae_page_served",
            "Whether the page that the policy wants is served (1), or somebody else has its port (0)",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(i64::from(is_served)).encode(served)?;
    }

    let mut family = encoder.encode_descriptor(
        "kirikae_guard_suspended",
        "Whether a scope is only observed because switching hurts (1), or not (0)",
        None,
        MetricType::Gauge,
    )?;
    for (scope, guard) in &numbers.guards {
        let labels = [("scope", scope)];
        let metric = family.encode_family(&labels)?;
        ConstGauge::new(i64::from(guard.suspended)).encode(metric)?;
    }

    let mut family = encoder.encode_descriptor(
        "kirikae_guard_suspended_cgroups",
        "Cgroups of a scope that are only observed because switching hurts their connections",
        None,
        MetricType::Gauge,
    )?;
    for (scope, guard) in &numbers.guards {
        let labels = [("scope", scope)];
        let metric = family.encode_family(&labels)?;
        let suspended = guard.cgroups.iter().filter(|it| it.suspended_since.is_some());
        ConstGauge::new(suspended.count() as i64).encode(metric)?;
    }

    let mut family = encoder.encode_descriptor(
        "kirikae_guard",
        "What switched bursts take over what stock ones take, and the ends of the interval",
        Some(&ratio),
        MetricType::Gauge,
    )?;
    for (scope, guard) in &numbers.guards {
        for (end, value) in
            ["least", "estimate", "most"].iter().zip(guard.ratio.into_iter().flatten())
        {
            let labels = [("scope", scope.as_str()), ("end", end)];
            let metric = family.encode_family(&labels)?;
            ConstGauge::new(value).encode(metric)?;
        }
    }
    Ok(())
}

/// Encodes what was counted since the agent started.
fn encode_counters(numbers: &Numbers, encoder: &mut DescriptorEncoder) -> fmt::Result {
    let seconds = Some(&Unit::Seconds);

    let mut family = encoder.encode_descriptor(
        "kirikae_switches",
        "Switches made, by reason",
        None,
        MetricType::Counter,
    )?;
    for (reason, count) in &numbers.switches {
        ConstCounter::new(*count).encode(family.encode_family(&[("reason", reason)])?)?;
    }

    let mut family = encoder.encode_descriptor(
        "kirikae_connections_refused",
        "Connections that the kernel has refused to switch, by reason",
        None,
        MetricType::Counter,
    )?;
    let Refusals { locked_route, other } = numbers.refused;
    for (reason, count) in [("locked-route", locked_route), ("other", other)] {
        ConstCounter::new(count).encode(family.encode_family(&[("reason", reason)])?)?;
    }

    for (name, what, count) in [
        (
            "kirikae_switches_observed",
            "Choices of connections that are only observed",
            numbers.observed,
        ),
        ("kirikae_events_lost", "Switches that were made and not reported", numbers.events_lost),
        ("kirikae_lines_lost", "Lines that the agent could not print", numbers.lines_lost),
        (
            "kirikae_callbacks_asked_again",
            "Times that callbacks of a connection were asked for again, because another sock_ops \
             program had taken them",
            numbers.asked_again,
        ),
        (
            "kirikae_connections_revived",
            "Times that a connection was made to send because its path may have been back",
            numbers.revived,
        ),
        (
            "kirikae_connections_stranded",
            "Connections whose local address was gone, so that they could never send again",
            numbers.stranded,
        ),
        (
            "kirikae_connections_destroyed",
            "Connections that were destroyed because their local address was gone",
            numbers.destroyed,
        ),
        (
            "kirikae_network_thread_ends",
            "Times that the thread that watches the networks of connections has ended; it is started again",
            numbers.network.ended,
        ),
        (
            "kirikae_network_messages_dropped",
            "Messages to the agent's netlink sockets that were a program's and not the kernel's",
            numbers.network.dropped,
        ),
        ("kirikae_path_hits", "New connections whose path was known", numbers.paths.counts.hits),
        (
            "kirikae_path_jumps",
            "Connections that began by Careful Resume",
            numbers.paths.counts.jumps,
        ),
        (
            "kirikae_path_first_flights",
            "Connections that began with a first flight",
            numbers.paths.counts.first_flights,
        ),
        (
            "kirikae_path_retreats",
            "Connections that began with what was known and retreated after a loss",
            numbers.paths.counts.retreats,
        ),
        (
            "kirikae_switcher_runs",
            "Runs of the switcher, while kernel.bpf_stats_enabled is 1",
            numbers.runs,
        ),
    ] {
        let metric = encoder.encode_descriptor(name, what, None, MetricType::Counter)?;
        ConstCounter::new(count).encode(metric)?;
    }
    let metric = encoder.encode_descriptor(
        "kirikae_switcher_run",
        "Time that these runs took",
        seconds,
        MetricType::Counter,
    )?;
    ConstCounter::new(numbers.run_s).encode(metric)?;
    Ok(())
}

/// Encodes how quantities are spread over the connections, and over bursts.
fn encode_histograms(numbers: &Numbers, encoder: &mut DescriptorEncoder) -> fmt::Result {
    let seconds = Some(&Unit::Seconds);
    let ratio = Unit::Other("ratio".into());

    for (name, what, unit, histogram) in [
        (
            "kirikae_connection_rtt",
            "Smoothed round-trip times of the connections there are",
            seconds,
            &numbers.rtt_s,
        ),
        (
            "kirikae_connection_isolated_loss",
            "Rates of isolated losses of the connections there are",
            Some(&ratio),
            &numbers.isolated_loss,
        ),
        (
            "kirikae_connection_burst_loss",
            "Rates of burst losses of the connections there are",
            Some(&ratio),
            &numbers.burst_loss,
        ),
    ] {
        histogram.encode(encoder.encode_descriptor(name, what, unit, MetricType::Histogram)?)?;
    }

    let mut family = encoder.encode_descriptor(
        "kirikae_burst",
        "What bursts took until all of them was ACKed, less half a round trip: of connections that \
         are switched, and of stock ones, which are held back or observed",
        seconds,
        MetricType::Histogram,
    )?;
    for (labels, histogram) in &numbers.bursts {
        histogram.encode(family.encode_family(labels)?)?;
    }
    Ok(())
}
