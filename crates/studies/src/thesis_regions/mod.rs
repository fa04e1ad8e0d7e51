//! In which regions of RTT, burst size and loss which algorithm is best, and where switching is better than each
//! of them (Oguchi, doctoral thesis, 2016, chapter 3 and 6.4): studies/thesis-regions/README.md.

mod claims;
mod contest;
mod losses;
mod maps;
mod overall;
mod turns;
mod windows;

use kirikae_results::Error;
use kirikae_results::outcome::Outcome;
use kirikae_results::statistics::Estimate;
use kirikae_scenario::{Controls, Scenario};

use super::{
    Axis, Computed, Figure, Form, Found, Key, Material, Names, Panel, Scale, Series, Study,
    idle_keep_off, simulate,
};
use claims::{Claim, Count};
use contest::Contest;
use overall::Overall;

pub(super) const STUDY: Study = Study {
    name: "thesis-regions",
    names: Names {
        published: &[CLAIMS],
        criteria: &[
            WINDOWS[0].0,
            WINDOWS[0].1,
            WINDOWS[1].0,
            WINDOWS[1].1,
            REGIONS[0].1,
            REGIONS[1].1,
            REGIONS[2].1,
            OWN_TABLES,
            BEYOND,
            TAKEN,
            OVER_HYBLA,
            PAYS,
            THEN.over_all,
            THEN.in_turns,
            THEN.better,
            NOW.over_all,
            NOW.in_turns,
            NOW.better,
        ],
        thresholds: &["differs-by"],
        explanations: &[],
    },
    compute,
};

const CLAIMS: &str = "claims.csv";
const WINDOWS_FILE: &str = "windows.toml";

/// Of what is written in bursts and all at once: after an isolated loss, after a burst of them.
const WINDOWS: [(Key, Key, &str); 2] = [
    (Key::new("isolated-window"), Key::new("burst-window"), windows::BURSTS),
    (
        Key::new("isolated-window-continuous"),
        Key::new("burst-window-continuous"),
        windows::CONTINUOUS,
    ),
];
const REGIONS: [(&str, Key); 3] = [
    ("few losses", Key::with("few", &["so", "told"])),
    ("bursts of loss", Key::with("bursts", &["so", "told"])),
    ("isolated loss", Key::with("isolated", &["so", "told"])),
];
const OWN_TABLES: Key = Key::new("own-tables");
const BEYOND: Key = Key::new("hybla-beyond");
const TAKEN: Key = Key::new("taken");
const OVER_HYBLA: Key = Key::with("over-hybla", &["ratio"]);
const PAYS: Key = Key::with("pays-then", &["fixed", "ratio"]);
/// Where R-TCP was seen to pay, with other seeds than those that judge: the turn, the RTT in ms and the burst.
const PAYS_AT: (u64, f64, &str) = (120, 400.0, "64 KiB");

/// A stack with what is switched on it.
struct Era {
    stack: &'static str,
    own: &'static str,
    files: [&'static str; 3],
    /// Over all places that do not change, and over those that do.
    over_all: Key,
    in_turns: Key,
    /// Places at which it is surely better than every fixed algorithm.
    better: Key,
}

const WORDS: &[&str] = &["fixed", "ratio", "perfect"];
const THEN: Era = Era {
    stack: "Linux 2.6.33",
    own: "r-tcp",
    files: ["regions-2.6.33.toml", "losses-2.6.33.toml", "changing-2.6.33.toml"],
    over_all: Key::with("over-all-then", WORDS),
    in_turns: Key::with("in-turns-then", WORDS),
    better: Key::with("better-then", &["worse"]),
};
const NOW: Era = Era {
    stack: "Linux 6",
    own: "kirikae",
    files: ["regions-6.toml", "losses-6.toml", "changing-6.toml"],
    over_all: Key::with("over-all-now", WORDS),
    in_turns: Key::with("in-turns-now", WORDS),
    better: Key::with("better-now", &["worse"]),
};

fn compute(material: &Material) -> Result<Computed, Error> {
    let margin = material.definition.threshold("differs-by");
    let of = |files: &[&str]| -> Vec<Scenario> {
        let is_of = |it: &&Scenario| files.iter().any(|file| it.file.ends_with(file));
        material.scenarios.iter().filter(is_of).cloned().collect()
    };
    let claims = Claim::read(material.printed(CLAIMS))?;
    let windows = windows::watch(&of(&[WINDOWS_FILE]))?;
    let then = simulate(&of(&THEN.files), idle_keep_off())?;
    let now = simulate(&of(&NOW.files), Controls::default())?;
    let (then, now) = (contests(&then), contests(&now));

    let mut found = found_of_windows(&windows);
    found.extend(found_of_claims(&claims, &then, margin)?);
    found.extend(found_of_losses(&then, margin));
    found.extend(found_where_it_pays(&then));
    let mut tables = vec![claims::table(&claims, &then, margin), windows::table(&windows)];
    let mut figures = windows::figures(&windows);
    let mut sets = Vec::new();
    for (era, contests) in [(THEN, &then), (NOW, &now)] {
        found.extend(found_of_switching(&era, contests, margin));
        sets.extend(all_sets(&era, contests, margin));
        figures.extend(maps::regions(contests, era.stack, era.own, margin));
        figures.extend(maps::losses(contests, era.stack, era.own, margin));
        figures.extend(losses::figure(contests, era.stack));
        figures.extend(turns_figure(&era, contests));
    }
    tables.insert(0, overall::table(&sets));
    Ok(Computed { found, tables, figures })
}

fn contests(outcome: &Outcome) -> Vec<Contest<'_>> {
    outcome.comparisons.iter().map(Contest::of).collect()
}

fn found_of_windows(windows: &[windows::Window]) -> Vec<Found> {
    let of_data = |(isolated, burst, data): (Key, Key, &str)| {
        let found = |key, value: Option<(f64, usize)>| Some(Found::new(key, value?.0, value?.1));
        [
            found(isolated, windows::over_initial(windows, data)),
            found(burst, windows::over_decrease(windows, data)),
        ]
    };
    WINDOWS.into_iter().flat_map(of_data).flatten().collect()
}

/// Of each region: the parts in which it is as claimed in most places that tell.
fn found_of_claims(claims: &[Claim], then: &[Contest], margin: f64) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for (region, key) in REGIONS {
        let own = claims.iter().filter(|claim| claim.region == region);
        let counts: Vec<Count> = own.map(|claim| claim.count(then, margin)).collect();
        let holding = counts.iter().filter(|count| count.holds()).count();
        let so: usize = counts.iter().map(|count| count.so).sum();
        let told: usize = counts.iter().map(|count| count.so + count.not_so).sum();
        if counts.iter().any(|count| count.so + count.not_so + count.alike > 0) {
            let it = Found::new(key, holding as f64, counts.len());
            found.push(it.word("so", so.to_string()).word("told", told.to_string()));
        }
    }
    let (so, all) = claims::in_own_tables(claims)?;
    found.push(Found::new(OWN_TABLES, so as f64, all));
    Ok(found)
}

fn found_of_losses(then: &[Contest], margin: f64) -> Vec<Found> {
    let counted =
        |key, (some, all): (usize, usize)| (all > 0).then(|| Found::new(key, some as f64, all));
    let others = losses::without_hybla(then);
    let over = over_hybla(&others).map(|ratio| {
        let upper = ratio.value + ratio.half_width.unwrap_or(0.0);
        Found::new(OVER_HYBLA, upper, others.len()).word("ratio", text(ratio))
    });
    let beyond = counted(BEYOND, losses::hybla_best(then, margin));
    let taken = counted(TAKEN, losses::taken_as_said(then));
    [beyond, taken, over].into_iter().flatten().collect()
}

/// The geometric mean of what is switched over Hybla.
fn over_hybla(contests: &[&Contest]) -> Option<Estimate> {
    let ratios =
        contests.iter().filter_map(|contest| Some((contest.switched()?, contest.named("hybla")?)));
    overall::geometric_mean(&ratios.collect::<Vec<_>>())
}

fn text(Estimate { value, half_width }: Estimate) -> String {
    format!("{value:.3} ± {:.3}", half_width.unwrap_or(0.0))
}

fn steady<'a, 'b>(contests: &'a [Contest<'b>]) -> Vec<&'a Contest<'b>> {
    let is_steady = |contest: &&Contest| !contest.swept("region.name").is_empty();
    contests.iter().filter(is_steady).collect()
}

fn changing<'a, 'b>(contests: &'a [Contest<'b>]) -> Vec<&'a Contest<'b>> {
    contests.iter().filter(|contest| turns::turn_s(contest).is_some()).collect()
}

fn found_of_switching(era: &Era, contests: &[Contest], margin: f64) -> Vec<Found> {
    let over = |key, places: &[&Contest]| {
        let it = Overall::of(places, margin, turns::perfect)?;
        let found = Found::new(key, it.upper(), it.places).word("fixed", it.fixed.clone());
        Some(found.word("ratio", text(it.own)).word("perfect", format!("{:.3}", it.perfect)))
    };
    let all: Vec<&Contest> = contests.iter().collect();
    let better = Overall::of(&all, margin, turns::perfect).map(|it| {
        Found::new(era.better, it.better as f64, it.places).word("worse", it.worse.to_string())
    });
    let over_all = over(era.over_all, &steady(contests));
    let in_turns = over(era.in_turns, &changing(contests));
    [over_all, in_turns, better].into_iter().flatten().collect()
}

/// What is switched over the best fixed algorithm of the one place.
fn found_where_it_pays(then: &[Contest]) -> Option<Found> {
    let (turn_s, rtt_ms, burst) = PAYS_AT;
    let is_it = |it: &&Contest| {
        turns::turn_s(it) == Some(turn_s) && it.rtt_ms() == rtt_ms && it.swept("burst") == burst
    };
    let contest = then.iter().find(is_it)?;
    let best = contest.best()?;
    let ratio = contest.switched()?.over(best)?;
    let upper = ratio.value + ratio.half_width.unwrap_or(0.0);
    Some(Found::new(PAYS, upper, 1).word("fixed", best.name()).word("ratio", text(ratio)))
}

/// What the table of switching has a line for.
fn all_sets(era: &Era, contests: &[Contest], margin: f64) -> Vec<(String, Overall)> {
    let all: Vec<&Contest> = contests.iter().collect();
    let of = |is_it: &dyn Fn(&Contest) -> bool| -> Vec<&Contest> {
        all.iter().copied().filter(|contest| is_it(contest)).collect()
    };
    let mut sets: Vec<(String, Vec<&Contest>)> = REGIONS
        .iter()
        .map(|(region, _)| ((*region).to_owned(), of(&|it| it.swept("region.name") == *region)))
        .collect();
    sets.push(("the three regions".into(), steady(contests)));
    sets.push(("RTT and isolated loss".into(), of(&|it| losses::loss(it).is_some())));
    for turn_s in [30, 120] {
        let name = format!("turns of {turn_s} s");
        sets.push((name, of(&|it| turns::turn_s(it) == Some(turn_s))));
    }
    let line = |(name, places): (String, Vec<&Contest>)| {
        let overall = Overall::of(&places, margin, turns::perfect)?;
        Some((format!("{}, {}: {name}", era.stack, era.own), overall))
    };
    sets.into_iter().filter_map(line).collect()
}

/// What is switched, and a perfect choice, over the best fixed algorithm of each place.
fn turns_figure(era: &Era, contests: &[Contest]) -> Option<Figure> {
    let places = changing(contests);
    let panel = |(turn_s, burst): (u64, &str)| {
        let here = || {
            let is_here = move |it: &&Contest| {
                turns::turn_s(it) == Some(turn_s) && it.swept("burst") == burst
            };
            places.iter().copied().filter(is_here)
        };
        let own = here().filter_map(|it| Some((it.rtt_ms(), it.switched()?.over(it.best()?)?)));
        let perfect = here().filter_map(|it| {
            let value = turns::perfect(it)? / it.best()?.mean_s();
            Some((it.rtt_ms(), Estimate { value, half_width: None }))
        });
        Panel {
            title: format!("turns of {turn_s} s, {burst}"),
            x: Axis::new("RTT, ms", Scale::Log),
            y: Axis::new("latency over the best fixed", Scale::FromZero),
            series: vec![
                Series::ours(era.own, Form::Curve, own),
                Series::ours("a perfect choice", Form::Curve, perfect),
            ],
        }
    };
    let panels = [(30, "64 KiB"), (30, "256 KiB"), (120, "64 KiB"), (120, "256 KiB")].map(panel);
    (!places.is_empty()).then(|| Figure {
        title: format!("Paths that go from region to region in turns, {}", era.stack),
        about: "Few losses, a slow link whose queue overflows, isolated loss, and again. Below 1 is better than \
                the fixed algorithm that is best on this very path. A perfect choice has the latency of the \
                algorithm that is best in each turn."
            .into(),
        panels: panels.into(),
    })
}
