//! TCP under periodic packet reordering (Fukuda, 2019), rebuilt: studies/reordering/README.md.

mod watched;

use std::collections::BTreeMap;

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::Estimate;
use kirikae_scenario::{Controls, Scenario};

use super::{
    Axis, Cell, Column, Computed, Definition, Figure, Form, Found, Key, Material, Names, Row,
    Scale, Series, Study, Table, simulate,
};
use watched::Watched;

pub(super) const STUDY: Study = Study {
    name: "reordering",
    names: Names {
        published: &["claims.csv"],
        criteria: &[
            NEWRENO_WHOLE,
            CUBIC_WHOLE,
            NEWRENO_WORST,
            CUBIC_WORST,
            CUBIC_PLUS_FARTHEST,
            CUBIC_PLUS_BEST,
            ALL_AT_LONGEST,
            CUBIC_BELOW,
            NO_GAIN_BELOW,
            watched::MORE_OFTEN[0],
            watched::MORE_OFTEN[1],
            watched::NONE_AT_LONGEST,
            watched::WINDOW,
            LINUX_RENO,
            LINUX_CUBIC,
            SHORTCUT,
        ],
        thresholds: &["cubic-plus-from"],
        explanations: &[],
    },
    compute,
};

/// What the report says, as the printed numbers call it, too.
const NEWRENO_WHOLE: Key = Key::new("throughput_without_reordering_mbps_newreno");
const CUBIC_WHOLE: Key = Key::new("throughput_without_reordering_mbps_cubic");
const NEWRENO_WORST: Key = Key::new("worst_normalised_throughput_newreno_about");
const CUBIC_WORST: Key = Key::new("worst_normalised_throughput_cubic_about");
const CUBIC_PLUS_FARTHEST: Key =
    Key::new("cubic_plus_normalised_throughput_for_reorder_interval_at_least_30_about");
const CUBIC_PLUS_BEST: Key = Key::new("cubic_plus_over_cubic_best_ratio_at_least");
const ALL_AT_LONGEST: Key = Key::new("normalised_throughput_all_at_reorder_interval_100");
/// What it says of the curves, without a number.
const NO_GAIN_BELOW: Key = Key::with("cubic-plus-below-30", &["most", "at"]);
/// The lowest normalised throughput.
const LINUX_RENO: Key = Key::new("linux-reno");
const LINUX_CUBIC: Key = Key::new("linux-cubic");
/// What it gains without RACK's shortcut by duplicates.
const SHORTCUT: Key = Key::new("without-shortcut");
const CUBIC_BELOW: Key = Key::new("cubic-below-newreno");

/// The longest reorder interval of the report, and the one that stands
/// for no reordering in the scenarios.
const LONGEST: u32 = 100;
const NONE: u32 = 1000;

/// What a criterion ends with of which the relative difference to the print is asked.
const DIFFERENCE: &str = ": relative difference";

/// Who is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    NewReno,
    Cubic,
    CubicPlus,
    /// Linux 6 as it is, with Reno and with CUBIC.
    LinuxReno,
    LinuxCubic,
    /// The same without RACK's shortcut.
    OursReno,
    OursCubic,
}

impl Who {
    fn of(scenario: &Scenario, contender: &str) -> Option<Who> {
        let swept = |name| scenario.swept.get(name).map(String::as_str);
        Some(match (swept("detection"), swept("shortcut"), contender) {
            (Some("duplicates"), _, "kk_reno") => Who::NewReno,
            (Some("duplicates"), _, "kk_cubic") => Who::Cubic,
            (Some("duplicates-or-time"), _, "kk_cubic") => Who::CubicPlus,
            (_, Some("true"), "reno") => Who::LinuxReno,
            (_, Some("true"), "cubic") => Who::LinuxCubic,
            (_, Some("false"), "reno") => Who::OursReno,
            (_, Some("false"), "cubic") => Who::OursCubic,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Who::NewReno => "NewReno",
            Who::Cubic => "Cubic",
            Who::CubicPlus => "Cubic+",
            Who::LinuxReno => "Linux 6, reno",
            Who::LinuxCubic => "Linux 6, cubic",
            Who::OursReno => "Linux 6 without the shortcut, reno",
            Who::OursCubic => "Linux 6 without the shortcut, cubic",
        }
    }
}

/// Throughput in Mbit/s by reorder interval.
type Curves = BTreeMap<Who, BTreeMap<u32, f64>>;

fn compute(material: &Material) -> Result<Computed, Error> {
    let claims = Claims::read(material)?;
    let outcome = simulate(&material.scenarios, Controls::default())?;
    let curves = curves(&outcome.comparisons);
    let watched = Watched::new(material)?;
    let from = material.definition.threshold("cubic-plus-from") as u32;
    let (table, mut found) = claims.compare(&curves, &material.definition);
    let (reno, cubic) = (normalised(&curves, Who::NewReno), normalised(&curves, Who::Cubic));
    let below = cubic.iter().filter(|(at, cubic)| reno.get(at).is_some_and(|reno| *cubic < reno));
    found.push(Found::new(CUBIC_BELOW, below.count() as f64, cubic.len()));
    found.extend(gain_below(&curves, from));
    found.extend(watched.found());
    found.extend(linux(&curves));
    let mut figures = figures(&curves, &claims, from);
    figures.splice(1..1, watched.recoveries_figure());
    figures.extend(watched.windows_figure());
    Ok(Computed { found, tables: vec![table], figures })
}

/// What Cubic+ carries of Cubic's throughput where the report sees no gain, in the mean.
fn gain_below(curves: &Curves, from: u32) -> Option<Found> {
    let (plus, cubic) = (normalised(curves, Who::CubicPlus), normalised(curves, Who::Cubic));
    let ratios = plus.range(..from).filter_map(|(at, plus)| Some((*at, plus / cubic.get(at)?)));
    let ratios: Vec<(u32, f64)> = ratios.collect();
    let (at, most) = *ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mean = ratios.iter().map(|(_, ratio)| ratio).sum::<f64>() / ratios.len() as f64;
    let found = Found::new(NO_GAIN_BELOW, mean, ratios.len());
    Some(found.word("most", format!("{most:.2}")).word("at", at.to_string()))
}

/// What Linux keeps, and what it gains without RACK's shortcut: the most that it does with Reno or with CUBIC.
fn linux(curves: &Curves) -> Vec<Found> {
    let least = |who| worst(curves, who);
    let both = [(LINUX_RENO, Who::LinuxReno), (LINUX_CUBIC, Who::LinuxCubic)];
    let kept = both.into_iter().filter_map(|(key, who)| {
        let Ours { value, of } = least(who)?;
        Some(Found::new(key, value, of))
    });
    let gains = [(Who::LinuxReno, Who::OursReno), (Who::LinuxCubic, Who::OursCubic)];
    let gains = gains
        .into_iter()
        .filter_map(|(stock, without)| Some(least(without)?.value - least(stock)?.value));
    let most = gains.max_by(f64::total_cmp).map(|gain| Found::new(SHORTCUT, gain, 2));
    kept.chain(most).collect()
}

fn interval(scenario: &Scenario) -> Option<u32> {
    scenario.swept.get("ri")?.parse().ok()
}

fn curves(comparisons: &[Comparison]) -> Curves {
    let mut curves = Curves::new();
    for comparison in comparisons {
        let Some(interval) = interval(&comparison.scenario) else { continue };
        for play in &comparison.plays {
            let who = Who::of(&comparison.scenario, play.contender.name());
            if let (Some(who), Some(goodput)) = (who, play.flows[0].goodput) {
                curves.entry(who).or_default().insert(interval, goodput / 1e6);
            }
        }
    }
    curves
}

/// What of the throughput without reordering is left, by reorder interval.
fn normalised(curves: &Curves, who: Who) -> BTreeMap<u32, f64> {
    let Some(curve) = curves.get(&who) else { return BTreeMap::new() };
    let Some(whole) = curve.get(&NONE) else { return BTreeMap::new() };
    curve.range(..=LONGEST).map(|(interval, mbit)| (*interval, mbit / whole)).collect()
}

/// What the report says, each with the value that it gives.
struct Claims(Vec<(Claim, f64)>);

impl Claims {
    /// Each claim that is known must be there, and no other.
    fn read(material: &Material) -> Result<Claims, Error> {
        let mut claims = Vec::new();
        for row in material.printed("claims.csv").rows() {
            let name = row.text("claim")?;
            let claim =
                CLAIMS.into_iter().find(|claim| claim.key.name == name).ok_or_else(|| {
                    row.refuse("claim", name, &CLAIMS.map(|claim| claim.key.name).join(", "))
                })?;
            let value = row.number("value")?;
            let value = value.ok_or_else(|| row.refuse("value", "nothing", "a number"))?;
            claims.push((claim, value));
        }
        let is_missing = |it: &Claim| claims.iter().all(|(claim, _)| claim.key.name != it.key.name);
        match CLAIMS.into_iter().find(is_missing) {
            Some(claim) => {
                let told = format!("{}: claims.csv has no line {}", STUDY.name, claim.key.name);
                Err(Error::Incompatible(told))
            }
            None => Ok(Claims(claims)),
        }
    }

    /// Each claim beside what came out.
    fn compare(&self, curves: &Curves, definition: &Definition) -> (Table, Vec<Found>) {
        let columns = [Column::new("value", 3)];
        let mut table = Table::new("What the report says (sections 4.1 and 4.2)", "claim", columns);
        let mut found = Vec::new();
        for (claim, printed) in &self.0 {
            let said = Said { printed: *printed, definition };
            let Some(Ours { value, of }) = (claim.ours)(curves, said) else { continue };
            let what = definition.what(claim.key);
            let (heading, judged) = match what.strip_suffix(DIFFERENCE) {
                Some(heading) => (heading, (value / printed - 1.0).abs()),
                None => (what, value),
            };
            let cell = Cell::compared(*printed, one(value), of);
            let cell = cell.judged(definition.is_met(claim.key, judged, of));
            table.rows.push(Row::new(heading, vec![cell]));
            found.push(Found::new(claim.key, judged, of));
        }
        (table, found)
    }
}

/// Something that the report says.
#[derive(Clone, Copy)]
struct Claim {
    key: Key,
    /// What came out in its place; none where what it needs was not simulated.
    ours: fn(&Curves, Said) -> Option<Ours>,
}

/// The value that the report gives, and what study.toml says of it.
struct Said<'a> {
    printed: f64,
    definition: &'a Definition,
}

/// What came out in place of a claim.
struct Ours {
    value: f64,
    /// From so many runs.
    of: usize,
}

const CLAIMS: [Claim; 7] = [
    Claim { key: NEWRENO_WHOLE, ours: |curves, _| whole(curves, Who::NewReno) },
    Claim { key: CUBIC_WHOLE, ours: |curves, _| whole(curves, Who::Cubic) },
    Claim { key: NEWRENO_WORST, ours: |curves, _| worst(curves, Who::NewReno) },
    Claim { key: CUBIC_WORST, ours: |curves, _| worst(curves, Who::Cubic) },
    Claim {
        key: CUBIC_PLUS_FARTHEST,
        ours: |curves, said| {
            let mut curve = normalised(curves, Who::CubicPlus);
            let from = curve.split_off(&(said.definition.threshold("cubic-plus-from") as u32));
            let off = |normalised: f64| (normalised - said.printed).abs();
            let value = from.values().copied().max_by(|a, b| off(*a).total_cmp(&off(*b)))?;
            Some(Ours { value, of: from.len() })
        },
    },
    Claim {
        key: CUBIC_PLUS_BEST,
        ours: |curves, _| {
            let plus = normalised(curves, Who::CubicPlus);
            let cubic = normalised(curves, Who::Cubic);
            let ratios = plus.iter().filter_map(|(at, plus)| Some(plus / cubic.get(at)?));
            Some(Ours { value: ratios.max_by(f64::total_cmp)?, of: plus.len() })
        },
    },
    Claim {
        key: ALL_AT_LONGEST,
        ours: |curves, _| {
            let all = [Who::NewReno, Who::Cubic, Who::CubicPlus];
            let all = all.map(|who| normalised(curves, who).get(&LONGEST).copied());
            let value = all.iter().copied().min_by(|a, b| a.partial_cmp(b).expect("no NaN"))??;
            Some(Ours { value, of: all.len() })
        },
    },
];

/// The throughput without reordering.
fn whole(curves: &Curves, who: Who) -> Option<Ours> {
    Some(Ours { value: *curves.get(&who)?.get(&NONE)?, of: 1 })
}

/// The lowest normalised throughput.
fn worst(curves: &Curves, who: Who) -> Option<Ours> {
    let curve = normalised(curves, who);
    Some(Ours { value: curve.values().copied().min_by(f64::total_cmp)?, of: curve.len() })
}

/// Of a run in which nothing is left to chance.
fn one(value: f64) -> Estimate {
    Estimate { value, half_width: None }
}

/// A value of the report as a line across the figure.
fn line(name: &str, claims: &Claims, key: Key, from: u32) -> Option<Series> {
    let value = claims.0.iter().find(|(claim, _)| claim.key.name == key.name)?.1;
    let ends = [from, LONGEST].map(|at| (f64::from(at), value));
    Some(Series::published(name, Form::Line, ends))
}

fn figures(curves: &Curves, claims: &Claims, from: u32) -> Vec<Figure> {
    let curve = |who: Who| {
        let points = normalised(curves, who).into_iter();
        Series::ours(who.name(), Form::Line, points.map(|(at, share)| (f64::from(at), one(share))))
    };
    let share = || Axis::new("normalised throughput", Scale::FromZero);
    let lowest = [
        line("NewReno, lowest", claims, NEWRENO_WORST, 0),
        line("Cubic, lowest", claims, CUBIC_WORST, 0),
    ];
    let kept = line("Cubic+ from RI 30 on", claims, CUBIC_PLUS_FARTHEST, from);
    vec![
        Figure::single(
            "Normalised throughput (Fig. 3)",
            "One run for each interval, and nothing in it is left to chance: neighbouring intervals differ by \
             which packets happen to be moved in the first seconds. Lines across are what the text says of the \
             print, whose curves have no numbers.",
            [by(), share()],
            lowest.into_iter().flatten().chain([curve(Who::NewReno), curve(Who::Cubic)]).collect(),
        ),
        Figure::single(
            "Normalised throughput with Cubic+ (Fig. 5), and Linux 6",
            "Linux 6 as it is and without RACK's shortcut by duplicates: it gives the shortcut up as soon as it \
             has seen reordering, so that both do as well.",
            [by(), share()],
            kept.into_iter()
                .chain([Who::Cubic, Who::CubicPlus, Who::LinuxCubic, Who::OursCubic].map(curve))
                .collect(),
        ),
    ]
}

fn by() -> Axis {
    Axis::new("reorder interval RI, packets", Scale::FromZero)
}
