//! The lengths of runs and gaps, and what the models make of them.

use kirikae_plot::{
    Area, BLUE, CURVE, Drawn, INK, KEY_WIDTH, MARK, ORANGE, PINK, TITLE, axes, key_text,
};
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use super::estimate::{Fit, Model};
use super::fates::Fates;

const SIZE: (u32, u32) = (1400, 640);
const HEAD: u32 = 130;
/// Beside and below the axes.
const LABELS: (u32, u32) = (124, 76);
/// Half the size of a mark of the data.
const DOT_SIZE: i32 = 7;
/// Between two of them at least, where lengths go by factors.
const APART: f64 = 1.05;
/// A dash and the gap after it.
const DASH: (i32, i32) = (14, 9);
/// Places along a line.
const PLACES: usize = 200;

/// Shares of runs of losses, and of what passes between them, that are at least so long: as captured, by the
/// chosen model, and if losses were independent.
pub(super) fn svg(fates: &Fates, fit: &Fit) -> String {
    kirikae_plot::svg(SIZE, |whole| {
        let (head, panels) = whole.split_vertically(HEAD);
        self::head(&head, fit)?;
        let (left, right) = panels.split_horizontally(SIZE.0 / 2);
        let mut losses: Vec<u64> = fates.losses().collect();
        let mut gaps: Vec<u64> = fates.gaps().collect();
        losses.sort_unstable();
        gaps.sort_unstable();
        let most = losses.last().copied().unwrap_or(1) + 1;
        let channels = [
            (&fit.chosen.channel, BLUE, false),
            (
                &super::channel::Channel::independent(fit.lost as f64 / fit.packets as f64),
                ORANGE,
                true,
            ),
        ];
        let lines = channels.map(|(channel, colour, dashed)| {
            let runs = (1..).map(|it| it as f64).zip(channel.loss_runs(most)).collect();
            let longest = gaps.last().copied().unwrap_or(1).max(2) as f64;
            let place = |it: usize| longest.powf(it as f64 / PLACES as f64);
            let gaps =
                (0..=PLACES).map(place).map(|at| (at, channel.gap_at_least(at.round() as u64)));
            (Line { points: runs, colour, dashed }, Line { points: gaps.collect(), colour, dashed })
        });
        let (of_runs, of_gaps): (Vec<Line>, Vec<Line>) = lines.into_iter().unzip();
        panel(&left, "packets lost in a row", &losses, &of_runs, false)?;
        panel(&right, "packets between losses", &gaps, &of_gaps, true)
    })
}

struct Line {
    points: Vec<(f64, f64)>,
    colour: RGBColor,
    dashed: bool,
}

fn head(area: &Area, fit: &Fit) -> Drawn {
    let title = format!("{} of {} packets lost, in {} runs", fit.lost, fit.packets, fit.runs);
    area.draw(&Text::new(title, (24, 14), TITLE.into_text_style(area)))?;
    let y = 92;
    let mut x = 24;
    area.draw(&Circle::new((x + KEY_WIDTH / 2, y), DOT_SIZE, PINK.stroke_width(MARK)))?;
    area.draw(&key_text((x, y), "captured", &INK))?;
    x += 260;
    line(area, vec![(x, y), (x + KEY_WIDTH, y)], BLUE, false)?;
    area.draw(&key_text((x, y), fit.chosen.model.name(), &INK))?;
    if fit.chosen.model != Model::Independent {
        x += 560;
        line(area, vec![(x, y), (x + KEY_WIDTH, y)], ORANGE, true)?;
        area.draw(&key_text((x, y), "independent losses", &INK))?;
    }
    Ok(())
}

fn line(area: &Area, points: Vec<(i32, i32)>, colour: RGBColor, dashed: bool) -> Drawn {
    let style = colour.stroke_width(CURVE);
    if dashed {
        area.draw(&DashedPathElement::new(points, DASH.0, DASH.1, style))?;
    } else {
        area.draw(&PathElement::new(points, style))?;
    }
    Ok(())
}

/// Lengths in ascending order as shares that are at least as long, and the lines of models.
fn panel(area: &Area, what: &str, lengths: &[u64], lines: &[Line], by_factors: bool) -> Drawn {
    let n = lengths.len().max(1) as f64;
    let mut dots: Vec<(f64, f64)> = Vec::new();
    for (shorter, length) in lengths.iter().enumerate() {
        let apart =
            |(last, _): &(f64, f64)| *length as f64 > last * if by_factors { APART } else { 1.0 };
        if dots.last().is_none_or(apart) {
            dots.push((*length as f64, 1.0 - shorter as f64 / n));
        }
    }
    let longest = lengths.last().map_or(2.0, |it| *it as f64 + 0.5);
    let lowest = 0.5 / n;
    let shares = (lowest..1.5).log_scale();
    let mut builder = ChartBuilder::on(area);
    builder.margin_right(28).margin_top(8).x_label_area_size(LABELS.1).y_label_area_size(LABELS.0);
    // The two scales are two types.
    macro_rules! draw {
        ($x:expr) => {{
            let mut chart = builder.build_cartesian_2d($x, shares)?;
            axes(&mut chart, 6).x_desc(what).y_desc("share at least as long").draw()?;
            for it in lines {
                let inside = |(x, y): &&(f64, f64)| *x <= longest && *y >= lowest;
                let points = it.points.iter().filter(inside).copied();
                let style = it.colour.stroke_width(CURVE);
                if it.dashed {
                    chart.draw_series(DashedLineSeries::new(points, DASH.0, DASH.1, style))?;
                } else {
                    chart.draw_series(LineSeries::new(points, style))?;
                }
            }
            let dot = |at: &(f64, f64)| Circle::new(*at, DOT_SIZE, PINK.stroke_width(MARK));
            chart.draw_series(dots.iter().map(dot))?;
        }};
    }
    if by_factors {
        draw!((0.9..longest * 1.1).log_scale());
    } else {
        draw!(0.5..longest);
    }
    Ok(())
}
