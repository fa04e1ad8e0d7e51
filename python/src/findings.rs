//! What came of a study as it travels from whoever computed it: written as it is, and read by the definitions here,
//! which the compiler holds against those of the studies. (Of alternatives it does so where they are written, too.)

use kirikae_results::statistics::Estimate;
use kirikae_studies::{
    Axis, Bound, Cell, Column, Criterion, Figure, Findings, Form, Panel, Point, Row, Scale, Series,
    Spread, Study, Table, Whose,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::{DeserializeAs, serde_as};

/// Findings as MessagePack.
///
/// # Errors
/// Tells why they cannot be written.
pub fn packed(findings: &Findings) -> Result<Vec<u8>, String> {
    // With names, since those of the definitions are what is compared.
    rmp_serde::to_vec_named(&Packed { findings, readme: &findings.readme })
        .map_err(|error| format!("findings as MessagePack: {error}"))
}

/// The findings that were packed.
///
/// # Errors
/// Tells why they cannot be read.
pub fn unpacked(packed: &[u8]) -> Result<Findings, String> {
    let Unpacked { mut findings, readme } =
        rmp_serde::from_slice(packed).map_err(|error| format!("findings: {error}"))?;
    findings.readme = readme;
    Ok(findings)
}

/// With what findings leave out when they are told.
#[derive(Serialize)]
struct Packed<'a> {
    findings: &'a Findings,
    readme: &'a str,
}

#[derive(Deserialize)]
struct Unpacked {
    #[serde(with = "FindingsRead")]
    findings: Findings,
    readme: String,
}

/// How types of other crates are read, in lists and options, too.
macro_rules! read {
    ($($by:ident: $type:ty,)*) => {
        $(impl<'de> DeserializeAs<'de, $type> for $by {
            fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                $by::deserialize(from)
            }
        })*
    };
}

read! {
    CriterionRead: Criterion,
    BoundRead: Bound,
    SpreadRead: Spread,
    TableRead: Table,
    ColumnRead: Column,
    RowRead: Row,
    CellRead: Cell,
    EstimateRead: Estimate,
    FigureRead: Figure,
    PanelRead: Panel,
    SeriesRead: Series,
    PointRead: Point,
}

/// A text of the program. By this name it is no reference, which would be one into what is read.
type Text = &'static str;

#[serde_as]
#[derive(Deserialize)]
#[serde(remote = "Findings")]
struct FindingsRead {
    #[serde(deserialize_with = "study")]
    study: Text,
    about: String,
    source: String,
    short: bool,
    played: String,
    #[serde(skip)]
    readme: String,
    #[serde_as(as = "Vec<CriterionRead>")]
    criteria: Vec<Criterion>,
    #[serde_as(as = "Vec<TableRead>")]
    tables: Vec<Table>,
    #[serde_as(as = "Vec<FigureRead>")]
    figures: Vec<Figure>,
}

fn study<'de, D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
    let name = String::deserialize(from)?;
    let study = Study::named(&name).map(|study| study.name);
    study.ok_or_else(|| serde::de::Error::custom(format!("no study {name}")))
}

#[serde_as]
#[derive(Deserialize)]
#[serde(remote = "Criterion")]
struct CriterionRead {
    #[serde(deserialize_with = "key")]
    key: Text,
    what: String,
    value: f64,
    of: usize,
    #[serde_as(as = "Option<BoundRead>")]
    bound: Option<Bound>,
    met: Option<bool>,
    why: Option<String>,
    calibrated: bool,
    #[serde_as(as = "Option<SpreadRead>")]
    blocks: Option<Spread>,
}

/// A key is a text of the program. Whoever reads one keeps it as long.
fn key<'de, D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
    Ok(String::deserialize(from)?.leak())
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Bound", rename_all = "snake_case")]
enum BoundRead {
    AtMost(f64),
    AtLeast(f64),
    Between(f64, f64),
}

#[derive(Deserialize)]
#[serde(remote = "Spread")]
struct SpreadRead {
    values: Vec<f64>,
    met: Option<usize>,
}

#[serde_as]
#[derive(Deserialize)]
#[serde(remote = "Table")]
struct TableRead {
    title: String,
    by: String,
    #[serde_as(as = "Vec<ColumnRead>")]
    columns: Vec<Column>,
    #[serde_as(as = "Vec<RowRead>")]
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(remote = "Column")]
struct ColumnRead {
    heading: String,
    digits: usize,
}

#[serde_as]
#[derive(Deserialize)]
#[serde(remote = "Row")]
struct RowRead {
    heading: String,
    #[serde_as(as = "Vec<CellRead>")]
    cells: Vec<Cell>,
    why: Option<String>,
}

#[serde_as]
#[derive(Deserialize)]
#[serde(remote = "Cell")]
struct CellRead {
    published: Option<f64>,
    #[serde_as(as = "Option<EstimateRead>")]
    ours: Option<Estimate>,
    n: usize,
    difference: Option<f64>,
    agrees: Option<bool>,
    word: Option<String>,
    why: Option<String>,
}

#[derive(Deserialize)]
#[serde(remote = "Estimate")]
struct EstimateRead {
    value: f64,
    half_width: Option<f64>,
}

#[serde_as]
#[derive(Deserialize)]
#[serde(remote = "Figure")]
struct FigureRead {
    title: String,
    about: String,
    #[serde_as(as = "Vec<PanelRead>")]
    panels: Vec<Panel>,
}

#[serde_as]
#[derive(Deserialize)]
#[serde(remote = "Panel")]
struct PanelRead {
    title: String,
    #[serde(with = "AxisRead")]
    x: Axis,
    #[serde(with = "AxisRead")]
    y: Axis,
    #[serde_as(as = "Vec<SeriesRead>")]
    series: Vec<Series>,
}

#[derive(Deserialize)]
#[serde(remote = "Axis")]
struct AxisRead {
    what: String,
    #[serde(with = "ScaleRead")]
    scale: Scale,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Scale", rename_all = "snake_case")]
enum ScaleRead {
    FromZero,
    Between(f64, f64),
    Log,
    Names(Vec<String>),
}

#[serde_as]
#[derive(Deserialize)]
#[serde(remote = "Series")]
struct SeriesRead {
    name: String,
    #[serde(with = "WhoseRead")]
    whose: Whose,
    #[serde(with = "FormRead")]
    form: Form,
    #[serde_as(as = "Vec<PointRead>")]
    points: Vec<Point>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Whose", rename_all = "snake_case")]
enum WhoseRead {
    Published,
    Ours,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Form", rename_all = "snake_case")]
enum FormRead {
    Curve,
    Line,
    Dots,
    Fields,
    Bars,
}

#[derive(Deserialize)]
#[serde(remote = "Point")]
struct PointRead {
    x: f64,
    y: f64,
    half_width: Option<f64>,
}
