//! The plot of an algorithm: its window in the scenes of its portrait.

use std::ops::Range;

use kirikae_algorithms::Algorithm;
use kirikae_algorithms::portrait::{Event, RTT_US, SCENES, SEGMENTS_PER_S, Scene, play};
use kirikae_plot::{
    Area, BLUE, CURVE, DOT, Drawn, INK, MARK, ORANGE, PINK, SHADE, TITLE, axes, key_line, key_text,
    text,
};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Seconds and segments.
type Curve = Vec<(f64, f64)>;

/// A window that doubles fills a queue without end for hours; nothing later is drawn.
pub const SLOW_START_MAX_S: f64 = 3.0;

const SIZE: (u32, u32) = (1760, 960);

/// The plot as SVG.
pub fn svg(algorithm: Algorithm) -> String {
    kirikae_plot::svg(SIZE, |whole| draw(algorithm, whole))
}

fn draw(algorithm: Algorithm, whole: &Area) -> Drawn {
    let cells = whole.split_evenly((2, 3));
    let with_hystart = algorithm.with("hystart", 1).ok();
    for (cell, scene) in cells.iter().zip(&SCENES) {
        let slow_start = !scene.begin.1;
        let mut curves = vec![(curve(algorithm, scene), BLUE)];
        if slow_start {
            curves.extend(with_hystart.map(|algorithm| (curve(algorithm, scene), ORANGE)));
        }
        let windows = curves.iter().flat_map(|(curve, _)| curve).map(|(_, cwnd)| *cwnd);
        let highest = windows.chain(path(scene).map(|(_, holds)| holds)).fold(0.0, f64::max);
        // Above the curves there is room for the names of events.
        if slow_start {
            let cwnd = 5.0..2.0 * highest;
            panel(cell, scene, &curves, cwnd.clone(), cwnd.log_scale())?;
        } else {
            let cwnd = 0.0..1.2 * highest;
            panel(cell, scene, &curves, cwnd.clone(), cwnd)?;
        }
    }
    key(&cells[SCENES.len()], with_hystart.is_some())
}

/// The window at the beginning and after each round trip.
fn curve(algorithm: Algorithm, scene: &Scene) -> Curve {
    let rounds = play(algorithm, scene).expect("the other tests play it too");
    std::iter::once((0.0, f64::from(scene.begin.0)))
        .chain(rounds.iter().map(|round| (round.at_us as f64 / 1e6, f64::from(round.cwnd))))
        .take_while(|(at_s, _)| scene.begin.1 || *at_s <= SLOW_START_MAX_S)
        .collect()
}

/// Segments that the path holds with this RTT.
pub fn holds(rtt_us: u32) -> f64 {
    (u64::from(rtt_us) * SEGMENTS_PER_S) as f64 / 1e6
}

/// What the path holds from the beginning of which round trip on.
fn path(scene: &Scene) -> impl DoubleEndedIterator<Item = (usize, f64)> {
    let changes = scene.events.iter().filter_map(|(round, event)| match event {
        Event::Rtt(rtt_us) => Some((*round, holds(*rtt_us))),
        _ => None,
    });
    std::iter::once((0, holds(RTT_US))).chain(changes)
}

fn panel<Y>(
    cell: &Area,
    scene: &Scene,
    curves: &[(Curve, RGBColor)],
    cwnd: Range<f64>,
    cwnd_axis: Y,
) -> Drawn
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    // What happens at the beginning of a round trip is at the end of the one before.
    let at_s = |round: usize| curves[0].0[round].0;
    let end_s = curves.iter().map(|(curve, _)| curve[curve.len() - 1].0).fold(0.0, f64::max);
    let scale = if scene.begin.1 { "" } else { ", log scale" };
    let mut chart = ChartBuilder::on(cell)
        .caption(scene.name, TITLE)
        .margin(14)
        .x_label_area_size(76)
        .y_label_area_size(104)
        .build_cartesian_2d(0.0..end_s, cwnd_axis)?;

    let mut until_s = end_s;
    for (round, holds) in path(scene).rev() {
        let corners = [(at_s(round), holds), (until_s, cwnd.start)];
        chart.draw_series([Rectangle::new(corners, SHADE.filled())])?;
        until_s = at_s(round);
    }
    axes(&mut chart, 6)
        .x_desc("time, s")
        .y_desc(format!("cwnd, segments{scale}"))
        .y_label_formatter(&|cwnd| format!("{}", cwnd.round()))
        .draw()?;
    for (row, (round, event)) in scene.events.iter().enumerate() {
        // A line does not cross the name of the event before.
        let top = cwnd.end * (1.0 - 0.09 * row as f64);
        let (name, s) = (name(*event), at_s(*round));
        chart.draw_series([PathElement::new(
            [(s, cwnd.start), (s, top)],
            PINK.stroke_width(MARK),
        )])?;
        let (side, dx) = if s < end_s / 2.0 { (HPos::Left, 8) } else { (HPos::Right, -8) };
        let style = text(&PINK).pos(Pos::new(side, VPos::Top));
        chart.draw_series([EmptyElement::at((s, top)) + Text::new(name, (dx, 0), style)])?;
    }
    for (curve, colour) in curves {
        // No line leads through idle time: the window there is not known.
        let idle = scene.events.iter().find(|(_, event)| matches!(event, Event::Idle(_)));
        let (before, after) = curve.split_at(idle.map_or(curve.len(), |(round, _)| round + 1));
        for part in [before, after] {
            chart.draw_series(LineSeries::new(part.to_vec(), colour.stroke_width(CURVE)))?;
        }
        chart.draw_series(curve.iter().map(|at| Circle::new(*at, DOT, colour.filled())))?;
    }
    Ok(())
}

fn name(event: Event) -> String {
    match event {
        Event::IsolatedLoss => "loss".into(),
        Event::BurstLoss => "all lost".into(),
        Event::Idle(us) => format!("idle {} s", us as f64 / 1e6),
        Event::Rtt(us) => format!("RTT {} ms", us / 1000),
    }
}

/// What the colours are.
fn key(cell: &Area, with_hystart: bool) -> Drawn {
    let line = |y, colour| key_line((60, y), colour);
    let label = |y, label| key_text((60, y), label, &INK);
    cell.draw(&line(120, BLUE))?;
    cell.draw(&Circle::new((90, 120), DOT, BLUE.filled()))?;
    cell.draw(&label(120, "cwnd after a round trip"))?;
    cell.draw(&Rectangle::new([(60, 160), (120, 200)], SHADE.filled()))?;
    cell.draw(&label(180, "what the path holds, without a queue"))?;
    cell.draw(&PathElement::new([(90, 220), (90, 260)], PINK.stroke_width(MARK)))?;
    cell.draw(&label(240, "loss, idle time, another RTT"))?;
    if with_hystart {
        cell.draw(&line(300, ORANGE))?;
        cell.draw(&Circle::new((90, 300), DOT, ORANGE.filled()))?;
        cell.draw(&label(300, "the same with hystart=1"))?;
    }
    Ok(())
}
