//! TCP under periodic packet reordering (Fukuda, 2019), rebuilt: studies/reordering/README.md.

use std::collections::BTreeMap;

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::Estimate;
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim;

use super::watch::WindowWatch;
use super::{
    Axis, Bound, Cell, Column, Criterion, Figure, Findings, Form, Material, Row, Scale, Series,
    Study, Table, simulate,
};

pub(super) const STUDY: Study = Study {
    name: "reordering",
    about: "TCP under periodic packet reordering, and Cubic+",
    source: "Fukuda, report of KAKENHI 16K00129, 2019 (in Japanese), Figs 3 to 6",
    scenarios: &["published.toml", "ours.toml"],
    published: &["claims.csv"],
    compare,
};

/// How far a throughput may be from one that is printed with six digits, and from all of it.
const EXACT_WITHIN: f64 = 0.01;
/// How far a value may be from one that is printed as "about".
const ABOUT_WITHIN: f64 = 0.15;
/// What ours keeps of the throughput at every reorder interval.
const KEPT: f64 = 0.9;
/// From this reorder interval on Cubic+ helps, as the report says.
const CUBIC_PLUS_FROM: u32 = 30;
/// The longest reorder interval of the report, the one whose windows it shows, and the one that stands
/// for no reordering in the scenarios.
const LONGEST: u32 = 100;
const SHOWN: u32 = 70;
const NONE: u32 = 1000;

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

fn compare(material: &Material) -> Result<Findings, Error> {
    let outcome = simulate(&material.scenarios, Controls::default())?;
    let curves = curves(&outcome.comparisons);
    let claims = Claims::read(material)?;
    let mut findings = STUDY.findings(material);
    let (table, mut criteria) = claims.compare(&curves);
    for who in [Who::OursReno, Who::OursCubic] {
        let kept = normalised(&curves, who);
        if let Some(worst) = kept.values().copied().min_by(f64::total_cmp) {
            let what = format!("{}: lowest normalised throughput", who.name());
            criteria.push(Criterion::new(what, worst, kept.len(), Bound::AtLeast(KEPT)));
        }
    }
    for who in [Who::LinuxReno, Who::LinuxCubic] {
        let kept = normalised(&curves, who);
        if let Some(worst) = kept.values().copied().min_by(f64::total_cmp) {
            let what = format!("{}: lowest normalised throughput", who.name());
            criteria.push(Criterion::told(what, worst, kept.len()));
        }
    }
    let (reno, cubic) = (normalised(&curves, Who::NewReno), normalised(&curves, Who::Cubic));
    let below = cubic.iter().filter(|(at, cubic)| reno.get(at).is_some_and(|reno| *cubic < reno));
    let what = "Cubic below NewReno (\"nearly always\"), intervals";
    criteria.push(Criterion::told(what, below.count() as f64, cubic.len()));
    findings.criteria = criteria;
    findings.tables = vec![table];
    findings.figures = figures(material, &curves)?;
    Ok(findings)
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
        for row in material.published.iter().flat_map(|file| file.rows()) {
            let name = row.text("claim")?;
            let claim = CLAIMS.into_iter().find(|claim| claim.name == name).ok_or_else(|| {
                row.refuse("claim", name, &CLAIMS.map(|claim| claim.name).join(", "))
            })?;
            let value = row.number("value")?;
            let value = value.ok_or_else(|| row.refuse("value", "nothing", "a number"))?;
            claims.push((claim, value));
        }
        let is_missing = |it: &Claim| claims.iter().all(|(claim, _)| claim.name != it.name);
        match CLAIMS.into_iter().find(is_missing) {
            Some(claim) => {
                let told =
                    format!("{}: {} has no line {}", STUDY.name, STUDY.published[0], claim.name);
                Err(Error::Incompatible(told))
            }
            None => Ok(Claims(claims)),
        }
    }

    /// Each claim beside what came out.
    fn compare(&self, curves: &Curves) -> (Table, Vec<Criterion>) {
        let columns = [Column::new("value", 3)];
        let mut table = Table::new("What the report says (sections 4.1 and 4.2)", "claim", columns);
        let mut criteria = Vec::new();
        for (claim, printed) in &self.0 {
            let Some(ours) = (claim.ours)(curves) else { continue };
            let off = (ours.value / printed - 1.0).abs();
            let (value, bound) = match ours.asked {
                Asked::Within(share) => (off, Bound::AtMost(share)),
                Asked::AtLeast => (ours.value, Bound::AtLeast(*printed)),
            };
            let what = match ours.asked {
                Asked::Within(_) => format!("{}: relative difference", ours.what),
                Asked::AtLeast => ours.what.to_owned(),
            };
            let criterion = Criterion::new(what, value, ours.of, bound);
            let cell = Cell::compared(*printed, one(ours.value), ours.of);
            let cell = cell.judged(criterion.met == Some(true));
            table.rows.push(Row::new(ours.what, vec![cell]));
            criteria.push(criterion);
        }
        (table, criteria)
    }
}

/// Something that the report says.
#[derive(Clone, Copy)]
struct Claim {
    /// As the printed numbers call it.
    name: &'static str,
    /// What came out in its place; none where what it needs was not simulated.
    ours: fn(&Curves) -> Option<Ours>,
}

/// What came out in place of a claim.
struct Ours {
    what: &'static str,
    value: f64,
    /// From so many runs.
    of: usize,
    asked: Asked,
}

#[derive(Clone, Copy)]
enum Asked {
    /// To differ by at most this share.
    Within(f64),
    /// To be no less.
    AtLeast,
}

const EXACT: Asked = Asked::Within(EXACT_WITHIN);
const ABOUT: Asked = Asked::Within(ABOUT_WITHIN);

const CLAIMS: [Claim; 7] = [
    Claim {
        name: "throughput_without_reordering_mbps_newreno",
        ours: |curves| whole(curves, Who::NewReno, "NewReno without reordering, Mbit/s"),
    },
    Claim {
        name: "throughput_without_reordering_mbps_cubic",
        ours: |curves| whole(curves, Who::Cubic, "Cubic without reordering, Mbit/s"),
    },
    Claim {
        name: "worst_normalised_throughput_newreno_about",
        ours: |curves| worst(curves, Who::NewReno, "NewReno, lowest normalised throughput"),
    },
    Claim {
        name: "worst_normalised_throughput_cubic_about",
        ours: |curves| worst(curves, Who::Cubic, "Cubic, lowest normalised throughput"),
    },
    Claim {
        name: "cubic_plus_normalised_throughput_for_reorder_interval_at_least_30_about",
        ours: |curves| {
            let mut curve = normalised(curves, Who::CubicPlus);
            let from = curve.split_off(&CUBIC_PLUS_FROM);
            let value = from.values().copied().max_by(|a, b| off(*a).total_cmp(&off(*b)))?;
            let what = "Cubic+ from RI 30 on, normalised throughput farthest from it";
            Some(Ours { what, value, of: from.len(), asked: ABOUT })
        },
    },
    Claim {
        name: "cubic_plus_over_cubic_best_ratio_at_least",
        ours: |curves| {
            let plus = normalised(curves, Who::CubicPlus);
            let cubic = normalised(curves, Who::Cubic);
            let ratios = plus.iter().filter_map(|(at, plus)| Some(plus / cubic.get(at)?));
            let value = ratios.max_by(f64::total_cmp)?;
            let what = "Cubic+ over Cubic, where most";
            Some(Ours { what, value, of: plus.len(), asked: Asked::AtLeast })
        },
    },
    Claim {
        name: "normalised_throughput_all_at_reorder_interval_100",
        ours: |curves| {
            let all = [Who::NewReno, Who::Cubic, Who::CubicPlus];
            let all = all.map(|who| normalised(curves, who).get(&LONGEST).copied());
            let value = all.iter().copied().min_by(|a, b| a.partial_cmp(b).expect("no NaN"))??;
            let what = "All at RI 100, lowest normalised throughput";
            Some(Ours { what, value, of: all.len(), asked: EXACT })
        },
    },
];

/// The throughput without reordering.
fn whole(curves: &Curves, who: Who, what: &'static str) -> Option<Ours> {
    let value = *curves.get(&who)?.get(&NONE)?;
    Some(Ours { what, value, of: 1, asked: EXACT })
}

/// The lowest normalised throughput.
fn worst(curves: &Curves, who: Who, what: &'static str) -> Option<Ours> {
    let curve = normalised(curves, who);
    let value = curve.values().copied().min_by(f64::total_cmp)?;
    Some(Ours { what, value, of: curve.len(), asked: ABOUT })
}

/// How far Cubic+ is from what is printed as "about 90 %".
fn off(normalised: f64) -> f64 {
    (normalised - 0.9).abs()
}

/// Of a run in which nothing is left to chance.
fn one(value: f64) -> Estimate {
    Estimate { value, half_width: None }
}

fn figures(material: &Material, curves: &Curves) -> Result<Vec<Figure>, Error> {
    let curve = |who: Who| {
        let points = normalised(curves, who).into_iter();
        Series::ours(who.name(), Form::Line, points.map(|(at, share)| (f64::from(at), one(share))))
    };
    let by = || Axis::new("reorder interval RI, packets", Scale::FromZero);
    let share = || Axis::new("normalised throughput", Scale::FromZero);
    let mut figures = vec![
        Figure::single(
            "Normalised throughput (Fig. 3)",
            "One run for each interval, and nothing in it is left to chance: neighbouring intervals \
             differ by which packets happen to be moved in the first seconds.",
            [by(), share()],
            vec![curve(Who::NewReno), curve(Who::Cubic)],
        ),
        Figure::single(
            "Normalised throughput with Cubic+ (Fig. 5) and ours",
            "Ours is RACK with its adaptive window and without the shortcut by duplicates; Linux 6 as \
             it is does as well, since it gives the shortcut up as soon as it has seen reordering.",
            [by(), share()],
            vec![curve(Who::Cubic), curve(Who::CubicPlus), curve(Who::OursCubic)],
        ),
    ];
    let published: Vec<Scenario> = material
        .scenarios
        .iter()
        .filter(|it| it.swept.contains_key("detection"))
        .cloned()
        .collect();
    let controls = Controls::default();
    let watched = sim::watch(&published, &controls, WindowWatch::default, |watch, _| watch)?;
    let places = published.iter().flat_map(|scenario| {
        let contenders = scenario.contenders.iter();
        contenders.map(move |contender| (interval(scenario), Who::of(scenario, contender.name())))
    });
    let mut recoveries: BTreeMap<Who, Vec<(f64, Estimate)>> = BTreeMap::new();
    let mut windows = Vec::new();
    for ((interval, who), watch) in places.zip(watched) {
        let (Some(interval), Some(who)) = (interval, who) else { continue };
        if interval <= LONGEST && who != Who::CubicPlus {
            let point = (f64::from(interval), one(f64::from(watch.recoveries)));
            recoveries.entry(who).or_default().push(point);
        }
        if interval == SHOWN && who != Who::NewReno {
            let points = watch.cwnd.into_iter().map(|(at, cwnd)| (at, one(cwnd)));
            windows.push(Series::ours(who.name(), Form::Line, points));
        }
    }
    let of = |(who, points): (Who, Vec<_>)| Series::ours(who.name(), Form::Line, points);
    figures.insert(
        1,
        Figure::single(
            "How often fast recovery began (Fig. 4)",
            "In the report the more often, the shorter the interval. Here a recovery in which every part \
             that is ACKed sends a segment again lasts the longer, the more was moved, so that there \
             are few of them.",
            [by(), Axis::new("fast recoveries", Scale::FromZero)],
            recoveries.into_iter().map(of).collect(),
        ),
    );
    figures.push(Figure::single(
        "Congestion window at RI 70 (Fig. 6)",
        "Where recoveries follow one another the window withers; Cubic+ begins again in slow start.",
        [Axis::new("time, s", Scale::FromZero), Axis::new("cwnd, segments", Scale::FromZero)],
        windows,
    ));
    Ok(figures)
}
