//! Means, quantiles and ratios, with their intervals.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence of the usual intervals.
const CONFIDENCE: f64 = 0.95;

/// An estimate with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Half the width of the interval; None with fewer than two samples.
    pub half_width: Option<f64>,
}

/// Arithmetic mean with Student's t interval (n - 1 degrees of freedom); none without samples.
pub fn mean(samples: &[f64]) -> Option<Estimate> {
    if samples.is_empty() {
        return None;
    }
    let value = samples.iter().sum::<f64>() / samples.len() as f64;
    let residuals = samples.iter().map(|sample| sample - value);
    let half_width = standard_error(residuals, CONFIDENCE).map(|(error, t)| error * t);
    Some(Estimate { value, half_width })
}

/// Ratio of the mean of the pairs' first values to the mean of their second, with Student's t interval of its
/// linearisation: the residuals are first - ratio * second, so that what a pair has in common (the losses of
/// its burst) drops out. None without pairs.
pub fn ratio_of_means(pairs: &[(f64, f64)]) -> Option<Estimate> {
    ratio_of_means_within(pairs, CONFIDENCE)
}

/// The same with an interval of the given confidence (0 to 1).
pub fn ratio_of_means_within(pairs: &[(f64, f64)], confidence: f64) -> Option<Estimate> {
    let first: f64 = pairs.iter().map(|pair| pair.0).sum();
    let second: f64 = pairs.iter().map(|pair| pair.1).sum();
    if pairs.is_empty() || second == 0.0 {
        return None;
    }
    let value = first / second;
    let residuals = pairs.iter().map(|pair| pair.0 - value * pair.1);
    let scale = second / pairs.len() as f64;
    Some(Estimate {
        value,
        half_width: standard_error(residuals, confidence).map(|(error, t)| error * t / scale),
    })
}

/// Standard error of the mean of residuals (which have mean 0), and t for this confidence.
fn standard_error(
    residuals: impl ExactSizeIterator<Item = f64>,
    confidence: f64,
) -> Option<(f64, f64)> {
    let n = residuals.len() as f64;
    if n < 2.0 {
        return None;
    }
    let squares: f64 = residuals.map(|residual| residual * residual).sum();
    let student = StudentsT::new(0.0, 1.0, n - 1.0).expect("one degree of freedom or more");
    Some(((squares / (n - 1.0) / n).sqrt(), student.inverse_cdf((1.0 + confidence) / 2.0)))
}

/// Jain's fairness index (Jain, Chiu, Hawe, DEC-TR-301, 1984): 1 if all have the same, 1/n if one has
/// everything. None if there are no shares, or if all of them are 0.
pub fn fairness(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Quantile `q` (0 to 1) by linear interpolation between order statistics (Hyndman and Fan's
/// type 7: rank 1 + (n - 1) q), of samples in ascending order; none without samples.
pub fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let rank = ascending.len().checked_sub(1)? as f64 * q;
    let below = ascending[rank.floor() as usize];
    let above = ascending[rank.ceil() as usize];
    Some(below + (above - below) * rank.fract())
}

/// Spearman's rank correlation of pairs, -1 to 1; equal values share the mean of their ranks. None if all
/// values of one side are equal.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (first, second) = (ranks(&first), ranks(&second));
    let middle = (pairs.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum()
    };
    let scale = (product(&first, &first) * product(&second, &second)).sqrt();
    (scale > 0.0).then(|| product(&first, &second) / scale)
}

/// The rank of each value, from 1.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-3, "{found}, not {expected}");
    }

    #[test]
    fn ranks_are_compared() {
        let of = |second: [f64; 4]| {
            let pairs: Vec<(f64, f64)> = [1.0, 2.0, 3.0, 4.0].into_iter().zip(second).collect();
            rank_correlation(&pairs)
        };
        near(of([10.0, 20.0, 30.0, 90.0]).unwrap(), 1.0);
        near(of([4.0, 3.0, 2.0, 1.0]).unwrap(), -1.0);
        // Ranks 1, 2.5, 2.5, 4: 4.5 / sqrt(5 * 4.5).
        near(of([1.0, 2.0, 2.0, 4.0]).unwrap(), 0.9487);
        assert_eq!(of([5.0; 4]), None);
    }

    #[test]
    fn mean_and_interval_by_hand() {
        // Variance 2.5, standard error sqrt(2.5 / 5) = 0.7071, t(4) = 2.7764.
        let estimate = mean(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        near(estimate.value, 3.0);
        near(estimate.half_width.unwrap(), 1.9632);
        assert_eq!(mean(&[2.0]), Some(Estimate { value: 2.0, half_width: None }));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn ratio_and_interval_by_hand() {
        // Ratio 6/12; residuals 0, -0.5, 0.5: variance 0.25, standard error sqrt(0.25 / 3)
        // = 0.28868, over the second mean 4: 0.072169, t(2) = 4.3027.
        let estimate = ratio_of_means(&[(1.0, 2.0), (1.5, 4.0), (3.5, 6.0)]).unwrap();
        near(estimate.value, 0.5);
        near(estimate.half_width.unwrap(), 0.31052);
    }

    #[test]
    fn a_common_factor_leaves_no_uncertainty_in_the_ratio() {
        let estimate = ratio_of_means(&[(1.0, 4.0), (2.0, 8.0), (30.0, 120.0)]).unwrap();
        near(estimate.value, 0.25);
        near(estimate.half_width.unwrap(), 0.0);
    }

    #[test]
    fn fairness_by_hand() {
        assert_eq!(fairness(&[3.0; 4]), Some(1.0));
        assert_eq!(fairness(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        // (1 + 2 + 3)^2 / (3 * (1 + 4 + 9)) = 36/42.
        near(fairness(&[1.0, 2.0, 3.0]).unwrap(), 36.0 / 42.0);
        assert_eq!((fairness(&[0.0, 0.0]), fairness(&[1.0])), (None, None));
    }

    #[test]
    fn quantiles_by_hand() {
        let ascending = [10.0, 20.0, 30.0, 40.0];
        assert_eq!(quantile(&ascending, 0.0), Some(10.0));
        assert_eq!(quantile(&ascending, 0.5), Some(25.0));
        assert_eq!(quantile(&ascending, 1.0), Some(40.0));
        near(quantile(&ascending, 0.95).unwrap(), 38.5);
        assert_eq!(quantile(&[], 0.5), None);
    }
}
