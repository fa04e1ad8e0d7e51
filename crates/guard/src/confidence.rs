//! How sure an estimate is at all times at once: a confidence sequence, whose intervals all contain the truth with
//! the probability stated, however often one looks and whenever one stops.
//!
//! The formula is Robbins' one-sided normal mixture in closed form, as Howard, Ramdas, McAuliffe and Sekhon
//! give it ("Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49, 2021,
//! section 3.2). An estimate with variance 1/I, times I, grows like a Brownian motion with time I. That holds
//! for averages of many values, and with an estimated variance asymptotically (Waudby-Smith, Arbour, Sinha,
//! Kennedy and Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences", Annals of
//! Statistics 52, 2024).

/// Probability that the truth is ever beyond one given end of a scope's interval.
pub const ERROR: f64 = 0.01;

/// The mixture's parameter, 1/octaves²: it says at which information the sequence is tightest. No sequence is
/// tight everywhere; this one is where a harm of 5 % can just be told from one of 2 %. There half the width
/// is log2(1.05/1.02) octaves, and the information 6,440.
const MIXTURE: f64 = 625.0;

/// Half the width of the interval, octaves, for an estimate with this information (1 over its variance,
/// 1/octaves²; above 0). `error` is the probability that the truth is ever beyond one given end.
pub fn radius(information: f64, error: f64) -> f64 {
    radius_of(information, MIXTURE, error)
}

/// The formula: sqrt(2 (I + rho) ln(1 + sqrt((I + rho) / rho) / (2 error))) / I.
fn radius_of(information: f64, mixture: f64, error: f64) -> f64 {
    let sum = information + mixture;
    let ratio = (sum / mixture).sqrt() / (2.0 * error);
    (2.0 * sum * ratio.ln_1p()).sqrt() / information
}

#[cfg(test)]
mod tests {
    use kirikae_path::{RandomStream, stream_seed};

    use super::*;
    use crate::{Arms, Difference, LEAST_SPANS, Strata};

    #[test]
    fn it_is_tightest_where_a_harm_of_5_percent_is_decided() {
        let decided = 6440.0;
        let wanted = (1.05f64 / 1.02).log2();
        let radius = |information| radius(information, ERROR);
        assert!((radius(decided) / wanted - 1.0).abs() < 1e-3, "{}", radius(decided));
        for other in [0.5, 0.8, 1.25, 2.0] {
            assert!(radius(decided) < radius_of(decided, MIXTURE * other, ERROR), "{other}");
        }
        // Looking at all times needs 3.36 standard errors, where looking once needs 2.33.
        assert!((radius(decided) * decided.sqrt() - 3.36).abs() < 0.005);
    }

    /// A draw from the standard normal distribution (Box and Muller).
    fn normal(stream: &mut RandomStream) -> f64 {
        let radius = (-2.0 * (1.0 - stream.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * stream.uniform()).cos()
    }

    /// How many of `runs` Brownian motions are ever beyond each end, in so many looks.
    fn excursions(runs: u64, looks: u32, step: f64) -> [u32; 2] {
        let mut beyond = [0, 0];
        for run in 0..runs {
            let mut stream = RandomStream::new(stream_seed(1, &[run]));
            let (mut sum, mut information) = (0.0, 0.0);
            let mut was = [false; 2];
            for _ in 0..looks {
                information += step;
                sum += step.sqrt() * normal(&mut stream);
                let within = radius(information, ERROR);
                was[0] |= sum / information < -within;
                was[1] |= sum / information > within;
            }
            for (end, was) in was.into_iter().enumerate() {
                beyond[end] += u32::from(was);
            }
        }
        beyond
    }

    #[test]
    fn the_truth_is_within_at_all_times() {
        // 1 % of 4,000 runs is 40. A motion that is watched for ever comes close to that. These are watched
        // from a tenth of the mixture's parameter to 100 times as much, so fewer are beyond.
        let [below, above] = excursions(4000, 1000, MIXTURE / 10.0);
        assert!(below <= 40 && above <= 40, "{below} and {above}");
        assert!(below + above > 10, "{below} and {above}: the bound is far too wide");
    }

    /// How often the truth was ever below, and above, the interval. Spans are drawn one by one, a share of
    /// them is held back, and the interval is looked at after each.
    fn misses(runs: u64, share: f64, residual: fn(&mut RandomStream) -> f64) -> [u32; 2] {
        let mut missed = [0, 0];
        for run in 0..runs {
            let mut stream = RandomStream::new(stream_seed(2, &[run]));
            let mut epoch = [Strata::default()];
            let mut was = [false; 2];
            for _ in 0..800 {
                let is_held_back = stream.chance(share);
                let Arms { switched, stock } = &mut epoch[0].0[3];
                let arm = if is_held_back { stock } else { switched };
                arm.add(residual(&mut stream));
                let Some(difference) = Difference::of(&epoch) else { continue };
                if difference.least_spans() >= LEAST_SPANS {
                    let within = radius(difference.information, ERROR);
                    was[0] |= difference.octaves + within < 0.0;
                    was[1] |= difference.octaves - within > 0.0;
                }
            }
            for (side, was) in was.into_iter().enumerate() {
                missed[side] += u32::from(was);
            }
        }
        missed
    }

    #[test]
    fn it_holds_for_estimated_variances_and_long_tails() {
        let usual = |stream: &mut RandomStream| 0.4 * normal(stream);
        // A distribution with skewness 6.2 and kurtosis 114: most spans take as long as ever, some three
        // times as long.
        let skewed = |stream: &mut RandomStream| 0.15 * normal(stream).exp();
        for (what, residual) in
            [("normal", usual as fn(&mut RandomStream) -> f64), ("skewed", skewed)]
        {
            for share in [0.02, 0.5] {
                let [below, above] = misses(1000, share, residual);
                assert!(below <= 10 && above <= 10, "{what}, {share}: {below} and {above} of 1000");
            }
        }
    }
}
