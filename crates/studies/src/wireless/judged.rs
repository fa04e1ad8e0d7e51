//! What is asked of R-TCP as published, beside print and beside hybla alone.

use std::cell::Cell as Changed;

use kirikae_results::outcome::{Burst, Comparison, Performance};
use kirikae_results::statistics::{Estimate, mean, ratio_of_means};

use super::super::{Found, Key};
use super::{CUBIC, Course, HYBLA, R_TCP};

/// R-TCP's own figure beside the printed one, and how much it is below cubic's beside how much it is in print.
pub(in super::super) const R_TCP_MEAN: Key = Key::with("r-tcp-mean", &["path"]);
pub(in super::super) const GAIN: Key = Key::with("gain", &["path", "found", "printed"]);
pub(in super::super) const DEVIATION_GAIN: Key = Key::with("deviation-gain", &["found", "printed"]);
/// R-TCP below hybla alone (section 6.4.3), and how often it switches.
pub(in super::super) const SWITCHING: Key = Key::with("switching", &["path", "below"]);
pub(in super::super) const SWITCHES: Key = Key::with("switches", &["path", "elsewhere"]);

/// Those that R-TCP takes where losses are many (sections 5.1.2, 6.4.1).
const FOR_LOSSES: [&str; 2] = ["kk_scalable", "kk_westwood"];

/// How far a contender's latency is from the printed one, as a share of it.
pub(in super::super) fn off(
    key: Key,
    then: &Comparison,
    contender: &str,
    of: fn(&[f64]) -> f64,
    printed: Option<f64>,
) -> Option<Found> {
    let own = Course::of(then, contender)?.latencies();
    Some(Found::new(key, (own.each(of)?.value / printed? - 1.0).abs(), own.n()))
}

/// How much less R-TCP's latency is than cubic's, in percent, beside what is printed: the relative difference.
pub(in super::super) fn gain(
    key: Key,
    then: &Comparison,
    of: fn(&[f64]) -> f64,
    printed: Option<f64>,
) -> Option<Found> {
    let (r_tcp, cubic) = (Course::of(then, R_TCP)?.latencies(), Course::of(then, CUBIC)?);
    gain_of(key, r_tcp.below(&cubic.latencies(), of)?, printed?, r_tcp.n())
}

/// The same of what was found.
pub(in super::super) fn gain_of(
    key: Key,
    found: Estimate,
    printed: f64,
    n: usize,
) -> Option<Found> {
    let off = Found::new(key, (found.value / printed - 1.0).abs(), n);
    Some(off.word("found", text(found)).word("printed", printed.to_string()))
}

/// Percent with the interval, in words.
pub(in super::super) fn text(percent: Estimate) -> String {
    match percent.half_width {
        Some(half) => format!("{:.1} ± {half:.1}", percent.value),
        None => format!("{:.1}", percent.value),
    }
}

/// Whether switching pays: the least that R-TCP's latency is below hybla's alone by its interval, in percent.
/// None with one run.
pub(in super::super) fn switching(path: &str, below: Option<Estimate>, n: usize) -> Option<Found> {
    let below = below?;
    let least = Found::new(SWITCHING, below.value - below.half_width?, n);
    Some(least.word("path", path).word("below", text(below)))
}

/// R-TCP's latency below hybla's alone, in percent.
pub(in super::super) fn below_hybla(
    comparison: &Comparison,
    of: fn(&[f64]) -> f64,
) -> Option<Estimate> {
    let latencies = |name| Some(Course::of(comparison, name)?.latencies());
    latencies(R_TCP)?.below(&latencies(HYBLA)?, of)
}

/// Switches of R-TCP in a run.
pub(in super::super) fn switches(comparison: &Comparison) -> Option<Estimate> {
    let runs = Course::of(comparison, R_TCP)?.runs.iter();
    mean(&runs.map(|run| run.switches.len() as f64).collect::<Vec<f64>>())
}

/// The same, and the share of the bursts that were sent with neither cubic nor hybla.
pub(in super::super) fn switched(path: &str, comparison: &Comparison) -> Option<Found> {
    let runs = Course::of(comparison, R_TCP)?.runs;
    let bursts = || runs.iter().flat_map(|run| &run.bursts);
    let elsewhere = bursts().filter(|burst| is_for_losses(burst)).count();
    let percent = 100.0 * elsewhere as f64 / bursts().count().max(1) as f64;
    let found = Found::new(SWITCHES, switches(comparison)?.value, runs.len());
    Some(found.word("path", path).word("elsewhere", format!("{percent:.1}")))
}

/// Share of a contender's bursts that took longer than so many seconds.
pub(in super::super) fn longer_than(
    comparison: &Comparison,
    contender: &str,
    seconds: f64,
) -> Option<f64> {
    let latencies = Course::of(comparison, contender)?.latencies();
    let long = latencies.0.iter().flatten().filter(|latency| **latency > seconds).count();
    Some(long as f64 / latencies.n() as f64)
}

fn is_for_losses(burst: &Burst) -> bool {
    FOR_LOSSES.contains(&&*burst.algorithm_before)
}

/// The bursts that R-TCP sent with an algorithm for losses, and the same bursts with hybla alone, in a run:
/// the place of each, and both latencies in seconds.
fn beside_hybla<'a>(
    r_tcp: &'a Performance,
    hybla: &'a Performance,
) -> impl Iterator<Item = (usize, [f64; 2])> + 'a {
    let pairs = r_tcp.bursts.iter().zip(&hybla.bursts).enumerate();
    let chosen = pairs.filter(|(_, (burst, _))| !burst.warmup && is_for_losses(burst));
    chosen.filter_map(|(place, (own, other))| {
        Some((place, [own.delivery?.latency_s, other.delivery?.latency_s]))
    })
}

/// How much less latency is than hybla's where R-TCP has switched to an algorithm for losses (Fig. 6-26), in
/// percent; and of how many bursts.
pub(in super::super) fn below_where_switched(comparison: &Comparison) -> Option<(Estimate, usize)> {
    let (r_tcp, hybla) = (Course::of(comparison, R_TCP)?, Course::of(comparison, HYBLA)?);
    let n = Changed::new(0);
    let run = |(r_tcp, hybla): (&Performance, &Performance)| {
        let pairs: Vec<[f64; 2]> = beside_hybla(r_tcp, hybla).map(|(_, pair)| pair).collect();
        n.set(n.get() + pairs.len());
        let sum = |place: usize| pairs.iter().map(|pair| pair[place]).sum::<f64>();
        (!pairs.is_empty()).then(|| (sum(0), sum(1)))
    };
    let runs: Vec<(f64, f64)> = r_tcp.runs.iter().zip(hybla.runs).filter_map(run).collect();
    let over = ratio_of_means(&runs)?;
    let below = Estimate {
        value: 100.0 * (1.0 - over.value),
        half_width: over.half_width.map(|half| 100.0 * half),
    };
    Some((below, n.get()))
}

/// The run in which R-TCP sent most bursts with an algorithm for losses, and the middle of these.
pub(super) fn most_switched(comparison: &Comparison) -> Option<(usize, usize)> {
    let (r_tcp, hybla) = (Course::of(comparison, R_TCP)?, Course::of(comparison, HYBLA)?);
    let runs = r_tcp.runs.iter().zip(hybla.runs).enumerate();
    let places = runs.map(|(run, (r_tcp, hybla))| {
        (run, beside_hybla(r_tcp, hybla).map(|(place, _)| place).collect::<Vec<usize>>())
    });
    let (run, places) = places.max_by_key(|(_, places)| places.len())?;
    Some((run, *places.get(places.len() / 2)?))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::{Run, Study, simulate};
    use super::super::{average, controls};
    use super::*;

    /// The mutation: always hybla in R-TCP's place.
    #[test]
    fn always_hybla_does_not_pass_for_switching() {
        let study = Study::named("thesis-wimax").unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        let mut material = study.material(&from, Run { short: true, ..Run::default() }).unwrap();
        material.scenarios.retain(|it| it.title.ends_with("WiMAX, linux-2.6.33"));
        let outcome = simulate(&material.scenarios, controls(super::super::THEN)).unwrap();
        let hybla = || Course::of(&outcome.comparisons[0], HYBLA).unwrap().latencies();
        let found = switching("WiMAX", hybla().below(&hybla(), average), 2).unwrap();
        assert_eq!(material.definition.criterion(&found, false).met, Some(false));
    }
}
