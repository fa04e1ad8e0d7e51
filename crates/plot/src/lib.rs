//! How our plots look: colours, letters, axes and keys, on top of plotters.
//!
//! They are SVG, twice as large as a page shows them, since plotters puts everything on whole
//! pixels. Nothing is drawn behind them; the colours can be read on white and on black.

use std::error::Error;

use plotters::chart::{ChartContext, MeshStyle};
use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

/// Where something is drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Drawing may fail; into a string it does not.
pub type Drawn = Result<(), Box<dyn Error>>;

/// Axes and letters.
pub const INK: RGBColor = RGBColor(0x7a, 0x7a, 0x7a);
/// What a plot is about.
pub const BLUE: RGBColor = RGBColor(0x2f, 0x81, 0xe0);
/// What is beside it.
pub const ORANGE: RGBColor = RGBColor(0xe0, 0x6c, 0x1f);
/// The colour of events.
pub const PINK: RGBColor = RGBColor(0xd0, 0x45, 0x9a);
/// Series of a figure, in order: the last three are green, violet and brown.
pub const SERIES: [RGBColor; 6] = [
    BLUE,
    ORANGE,
    PINK,
    RGBColor(0x2a, 0x96, 0x5c),
    RGBColor(0x8a, 0x63, 0xd2),
    RGBColor(0x9a, 0x78, 0x1c),
];
/// What lies behind curves.
pub const SHADE: RGBAColor = RGBAColor(0x7a, 0x7a, 0x7a, 0.25);

/// Line width of a curve, of a line that marks an event, and of an axis.
pub const CURVE: u32 = 4;
/// See [`CURVE`].
pub const MARK: u32 = 2;
/// Radius of a dot.
pub const DOT: u32 = 5;

/// A title's letters.
pub const TITLE: (&str, u32, &RGBColor) = ("sans-serif", 32, &INK);
/// Width of what a key shows beside its texts.
pub const KEY_WIDTH: i32 = 60;

/// What is drawn on an area of this size, as SVG.
///
/// # Panics
/// Panics if `draw` fails for another reason than its backend, which takes everything.
pub fn svg(size: (u32, u32), draw: impl FnOnce(&Area) -> Drawn) -> String {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    draw(&area).and_then(|()| Ok(area.present()?)).expect("a string takes everything");
    drop(area);
    svg
}

/// Letters of this colour.
pub fn text(colour: &RGBColor) -> TextStyle<'_> {
    // The size of the area would matter only if the letters were given as a part of it.
    ("sans-serif", 26, colour).into_text_style(&(0, 0))
}

/// Axes without a mesh, with so many labels at most; what they are of is still to be said, and they
/// are still to be drawn.
pub fn axes<'a, 'b, DB, X, Y>(
    chart: &'b mut ChartContext<'a, DB, Cartesian2d<X, Y>>,
    labels: usize,
) -> MeshStyle<'a, 'b, X, Y, DB>
where
    DB: DrawingBackend,
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh()
        .x_labels(labels)
        .y_labels(labels)
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .label_style(text(&INK))
        .axis_desc_style(text(&INK))
        .axis_style(INK.stroke_width(MARK));
    mesh
}

/// A number on an axis, without what rounding leaves far behind the point.
fn number(value: &f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}

/// The line of a curve in a key.
pub fn key_line(at: (i32, i32), colour: RGBColor) -> PathElement<(i32, i32)> {
    PathElement::new([at, (at.0 + KEY_WIDTH, at.1)], colour.stroke_width(CURVE))
}

/// What a key says of what is drawn at its left.
pub fn key_text<'a>(
    at: (i32, i32),
    label: &'a str,
    colour: &'a RGBColor,
) -> Text<'a, (i32, i32), &'a str> {
    Text::new(label, (at.0 + KEY_WIDTH + 20, at.1 - 13), text(colour))
}
