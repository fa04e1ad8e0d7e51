//! Who is best at a place, and whether that is sure.

use kirikae_results::outcome::{Comparison, Performance};
use kirikae_results::statistics::{Estimate, mean, ratio_of_means};
use kirikae_scenario::{Contender, Scenario};

/// All contenders of a scenario.
pub(super) struct Contest<'a> {
    pub scenario: &'a Scenario,
    /// In the scenario's order.
    pub entries: Vec<Entry<'a>>,
}

/// What came of a contender.
pub(super) struct Entry<'a> {
    pub contender: Contender,
    /// One for each seed.
    pub runs: &'a [Performance],
    /// The mean latency in seconds with each seed, in their order.
    pub means: Vec<f64>,
}

/// How the latencies of two contenders compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The first one's is surely less.
    Less,
    /// Neither is surely less, or so little that it does not matter.
    Alike,
    More,
}

impl Entry<'_> {
    pub fn mean_s(&self) -> f64 {
        self.means.iter().sum::<f64>() / self.means.len() as f64
    }

    pub fn estimate(&self) -> Option<Estimate> {
        mean(&self.means)
    }

    /// As it is called where stock ones and ours are told apart by no prefix.
    pub fn name(&self) -> String {
        match self.contender {
            Contender::Stock("cubic") => "stock cubic".into(),
            other => other.name().trim_start_matches("kk_").into(),
        }
    }

    /// Its mean latency over another's, paired by seed.
    pub fn over(&self, other: &Entry) -> Option<Estimate> {
        let pairs: Vec<(f64, f64)> =
            self.means.iter().copied().zip(other.means.iter().copied()).collect();
        ratio_of_means(&pairs)
    }

    /// How it compares with another, where a share of less than `margin` does not matter.
    pub fn against(&self, other: &Entry, margin: f64) -> Order {
        let Some(Estimate { value, half_width: Some(half) }) = self.over(other) else {
            return Order::Alike;
        };
        match value {
            _ if value + half < 1.0 - margin => Order::Less,
            _ if value - half > 1.0 + margin => Order::More,
            _ => Order::Alike,
        }
    }
}

impl<'a> Contest<'a> {
    pub fn of(comparison: &'a Comparison) -> Contest<'a> {
        let each = comparison.performances.chunk_by(|a, b| a.contender == b.contender);
        let entry = |runs: &'a [Performance]| {
            let of_run = |run: &Performance| {
                let waits: Vec<f64> = run.waits().map(|(_, wait)| wait).collect();
                mean(&waits).map(|it| it.value)
            };
            Entry {
                contender: runs[0].contender,
                runs,
                means: runs.iter().filter_map(of_run).collect(),
            }
        };
        Contest { scenario: &comparison.scenario, entries: each.map(entry).collect() }
    }

    /// Those that are not switched.
    pub fn fixed(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().filter(|entry| entry.contender.is_fixed())
    }

    /// The one that is switched.
    pub fn switched(&self) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.contender.is_switched())
    }

    pub fn named(&self, name: &str) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.name() == name)
    }

    /// The fixed one with the lowest mean.
    pub fn best(&self) -> Option<&Entry<'a>> {
        lowest(self.fixed())
    }

    /// The best one, if it is surely below each other fixed one.
    pub fn winner(&self, margin: f64) -> Option<&Entry<'a>> {
        let best = self.best()?;
        let mut others = self.fixed().filter(|other| other.contender != best.contender);
        others.all(|other| best.against(other, margin) == Order::Less).then_some(best)
    }

    /// What a sweep's name stands for.
    pub fn swept(&self, name: &str) -> &str {
        self.scenario.swept.get(name).map_or("", String::as_str)
    }

    pub fn rtt_ms(&self) -> f64 {
        self.scenario.timed().map_or(0.0, |(path, _)| path.base_rtt().as_secs_f64() * 1e3).round()
    }
}

/// The one with the lowest mean.
pub(super) fn lowest<'a, 'b: 'a>(
    entries: impl Iterator<Item = &'a Entry<'b>>,
) -> Option<&'a Entry<'b>> {
    entries.min_by(|a, b| a.mean_s().total_cmp(&b.mean_s()))
}
