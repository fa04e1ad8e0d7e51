//! Figures: curves and bars, theirs beside ours.

use kirikae_results::statistics::Estimate;
use serde::Serialize;

/// A published figure beside ours: one panel, or several that are read together.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What it shows, and which of the print it is.
    pub title: String,
    /// What is to be seen in it, or why ours is not as printed.
    pub about: String,
    /// At least one.
    pub panels: Vec<Panel>,
}

/// A pair of axes and what is drawn on them.
#[derive(Clone, Debug, Serialize)]
pub struct Panel {
    /// What tells it from the others; empty where it is the only one.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From below.
    pub y: Axis,
    /// Curves, dots or bars.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What is along it, with the unit.
    pub what: String,
    /// How values are laid out on it.
    pub scale: Scale,
}

/// How values are laid out on an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Evenly from 0, or from the lowest below it, to what is drawn highest.
    FromZero,
    /// Evenly from one to the other.
    Between(f64, f64),
    /// By factors. What is not above 0 has no place.
    Log,
    /// A place for each of these names, at 0, 1 and so on.
    Names(Vec<String>),
}

/// What belongs together in a panel.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Its name in the key; empty where it is enough to say whose it is. The same name has the same
    /// colour and mark, in all panels of a figure.
    pub name: String,
    /// Theirs has dashes and hollow marks, ours is solid; where all are ours, each line has its own dashes.
    pub whose: Whose,
    /// How it is drawn.
    pub form: Form,
    /// In the order of x where they are joined.
    pub points: Vec<Point>,
}

/// Who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// As printed, or by a printed formula.
    Published,
    /// As simulated.
    Ours,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Marks joined by lines.
    Curve,
    /// A line without marks: of a formula.
    Line,
    /// Marks alone.
    Dots,
    /// The fields of a map, around points whose axes have names, with the first letters of the series' name.
    Fields,
    /// From 0 up, beside the bars of the other series at the same x, an axis of [`Scale::Names`].
    Bars,
}

/// A value and its place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Its place on the x axis.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Half of its 95 % interval, if it has one.
    pub half_width: Option<f64>,
}

impl Figure {
    /// A figure of one panel.
    pub fn single(
        title: impl Into<String>,
        about: impl Into<String>,
        [x, y]: [Axis; 2],
        series: Vec<Series>,
    ) -> Figure {
        let panel = Panel { title: String::new(), x, y, series };
        Figure { title: title.into(), about: about.into(), panels: vec![panel] }
    }
}

impl Axis {
    /// An axis.
    pub fn new(what: impl Into<String>, scale: Scale) -> Axis {
        Axis { what: what.into(), scale }
    }
}

impl Series {
    /// Theirs.
    pub fn published(
        name: impl Into<String>,
        form: Form,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Series {
        let points = points.into_iter().map(|(x, y)| Point { x, y, half_width: None }).collect();
        Series { name: name.into(), whose: Whose::Published, form, points }
    }

    /// Ours, of which nothing is told but where it is.
    pub fn places(
        name: impl Into<String>,
        form: Form,
        places: impl IntoIterator<Item = (f64, f64)>,
    ) -> Series {
        let point = |(x, value)| (x, Estimate { value, half_width: None });
        Series::ours(name, form, places.into_iter().map(point))
    }

    /// Ours.
    pub fn ours(
        name: impl Into<String>,
        form: Form,
        points: impl IntoIterator<Item = (f64, Estimate)>,
    ) -> Series {
        let point = |(x, y): (f64, Estimate)| Point { x, y: y.value, half_width: y.half_width };
        let points = points.into_iter().map(point).collect();
        Series { name: name.into(), whose: Whose::Ours, form, points }
    }
}
