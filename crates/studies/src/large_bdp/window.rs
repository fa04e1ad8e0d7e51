//! The congestion window and what is in flight while the receive window is the limit (Fig. 8).

use kirikae_path::Time;
use kirikae_results::statistics::Estimate;
use kirikae_scenario::{Controls, Scenario};
use kirikae_sim::{End, Observer};
use kirikae_simlab::sim;
use kirikae_tcp::Endpoint;

use super::super::{Axis, Error, Figure, Form, Found, Key, Panel, Scale, Series};
use super::SEGMENT;

pub(super) const FLIGHT: Key = Key::new("flight");
pub(super) const GROWS: Key = Key::new("window-grows");

/// Time between two values of a curve, nanoseconds.
const STEP_NS: u64 = 20_000_000;
/// When the window is compared with that at the end, seconds: after slow start.
const EARLY_S: f64 = 1.0;
/// The windows of the figure, bytes.
const SHOWN: [u32; 3] = [65_535, 3 * 65_535, 4 * 65_535];
/// Those of them that are less than the path holds.
const LIMITING: u32 = 3 * 65_535;

#[derive(Debug, Default)]
struct FlightWatch {
    /// By time: seconds, the window in bytes, the most in flight since the value before.
    values: Vec<(f64, f64, f64)>,
}

impl Observer for FlightWatch {
    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        let Some((socket, (segments, _))) = endpoint.socket().zip(endpoint.in_flight()) else {
            return;
        };
        if flow != 0 || end != End::Client {
            return;
        }
        let at = (now.as_nanos() / STEP_NS * STEP_NS) as f64 / 1e9;
        let cwnd = f64::from(socket.fields.snd_cwnd) * SEGMENT;
        let flight = f64::from(segments) * SEGMENT;
        match self.values.last_mut() {
            Some((last, own, most)) if *last == at => (*own, *most) = (cwnd, most.max(flight)),
            _ => self.values.push((at, cwnd, flight)),
        }
    }
}

/// Plays the downloads of Fig. 8.
pub(super) fn watch(scenarios: &[Scenario]) -> Result<(Vec<Found>, Option<Figure>), Error> {
    let shown = scenarios.iter().filter(|it| SHOWN.contains(&it.stack.receive_window_max));
    let shown: Vec<Scenario> = shown.cloned().collect();
    if shown.is_empty() {
        return Ok((Vec::new(), None));
    }
    let seen = sim::watch(&shown, &Controls::default(), FlightWatch::default, |it, _| it)?;
    let all: Vec<(u32, FlightWatch)> =
        shown.iter().map(|it| it.stack.receive_window_max).zip(seen).collect();
    Ok((found(&all), Some(figure(&all))))
}

fn found(all: &[(u32, FlightWatch)]) -> Vec<Found> {
    let limited = || all.iter().filter(|(window, _)| *window <= LIMITING);
    let flights = limited().map(|(window, watch)| {
        let most = watch.values.iter().map(|(_, _, flight)| *flight).fold(0.0, f64::max);
        (most / f64::from(*window) - 1.0).abs()
    });
    let growths = limited().filter_map(|(_, watch)| {
        let (_, early, _) = watch.values.iter().find(|(at, _, _)| *at >= EARLY_S)?;
        Some(watch.values.last()?.1 / early)
    });
    let (flights, growths): (Vec<f64>, Vec<f64>) = (flights.collect(), growths.collect());
    let farthest = flights.iter().copied().max_by(f64::total_cmp);
    let least = growths.iter().copied().min_by(f64::total_cmp);
    let farthest = farthest.map(|it| Found::new(FLIGHT, it, flights.len()));
    farthest.into_iter().chain(least.map(|it| Found::new(GROWS, it, growths.len()))).collect()
}

fn figure(all: &[(u32, FlightWatch)]) -> Figure {
    let panel = |title: &str, y: &str, of: &dyn Fn(&(f64, f64, f64)) -> f64| Panel {
        title: title.into(),
        x: Axis::new("time, s", Scale::FromZero),
        y: Axis::new(y, Scale::FromZero),
        series: all
            .iter()
            .map(|(window, watch)| {
                let points = watch
                    .values
                    .iter()
                    .map(|it| (it.0, Estimate { value: of(it) / 1000.0, half_width: None }));
                Series::ours(format!("receive window {window} B"), Form::Line, points)
            })
            .collect(),
    };
    Figure {
        title: "Congestion window and data in flight, RTT 2 ms (Fig. 8)".into(),
        about: "All simulated: the print has no numbers. What is in flight is the receive window, as printed. In print \
                the congestion window grows on; here it stops, as Linux leaves a window alone that is not used \
                (RFC 7661)."
            .into(),
        panels: vec![
            panel("Congestion window", "cwnd, kB", &|it| it.1),
            panel("In flight", "in flight, kB", &|it| it.2),
        ],
    }
}
