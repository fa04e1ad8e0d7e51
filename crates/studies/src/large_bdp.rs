//! What limits TCP where bandwidth times delay is large (Chen and Sasaki, 2011): studies/large-bdp/README.md.

mod features;
mod jumbo;
mod long_fat;
mod window;

use kirikae_path::bottleneck;
use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::{Estimate, mean};
use kirikae_scenario::{Controls, Scenario, Workload};

use super::{
    Axis, Cell, Column, Computed, Definition, Figure, Form, Found, Key, Material, Names, Panel,
    PublishedRow, Row, Scale, Series, Study, Table, simulate, swept,
};

pub(super) const STUDY: Study = Study {
    name: "large-bdp",
    names: Names {
        published: &["throughput.csv", "efficiency.csv"],
        criteria: &[
            THROUGHPUTS,
            ROUND_TRIPS,
            EFFICIENCIES,
            LOSS_RATE,
            window::FLIGHT,
            window::GROWS,
            long_fat::EFFICIENT,
            features::CONGESTS,
            features::SACK,
            features::INITIAL_WINDOW,
            features::ECN_LOSSES,
            features::ECN_USED,
            jumbo::BLACK_HOLE,
            jumbo::SENT_AGAIN,
            jumbo::PROBING,
            jumbo::SWINGS,
            jumbo::OVERFLOWS,
        ],
        thresholds: &["throughput-within", "round-trips-within", "efficiency-within"],
        explanations: &["misprint"],
    },
    compute,
};

const THROUGHPUTS: Key = Key::new("throughputs");
const ROUND_TRIPS: Key = Key::new("round-trips");
const EFFICIENCIES: Key = Key::new("efficiencies");
const LOSS_RATE: Key = Key::new("loss-rate");

const DELAY: &str = "delay.toml";
const SCALING_OFF: &str = "window-scaling-off.toml";
const SCALING_ON: &str = "window-scaling-on.toml";
const PIPE: &str = "pipe.toml";
const LOSS: &str = "loss.toml";
const JUMBO: &str = "jumbo.toml";
const BLACK_HOLE: &str = "black-hole.toml";
const JUMBO_BURSTS: &str = "jumbo-bursts.toml";
/// Those of chapter 4, of which the paper measures nothing.
const LONG_FAT: [&str; 2] = ["long-fat.toml", "ten-gigabit.toml"];
const SHARE: &str = "share.toml";
const SACK: &str = "sack.toml";
const INITIAL_WINDOW: &str = "initial-window.toml";
const ECN: &str = "ecn.toml";

/// Data in a segment, and the bytes around it that OPNET counts on a link: headers, frame, preamble.
const SEGMENT: f64 = 1460.0;
const AROUND: f64 = 40.0 + 26.0;
/// What a full frame takes of the link besides: the gap between frames.
const GAP: f64 = 12.0;
/// The largest window without scaling.
const UNSCALED: f64 = 65_535.0;
/// Of the link s0-s1.
const LINK_MBIT: f64 = 1000.0;
/// The paper's example: packets that fill 10 Gbit/s at 100 ms, and the loss rate that allows.
const EXAMPLE: f64 = 83_333.0;
const EXAMPLE_LOSS: f64 = 2e-10;

fn compute(material: &Material) -> Result<Computed, Error> {
    let printed = (material.printed("throughput.csv"), material.printed("efficiency.csv"));
    let mut scenarios = material.scenarios.clone();
    for scenario in scenarios.iter_mut().filter(|scenario| is_of(scenario, PIPE)) {
        let bytes = (2.0 * pipe(scenario).ok_or_else(no_pipe)? - 1.0).floor() * SEGMENT;
        if let Some(Workload::Bursts(bursts)) =
            scenario.flows[0].activities.first_mut().map(|activity| &mut activity.workload)
        {
            bursts.burst = bytes as u64;
        }
    }
    let is_long_fat = |it: &Scenario| LONG_FAT.iter().any(|file| is_of(it, file));
    let (long_fat, scenarios): (Vec<_>, Vec<_>) = scenarios.into_iter().partition(is_long_fat);
    let is_hazard = |it: &Scenario| [BLACK_HOLE, JUMBO_BURSTS].iter().any(|file| is_of(it, file));
    let (hazards, scenarios): (Vec<_>, Vec<_>) = scenarios.into_iter().partition(is_hazard);
    let hazards_of =
        |file: &str| -> Vec<&Scenario> { hazards.iter().filter(|it| is_of(it, file)).collect() };
    let outcome = simulate(&scenarios, Controls::default())?;
    let of = |file: &'static str| -> Vec<&Comparison> {
        outcome.comparisons.iter().filter(move |it| is_of(&it.scenario, file)).collect()
    };
    let windows: Vec<Throughput> = [DELAY, SCALING_OFF, SCALING_ON]
        .into_iter()
        .flat_map(&of)
        .filter_map(Throughput::new)
        .collect();
    let Material { definition, .. } = material;
    let throughputs = throughputs(&windows, printed.0.rows().collect(), definition)?;
    let (rounds, round_trips) = rounds(&of(PIPE), definition.threshold("round-trips-within"));
    let (losses, loss) = losses(&of(LOSS));
    let efficiencies = efficiencies(
        &of(JUMBO),
        printed.1.rows().collect(),
        definition.threshold("efficiency-within"),
    )?;
    let mut found = vec![
        Found::cells(THROUGHPUTS, &throughputs),
        Found::cells(ROUND_TRIPS, &rounds),
        Found::cells(EFFICIENCIES, &efficiencies),
    ];
    found.extend(loss.map(|p| Found::new(LOSS_RATE, p * 1e10, 1)));
    let mut figures =
        vec![by_delay(&windows, &throughputs), by_window(&windows, &throughputs), round_trips];
    let scaled = scenarios.iter().filter(|it| is_of(it, SCALING_ON)).cloned();
    let (of_windows, fig_8) = window::watch(&scaled.collect::<Vec<_>>())?;
    let of_paths = long_fat::compare(&long_fat)?;
    figures.extend(fig_8.into_iter().chain(of_paths.figures));
    found.extend(of_windows.into_iter().chain(of_paths.found));
    let mut tables = vec![throughputs, rounds, losses, efficiencies];
    tables.extend(of_paths.tables);
    let (of_ecn, ecn) = features::ecn(&of(ECN));
    let features = [
        features::congests(&of(SHARE)),
        features::sack(&of(SACK)),
        features::initial_window(&of(INITIAL_WINDOW)),
    ];
    for (feature, table) in features.into_iter().flatten() {
        found.push(feature);
        tables.push(table);
    }
    found.extend(of_ecn);
    tables.extend(ecn);
    for (of_hazard, table) in
        [jumbo::black_hole(&hazards_of(BLACK_HOLE))?, jumbo::bursts(&hazards_of(JUMBO_BURSTS))?]
    {
        found.extend(of_hazard);
        tables.extend(table);
    }
    Ok(Computed { found, figures, tables })
}

fn is_of(scenario: &Scenario, file: &str) -> bool {
    scenario.file.ends_with(file)
}

/// Goodput of all flows together in Mbit/s.
fn goodput_mbit(comparison: &Comparison) -> Option<Estimate> {
    let total = |play: &kirikae_results::play::Play| {
        play.flows.iter().filter_map(|flow| flow.goodput).sum::<f64>() / 1e6
    };
    mean(&comparison.plays.iter().map(total).collect::<Vec<f64>>())
}

fn scaled(estimate: Estimate, by: f64) -> Estimate {
    let Estimate { value, half_width } = estimate;
    Estimate { value: value * by, half_width: half_width.map(|half| half * by) }
}

/// What came of a delay and a receive window.
struct Throughput {
    flows: u32,
    delay_ms: f64,
    window: f64,
    scaling: bool,
    /// As OPNET counts it, Mbit/s.
    ours: Estimate,
    n: usize,
}

impl Throughput {
    fn new(comparison: &Comparison) -> Option<Throughput> {
        let scenario = &comparison.scenario;
        Some(Throughput {
            flows: scenario.flows[0].count,
            delay_ms: swept(scenario, "delay")?,
            window: f64::from(scenario.stack.receive_window_max),
            scaling: scenario.stack.window_scaling,
            ours: scaled(goodput_mbit(comparison)?, (SEGMENT + AROUND) / SEGMENT),
            n: comparison.plays.len(),
        })
    }

    /// What its row goes by.
    fn heading(&self) -> String {
        let Throughput { flows, delay_ms, window, scaling, .. } = self;
        format!("{flows}, {delay_ms} ms, {window} B, {}", if *scaling { "on" } else { "off" })
    }

    /// Its row, if it was printed.
    fn row<'a>(&self, table: &'a Table) -> Option<&'a Row> {
        let heading = self.heading();
        table.rows.iter().find(|row| row.heading == heading)
    }

    /// By [`formula_mbit`].
    fn formula_mbit(&self) -> f64 {
        let window = if self.scaling { self.window } else { self.window.min(UNSCALED) };
        formula_mbit(f64::from(self.flows), window, self.delay_ms)
    }
}

/// The paper's formula (2), as OPNET counts: the link, or as many whole segments as the windows take in
/// each round trip.
fn formula_mbit(flows: f64, window: f64, delay_ms: f64) -> f64 {
    let frame_bits = 8.0 * (SEGMENT + AROUND);
    let link = LINK_MBIT * frame_bits / (frame_bits + 8.0 * GAP);
    let bits = flows * (window / SEGMENT).floor() * frame_bits;
    link.min(bits / (2.0 * delay_ms * 1000.0))
}

fn throughputs(
    all: &[Throughput],
    printed: Vec<PublishedRow>,
    definition: &Definition,
) -> Result<Table, Error> {
    let what = "throughput of the link, Mbit/s";
    let mut table = Table::new(
        "Throughput by delay and receive window (Figs 5 to 7)",
        "flows, one-way delay, receive window, window scaling",
        [Column::new(what, 2), Column::new("formula (2), Mbit/s", 2)],
    );
    for row in printed {
        let number = |column| Ok::<_, Error>(row.number(column)?.unwrap_or(f64::NAN));
        let (flows, delay_ms) = (number("flows")?, number("one_way_delay_ms")?);
        let (window, scaling) = (number("receive_window_bytes")?, row.text("window_scaling")?);
        let published = number("throughput_mbps")?;
        let same = |it: &&Throughput| {
            (f64::from(it.flows), it.delay_ms, it.window, it.scaling)
                == (flows, delay_ms, window, scaling == "on")
        };
        let Some(found) = all.iter().find(same) else { continue };
        let cell = Cell::compared(published, found.ours, found.n);
        let heading = found.heading();
        let cell = match row.text("misprinted")? {
            "" => cell.within(definition.threshold("throughput-within")),
            _ => cell.because(definition.explanation("misprint")),
        };
        table.rows.push(Row::new(heading, vec![cell, Cell::published(found.formula_mbit())]));
    }
    Ok(table)
}

/// Figs 6 and 7.
fn by_window(all: &[Throughput], table: &Table) -> Figure {
    let panel = |title: &str, scaling: bool| {
        let own: Vec<&Throughput> =
            all.iter().filter(|it| it.flows == 1 && it.scaling == scaling).collect();
        let at = |it: &Throughput| it.window / 1000.0;
        let printed =
            own.iter().filter_map(|it| Some((at(it), it.row(table)?.cells[0].published?)));
        let delay_ms = own.first().map_or(f64::NAN, |it| it.delay_ms);
        let most = own.iter().map(|it| it.window).fold(0.0, f64::max) as u32;
        let formula = (0..=most).step_by(1000).map(f64::from).map(|window| {
            let offered = if scaling { window } else { window.min(UNSCALED) };
            (window / 1000.0, formula_mbit(1.0, offered, delay_ms))
        });
        Panel {
            title: title.into(),
            x: Axis::new("receive window, kB", Scale::FromZero),
            y: Axis::new("throughput, Mbit/s", Scale::FromZero),
            series: vec![
                Series::published("formula (2)", Form::Line, formula),
                Series::published("throughput", Form::Dots, printed),
                Series::ours("throughput", Form::Dots, own.iter().map(|it| (at(it), it.ours))),
            ],
        }
    };
    Figure {
        title: "Throughput by receive window, RTT 2 ms (Figs 6 and 7)".into(),
        about: "Without window scaling a window ends at 65535 bytes; with it throughput grows with the \
                window until the link is full."
            .into(),
        panels: vec![panel("Window scaling off", false), panel("Window scaling on", true)],
    }
}

/// Fig. 5.
fn by_delay(all: &[Throughput], table: &Table) -> Figure {
    let own: Vec<&Throughput> = all.iter().filter(|it| it.flows > 1).collect();
    let at = |of: &dyn Fn(&Throughput) -> Option<f64>| -> Vec<(f64, f64)> {
        let each = own.iter().enumerate();
        each.filter_map(|(place, it)| Some((place as f64, of(it)?))).collect()
    };
    let printed = at(&|it| it.row(table)?.cells[0].published);
    let ours = own.iter().enumerate().map(|(place, it)| (place as f64, it.ours));
    let names = own.iter().map(|it| format!("{} ms", it.delay_ms)).collect();
    Figure::single(
        "Throughput of four flows with windows of 8760 bytes (Fig. 5)",
        "At 10 ms the print is more than four windows in each round trip: a misprint.",
        [
            Axis::new("one-way delay of the link", Scale::Names(names)),
            Axis::new("throughput, Mbit/s", Scale::FromZero),
        ],
        vec![Series::published("", Form::Bars, printed), Series::ours("", Form::Bars, ours)],
    )
}

fn no_pipe() -> Error {
    Error::Incompatible(format!("{}: {PIPE} without a rate", STUDY.name))
}

/// Packets that fill the path: the paper's formula (3), N = 125 S R / M.
fn pipe(scenario: &Scenario) -> Option<f64> {
    let (path, _) = scenario.timed()?;
    let mbit = bottleneck(&path.forward)? as f64 / 1e6;
    let rtt_ms = path.base_rtt().as_secs_f64() * 1e3;
    Some(125.0 * mbit * rtt_ms / f64::from(scenario.stack.mtu))
}

fn rounds(comparisons: &[&Comparison], within: f64) -> (Table, Figure) {
    let mut table = Table::new(
        "Round trips of slow start until the path is full: log2 N + 1 (section 2.2)",
        "rate, RTT",
        [Column::new("N = 125 S R / M, packets", 1), Column::new("round trips", 2)],
    );
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for comparison in comparisons {
        let scenario = &comparison.scenario;
        let Some(((path, _), n)) = scenario.timed().zip(pipe(scenario)) else { continue };
        let rtt_s = path.base_rtt().as_secs_f64();
        let latencies = comparison.performances.iter().flat_map(|it| it.counted());
        // The last byte of the last round trip is half of one on its way.
        let trips = latencies.map(|(_, delivery)| delivery.latency_s / rtt_s - 0.5);
        let Some(trips) = mean(&trips.collect::<Vec<f64>>()) else { continue };
        let formula = n.log2() + 1.0;
        let cell = Cell::compared(formula, trips, comparison.performances.len());
        let agrees = (trips.value - formula).abs() <= within;
        let rate = scenario.swept.get("rate").map_or("", String::as_str);
        let heading = format!("{rate}, {} ms", rtt_s * 1e3);
        table.rows.push(Row::new(heading, vec![Cell::published(n), cell.judged(agrees)]));
        theirs.push((n, formula));
        ours.push((n, trips));
    }
    let by_n = |a: f64, b: f64| a.total_cmp(&b);
    theirs.sort_by(|a, b| by_n(a.0, b.0));
    ours.sort_by(|a, b| by_n(a.0, b.0));
    let figure = Figure::single(
        "Round trips of slow start until the path is full (section 2.2)",
        "From a window of one segment; 2N - 1 segments are sent by then.",
        [Axis::new("N, packets", Scale::Log), Axis::new("round trips", Scale::FromZero)],
        vec![Series::published("", Form::Line, theirs), Series::ours("", Form::Dots, ours)],
    );
    (table, figure)
}

/// What mean window a loss rate leaves; and, from that, the loss rate of the paper's example.
fn losses(comparisons: &[&Comparison]) -> (Table, Option<f64>) {
    let mut table = Table::new(
        "Loss rate that leaves Reno a mean window of N packets: 1.5 / N^2 (RFC 3649)",
        "loss rate",
        [Column::new("mean window, packets", 1), Column::new("loss rate times window squared", 2)],
    );
    let mut products = Vec::new();
    for comparison in comparisons {
        let Some(loss) = swept(&comparison.scenario, "loss") else { continue };
        let Some((path, goodput)) = comparison.scenario.links.first().zip(goodput_mbit(comparison))
        else {
            continue;
        };
        let rtt_s = path.path.base_rtt().as_secs_f64();
        let window = scaled(goodput, 1e6 * rtt_s / (8.0 * SEGMENT));
        let product = loss * window.value * window.value;
        products.push(product);
        let product = Estimate { value: product, half_width: None };
        let cells = vec![
            Cell::compared((1.5 / loss).sqrt(), window, comparison.plays.len()),
            Cell::compared(1.5, product, comparison.plays.len()),
        ];
        table.rows.push(Row::new(loss.to_string(), cells));
    }
    let example = mean(&products).map(|product| product.value / (EXAMPLE * EXAMPLE));
    table.rows.extend(example.map(|loss| {
        let theirs = Cell::word(format!("{EXAMPLE:.0}"));
        let ours = format!("{EXAMPLE_LOSS:.0e} printed, {loss:.1e} drawn on");
        Row::new("10 Gbit/s, RTT 100 ms", vec![theirs, Cell::word(ours)])
    }));
    (table, example)
}

fn efficiencies(
    comparisons: &[&Comparison],
    printed: Vec<PublishedRow>,
    within: f64,
) -> Result<Table, Error> {
    let mut table = Table::new(
        "Data in percent of what is sent, with usual and jumbo frames (section 5.1)",
        "MTU, bytes",
        [Column::new("efficiency, %", 2)],
    );
    for row in printed {
        let mtu = row.number("mtu_bytes")?;
        let same = |it: &&&Comparison| Some(f64::from(it.scenario.stack.mtu)) == mtu;
        let Some(found) = comparisons.iter().find(same) else { continue };
        let (Some(published), Some(goodput)) =
            (row.number("efficiency_percent")?, goodput_mbit(found))
        else {
            continue;
        };
        let ours = scaled(goodput, 100.0 / LINK_MBIT);
        let cell = Cell::compared(published, ours, found.plays.len()).within(within);
        table.rows.push(Row::new(found.scenario.stack.mtu.to_string(), vec![cell]));
    }
    Ok(table)
}
