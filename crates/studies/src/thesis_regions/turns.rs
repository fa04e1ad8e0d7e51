//! Paths that go from region to region in turns.

use kirikae_results::outcome::Performance;

use super::contest::{Contest, Entry};

/// Few losses, bursts of loss, isolated loss.
const REGIONS: usize = 3;
/// From the opening of the connection, when the path begins, to the first burst, nanoseconds.
const OPENED_BEFORE_NS: u64 = 2_000_000_000;

/// How long a turn is, in seconds; none where the path does not change.
pub(super) fn turn_s(contest: &Contest) -> Option<u64> {
    contest.swept("turn.length").split(' ').next()?.parse().ok()
}

/// The mean latency of a choice that knew which fixed algorithm is best in each region; where the path does
/// not change, that of the best one.
pub(super) fn perfect(contest: &Contest) -> Option<f64> {
    let Some(turn_s) = turn_s(contest) else { return Some(contest.best()?.mean_s()) };
    let sums: Vec<[(f64, f64); REGIONS]> =
        contest.fixed().map(|entry| by_region(entry, turn_s)).collect();
    let mean = |region: usize| {
        let means = sums.iter().map(|sums| sums[region].0 / sums[region].1);
        means.min_by(f64::total_cmp)
    };
    // As many bursts in each region as the clock has of them.
    let means: Option<Vec<f64>> = (0..REGIONS).map(mean).collect();
    Some(means?.iter().sum::<f64>() / REGIONS as f64)
}

/// The latencies in each region, together, and how many they are.
fn by_region(entry: &Entry, turn_s: u64) -> [(f64, f64); REGIONS] {
    let mut sums = [(0.0, 0.0); REGIONS];
    for run in entry.runs {
        let begin_ns = begin_ns(run);
        for burst in &run.bursts {
            let Some(delivery) = burst.delivery else { continue };
            let at_s = burst.start_ns.saturating_sub(begin_ns) / 1_000_000_000;
            let region = (at_s / turn_s) as usize % REGIONS;
            sums[region].0 += delivery.latency_s;
            sums[region].1 += 1.0;
        }
    }
    sums
}

fn begin_ns(run: &Performance) -> u64 {
    run.bursts.first().map_or(0, |burst| burst.start_ns.saturating_sub(OPENED_BEFORE_NS))
}
