//! A figure's panels and its key as SVG. The key is apart from the panels, so that nothing lies under it.

use std::ops::Range;

use kirikae_plot::{Area, CURVE, Drawn, INK, MARK, SERIES, axes, text};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::figure::{Axis, Figure, Form, Panel, Point, Scale, Series, Whose};

/// Of a panel, and of what the key shows of a series.
const PANEL: (u32, u32) = (760, 500);
const KEY: (u32, u32) = (92, 32);
/// Left of and below the axes.
const LABELS: (u32, u32) = (124, 76);
/// Half the size of a mark, and what it is drawn with where it is hollow.
const HALF: i32 = 8;
/// Half of the line across the end of an interval.
const END: i32 = 6;
/// What is drawn and left out in turns of lines of theirs; of ours, of which each has its own where none is
/// of theirs, so that they can be told apart in grey.
const THEIRS: &[f64] = &[14.0, 9.0];
const OURS: [&[f64]; 6] = [
    SOLID,
    &[26.0, 12.0],
    &[4.0, 9.0],
    &[26.0, 9.0, 4.0, 9.0],
    &[9.0, 9.0],
    &[26.0, 9.0, 4.0, 9.0, 4.0, 9.0],
];
const SOLID: &[f64] = &[];
/// Of the room between two names, what the bars take together.
const BARS: f64 = 0.8;
/// How opaque bars of theirs are.
const LIGHT: f64 = 0.25;
/// How opaque the fields of a map are, so that letters can be read on them.
const FIELD: f64 = 0.35;
/// Between a field and its neighbours, half of it.
const GAP: i32 = 2;
/// Most labels along an axis.
const TICKS: usize = 6;
/// Between an axis and the names below it, and from one line of a name to the next.
const BELOW: i32 = 14;
const LINE: i32 = 26;
/// The width of a letter in the mean, with a little room: which one it is, and in which font, is the reader's.
const LETTER: i32 = 14;

/// The panels of a figure, in order.
pub(super) fn panels(figure: &Figure) -> Vec<String> {
    let looks = looks(figure);
    let svg = |panel: &Panel| {
        // What is along the same axes is laid out alike, so that panels can be compared.
        let alike = |other: &&Panel| (&other.x, &other.y) == (&panel.x, &panel.y);
        let points: Vec<Point> = figure.panels.iter().filter(alike).flat_map(points).collect();
        kirikae_plot::svg(PANEL, |area| draw(panel, &points, &looks, area))
    };
    figure.panels.iter().map(svg).collect()
}

fn points(panel: &Panel) -> impl Iterator<Item = Point> {
    panel.series.iter().flat_map(|series| series.points.iter().copied())
}

/// What is drawn of each series, and whose it is.
pub(super) fn key(figure: &Figure) -> Vec<(String, String)> {
    let both = [Whose::Published, Whose::Ours]
        .map(|whose| looks(figure).iter().any(|look| look.whose == whose));
    let entry = |look: &Look| {
        let svg = kirikae_plot::svg(KEY, |area| {
            let (width, height) = (KEY.0 as i32, KEY.1 as i32);
            let middle = height / 2;
            match look.form {
                Form::Bars => look.draw_bar(area, [(width / 4, 2), (3 * width / 4, height - 2)]),
                Form::Curve => {
                    look.draw_line(area, vec![(0, middle), (width, middle)])?;
                    look.draw_mark(area, (width / 2, middle))
                }
                Form::Line => look.draw_line(area, vec![(0, middle), (width, middle)]),
                Form::Fields => look.draw_field(area, [(0, 0), (width, height)]),
                Form::Dots => look.draw_mark(area, (width / 2, middle)),
            }
        });
        let label = match (look.name, look.whose, both) {
            ("", Whose::Published, _) => "published".to_owned(),
            ("", Whose::Ours, _) => "ours".to_owned(),
            (name, Whose::Published, _) => format!("{name}, published"),
            (name, Whose::Ours, [true, true]) => format!("{name}, ours"),
            (name, Whose::Ours, _) => name.to_owned(),
        };
        (svg, label)
    };
    looks(figure).iter().map(entry).collect()
}

/// A place in a picture.
type Pixel = (i32, i32);

/// How a series looks.
#[derive(Clone, PartialEq)]
struct Look<'a> {
    name: &'a str,
    whose: Whose,
    form: Form,
    colour: RGBColor,
    /// Which of the marks.
    mark: usize,
    /// What is drawn and left out in turns of its line.
    dashes: &'static [f64],
    /// On its fields: as many letters of its name as tell it from the others.
    letters: &'a str,
}

/// That of each series of a figure, once.
fn looks(figure: &Figure) -> Vec<Look<'_>> {
    let mut names: Vec<&str> = Vec::new();
    let mut looks = Vec::new();
    let all = || figure.panels.iter().flat_map(|panel| &panel.series);
    let ours_alone = all().all(|series| series.whose == Whose::Ours);
    for series in all() {
        let known = names.iter().position(|name| *name == series.name);
        let place = known.unwrap_or_else(|| {
            names.push(&series.name);
            names.len() - 1
        });
        let (name, whose, form) = (series.name.as_str(), series.whose, series.form);
        let colour = SERIES[place % SERIES.len()];
        let dashes = match whose {
            Whose::Published => THEIRS,
            Whose::Ours if ours_alone => OURS[place % OURS.len()],
            Whose::Ours => SOLID,
        };
        let look = Look { name, whose, form, colour, mark: place % MARKS, dashes, letters: name };
        if !looks.contains(&look) {
            looks.push(look);
        }
    }
    for look in &mut looks {
        look.letters = letters(look.name, &names);
    }
    looks
}

/// The shortest beginning of a name with which no other begins; all of it where another begins with it.
fn letters<'a>(name: &'a str, all: &[&str]) -> &'a str {
    let ends = name.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let mut beginnings = ends.map(|end| &name[..end]);
    let is_own = |it: &&str| all.iter().all(|other| *other == name || !other.starts_with(it));
    beginnings.find(is_own).unwrap_or(name)
}

/// Marks that can be told apart in grey: circle, square, triangle, diamond, triangle upside down.
const MARKS: usize = 5;

impl Look<'_> {
    fn of<'a, 'b>(looks: &'b [Look<'a>], series: &Series) -> &'b Look<'a> {
        let own = |look: &&Look| {
            (look.name, look.whose, look.form) == (&*series.name, series.whose, series.form)
        };
        looks.iter().find(own).expect("every series has its look")
    }

    /// Ours solid, theirs as light as that.
    fn fill(&self, light: f64) -> ShapeStyle {
        let opacity = if self.whose == Whose::Ours { 1.0 } else { light };
        self.colour.mix(opacity).filled()
    }

    fn draw_line(&self, area: &Area, points: Vec<Pixel>) -> Drawn {
        let style = self.colour.stroke_width(CURVE);
        for dash in dashed(points, self.dashes) {
            area.draw(&PathElement::new(dash, style))?;
        }
        Ok(())
    }

    fn draw_mark(&self, area: &Area, (x, y): Pixel) -> Drawn {
        let r = HALF;
        let corners: &[Pixel] = match self.mark {
            1 => &[(-r, -r), (r, -r), (r, r), (-r, r)],
            2 => &[(-r, r), (r, r), (0, -r)],
            3 => &[(-r - 2, 0), (0, -r - 2), (r + 2, 0), (0, r + 2)],
            4 => &[(-r, -r), (r, -r), (0, r)],
            _ => &[],
        };
        let (fill, edge) = (self.fill(0.0), self.colour.stroke_width(MARK));
        if corners.is_empty() {
            area.draw(&Circle::new((x, y), HALF, fill))?;
            area.draw(&Circle::new((x, y), HALF, edge))?;
        } else {
            let mut outline: Vec<Pixel> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
            area.draw(&Polygon::new(outline.clone(), fill))?;
            outline.push(outline[0]);
            area.draw(&PathElement::new(outline, edge))?;
        }
        Ok(())
    }

    fn draw_field(&self, area: &Area, [a, b]: [Pixel; 2]) -> Drawn {
        let (left, right, top, bottom) = (a.0.min(b.0), a.0.max(b.0), a.1.min(b.1), a.1.max(b.1));
        let corners = [(left + GAP, top + GAP), (right - GAP, bottom - GAP)];
        area.draw(&Rectangle::new(corners, self.colour.mix(FIELD).filled()))?;
        let middle = Pos::new(HPos::Center, VPos::Center);
        let style = kirikae_plot::text(&INK).pos(middle);
        area.draw(&Text::new(self.letters, ((left + right) / 2, (top + bottom) / 2), style))?;
        Ok(())
    }

    fn draw_bar(&self, area: &Area, corners: [Pixel; 2]) -> Drawn {
        area.draw(&Rectangle::new(corners, self.fill(LIGHT)))?;
        area.draw(&Rectangle::new(corners, self.colour.stroke_width(MARK)))?;
        Ok(())
    }
}

/// The parts of a line that are drawn, where it is drawn and left out in turns for so many pixels each.
fn dashed(points: Vec<Pixel>, lengths: &[f64]) -> Vec<Vec<Pixel>> {
    let (Some(first), false) = (points.first(), lengths.is_empty()) else { return vec![points] };
    let mut drawn = vec![vec![*first]];
    let mut turns = lengths.iter().copied().cycle().zip([true, false].into_iter().cycle());
    let (mut left, mut on) = turns.next().expect("turns do not end");
    for ends in points.windows(2) {
        let [from, to] = [ends[0], ends[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let mut at = 0.0;
        while at < length {
            let step = left.min(length - at);
            at += step;
            left -= step;
            let share = at / length;
            let place = |from: f64, to: f64| (from + share * (to - from)).round() as i32;
            let here = (place(from.0, to.0), place(from.1, to.1));
            if on {
                drawn.last_mut().expect("one to begin with").push(here);
            }
            if left <= 0.0 {
                (left, on) = turns.next().expect("turns do not end");
                if on {
                    drawn.push(vec![here]);
                }
            }
        }
    }
    drawn.retain(|dash| dash.len() > 1);
    drawn
}

/// An axis of any scale.
struct Coordinate<'a> {
    scale: &'a Scale,
    /// In what is laid out evenly: powers of ten where it goes by factors.
    even: RangedCoordf64,
}

impl<'a> Coordinate<'a> {
    /// With room for all values.
    fn new(axis: &'a Axis, values: impl Iterator<Item = f64> + Clone) -> Coordinate<'a> {
        let (low, high) =
            values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let range = match &axis.scale {
            Scale::Between(from, to) => *from..*to,
            Scale::Names(names) => -0.5..names.len() as f64 - 0.5,
            Scale::FromZero => {
                let least = low.min(0.0);
                let room = 0.08 * (high.max(0.0) - least);
                let most = high.max(0.0) + room;
                if most > least { least..most } else { 0.0..1.0 }
            }
            Scale::Log => {
                let above = values.filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
                let (low, high) = (above.log10(), high.log10());
                if low.is_finite() && high >= low { low - 0.06..high + 0.06 } else { 0.0..1.0 }
            }
        };
        Coordinate { scale: &axis.scale, even: range.into() }
    }
}

/// Whether a value has a place on an axis.
fn has(scale: &Scale, value: f64) -> bool {
    value.is_finite() && (*scale != Scale::Log || value > 0.0)
}

impl Ranged for Coordinate<'_> {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let even = if *self.scale == Scale::Log { value.log10() } else { *value };
        self.even.map(&even, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self.scale {
            Scale::Names(names) => (0..names.len()).map(|place| place as f64).collect(),
            Scale::FromZero | Scale::Between(..) => self.even.key_points(hint),
            Scale::Log => factors(self.even.range(), hint.max_num_points()),
        }
    }

    fn range(&self) -> Range<f64> {
        let Range { start, end } = self.even.range();
        if *self.scale == Scale::Log { 10f64.powf(start)..10f64.powf(end) } else { start..end }
    }
}

/// Round numbers in a range of powers of ten: as many in each decade as there is room for.
fn factors(decades: Range<f64>, most: usize) -> Vec<f64> {
    let within = |steps: &[f64]| -> Vec<f64> {
        let decade = decades.start.floor() as i32..=decades.end.floor() as i32;
        let values =
            decade.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
        values.filter(|value| decades.contains(&value.log10())).collect()
    };
    let choices: [&[f64]; 3] = [&[1.0, 2.0, 3.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0]];
    let fitting = choices.iter().map(|steps| within(steps)).find(|values| values.len() <= most);
    fitting.unwrap_or_else(|| within(choices[2]))
}

/// A panel whose axes have room for `room`.
fn draw(panel: &Panel, room: &[Point], looks: &[Look], area: &Area) -> Drawn {
    let reach = |point: &Point| {
        let half = point.half_width.unwrap_or(0.0);
        [point.y - half, point.y + half]
    };
    let x = Coordinate::new(&panel.x, room.iter().map(|point| point.x));
    let y = Coordinate::new(&panel.y, room.iter().flat_map(reach));
    let whole = y.range();
    let shown = |point: &&Point| has(&panel.x.scale, point.x) && has(&panel.y.scale, point.y);
    let mut chart = ChartBuilder::on(area)
        .margin_right(28)
        .margin_top(18)
        .x_label_area_size(LABELS.1)
        .y_label_area_size(LABELS.0)
        .build_cartesian_2d(x, y)?;
    let mut mesh = axes(&mut chart, TICKS);
    let name = |scale: &Scale, place: f64| match scale {
        Scale::Names(names) => names.get(place as usize).cloned().unwrap_or_default(),
        _ => String::new(),
    };
    // Names below the axis may have several lines, which plotters does not do.
    let no_name = |_: &f64| String::new();
    let y_name = |place: &f64| name(&panel.y.scale, *place);
    if let Scale::Names(names) = &panel.x.scale {
        mesh.x_labels(names.len()).x_label_formatter(&no_name);
    }
    if let Scale::Names(names) = &panel.y.scale {
        mesh.y_labels(names.len()).y_label_formatter(&y_name);
    }
    mesh.x_desc(&*panel.x.what).y_desc(&*panel.y.what).draw()?;

    if let Scale::Names(names) = &panel.x.scale {
        let [left, right] = [-0.5, 0.5].map(|x| chart.backend_coord(&(x, whole.start)).0);
        let letters = ((right - left) / LETTER).max(1) as usize;
        for (at, name) in names.iter().enumerate() {
            let (x, y) = chart.backend_coord(&(at as f64, whole.start));
            write_below(area, (x, y + BELOW), &lines(name, letters))?;
        }
    }

    let place = |x: f64, y: f64| chart.backend_coord(&(x, y.clamp(whole.start, whole.end)));
    let bars = panel.series.iter().filter(|series| series.form == Form::Bars).count() as f64;
    let mut left = -BARS / 2.0;
    for series in &panel.series {
        let look = Look::of(looks, series);
        let points: Vec<&Point> = series.points.iter().filter(shown).collect();
        // What the middle of a bar is beside the name.
        let mut middle = 0.0;
        match series.form {
            Form::Bars => {
                let right = left + BARS / bars;
                middle = (left + right) / 2.0;
                for Point { x, y, .. } in &points {
                    look.draw_bar(area, [place(x + left, 0.0), place(x + right, *y)])?;
                }
                left = right;
            }
            Form::Curve | Form::Line => {
                look.draw_line(area, points.iter().map(|point| place(point.x, point.y)).collect())?;
            }
            Form::Fields => {
                for Point { x, y, .. } in &points {
                    look.draw_field(area, [place(x - 0.5, y - 0.5), place(x + 0.5, y + 0.5)])?;
                }
            }
            Form::Dots => {}
        }
        let colour = if series.form == Form::Bars { INK } else { look.colour };
        for point in &points {
            if let Some(half) = point.half_width {
                let x = point.x + middle;
                interval(area, [place(x, point.y - half), place(x, point.y + half)], colour)?;
            }
            if matches!(series.form, Form::Curve | Form::Dots) {
                look.draw_mark(area, place(point.x, point.y))?;
            }
        }
    }
    Ok(())
}

/// A name in lines of at most so many letters, where its words allow it.
fn lines(name: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Lines of text, one below the other, from the middle of the first one's upper edge.
fn write_below(area: &Area, (x, y): Pixel, lines: &[String]) -> Drawn {
    let style = text(&INK).pos(Pos::new(HPos::Center, VPos::Top));
    for (place, line) in lines.iter().enumerate() {
        area.draw(&Text::new(line.as_str(), (x, y + place as i32 * LINE), style.clone()))?;
    }
    Ok(())
}

/// A line from end to end, and across each.
fn interval(area: &Area, ends: [Pixel; 2], colour: RGBColor) -> Drawn {
    let style = colour.stroke_width(MARK);
    area.draw(&PathElement::new(ends, style))?;
    for (x, y) in ends {
        area.draw(&PathElement::new([(x - END, y), (x + END, y)], style))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_on_round_corners() {
        let line = vec![(0, 0), (15, 0), (15, 20)];
        assert_eq!(dashed(line.clone(), SOLID), std::slice::from_ref(&line));
        let dashes = dashed(line, &[10.0, 2.0]);
        assert_eq!(
            dashes,
            [vec![(0, 0), (10, 0)], vec![(12, 0), (15, 0), (15, 7)], vec![(15, 9), (15, 19)]]
        );
        assert_eq!(dashed(Vec::new(), &[10.0, 2.0]), [Vec::<Pixel>::new()]);
    }

    #[test]
    fn names_are_cut_between_words() {
        assert_eq!(lines("Wide to narrow", 8), ["Wide to", "narrow"]);
        assert_eq!(lines("Wide to narrow", 14), ["Wide to narrow"]);
        assert_eq!(lines("disconnected", 3), ["disconnected"]);
    }

    #[test]
    fn letters_tell_names_apart() {
        let names = ["hybla", "htcp", "bbr", "bbr3", "stock cubic", "scalable"];
        let letters = names.map(|name| letters(name, &names));
        assert_eq!(letters, ["hy", "ht", "bbr", "bbr3", "st", "sc"]);
    }

    #[test]
    fn lines_of_ours_differ_without_colour() {
        let series = |name: &str, whose| Series {
            name: name.into(),
            whose,
            form: Form::Line,
            points: vec![],
        };
        let axis = || Axis::new("", Scale::FromZero);
        let figure = |series| Figure::single("", "", [axis(), axis()], series);
        let names = ["a", "b", "c", "d", "e", "f"];
        let ours = figure(names.map(|name| series(name, Whose::Ours)).to_vec());
        let dashes: std::collections::BTreeSet<String> =
            looks(&ours).iter().map(|look| format!("{:?}", look.dashes)).collect();
        assert_eq!(dashes.len(), names.len());
        // Beside theirs, dashes are theirs.
        let both = figure(vec![series("a", Whose::Published), series("a", Whose::Ours)]);
        assert_eq!(
            looks(&both).iter().map(|look| look.dashes).collect::<Vec<_>>(),
            [THEIRS, SOLID]
        );
    }
}
