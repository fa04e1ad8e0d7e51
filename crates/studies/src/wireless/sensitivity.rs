//! What R-TCP gains by what the thesis does not give, or what was chosen here.

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::Estimate;
use kirikae_scenario::{Controls, Scenario};

use super::super::{Axis, Figure, Form, Panel, Scale, Series, simulate};
use super::{CUBIC, Course, HYBLA, R_TCP, THEN, average, controls};

/// Reference RTTs of hybla, milliseconds: that of its authors, and longer ones, which slow it down.
pub(in super::super) const REFERENCES_MS: [u32; 4] = [25, 30, 40, 50];
const REFERENCE: &str = "rtt0_us";

/// A path of which one quantity has this value.
pub(in super::super) type Varied<'a> = (f64, &'a Comparison);

/// What R-TCP and hybla are below cubic by a quantity, beside the printed gain.
pub(in super::super) fn panel(
    title: &str,
    x: &str,
    varied: &[Varied],
    printed: Option<f64>,
) -> Panel {
    let below = |name: &str| {
        let points = varied.iter().filter_map(|(at, comparison)| {
            let latencies = |name| Some(Course::of(comparison, name)?.latencies());
            Some((*at, latencies(name)?.below(&latencies(CUBIC)?, average)?))
        });
        points.collect::<Vec<(f64, Estimate)>>()
    };
    let ends = [varied.first(), varied.last()].into_iter().flatten();
    let line = ends.filter_map(|(at, _)| Some((*at, printed?)));
    let ours = [R_TCP, HYBLA].map(|name| Series::ours(name, Form::Curve, below(name)));
    let series = [Series::published(R_TCP, Form::Line, line)].into_iter().chain(ours);
    Panel {
        title: title.into(),
        x: Axis::new(x, Scale::FromZero),
        y: Axis::new("mean latency below cubic's, %", Scale::FromZero),
        series: series.filter(|series| !series.points.is_empty()).collect(),
    }
}

/// The figure that these panels make.
pub(in super::super) fn figure(panels: Vec<Panel>) -> Figure {
    Figure {
        title: "How much R-TCP's gain depends on what was chosen".into(),
        about: "As simulated; where R-TCP's curve is hidden hybla's lies on it. The line without marks is the gain \
                as printed."
            .into(),
        panels,
    }
}

/// The thesis' hosts' scenarios again for each reference RTT of hybla, with so many repetitions: that RTT in
/// milliseconds with the comparisons.
pub(in super::super) fn references(
    scenarios: &[Scenario],
    repetitions: u32,
) -> Result<Vec<(f64, Vec<Comparison>)>, Error> {
    let of_then = scenarios.iter().filter(|scenario| scenario.stack.name == THEN);
    let mut scenarios: Vec<Scenario> = of_then.cloned().collect();
    for scenario in &mut scenarios {
        scenario.contenders.retain(|it| [CUBIC, HYBLA, R_TCP].contains(&it.name()));
        scenario.repetitions = scenario.repetitions.min(repetitions);
    }
    let one = |ms: u32| {
        let outcome = simulate(&scenarios, with_reference(ms))?;
        Ok((f64::from(ms), outcome.comparisons))
    };
    REFERENCES_MS.into_iter().map(one).collect()
}

/// The controls of the thesis' hosts, with hybla as fast as a connection of this RTT.
pub(in super::super) fn with_reference(ms: u32) -> Controls {
    let mut controls = controls(THEN);
    for algorithm in &mut controls.algorithms {
        if algorithm.name() == HYBLA {
            *algorithm = algorithm.with(REFERENCE, 1000 * ms).expect("hybla has a reference RTT");
        }
    }
    controls
}
