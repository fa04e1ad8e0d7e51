//! What switching gains over a fixed algorithm: at single places, over all of them, and with a perfect choice.

use kirikae_results::statistics::{Estimate, mean};
use kirikae_scenario::Contender;

use super::super::{Cell, Column, Row, Table};
use super::contest::{Contest, Entry, Order};

/// What is switched, over the one algorithm that is best for all places together.
pub(super) struct Overall {
    /// That algorithm.
    pub fixed: String,
    /// The geometric mean of the places' ratios; its samples are the seeds.
    pub own: Estimate,
    /// The same of a choice that knew the best algorithm of each place, or of each turn of it.
    pub perfect: f64,
    /// At how many places what is switched is surely below every fixed algorithm.
    pub better: usize,
    /// At how many it is surely above the best.
    pub worse: usize,
    pub places: usize,
}

impl Overall {
    /// Of these places, if there are any. `perfect` gives the mean latency of a perfect choice at one of them.
    pub fn of(
        contests: &[&Contest],
        margin: f64,
        perfect: impl Fn(&Contest) -> Option<f64>,
    ) -> Option<Overall> {
        let first = contests.first()?;
        let single = first.fixed().map(|entry| entry.contender);
        let single = single.min_by(|a, b| total(contests, *a).total_cmp(&total(contests, *b)))?;
        let pairs: Vec<(&Entry, &Entry)> = contests
            .iter()
            .filter_map(|contest| Some((contest.switched()?, of_contender(contest, single)?)))
            .collect();
        let own = geometric_mean(&pairs)?;
        let perfect = contests.iter().filter_map(|contest| {
            Some((perfect(contest)? / of_contender(contest, single)?.mean_s()).ln())
        });
        let perfect = mean(&perfect.collect::<Vec<f64>>())?.value.exp();
        let orders: Vec<Order> =
            contests.iter().filter_map(|contest| at_best(contest, margin)).collect();
        let count = |order| orders.iter().filter(|it| **it == order).count();
        Some(Overall {
            fixed: of_contender(first, single)?.name(),
            own,
            perfect,
            better: count(Order::Less),
            worse: count(Order::More),
            places: contests.len(),
        })
    }

    /// The end of the interval that is less favourable.
    pub fn upper(&self) -> f64 {
        self.own.value + self.own.half_width.unwrap_or(0.0)
    }
}

/// The geometric mean over places of one latency over another. The samples of its interval are the seeds.
pub(super) fn geometric_mean(pairs: &[(&Entry, &Entry)]) -> Option<Estimate> {
    let seeds = pairs.iter().map(|(own, other)| own.means.len().min(other.means.len())).min()?;
    let of_seed = |seed: usize| {
        let logs = pairs.iter().map(|(own, other)| (own.means[seed] / other.means[seed]).ln());
        logs.sum::<f64>() / pairs.len() as f64
    };
    let log = mean(&(0..seeds).map(of_seed).collect::<Vec<f64>>())?;
    let value = log.value.exp();
    Some(Estimate { value, half_width: log.half_width.map(|half| value * half) })
}

/// The sum of the logarithms of a contender's latencies.
fn total(contests: &[&Contest], contender: Contender) -> f64 {
    let entries = contests.iter().filter_map(|contest| of_contender(contest, contender));
    entries.map(|entry| entry.mean_s().ln()).sum()
}

fn of_contender<'a, 'b>(contest: &'a Contest<'b>, contender: Contender) -> Option<&'a Entry<'b>> {
    contest.entries.iter().find(|entry| entry.contender == contender)
}

/// How what is switched compares with the best fixed algorithm of a place.
pub(super) fn at_best(contest: &Contest, margin: f64) -> Option<Order> {
    Some(contest.switched()?.against(contest.best()?, margin))
}

/// A line for each set of places.
pub(super) fn table(sets: &[(String, Overall)]) -> Table {
    let columns = [
        ("best fixed", 0),
        ("switched over it", 3),
        ("a perfect choice over it", 3),
        ("places", 0),
        ("surely better than every fixed", 0),
        ("surely worse than the best", 0),
    ];
    let columns = columns.map(|(heading, digits)| Column::new(heading, digits));
    let title = "What switching gains over the one algorithm that is best for all places together: geometric \
                 means of latency";
    let mut table = Table::new(title, "places", columns);
    for (name, it) in sets {
        let number = |n: usize| Cell::word(n.to_string());
        let perfect = Estimate { value: it.perfect, half_width: None };
        let cells = vec![
            Cell::word(it.fixed.clone()),
            Cell::ours(it.own, it.places),
            Cell::ours(perfect, it.places),
            number(it.places),
            number(it.better),
            number(it.worse),
        ];
        table.rows.push(Row::new(name.clone(), cells));
    }
    table
}
