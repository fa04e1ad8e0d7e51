//! How soon data flows again once a path that was gone is back.

use kirikae_path::{ElementSpec, PathSpec, Time};
use kirikae_sim::Written;
use serde::Serialize;

use crate::statistics::quantile;

/// From the end of an outage until something new arrives in order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Recovery {
    /// Number of outages after which something new arrived.
    pub n: usize,
    /// Number of outages after which nothing new arrived until the end.
    pub unfinished: usize,
    /// Median, in seconds; None if nothing ever arrived.
    pub p50_s: Option<f64>,
    /// 95th percentile, in seconds.
    pub p95_s: Option<f64>,
    /// The longest, in seconds.
    pub max_s: Option<f64>,
}

impl Recovery {
    /// Summarises the times; None if there were no outages.
    pub(crate) fn of(times: impl Iterator<Item = Option<f64>>) -> Option<Recovery> {
        let (recovered, unfinished): (Vec<_>, Vec<_>) = times.partition(Option::is_some);
        let mut recovered: Vec<f64> = recovered.into_iter().flatten().collect();
        recovered.sort_by(f64::total_cmp);
        (recovered.len() + unfinished.len() > 0).then(|| Recovery {
            n: recovered.len(),
            unfinished: unfinished.len(),
            p50_s: quantile(&recovered, 0.5),
            p95_s: quantile(&recovered, 0.95),
            max_s: recovered.last().copied(),
        })
    }
}

/// For each outage that ended, the seconds until the first or last byte of a write arrived; None if none did. What
/// was held and not dropped is no outage to a sender that need not send it again.
pub(crate) fn recoveries(path: &PathSpec, written: &[Written], end: Time) -> Vec<Option<f64>> {
    let Some(begun) = written.iter().map(|write| write.start).min() else { return Vec::new() };
    let mut arrivals: Vec<Time> =
        written.iter().flat_map(|write| [write.first, write.last]).flatten().collect();
    arrivals.sort_unstable();
    let ends = path.forward.iter().flat_map(|element| match element {
        ElementSpec::Outage(outage) if !outage.hold => outage.when.ends(end),
        _ => Vec::new(),
    });
    let recovered = |back: Time| {
        let first = arrivals.get(arrivals.partition_point(|at| *at < back))?;
        Some((*first - back).as_secs_f64())
    };
    ends.filter(|back| *back > begun).map(recovered).collect()
}

#[cfg(test)]
mod tests {
    use kirikae_path::{Intervals, OutageSpec, Span};

    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn written(start: u64, first: Option<u64>, last: Option<u64>) -> Written {
        Written {
            activity: 0,
            start: at(start),
            offset: 0,
            bytes: 1,
            first: first.map(at),
            last: last.map(at),
        }
    }

    #[test]
    fn what_is_new_after_an_outage_is_looked_for() {
        let outage = |hold| {
            let when = Intervals {
                intervals: vec![(at(100), at(200))],
                every: Some(Span::from_millis(1000)),
            };
            let outage = ElementSpec::Outage(OutageSpec { when, hold, carrier: false });
            PathSpec { forward: vec![outage], backward: Vec::new() }
        };
        let writes = [
            written(0, Some(50), Some(60)),
            written(90, Some(95), Some(260)),
            written(300, Some(310), Some(320)),
            written(1150, Some(1500), None),
        ];
        let times = recoveries(&outage(false), &writes, at(2250));
        assert_eq!(times, [Some(0.06), Some(0.3), None]);
        let summary = Recovery::of(times.into_iter()).unwrap();
        assert_eq!((summary.n, summary.unfinished), (2, 1));
        assert!((summary.p50_s.unwrap() - 0.18).abs() < 1e-9 && summary.max_s == Some(0.3));
        let never = Recovery::of([None].into_iter()).unwrap();
        assert_eq!((never.n, never.unfinished, never.p50_s), (0, 1, None));
        assert!(Recovery::of([].into_iter()).is_none());
        assert!(recoveries(&outage(true), &writes, at(2250)).is_empty());
        assert!(recoveries(&outage(false), &[], at(2250)).is_empty());
    }
}
