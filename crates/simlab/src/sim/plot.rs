//! What happened over time, as a picture: window, queue, latencies, and the algorithm in use.

use std::error::Error;
use std::ops::Range;

use kirikae_algorithms::Algorithm;
use kirikae_path::{Direction, Time, bottleneck};
use kirikae_plot::{
    Area, BLUE, CURVE, DOT, Drawn, INK, KEY_WIDTH, MARK, ORANGE, PINK, TITLE, axes, key_line,
    key_text,
};
use kirikae_sim::{End, Hop, LinkState, Observer, Outcome, Simulation, Written};
use kirikae_tcp::Endpoint;
use plotters::coord::ranged1d::{AsRangedCoord, DefaultFormatting, KeyPointHint, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::series::{Point, Series};

const WIDTH: u32 = 1760;
/// Title and key above the panels.
const HEAD: u32 = 110;
/// Of the panels of window, queue and latency.
const PANELS: [u32; 3] = [420, 300, 380];
/// Of the last panel: each algorithm, and the time axis below them.
const ROW: u32 = 60;
const TIME_AXIS: u32 = 80;
/// Below the other panels.
const TICKS: u32 = 16;
/// Left of the panels, for the longest name of an algorithm.
const LABELS: u32 = 210;
/// Left of the labels.
const MARGIN: u32 = 24;
/// Where the panels begin.
const LEFT: i32 = (MARGIN + LABELS) as i32;
/// Half the size of a cross.
const CROSS: i32 = 8;
/// Width of a line that may go up and down in every pixel.
const FINE: u32 = 2;
/// The flow that is drawn.
const FLOW: usize = 0;

/// Notes what is drawn of the first flow's end that sends, and of the bottleneck on its way.
pub(super) struct Plot {
    /// The narrowest link; none where nothing is narrow.
    bottleneck: Option<Hop>,
    /// The end that sends.
    sender: End,
    /// What it begins with.
    algorithm: Algorithm,
    /// Segments.
    cwnd: Series,
    /// Segments.
    ssthresh: Series,
    /// Packets.
    queue: Series,
}

impl Plot {
    /// Of a simulation that begins now.
    pub fn new(simulation: &Simulation) -> Plot {
        let flow = &simulation.flows[FLOW];
        let rate = |hop: &Hop| {
            let link = &simulation.links[hop.link];
            bottleneck(match hop.direction {
                Direction::Forward => &link.forward,
                Direction::Backward => &link.backward,
            })
        };
        let sender = flow.activities.first().map_or(End::Client, |it| it.workload.writer());
        let host = if sender == End::Client { &flow.client } else { &flow.server };
        let rates = flow.routes.from(sender).iter().filter_map(|hop| Some((rate(hop)?, *hop)));
        Plot {
            bottleneck: rates.min_by_key(|(rate, _)| *rate).map(|(_, hop)| hop),
            sender,
            algorithm: host.control.algorithm,
            cwnd: Series::new(),
            ssthresh: Series::new(),
            queue: Series::new(),
        }
    }

    /// The picture.
    pub fn svg(self, title: &str, outcome: &Outcome) -> String {
        let of_several = if outcome.flows.len() > 1 { ", first flow" } else { "" };
        let flow = &outcome.flows[FLOW];
        let mut names = vec![self.algorithm.name()];
        let mut algorithm = Series::new();
        algorithm.push(0, 0.0);
        for (at, switch) in &flow.switches {
            let name = switch.to.name();
            let row = names.iter().position(|other| *other == name).unwrap_or(names.len());
            if row == names.len() {
                names.push(name);
            }
            algorithm.push(at.as_nanos(), row as f64);
        }
        let (mut latencies, mut missing) = (Series::new(), Series::new());
        let mut writes: Vec<&Written> = flow.client.iter().chain(&flow.server).collect();
        writes.sort_by_key(|write| write.start);
        for write in writes {
            let at = write.start.as_nanos();
            match write.latency() {
                Some(latency) => latencies.push(at, latency.as_secs_f64()),
                None => missing.push(at, 0.0),
            }
        }
        let end = outcome.end.as_nanos();
        let thinned = |series: Series| series.thinned(end).into_iter().map(seconds).collect();
        let picture = Picture {
            title: format!("{title}{of_several}"),
            end_s: seconds((end, 0.0)).0,
            cwnd: thinned(self.cwnd),
            ssthresh: thinned(self.ssthresh),
            queue: thinned(self.queue),
            latencies: thinned(latencies),
            missing: thinned(missing),
            algorithm: thinned(algorithm),
            names,
        };
        let rows = ROW * picture.names.len() as u32;
        let height = HEAD + PANELS.iter().sum::<u32>() + rows + TIME_AXIS;
        kirikae_plot::svg((WIDTH, height), |whole| picture.draw(whole))
    }

    fn note(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        if flow == FLOW
            && end == self.sender
            && let Some(socket) = endpoint.socket()
        {
            let ssthresh = socket.finite_ssthresh().map_or(f64::INFINITY, f64::from);
            self.cwnd.push(now.as_nanos(), f64::from(socket.fields.snd_cwnd));
            self.ssthresh.push(now.as_nanos(), ssthresh);
        }
    }
}

impl Observer for Plot {
    fn link(&mut self, state: LinkState<'_>) {
        if Some(state.hop) == self.bottleneck {
            self.queue.push(state.at.as_nanos(), state.waiting().packets as f64);
        }
    }

    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.note(now, flow, end, endpoint);
    }

    fn acted(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.note(now, flow, end, endpoint);
    }
}

/// Seconds and a value.
type Curve = Vec<(f64, f64)>;

fn seconds((at, value): Point) -> (f64, f64) {
    (at as f64 / 1e9, value)
}

/// What is drawn.
struct Picture {
    title: String,
    end_s: f64,
    cwnd: Curve,
    ssthresh: Curve,
    queue: Curve,
    latencies: Curve,
    /// Writes that did not arrive.
    missing: Curve,
    /// Places among the names.
    algorithm: Curve,
    names: Vec<&'static str>,
}

impl Picture {
    fn draw(&self, whole: &Area) -> Drawn {
        let (head, rest) = whole.split_vertically(HEAD);
        let (window, rest) = rest.split_vertically(PANELS[0]);
        let (queue, rest) = rest.split_vertically(PANELS[1]);
        let (latency, algorithm) = rest.split_vertically(PANELS[2]);
        self.head(&head)?;

        // Windows of some algorithms are a hundred times as large in slow start as later.
        let highest = above(self.cwnd.iter().chain(&self.ssthresh)).end;
        let range = (1.0..1.5 * highest).log_scale();
        let mut chart = self.panel(&window, range, "segments, log scale", None)?;
        chart.draw_series(self.steps(&self.ssthresh, ORANGE.stroke_width(FINE)))?;
        chart.draw_series(self.steps(&self.cwnd, BLUE.stroke_width(FINE)))?;

        let mut chart = self.panel(&queue, above(&self.queue), "queue, packets", None)?;
        chart.draw_series(self.steps(&self.queue, BLUE.stroke_width(FINE)))?;

        let range = above(&self.latencies);
        let top = range.end;
        let mut chart = self.panel(&latency, range, "latency, s", None)?;
        let dot = |at: &(f64, f64)| Circle::new(*at, DOT, BLUE.filled());
        chart.draw_series(self.latencies.iter().map(dot))?;
        let cross = |(at, _): &(f64, f64)| Cross::new((*at, top), CROSS, PINK.stroke_width(CURVE));
        chart.draw_series(self.missing.iter().map(cross))?;

        self.algorithms(&algorithm)
    }

    /// Title, and what the colours are.
    fn head(&self, head: &Area) -> Drawn {
        let style = TITLE.into_text_style(head);
        head.draw(&Text::new(&*self.title, (LEFT, 14), style))?;
        let mut free = LEFT;
        let mut next = |width| {
            let x = free;
            free += KEY_WIDTH + width;
            x
        };
        let y = 78;
        let at = (next(160), y);
        head.draw(&key_line(at, BLUE))?;
        head.draw(&key_text(at, "cwnd", &INK))?;
        let at = (next(200), y);
        head.draw(&key_line(at, ORANGE))?;
        head.draw(&key_text(at, "ssthresh", &INK))?;
        let at = (next(460), y);
        head.draw(&Circle::new((at.0 + KEY_WIDTH / 2, y), DOT, BLUE.filled()))?;
        head.draw(&key_text(at, "latency of a burst, at its write", &INK))?;
        if !self.missing.is_empty() {
            let at = (next(300), y);
            head.draw(&Cross::new((at.0 + KEY_WIDTH / 2, y), CROSS, PINK.stroke_width(CURVE)))?;
            head.draw(&key_text(at, "not there at the end", &INK))?;
        }
        if self.names.len() > 1 {
            let x = next(0);
            let mark = [(x + KEY_WIDTH / 2, y - 20), (x + KEY_WIDTH / 2, y + 20)];
            head.draw(&PathElement::new(mark, PINK.stroke_width(MARK)))?;
            head.draw(&key_text((x, y), "a switch", &INK))?;
        }
        Ok(())
    }

    /// A row for each algorithm, the first on top, with the line in that of the one in use.
    fn algorithms(&self, cell: &Area) -> Drawn {
        let last = self.names.len() - 1;
        let places = -0.5..last as f64 + 0.5;
        let rows = Rows { places: places.clone().into(), count: self.names.len() };
        let name = |row: &f64| self.names[last - *row as usize].to_owned();
        let mut chart = self.panel(cell, rows, "", Some(&name))?;
        let from_top = |(at, row): &(f64, f64)| (*at, last as f64 - row);
        let line: Curve = self.algorithm.iter().map(from_top).collect();
        chart.draw_series(self.steps(&line, BLUE.stroke_width(CURVE)))?;
        let mark = |(at, _): &(f64, f64)| {
            PathElement::new([(*at, places.start), (*at, places.end)], PINK.stroke_width(MARK))
        };
        chart.draw_series(line.iter().skip(1).map(mark))?;
        Ok(())
    }

    /// A panel with its axes. All have the same time; the one of the algorithms, which is the last,
    /// says so.
    fn panel<'a, Y>(
        &self,
        cell: &Area<'a>,
        y: Y,
        what: &str,
        label: Option<&dyn Fn(&f64) -> String>,
    ) -> Result<Chart<'a, Y::CoordDescType>, Box<dyn Error>>
    where
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let last = what.is_empty();
        let mut chart = ChartBuilder::on(cell)
            .margin_left(MARGIN)
            .margin_right(40)
            .margin_top(14)
            .x_label_area_size(if last { TIME_AXIS } else { TICKS })
            .y_label_area_size(LABELS)
            .build_cartesian_2d(0.0..self.end_s, y)?;
        let mut axes = axes(&mut chart, 6);
        axes.y_desc(what);
        if let Some(label) = label {
            axes.y_label_formatter(label);
        }
        if last {
            axes.x_labels(12).x_desc("time, s").draw()?;
        } else {
            axes.x_labels(12).x_label_formatter(&|_| String::new()).draw()?;
        }
        Ok(chart)
    }

    /// A line through values that each last until the next; none where they are infinite.
    fn steps(&self, curve: &Curve, style: ShapeStyle) -> Vec<PathElement<(f64, f64)>> {
        let mut runs = vec![Curve::new()];
        let mut before = f64::INFINITY;
        for &(at, value) in curve.iter().chain([&(self.end_s, f64::INFINITY)]) {
            let run = runs.last_mut().expect("one to begin with");
            if before.is_finite() {
                run.push((at, before));
            }
            if value.is_finite() {
                run.push((at, value));
            } else {
                runs.push(Curve::new());
            }
            before = value;
        }
        runs.retain(|run| !run.is_empty());
        runs.into_iter().map(|run| PathElement::new(run, style)).collect()
    }
}

/// A panel, to be drawn on.
type Chart<'a, Y> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, Y>>;

/// An axis with a place for each algorithm, at 0, 1 and so on.
struct Rows {
    places: RangedCoordf64,
    count: usize,
}

impl Ranged for Rows {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.places.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        (0..self.count).map(|row| row as f64).collect()
    }

    fn range(&self) -> Range<f64> {
        self.places.range()
    }
}

/// From zero to a little above the highest.
fn above<'a>(values: impl IntoIterator<Item = &'a (f64, f64)>) -> Range<f64> {
    let finite = values.into_iter().map(|(_, value)| *value).filter(|value| value.is_finite());
    let highest = finite.fold(0.0, f64::max);
    0.0..if highest > 0.0 { 1.1 * highest } else { 1.0 }
}
