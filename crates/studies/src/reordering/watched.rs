//! What the sender does under reordering: how often it recovers, and its window (Figs 4 and 6).

use std::collections::BTreeMap;

use kirikae_results::statistics::rank_correlation;
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim;

use super::super::watch::WindowWatch;
use super::super::{Axis, Error, Figure, Form, Found, Key, Material, Scale, Series};
use super::{LONGEST, Who, by, interval, one};

pub(super) const MORE_OFTEN: [Key; 2] =
    [Key::new("more-often-the-shorter-newreno"), Key::new("more-often-the-shorter-cubic")];
pub(super) const NONE_AT_LONGEST: Key = Key::new("no-recovery-at-100");
pub(super) const WINDOW: Key = Key::new("window-at-70");

/// The interval whose windows the report shows, and from when on they are compared, seconds: after slow start.
const SHOWN: u32 = 70;
const AFTER_S: f64 = 1.0;

/// What was seen of whom.
pub(super) struct Watched {
    /// How often fast recovery began, by reorder interval.
    recoveries: BTreeMap<Who, BTreeMap<u32, u32>>,
    /// The window at the interval that is shown: seconds, segments.
    windows: BTreeMap<Who, Vec<(f64, f64)>>,
}

impl Watched {
    /// Plays the hosts of the report.
    pub fn new(material: &Material) -> Result<Watched, Error> {
        let published = material.scenarios.iter().filter(|it| it.swept.contains_key("detection"));
        let published: Vec<Scenario> = published.cloned().collect();
        let seen =
            sim::watch(&published, &Controls::default(), WindowWatch::default, |watch, _| watch)?;
        let places = published.iter().flat_map(|scenario| {
            let contenders = scenario.contenders.iter();
            contenders
                .map(move |contender| (interval(scenario), Who::of(scenario, contender.name())))
        });
        let mut watched = Watched { recoveries: BTreeMap::new(), windows: BTreeMap::new() };
        for ((interval, who), seen) in places.zip(seen) {
            let (Some(interval), Some(who)) = (interval, who) else { continue };
            if interval <= LONGEST {
                watched.recoveries.entry(who).or_default().insert(interval, seen.recoveries);
            }
            if interval == SHOWN {
                watched.windows.insert(who, seen.cwnd);
            }
        }
        Ok(watched)
    }

    pub fn found(&self) -> Vec<Found> {
        let both = [Who::NewReno, Who::Cubic];
        let mut found = Vec::new();
        for (key, who) in MORE_OFTEN.into_iter().zip(both) {
            let counts = self.recoveries.get(&who).into_iter().flatten();
            let pairs = counts.map(|(at, count)| (f64::from(*at), f64::from(*count)));
            let pairs: Vec<(f64, f64)> = pairs.collect();
            found.extend(rank_correlation(&pairs).map(|it| Found::new(key, it, pairs.len())));
        }
        let longest = both.map(|who| self.recoveries.get(&who)?.get(&LONGEST).copied());
        if let [Some(newreno), Some(cubic)] = longest {
            found.push(Found::new(NONE_AT_LONGEST, f64::from(newreno.max(cubic)), 2));
        }
        let mean = |who| mean_window(self.windows.get(&who)?);
        if let Some((plus, cubic)) = mean(Who::CubicPlus).zip(mean(Who::Cubic)) {
            found.push(Found::new(WINDOW, plus / cubic, 1));
        }
        found
    }

    /// Fig. 4.
    pub fn recoveries_figure(&self) -> Option<Figure> {
        let own = self.recoveries.iter().filter(|(who, _)| **who != Who::CubicPlus);
        let series = own.map(|(who, counts)| {
            let points = counts.iter().map(|(at, count)| (f64::from(*at), one(f64::from(*count))));
            Series::ours(who.name(), Form::Line, points)
        });
        let series: Vec<Series> = series.collect();
        (!series.is_empty()).then(|| {
            Figure::single(
                "How often fast recovery began (Fig. 4)",
                "In the report the more often, the shorter the interval, and never at 100.",
                [by(), Axis::new("fast recoveries", Scale::FromZero)],
                series,
            )
        })
    }

    /// Fig. 6.
    pub fn windows_figure(&self) -> Option<Figure> {
        let own = self.windows.iter().filter(|(who, _)| **who != Who::NewReno);
        let series = own.map(|(who, cwnd)| {
            Series::ours(who.name(), Form::Line, cwnd.iter().map(|(at, cwnd)| (*at, one(*cwnd))))
        });
        let series: Vec<Series> = series.collect();
        (!series.is_empty()).then(|| {
            Figure::single(
                format!("Congestion window at RI {SHOWN} (Fig. 6)"),
                "Where recoveries follow one another the window withers; Cubic+ begins again in slow start.",
                [Axis::new("time, s", Scale::FromZero), Axis::new("cwnd, segments", Scale::FromZero)],
                series,
            )
        })
    }
}

/// The mean over time, after slow start.
fn mean_window(cwnd: &[(f64, f64)]) -> Option<f64> {
    let after = || cwnd.windows(2).filter(|pair| pair[0].0 >= AFTER_S);
    let time: f64 = after().map(|pair| pair[1].0 - pair[0].0).sum();
    let area: f64 = after().map(|pair| (pair[1].0 - pair[0].0) * pair[0].1).sum();
    (time > 0.0).then(|| area / time)
}
