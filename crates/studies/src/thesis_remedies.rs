//! What an operator could do before R-TCP, and how often R-TCP should switch (Oguchi, doctoral thesis, 2016, sections
//! 2.2.1, 2.2.2 and 7.1): studies/thesis-remedies/README.md.

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::{Estimate, mean, ratio_of_means};

use super::{
    Axis, Cell, Column, Computed, Figure, Form, Found, Key, Material, Names, Row, Scale, Series,
    Study, Table, idle_keep_off, simulate,
};

pub(super) const STUDY: Study = Study {
    name: "thesis-remedies",
    names: Names {
        published: &[],
        criteria: &[RESTART_WITHOUT_LOSS, RESTART_WITH_LOSS, WINDOW_SMALL, WINDOW_LARGE, PERIOD],
        thresholds: &[],
        explanations: &[],
    },
    compute,
};

const RESTART_WITHOUT_LOSS: Key = Key::new("restart-without-loss");
const RESTART_WITH_LOSS: Key = Key::new("restart-with-loss");
const WINDOW_SMALL: Key = Key::new("window-small");
const WINDOW_LARGE: Key = Key::new("window-large");
const PERIOD: Key = Key::with("period", &["ratio"]);

/// What came of a contender at a point of a scenario's sweep.
struct Place<'a> {
    comparison: &'a Comparison,
    contender: &'static str,
    /// The mean latency of each repetition, seconds.
    latencies: Vec<f64>,
}

impl Place<'_> {
    fn is(&self, name: &str, value: &str) -> bool {
        self.comparison.scenario.swept.get(name).is_some_and(|it| it == value)
    }

    fn mean(&self) -> Option<Estimate> {
        mean(&self.latencies)
    }
}

fn compute(material: &Material) -> Result<Computed, Error> {
    let outcome = simulate(&material.scenarios, idle_keep_off())?;
    let places: Vec<Place> = outcome.comparisons.iter().flat_map(places).collect();
    let of = |name: &str| -> Vec<&Place> {
        places.iter().filter(|place| place.comparison.scenario.swept.contains_key(name)).collect()
    };
    let (restart, window, period) = (of("loss"), of("window"), of("period"));
    let restart_at = |loss| {
        let at = |name: &str| find(&restart, name, &[("loss", loss)]);
        ratio(at("cubic-no-idle-restart")?, at("cubic")?)
    };
    let window_at = |size| {
        let at = |segments| find(&window, "cubic", &[("size", size), ("window", segments)]);
        ratio(at("10")?, at("2")?)
    };
    let saved = || Some((1.0 - window_at("2 MiB")?.value) / (1.0 - window_at("14 KiB")?.value));
    let period_at = |value| find(&period, "r-tcp", &[("period", value)]);
    let longest = || ratio(period_at("20 s")?, period_at("200 ms")?);
    let found = [
        restart_at("0").map(|it| Found::new(RESTART_WITHOUT_LOSS, it.value, repetitions(&restart))),
        restart_at("0.01").map(|it| Found::new(RESTART_WITH_LOSS, it.value, repetitions(&restart))),
        window_at("14 KiB").map(|it| Found::new(WINDOW_SMALL, it.value, repetitions(&window))),
        saved().map(|share| Found::new(WINDOW_LARGE, share, repetitions(&window))),
        longest().map(|it| {
            let lower = it.value - it.half_width.unwrap_or(f64::INFINITY);
            let found = Found::new(PERIOD, lower, repetitions(&period));
            found.word("ratio", format!("{:.3}", it.value))
        }),
    ];
    Ok(Computed {
        found: found.into_iter().flatten().collect(),
        tables: vec![
            table("Slow start after idle time (2.2.1)", "isolated loss", &["loss"], &restart),
            table(
                "Initial window (2.2.2)",
                "size, segments of the initial window",
                &["size", "window"],
                &window,
            ),
            table("Period of switching (7.1)", "period", &["period"], &period),
        ],
        figures: vec![figure(&restart)],
    })
}

fn places(comparison: &Comparison) -> impl Iterator<Item = Place<'_>> {
    let each = comparison.performances.chunk_by(|a, b| a.contender == b.contender);
    each.filter_map(move |runs| {
        let latency = |run: &kirikae_results::outcome::Performance| {
            let latencies: Vec<f64> = run.counted().map(|(_, it)| it.latency_s).collect();
            Some(mean(&latencies)?.value)
        };
        let latencies = runs.iter().filter_map(latency).collect();
        Some(Place { comparison, contender: runs.first()?.contender.name(), latencies })
    })
}

fn find<'a>(places: &[&'a Place], contender: &str, at: &[(&str, &str)]) -> Option<&'a Place<'a>> {
    let is_it = |place: &&&Place| {
        place.contender == contender && at.iter().all(|(name, value)| place.is(name, value))
    };
    places.iter().find(is_it).copied()
}

/// The mean of one over that of the other, repetition by repetition: they have the same seeds.
fn ratio(one: &Place, other: &Place) -> Option<Estimate> {
    let pairs = one.latencies.iter().copied().zip(other.latencies.iter().copied());
    ratio_of_means(&pairs.collect::<Vec<_>>())
}

fn repetitions(places: &[&Place]) -> usize {
    places.iter().map(|place| place.latencies.len()).min().unwrap_or(0)
}

/// Mean latencies, a row for each point of the sweep and a column for each contender.
fn table(title: &str, by: &str, names: &[&str], places: &[&Place]) -> Table {
    let heading = |place: &Place| {
        let values = names.iter().map(|name| place.comparison.scenario.swept[*name].clone());
        values.collect::<Vec<_>>().join(", ")
    };
    let rows = || places.chunk_by(|a, b| heading(a) == heading(b));
    let contenders = rows().next().unwrap_or_default().iter();
    let columns = contenders.map(|place| Column::new(format!("{}, s", place.contender), 3));
    let mut table = Table::new(title, by, columns);
    for row in rows() {
        let cell = |place: &&Place| {
            place.mean().map_or(Cell::word("-"), |it| Cell::ours(it, place.latencies.len()))
        };
        table.rows.push(Row::new(heading(row[0]), row.iter().map(cell).collect()));
    }
    table
}

fn figure(restart: &[&Place]) -> Figure {
    let names = ["cubic", "cubic-no-idle-restart"];
    let losses: Vec<String> = restart
        .chunk_by(|a, b| a.comparison.scenario.swept == b.comparison.scenario.swept)
        .map(|row| row[0].comparison.scenario.swept["loss"].clone())
        .collect();
    let series = names.map(|name| {
        let own = restart.iter().filter(|place| place.contender == name).enumerate();
        Series::ours(
            name,
            Form::Bars,
            own.filter_map(|(at, place)| Some((at as f64, place.mean()?))),
        )
    });
    let axes = [
        Axis::new("isolated loss", Scale::Names(losses)),
        Axis::new("latency, s", Scale::FromZero),
    ];
    Figure::single(
        "Slow start after idle time, without loss and with it (2.2.1)",
        "64 KB every 2 s, RTT 200 ms, Linux 2.6.33.",
        axes,
        series.to_vec(),
    )
}
