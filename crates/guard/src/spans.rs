//! Sums over spans, and the difference between the treatments.

use std::array;

use kirikae_interface::{SPAN_COUNTED, SPAN_STRATA};

/// Number of strata. Connections are sorted into them by how far their spans usually are from their past:
/// below 1/16, 1/8, 1/4 and 1/2 of an octave, and beyond.
pub const STRATA: usize = SPAN_STRATA as usize;

/// A spread is presumed for each stratum before there are spans, and weighs as much as so many spans. So a
/// stratum of few spans that happen to agree is not taken for a calm one.
const PRESUMED_SPANS: f64 = 8.0;
/// The presumed spread of each stratum, octaves (standard deviation).
const PRESUMED_SPREAD: [f64; STRATA] = [0.25, 0.25, 0.25, 0.5, 1.0];
/// Least spread of spans, octaves. Without it the calmest connections would decide alone.
const LEAST_SPREAD: f64 = 0.0625;

/// The spans of one treatment: sums of their residuals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spans {
    /// How many spans there were.
    pub spans: u64,
    /// Bursts that were counted in them.
    pub bursts: u64,
    /// Sum of the residuals, octaves.
    pub sum: f64,
    /// Sum of their squares, octaves squared.
    pub squares: f64,
}

/// The two treatments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arms {
    /// Spans that were switched.
    pub switched: Spans,
    /// Spans that were held back: the host's own congestion control had them.
    pub stock: Spans,
}

/// The spans by stratum: connections whose spans vary by less than 1/16, 1/8, 1/4, 1/2 of an octave, and by
/// more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Strata(pub [Arms; STRATA]);

impl Spans {
    /// Adds a span whose residual is that many octaves.
    pub fn add(&mut self, octaves: f64) {
        self.spans += 1;
        self.bursts += u64::from(SPAN_COUNTED);
        self.sum += octaves;
        self.squares += octaves * octaves;
    }

    fn count(&self) -> f64 {
        self.spans as f64
    }

    fn mean(&self) -> f64 {
        self.sum / self.count()
    }

    /// Sum of squares about the mean, and its degrees of freedom.
    fn scatter(&self) -> Scatter {
        if self.spans == 0 {
            return Scatter::default();
        }
        // Rounding alone could make it less than 0.
        let squares = (self.squares - self.sum * self.mean()).max(0.0);
        Scatter { squares, freedom: self.count() - 1.0 }
    }
}

impl Arms {
    /// Both treatments, switched first.
    fn both(&self) -> [&Spans; 2] {
        [&self.switched, &self.stock]
    }
}

impl Strata {
    /// Adds a span's residual, octaves.
    pub fn add(&mut self, stratum: usize, octaves: f64, is_held_back: bool) {
        let arms = &mut self.0[stratum];
        let arm = if is_held_back { &mut arms.stock } else { &mut arms.switched };
        arm.add(octaves);
    }

    /// Spans of all strata: switched, and held back.
    pub fn spans(&self) -> [u64; 2] {
        let of = |arm: fn(&Arms) -> &Spans| self.0.iter().map(|arms| arm(arms).spans).sum();
        [of(|arms| &arms.switched), of(|arms| &arms.stock)]
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Scatter {
    squares: f64,
    freedom: f64,
}

impl Scatter {
    fn and(self, other: Scatter) -> Scatter {
        Scatter { squares: self.squares + other.squares, freedom: self.freedom + other.freedom }
    }

    /// The variance, with the presumed one taken in.
    fn variance(self, presumed: f64) -> f64 {
        let variance = (self.squares + PRESUMED_SPANS * presumed) / (self.freedom + PRESUMED_SPANS);
        variance.max(LEAST_SPREAD * LEAST_SPREAD)
    }
}

/// How much longer switched spans take than those held back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean of the switched minus mean of the others, octaves; below 0 if switching helps.
    pub octaves: f64,
    /// 1 over the variance of the difference, 1/octaves².
    pub information: f64,
    /// Bursts of both treatments that were counted.
    pub bursts: u64,
    /// Spans that were counted: switched, and held back.
    pub spans: [u64; 2],
}

impl Difference {
    /// The difference over all epochs; None if there is nothing to compare. The treatments are compared only
    /// within a stratum of an epoch, in which the share held back is constant: so neither a trend nor a
    /// change of the connections distorts it. These differences are averaged by the inverse of their
    /// variances.
    ///
    /// The variance of a stratum is that about the means of its epochs and treatments. Each treatment has a
    /// variance of its own, with that of both together as the presumed one: few spans that are held back may
    /// lack a long tail that many switched ones show.
    pub fn of(epochs: &[Strata]) -> Option<Difference> {
        let mut found = Difference { octaves: 0.0, information: 0.0, bursts: 0, spans: [0; 2] };
        for (stratum, presumed) in PRESUMED_SPREAD.iter().enumerate() {
            let arms = || epochs.iter().map(|epoch| &epoch.0[stratum]);
            let scatter: [Scatter; 2] = array::from_fn(|arm| {
                arms().map(|arms| arms.both()[arm].scatter()).fold(Scatter::default(), Scatter::and)
            });
            let together = scatter[0].and(scatter[1]).variance(presumed * presumed);
            let variance = scatter.map(|scatter| scatter.variance(together));
            for arms in arms().filter(|arms| arms.both().iter().all(|arm| arm.spans > 0)) {
                let [switched, stock] = arms.both();
                let of_difference = variance[0] / switched.count() + variance[1] / stock.count();
                found.octaves += (switched.mean() - stock.mean()) / of_difference;
                found.information += 1.0 / of_difference;
                found.bursts += switched.bursts + stock.bursts;
                found.spans[0] += switched.spans;
                found.spans[1] += stock.spans;
            }
        }
        found.octaves /= found.information;
        (found.information > 0.0).then_some(found)
    }

    /// Spans of the treatment that has fewer.
    pub fn least_spans(&self) -> u64 {
        self.spans[0].min(self.spans[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(residuals: &[f64]) -> Spans {
        let mut spans = Spans::default();
        residuals.iter().for_each(|octaves| spans.add(*octaves));
        spans
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn a_difference_by_hand() {
        let mut epoch = Strata::default();
        epoch.0[1] = Arms { switched: spans(&[0.5, 0.7, 0.6]), stock: spans(&[0.0, 0.4]) };
        // Squares about the means are 0.02 and 0.08, with 2 degrees of freedom and 1. This is the variance of
        // both with what is presumed:
        let together = (0.1 + 8.0 / 16.0) / 11.0;
        let variance = [(0.02 + 8.0 * together) / 10.0, (0.08 + 8.0 * together) / 9.0];
        let difference = Difference::of(&[epoch]).unwrap();
        near(difference.octaves, 0.4);
        near(1.0 / difference.information, variance[0] / 3.0 + variance[1] / 2.0);
        assert_eq!((difference.bursts, difference.spans), (25, [3, 2]));
    }

    #[test]
    fn what_has_no_counterpart_takes_no_part() {
        let mut epoch = Strata::default();
        epoch.0[0].switched = spans(&[5.0; 40]);
        assert_eq!(Difference::of(&[epoch]), None);
        assert_eq!(Difference::of(&[]), None);
        epoch.0[3] = Arms { switched: spans(&[1.0]), stock: spans(&[1.5]) };
        let difference = Difference::of(&[epoch, Strata::default()]).unwrap();
        near(difference.octaves, -0.5);
        assert_eq!((difference.bursts, difference.spans), (10, [1, 1]));
    }

    #[test]
    fn a_trend_between_epochs_is_not_taken_for_an_effect() {
        // Everything takes an octave longer in the second epoch, in which a half is held back instead of a
        // tenth.
        let epoch = |level: f64, switched: usize, stock: usize| {
            let mut epoch = Strata::default();
            let of = |count| spans(&vec![level; count]);
            epoch.0[2] = Arms { switched: of(switched), stock: of(stock) };
            epoch
        };
        near(Difference::of(&[epoch(0.0, 90, 10), epoch(1.0, 50, 50)]).unwrap().octaves, 0.0);
        near(Difference::of(&[epoch(0.0, 90, 10)]).unwrap().octaves, 0.0);
    }

    #[test]
    fn calm_connections_count_for_more_but_do_not_decide_alone() {
        let of = |level: f64, spread: f64| {
            spans(
                &(0..400)
                    .map(|n| level + if n % 2 == 0 { spread } else { -spread })
                    .collect::<Vec<_>>(),
            )
        };
        let mut epoch = Strata::default();
        epoch.0[0] = Arms { switched: of(0.1, 0.0), stock: of(0.0, 0.0) };
        epoch.0[4] = Arms { switched: of(-0.1, 1.0), stock: of(0.0, 1.0) };
        let information = |stratum| {
            let mut only = Strata::default();
            only.0[stratum] = epoch.0[stratum];
            Difference::of(&[only]).unwrap().information
        };
        near(information(0), 400.0 / 2.0 / (LEAST_SPREAD * LEAST_SPREAD));
        let share = information(4) / (information(0) + information(4));
        near(Difference::of(&[epoch]).unwrap().octaves, 0.1 - 0.2 * share);
        assert!((0.003..0.005).contains(&share), "{share}");
    }
}
