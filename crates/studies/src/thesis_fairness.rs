//! Fairness of R-TCP (Oguchi, doctoral thesis, 2016, section 4.7): what algorithms carry by the loss rate, and
//! what a longer round trip costs. studies/thesis-fairness/README.md.

use kirikae_algorithms::Algorithm;
use kirikae_results::Error;
use kirikae_results::outcome::{Comparison, Outcome};
use kirikae_results::statistics::{Estimate, mean};
use kirikae_results::summary::ScenarioSummary;
use kirikae_scenario::Controls;
use kirikae_table::{Kind, printed};

use super::{
    Axis, Cell, Column, Computed, Definition, Figure, Form, Found, Key, Material, Names, Panel,
    Row, Scale, Series, Study, Table, idle_keep_off, simulate, swept,
};

pub(super) const STUDY: Study = Study {
    name: "thesis-fairness",
    names: Names {
        published: &[],
        criteria: &[GROWTH_THEN, GROWTH_NOW, ALIKE],
        thresholds: &["like-reno", "heavy"],
        explanations: &[],
    },
    compute,
};

const GROWTH_THEN: Key = Key::with("growth-then", &["own", "cubic"]);
const GROWTH_NOW: Key = Key::with("growth-now", &["own", "cubic"]);
const ALIKE: Key = Key::with("like-reno", &["algorithms"]);

const OLD_LATENCY: &str = "latency-2.6.33.toml";
const LATENCY: &str = "latency-6.toml";
const OLD_RESPONSE: &str = "response-2.6.33.toml";
const RESPONSE: &str = "response-6.toml";

/// The thesis' loss rate.
const LOSS: f64 = 0.05;
/// A contender's figures by what a sweep stands for.
struct Curve {
    name: String,
    points: Vec<(f64, Estimate, usize)>,
}

impl Curve {
    fn at(&self, x: f64) -> Option<(Estimate, usize)> {
        self.points.iter().find(|point| point.0 == x).map(|(_, value, n)| (*value, *n))
    }

    fn value(&self, x: f64) -> Option<f64> {
        Some(self.at(x)?.0.value)
    }

    /// From the first to the last.
    fn growth(&self) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        (first.0 < last.0).then_some(last.1.value / first.1.value)
    }

    fn series(&self) -> Series {
        Series::ours(&self.name, Form::Curve, self.points.iter().map(|(x, y, _)| (*x, *y)))
    }
}

fn compute(material: &Material) -> Result<Computed, Error> {
    // Idle keep, pacing included, is not of that time; Kirikae's own is of today.
    let of_then = |file: &str| file == OLD_LATENCY || file == OLD_RESPONSE;
    let run = |old: bool, controls: Controls| -> Result<Outcome, Error> {
        let own = material.scenarios.iter().filter(|scenario| {
            let name = scenario.file.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| of_then(name) == old)
        });
        simulate(&own.cloned().collect::<Vec<_>>(), controls)
    };
    let (old, new) = (run(true, idle_keep_off())?, run(false, Controls::default())?);
    let [old_latency, latency] = [(&old, OLD_LATENCY), (&new, LATENCY)].map(|(outcome, file)| {
        curves(outcome, file, |comparison| {
            let rtt_ms = comparison.scenario.timed()?.0.base_rtt().as_secs_f64() * 1e3;
            Some((rtt_ms, latencies(comparison)))
        })
    });
    let [old_response, response] =
        [(&old, OLD_RESPONSE), (&new, RESPONSE)].map(|(outcome, file)| {
            curves(outcome, file, |comparison| {
                Some((swept(&comparison.scenario, "loss")?, goodputs(comparison)))
            })
        });
    let print = Print::read()?;
    let growths = [
        growth(GROWTH_THEN, &old_latency, "r-tcp", "kk_cubic"),
        growth(GROWTH_NOW, &latency, "kirikae", "cubic"),
    ];
    let alike = like_reno(&old_response, &material.definition);
    Ok(Computed {
        found: growths.into_iter().chain([alike]).flatten().collect(),
        tables: vec![
            by_rtt(&print, &old_latency, &latency),
            by_loss("Linux 2.6.33", &old_response),
            by_loss("Linux 6", &response),
        ],
        figures: vec![
            latency_figure(&print, &old_latency, &latency),
            response_figure(&old_response, &response),
        ],
    })
}

/// Each contender's name, value and n.
type Values = Vec<(String, Estimate, usize)>;

fn curves(
    outcome: &Outcome,
    file: &str,
    point: impl Fn(&Comparison) -> Option<(f64, Values)>,
) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for comparison in outcome.comparisons.iter().filter(|it| it.scenario.file.ends_with(file)) {
        let Some((x, values)) = point(comparison) else { continue };
        for (name, value, n) in values {
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push((x, value, n)),
                None => curves.push(Curve { name, points: vec![(x, value, n)] }),
            }
        }
    }
    curves
}

fn latencies(comparison: &Comparison) -> Values {
    let each = ScenarioSummary::of(comparison).contenders.into_iter();
    each.filter_map(|it| Some((it.contender.name().to_owned(), it.mean_s?, it.n))).collect()
}

/// In Mbit/s.
fn goodputs(comparison: &Comparison) -> Values {
    let each = comparison.plays.chunk_by(|a, b| a.contender == b.contender);
    let one = |plays: &[kirikae_results::play::Play]| {
        let goodputs = plays.iter().filter_map(|play| Some(play.flows[0].goodput? / 1e6));
        let goodputs: Vec<f64> = goodputs.collect();
        Some((plays.first()?.contender.name().to_owned(), mean(&goodputs)?, goodputs.len()))
    };
    each.filter_map(one).collect()
}

/// Latencies at [`LOSS`] by RTT in ms: CUBIC's, and the lowest, which R-TCP chooses.
struct Print {
    cubic: Vec<(f64, f64)>,
    lowest: Vec<(f64, f64, String)>,
}

impl Print {
    fn read() -> Result<Print, Error> {
        let tables = printed(Kind::IsolatedLatency);
        let tables = tables.map_err(|error| Error::Failed(error.to_string()))?;
        let mut print = Print { cubic: Vec::new(), lowest: Vec::new() };
        for table in &tables {
            let rtt = f64::from(table.rtt_ms);
            let names = Algorithm::all().map(|it| it.name().trim_start_matches("kk_"));
            let values = names.filter_map(|name| Some((table.value(LOSS, name)?, name.to_owned())));
            let lowest = values.min_by(|a, b| a.0.total_cmp(&b.0));
            print.cubic.extend(table.value(LOSS, "cubic").map(|value| (rtt, value)));
            print.lowest.extend(lowest.map(|(value, name)| (rtt, value, name)));
        }
        Ok(print)
    }
}

fn named<'a>(curves: &'a [Curve], name: &str) -> Option<&'a Curve> {
    curves.iter().find(|curve| curve.name == name)
}

fn by_rtt(print: &Print, old: &[Curve], new: &[Curve]) -> Table {
    let columns = old
        .iter()
        .map(|curve| Column::new(format!("{}, Linux 2.6.33", curve.name), 3))
        .chain(new.iter().map(|curve| Column::new(format!("{}, Linux 6", curve.name), 3)));
    let mut table = Table::new(
        "Latency of a burst of 64 KB at 5 % isolated loss, s (Fig. 4-26)",
        "RTT, ms",
        columns,
    );
    let rtts = old.iter().chain(new).next().map_or(&[][..], |curve| &curve.points);
    for (rtt, ..) in rtts {
        let published = |name: &str| match name {
            "kk_cubic" => print.cubic.iter().find(|it| it.0 == *rtt).map(|it| it.1),
            "r-tcp" => print.lowest.iter().find(|it| it.0 == *rtt).map(|it| it.1),
            _ => None,
        };
        let cell = |curve: &Curve, published: Option<f64>| match (curve.at(*rtt), published) {
            (Some((ours, n)), Some(published)) => Cell::compared(published, ours, n),
            (Some((ours, n)), None) => Cell::ours(ours, n),
            (None, _) => Cell::word("-"),
        };
        let cells = old.iter().map(|curve| {
            let cell = cell(curve, published(&curve.name));
            let chosen = print.lowest.iter().find(|it| it.0 == *rtt && curve.name == "r-tcp");
            match chosen {
                Some((.., name)) => {
                    cell.because(format!("Printed: the lowest of the nine, {name}."))
                }
                None => cell,
            }
        });
        let cells = cells.chain(new.iter().map(|curve| cell(curve, None))).collect();
        table.rows.push(Row::new(rtt.to_string(), cells));
    }
    table
}

fn by_loss(stack: &str, curves: &[Curve]) -> Table {
    let columns = curves.iter().map(|curve| Column::new(curve.name.clone(), 3));
    let title = format!("Throughput by loss rate, RTT 100 ms, {stack}: Mbit/s (Fig. 4-25)");
    let mut table = Table::new(title, "loss rate", columns);
    let losses = curves.first().map_or(&[][..], |curve| &curve.points);
    for (loss, ..) in losses {
        let cell = |curve: &Curve| {
            curve.at(*loss).map_or(Cell::word("-"), |(ours, n)| Cell::ours(ours, n))
        };
        table.rows.push(Row::new(loss.to_string(), curves.iter().map(cell).collect()));
    }
    table
}

fn latency_figure(print: &Print, old: &[Curve], new: &[Curve]) -> Figure {
    let axes = || [Axis::new("RTT, ms", Scale::FromZero), Axis::new("latency, s", Scale::Log)];
    let lowest = print.lowest.iter().map(|(rtt, value, _)| (*rtt, *value));
    let theirs = [
        Series::published("kk_cubic", Form::Curve, print.cubic.iter().copied()),
        Series::published("r-tcp", Form::Curve, lowest),
    ];
    let shown = |curve: &&Curve| ["kk_cubic", "r-tcp"].contains(&curve.name.as_str());
    let panel = |title: &str, series: Vec<Series>| {
        let [x, y] = axes();
        Panel { title: title.into(), x, y, series }
    };
    Figure {
        title: "Latency by RTT at 5 % isolated loss (Fig. 4-26)".into(),
        about: "64 KB every 2 s. Above about 2 s the load does not fit the path, and latency grows with the \
                length of the run. The print of R-TCP is the lowest of the printed tables."
            .into(),
        panels: vec![
            panel(
                "Linux 2.6.33",
                theirs.into_iter().chain(old.iter().filter(shown).map(Curve::series)).collect(),
            ),
            panel("Linux 6", new.iter().map(Curve::series).collect()),
        ],
    }
}

fn response_figure(old: &[Curve], new: &[Curve]) -> Figure {
    let panel = |title: &str, curves: &[Curve]| Panel {
        title: title.into(),
        x: Axis::new("loss rate", Scale::Log),
        y: Axis::new("throughput, Mbit/s", Scale::Log),
        series: curves.iter().map(Curve::series).collect(),
    };
    Figure {
        title: "Response functions, RTT 100 ms (Fig. 4-25)".into(),
        about: "What one connection carries by the loss rate where nothing else limits it. The print has no \
                numbers; its claim is that many come down to Reno where losses are heavy, and some do not."
            .into(),
        panels: vec![panel("Linux 2.6.33", old), panel("Linux 6", new)],
    }
}

/// How much latency grows, over how much cubic's does.
fn growth(key: Key, curves: &[Curve], own: &str, cubic: &str) -> Option<Found> {
    let own = named(curves, own)?.growth()?;
    let cubic = named(curves, cubic)?.growth()?;
    let found = Found::new(key, own / cubic, 1).word("own", format!("{own:.2}"));
    Some(found.word("cubic", format!("{cubic:.2}")))
}

/// Which of the algorithms are like reno at heavy loss.
fn like_reno(curves: &[Curve], definition: &Definition) -> Option<Found> {
    let reno = named(curves, "kk_reno")?;
    let (most, heavy) = (definition.threshold("like-reno"), definition.threshold("heavy"));
    reno.points.iter().find(|(loss, ..)| *loss >= heavy)?;
    let is_alike = |curve: &&&Curve| {
        let points = curve.points.iter().filter(|(loss, ..)| *loss >= heavy);
        let factors = points.filter_map(|(loss, value, _)| Some(value.value / reno.value(*loss)?));
        let factors: Vec<f64> = factors.collect();
        let alike = factors.iter().all(|factor| (1.0 / most) < *factor && *factor < most);
        alike && !factors.is_empty()
    };
    let others = curves.iter().filter(|curve| !["kk_reno", "r-tcp"].contains(&curve.name.as_str()));
    let others: Vec<&Curve> = others.collect();
    let alike = others.iter().filter(is_alike).map(|curve| curve.name.as_str());
    let alike: Vec<&str> = alike.collect();
    let found = Found::new(ALIKE, alike.len() as f64, others.len());
    Some(found.word("algorithms", alike.join(", ")))
}
