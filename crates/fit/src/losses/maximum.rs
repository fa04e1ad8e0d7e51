//! The maximum of a smooth function of a few numbers, and how sharp it is there: Newton's method with
//! Levenberg's and Marquardt's damping, on differences.

/// For differences; the functions here are of logits, which change by about 1.
const STEP: f64 = 1e-3;
/// Most steps.
const STEPS: usize = 200;
/// Expected gain below which it is there.
const ENOUGH: f64 = 1e-7;
/// A logit beyond this is a probability at 0 or 1: there is no maximum inside.
const BOUND: f64 = 14.0;

/// A maximum.
#[derive(Clone, Debug)]
pub(super) struct Maximum {
    pub at: Vec<f64>,
    pub value: f64,
    /// The inverse of the negative Hessian.
    pub covariance: Vec<Vec<f64>>,
}

/// The maximum near `start`; none where there is none inside the bounds.
pub(super) fn maximum(of: &dyn Fn(&[f64]) -> f64, start: &[f64]) -> Option<Maximum> {
    let mut at = start.to_vec();
    let mut value = of(&at);
    let mut damping = 1e-3;
    for _ in 0..STEPS {
        let (gradient, curvature) = derivatives(of, &at, value);
        let (step, gain) = loop {
            let mut damped = curvature.clone();
            for (place, row) in damped.iter_mut().enumerate() {
                row[place] += damping * row[place].abs().max(1e-3);
            }
            if let Some(step) = solve(&damped, &gradient) {
                let next: Vec<f64> = at.iter().zip(&step).map(|(at, step)| at + step).collect();
                let gain = of(&next) - value;
                if gain >= 0.0 {
                    break (step, gain);
                }
            }
            damping *= 10.0;
            if damping > 1e12 {
                break (vec![0.0; at.len()], 0.0);
            }
        };
        at.iter_mut().zip(&step).for_each(|(at, step)| *at += step);
        value += gain;
        if !value.is_finite() || at.iter().any(|it| it.abs() > BOUND) {
            return None;
        }
        damping = (damping / 10.0).max(1e-12);
        let expected: f64 = step.iter().zip(&gradient).map(|(step, slope)| step * slope).sum();
        if expected < ENOUGH {
            let (_, curvature) = derivatives(of, &at, value);
            let covariance = inverse(&curvature)?;
            return Some(Maximum { at, value, covariance });
        }
    }
    None
}

/// Gradient, and the negative Hessian.
fn derivatives(of: &dyn Fn(&[f64]) -> f64, at: &[f64], value: f64) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = at.len();
    let moved = |steps: &[(usize, f64)]| {
        let mut there = at.to_vec();
        steps.iter().for_each(|(place, by)| there[*place] += by);
        of(&there)
    };
    let mut gradient = vec![0.0; n];
    let mut curvature = vec![vec![0.0; n]; n];
    for i in 0..n {
        let (up, down) = (moved(&[(i, STEP)]), moved(&[(i, -STEP)]));
        gradient[i] = (up - down) / (2.0 * STEP);
        curvature[i][i] = -(up - 2.0 * value + down) / (STEP * STEP);
        let (before, rest) = curvature.split_at_mut(i);
        for (j, row) in before.iter_mut().enumerate() {
            let both = |a: f64, b: f64| moved(&[(i, a * STEP), (j, b * STEP)]);
            let mixed = both(1.0, 1.0) - both(1.0, -1.0) - both(-1.0, 1.0) + both(-1.0, -1.0);
            row[i] = -mixed / (4.0 * STEP * STEP);
            rest[0][j] = row[i];
        }
    }
    (gradient, curvature)
}

/// A symmetric matrix as L times its transpose; none unless it is positive definite.
fn cholesky(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let mut lower = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] - sum;
            lower[i][j] = if i == j {
                if rest <= 1e-12 * matrix[i][i].abs() || !rest.is_finite() {
                    return None;
                }
                rest.sqrt()
            } else {
                rest / lower[j][j]
            };
        }
    }
    Some(lower)
}

fn solve(matrix: &[Vec<f64>], right: &[f64]) -> Option<Vec<f64>> {
    let lower = cholesky(matrix)?;
    let n = right.len();
    let mut x = right.to_vec();
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
        x[i] = (x[i] - sum) / lower[i][i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| lower[k][i] * x[k]).sum();
        x[i] = (x[i] - sum) / lower[i][i];
    }
    Some(x)
}

fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let unit =
        |place| (0..matrix.len()).map(|it| f64::from(u8::from(it == place))).collect::<Vec<_>>();
    (0..matrix.len()).map(|place| solve(matrix, &unit(place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hill_is_climbed_and_its_sharpness_found() {
        // Two that depend on each other: covariance [[2, 1], [1, 1]] about (1, -2), not quadratic far off.
        let hill = |x: &[f64]| {
            let (a, b) = (x[0] - 1.0, x[1] + 2.0);
            let distance = a * a - 2.0 * a * b + 2.0 * b * b;
            -(1.0 + distance).ln() * 2.0 / 4.0
        };
        let found = maximum(&hill, &[3.0, 2.0]).unwrap();
        assert!((found.at[0] - 1.0).abs() < 1e-3 && (found.at[1] + 2.0).abs() < 1e-3, "{found:?}");
        for (row, expected) in found.covariance.iter().zip([[2.0, 1.0], [1.0, 1.0]]) {
            for (found, expected) in row.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-2, "{found} {expected}");
            }
        }
    }

    #[test]
    fn what_rises_for_ever_has_none() {
        assert!(maximum(&|x| -(-x[0]).exp(), &[0.0]).is_none());
    }
}
