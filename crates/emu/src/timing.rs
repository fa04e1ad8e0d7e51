//! Computes how late packets are written.

use hdrhistogram::Histogram;
use kirikae_vocabulary::TimingError;

/// The quantiles of a direction's lateness, recorded in nanoseconds.
pub(crate) fn timing_error(nanoseconds: &Histogram<u64>) -> TimingError {
    let quantile = |q| nanoseconds.value_at_quantile(q) as f64 / 1e3;
    TimingError {
        p50_us: quantile(0.5),
        p99_us: quantile(0.99),
        max_us: nanoseconds.max() as f64 / 1e3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timing_errors_are_in_microseconds() {
        let mut nanoseconds = Histogram::new(3).unwrap();
        assert_eq!(timing_error(&nanoseconds).max_us, 0.0);
        for _ in 0..98 {
            nanoseconds.record(20_000).unwrap();
        }
        nanoseconds.record_n(3_000_000, 2).unwrap();
        let error = timing_error(&nanoseconds);
        // The histogram keeps three significant digits.
        assert!((error.p50_us - 20.0).abs() < 0.02, "{error:?}");
        assert!((error.p99_us - 3_000.0).abs() < 3.0, "{error:?}");
        assert!((error.max_us - 3_000.0).abs() < 3.0, "{error:?}");
    }
}
