//! R-TCP in a mobile wireless environment (Oguchi, doctoral thesis, 2016, section 5.2), rebuilt:
//! studies/thesis-wimax/README.md.

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;

use super::wireless::{
    self, CUBIC, CUBIC_MEAN, DEVIATION_GAIN, GAIN, LATENCY_ROWS, OVER_BBR, OVER_BOUND, R_TCP,
    R_TCP_MEAN, SWITCHES, SWITCHING, THEN, Varied, average, deviation,
};
use super::{Computed, Found, Key, Material, Names, Published, Study, swept};

pub(super) const STUDY: Study = Study {
    name: "thesis-wimax",
    names: Names {
        published: &["latency.csv"],
        criteria: &[
            CUBIC_MEAN,
            CUBIC_DEVIATION,
            R_TCP_MEAN,
            GAIN,
            DEVIATION_GAIN,
            SWITCHING,
            SWITCHES,
            LONG,
            OVER_BOUND,
            OVER_BBR,
        ],
        thresholds: &[],
        explanations: &[],
    },
    compute,
};

const CUBIC_DEVIATION: Key = Key::new("cubic-deviation");
const LONG: Key = Key::with("long", &["r-tcp", "cubic"]);

/// Latencies of which the thesis says that they are far fewer with R-TCP (section 5.2.3), seconds.
const LONG_S: f64 = 2.0;
const PATH: &str = "WiMAX";
/// Runs of each point of the panel by hybla's reference RTT.
const REPETITIONS: u32 = 40;

fn compute(material: &Material) -> Result<Computed, Error> {
    let latency = material.printed("latency.csv");
    let (varied, own): (Vec<_>, Vec<_>) = material
        .scenarios
        .iter()
        .cloned()
        .partition(|scenario| scenario.swept.contains_key("path.radius"));
    let comparisons = wireless::play(&own)?;
    let (mut found, mut tables, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(then) = comparisons.iter().find(|it| it.scenario.stack.name == THEN) {
        found.extend(of_then(latency, then)?);
        tables.push(wireless::published("Latency (table 5-5)", latency, &LATENCY_ROWS, then)?);
        figures.push(wireless::latencies("Latency of each burst (Figs 5-17 and 5-18)", then));
        figures.extend(wireless::algorithms("Algorithm that R-TCP has in use (Fig. 5-19)", then));
        figures.push(wireless::losses("What the channel lost (Fig. 5-20)", then)?);
        figures.push(wireless::windows("Congestion window (Fig. 5-21)", then)?);
    }
    let paths: Vec<(&str, &Comparison)> = comparisons.iter().map(|it| (PATH, it)).collect();
    found.extend(wireless::today(&paths));
    tables.extend([wireless::then_and_now(&paths), wireless::everyone(&paths)]);
    if !varied.is_empty() {
        let printed = wireless::printed(latency, "mean_latency_s", "improvement_percent")?;
        let varied = wireless::play(&varied)?;
        let references = wireless::references(&own, REPETITIONS)?;
        let references = references.iter().map(|(ms, all)| (*ms, &all[0]));
        let delays = by(&varied, "path.delay", "path.radius", "1.25 km");
        let radii = by(&varied, "path.radius", "path.delay", "28 ms");
        figures.push(wireless::sensitivity(vec![
            wireless::panel("By the delay, radius 1.25 km", "one-way delay, ms", &delays, printed),
            wireless::panel("By the radius, delay 28 ms", "radius, km", &radii, printed),
            wireless::panel(
                "By hybla's reference RTT",
                "reference RTT, ms",
                &references.collect::<Vec<_>>(),
                printed,
            ),
        ]));
    }
    Ok(Computed { found, tables, figures })
}

/// The paths by one quantity where the other has this value.
fn by<'a>(varied: &'a [Comparison], name: &str, other: &str, value: &str) -> Vec<Varied<'a>> {
    let own = varied.iter().filter(|it| it.scenario.swept.get(other).is_some_and(|it| it == value));
    let mut points: Vec<Varied> =
        own.filter_map(|it| Some((swept(&it.scenario, name)?, it))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// What is held against print.
fn of_then(latency: &Published, then: &Comparison) -> Result<Vec<Found>, Error> {
    let printed = |metric, column| wireless::printed(latency, metric, column);
    let mean = |column| printed("mean_latency_s", column);
    let below = wireless::below_hybla(then, average);
    let long = |name| wireless::longer_than(then, name, LONG_S);
    let fewer = long(R_TCP).zip(long(CUBIC)).map(|(own, cubic)| {
        let found = Found::new(LONG, own / cubic, then.performances.len());
        let percent = |share: f64| format!("{:.2}", 100.0 * share);
        found.word("r-tcp", percent(own)).word("cubic", percent(cubic))
    });
    let deviations = printed("stddev_latency_s", CUBIC)?;
    let [r_tcp, gain, deviation_gain] = wireless::beside_print(PATH, latency, then)?;
    let of_then = [
        wireless::off(CUBIC_MEAN, then, CUBIC, average, mean(CUBIC)?),
        wireless::off(CUBIC_DEVIATION, then, CUBIC, deviation, deviations),
        r_tcp,
        gain,
        deviation_gain,
        wireless::switching(PATH, below, then.performances.len()),
        wireless::switched(PATH, then),
        fewer,
    ];
    Ok(of_then.into_iter().flatten().collect())
}
