//! Fits a Gilbert-Elliott channel to the variation of throughput (Oguchi, doctoral thesis, 2016, section
//! 5.1.1; formula: Hasslinger, Hohlfeld, The Gilbert-Elliott Model for Packet Loss in Real Time Services on
//! the Internet, 2008): the coefficient of variation of what is counted among N packets, by N.
//!
//! The formula has four parameters and determines three numbers: the share of packets that count, how fast
//! the channel forgets its state, and how much that share varies with the state. How much of the time the
//! channel is bad stays open.

use std::fmt;

use kirikae_path::GilbertElliottSpec;
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{DVector, Dyn, OMatrix, Owned, U3, Vector3};

/// A measured value of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Packets of a window, at least 1.
    pub packets: f64,
    /// Standard deviation over mean, among windows of so many packets; above 0.
    pub coefficient: f64,
}

/// What the curve tells of a channel whose packets are counted if they are lost (or, as well, if they are
/// not).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// Share of the packets that count, above 0 and below 1.
    pub share: f64,
    /// p + r: how much of its state the channel forgets with a packet, above 0 and below 1.
    pub turnover: f64,
    /// Variance of the share between the states: p r (h - k)^2 / (p + r)^2.
    pub variance: f64,
}

/// Why there is no fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Fewer points than numbers that are sought.
    TooFew(usize),
    /// A point without a place on the curve; which, from 0.
    NoPlace(usize),
    /// The search did not end; what the method says.
    NotFound(String),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::TooFew(points) => {
                write!(
                    f,
                    "found {points} points; allowed: 3 or more, of windows of different lengths"
                )
            }
            Unfit::NoPlace(point) => write!(
                f,
                "point {}: allowed: at least 1 packet, and a coefficient of variation above 0",
                point + 1
            ),
            Unfit::NotFound(why) => write!(f, "no channel fits: {why}"),
        }
    }
}

impl std::error::Error for Unfit {}

impl Variation {
    /// The variation if the packets that a channel loses are counted.
    pub fn of_losses(channel: &GilbertElliottSpec) -> Variation {
        let &GilbertElliottSpec { p, r, k, h } = channel;
        let turnover = p + r;
        let lost = ((1.0 - k) * r + (1.0 - h) * p) / turnover;
        Variation { share: lost, turnover, variance: p * r * (h - k).powi(2) / turnover.powi(2) }
    }

    /// The variation if the packets that pass are counted.
    pub fn of_receipts(channel: &GilbertElliottSpec) -> Variation {
        let losses = Variation::of_losses(channel);
        Variation { share: 1.0 - losses.share, ..losses }
    }

    /// The coefficient of variation of what counts among so many packets, at least 1.
    pub fn coefficient(&self, packets: f64) -> f64 {
        let Variation { share, turnover, variance } = *self;
        let forgotten = 1.0 - (1.0 - turnover).powf(packets);
        let clustered = 1.0 - forgotten / (packets * turnover);
        let between = 2.0 * variance * (1.0 - turnover) / (turnover * share.powi(2));
        (((1.0 - share) / share + between * clustered) / packets).sqrt()
    }

    /// The channel that loses so, if it is bad (loses more) for this share of the time; none where it would
    /// have to lose more than all, or less than nothing.
    pub fn channel(&self, bad: f64) -> Option<GilbertElliottSpec> {
        let apart = (self.variance / (bad * (1.0 - bad))).sqrt();
        let passes = 1.0 - self.share;
        let (k, h) = (passes + bad * apart, passes - (1.0 - bad) * apart);
        let (p, r) = (self.turnover * bad, self.turnover * (1.0 - bad));
        (k <= 1.0 && h >= 0.0).then_some(GilbertElliottSpec { p, r, k, h })
    }
}

/// The variation whose curve is nearest to the points: the least sum of squared logarithms of what is
/// fitted over what was measured, by Levenberg and Marquardt's method.
///
/// # Errors
/// Fewer than three points, one without a place on any curve, or no nearest curve.
pub fn fit(points: &[Point]) -> Result<Variation, Unfit> {
    let fits = |point: &Point| point.packets >= 1.0 && point.coefficient > 0.0;
    let place = points.iter().position(|point| !fits(point));
    place.map_or(Ok(()), |place| Err(Unfit::NoPlace(place)))?;
    if points.len() < 3 {
        return Err(Unfit::TooFew(points.len()));
    }
    let (found, report) = LevenbergMarquardt::new().minimize(Search::new(points));
    if report.termination.was_successful() {
        Ok(found.at(&found.place))
    } else {
        Err(Unfit::NotFound(format!("{:?}", report.termination)))
    }
}

/// A place in the search: the logits of share and turnover, and the logarithm of the variance.
struct Search<'a> {
    points: &'a [Point],
    place: Vector3<f64>,
}

impl<'a> Search<'a> {
    /// Begins where the packets of the shortest windows would be independent, and the channel forgets within
    /// a window of middle length.
    fn new(points: &'a [Point]) -> Search<'a> {
        let shortest = points.iter().min_by(|a, b| a.packets.total_cmp(&b.packets));
        let odds = shortest.map_or(1.0, |it| it.packets * it.coefficient.powi(2));
        let middle = points.iter().map(|it| it.packets.ln()).sum::<f64>() / points.len() as f64;
        let share = 1.0 / (1.0 + odds);
        let variance: f64 = share * (1.0 - share) / 10.0;
        Search { points, place: Vector3::new(-odds.ln(), -middle, variance.ln()) }
    }

    fn at(&self, place: &Vector3<f64>) -> Variation {
        let share = |logit: f64| 1.0 / (1.0 + (-logit).exp());
        Variation { share: share(place.x), turnover: share(place.y), variance: place.z.exp() }
    }

    fn residuals_at(&self, place: &Vector3<f64>) -> DVector<f64> {
        let variation = self.at(place);
        let residual = |it: &Point| (variation.coefficient(it.packets) / it.coefficient).ln();
        DVector::from_iterator(self.points.len(), self.points.iter().map(residual))
    }
}

impl LeastSquaresProblem<f64, Dyn, U3> for Search<'_> {
    type ParameterStorage = Owned<f64, U3>;
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, U3>;

    fn set_params(&mut self, place: &Vector3<f64>) {
        self.place = *place;
    }

    fn params(&self) -> Vector3<f64> {
        self.place
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        Some(self.residuals_at(&self.place))
    }

    /// These are central differences.
    fn jacobian(&self) -> Option<OMatrix<f64, Dyn, U3>> {
        const STEP: f64 = 1e-5;
        let column = |axis: usize| {
            let step = Vector3::ith(axis, STEP);
            let [after, before] = [self.place + step, self.place - step];
            (self.residuals_at(&after) - self.residuals_at(&before)) / (2.0 * STEP)
        };
        Some(OMatrix::from_columns(&[column(0), column(1), column(2)]))
    }
}

#[cfg(test)]
mod tests {
    use kirikae_path::{Ecn, Element, GilbertElliott, Outcome, Packet, Time};

    use super::*;

    const CHANNEL: GilbertElliottSpec = GilbertElliottSpec { p: 0.002, r: 0.008, k: 0.99, h: 0.6 };

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found / expected - 1.0).abs() < within, "{found}, not {expected}");
    }

    fn curve(variation: Variation) -> Vec<Point> {
        let point = |packets| Point { packets, coefficient: variation.coefficient(packets) };
        [10.0, 100.0, 1000.0, 10000.0].map(point).into()
    }

    #[test]
    fn independent_losses_vary_as_a_binomial_does() {
        let even = GilbertElliottSpec { k: 0.9, h: 0.9, ..CHANNEL };
        // sqrt(0.9 / 0.1 / 100).
        near(Variation::of_losses(&even).coefficient(100.0), 0.3, 1e-9);
        near(Variation::of_receipts(&even).coefficient(100.0), 1.0 / 30.0, 1e-9);
    }

    /// Standard deviation over mean of the losses among so many packets, of 4 million.
    fn counted(packets: u64) -> f64 {
        let mut channel = GilbertElliott::new(CHANNEL, 1);
        let lost = |number| {
            let packet = Packet { number, bytes: 1470, ecn: Ecn::NotEct, payload: () };
            matches!(channel.enqueue(Time::ZERO, packet), Outcome::Dropped(_))
        };
        let losses: Vec<bool> = (0..4_000_000).map(lost).collect();
        let windows = losses.chunks_exact(packets as usize);
        let counts = windows.map(|window| window.iter().filter(|lost| **lost).count() as f64);
        let counts: Vec<f64> = counts.collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let squares = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>();
        (squares / counts.len() as f64).sqrt() / mean
    }

    #[test]
    fn the_curve_is_that_of_a_channel() {
        // 4000 windows of 1000: the deviation's standard error is 1/sqrt(2 * 4000) = 1.1 %, the mean's
        // 0.4 %; 4 of them either way.
        let variation = Variation::of_losses(&CHANNEL);
        for packets in [10, 100, 1000] {
            near(variation.coefficient(packets as f64), counted(packets), 0.05);
        }
    }

    #[test]
    fn a_channel_is_found_again_from_its_curve() {
        let variation = Variation::of_losses(&CHANNEL);
        let found = fit(&curve(variation)).unwrap();
        near(found.share, variation.share, 1e-6);
        near(found.turnover, variation.turnover, 1e-6);
        near(found.variance, variation.variance, 1e-6);
        let channel = found.channel(0.2).unwrap();
        near(channel.p, 0.002, 1e-6);
        near(channel.r, 0.008, 1e-6);
        near(channel.k, 0.99, 1e-6);
        near(channel.h, 0.6, 1e-6);
        // Bad for a hundredth of the time it would have to lose more than all.
        assert_eq!(found.channel(0.01), None);
    }

    #[test]
    fn what_has_no_curve_is_refused() {
        let good = curve(Variation::of_losses(&CHANNEL));
        assert_eq!(fit(&good[..2]), Err(Unfit::TooFew(2)));
        let bad = [good[0], Point { packets: 100.0, coefficient: 0.0 }, good[2]];
        let refused = fit(&bad).unwrap_err().to_string();
        assert!(refused.starts_with("point 2: allowed: at least 1 packet"), "{refused}");
    }
}
