//! Modulation and coding of IEEE 802.16e, chosen by the signal-to-noise ratio.

/// A modulation and coding scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scheme {
    /// The least ratio at which it is used; its bit error rate there is [`WORST_BIT_ERROR_RATE`].
    pub from_db: f64,
    /// Bits of data in a symbol, times two.
    pub half_bits: u64,
}

/// Table 5-4 of Oguchi's thesis (2016): ranges in which the bit error rate stays below 10^-4.
pub(crate) const SCHEMES: [Scheme; 7] = [
    Scheme { from_db: 7.5, half_bits: 1 },  // BPSK 1/2
    Scheme { from_db: 9.5, half_bits: 2 },  // QPSK 1/2
    Scheme { from_db: 10.0, half_bits: 3 }, // QPSK 3/4
    Scheme { from_db: 11.0, half_bits: 4 }, // 16QAM 1/2
    Scheme { from_db: 12.0, half_bits: 6 }, // 16QAM 3/4
    Scheme { from_db: 20.0, half_bits: 8 }, // 64QAM 2/3
    Scheme { from_db: 45.0, half_bits: 9 }, // 64QAM 3/4
];

const WORST_BIT_ERROR_RATE: f64 = 1e-4;

/// The fastest scheme whose range has begun; below all of them, the most robust.
pub(crate) fn scheme(snr_db: f64) -> Scheme {
    let begun = SCHEMES.partition_point(|scheme| scheme.from_db <= snr_db);
    SCHEMES[begun.saturating_sub(1)]
}

impl Scheme {
    /// The link's rate with this scheme; `fastest` is the rate with the fastest one.
    pub fn rate(self, fastest: u64) -> u64 {
        let scaled = u128::from(fastest) * u128::from(self.half_bits);
        let most = SCHEMES[SCHEMES.len() - 1].half_bits;
        ((scaled / u128::from(most)) as u64).max(1)
    }

    /// The bit error rate at this ratio. The thesis shows curves and prints no formula, so this one is ours:
    /// 10^-4 at the range's beginning, falling with exp(-g) for a ratio g that is linear, not in dB, as for
    /// coherent modulation in white noise. Without a signal half of all bits are wrong.
    pub fn bit_error_rate(self, snr_db: f64) -> f64 {
        let at_beginning = (0.5 / WORST_BIT_ERROR_RATE).ln();
        let relative = 10f64.powf((snr_db - self.from_db) / 10.0);
        0.5 * (-at_beginning * relative).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_table() {
        for (snr, half_bits) in [
            (-10.0, 1),
            (7.5, 1),
            (9.49, 1),
            (9.5, 2),
            (10.0, 3),
            (11.0, 4),
            (12.0, 6),
            (19.99, 6),
            (20.0, 8),
            (45.0, 9),
            (99.0, 9),
        ] {
            assert_eq!(scheme(snr).half_bits, half_bits, "{snr} dB");
        }
    }

    #[test]
    fn rates_are_in_proportion_to_bits_in_a_symbol() {
        let rates = SCHEMES.map(|scheme| scheme.rate(18_000_000) / 1_000_000);
        assert_eq!(rates, [2, 4, 6, 8, 12, 16, 18]);
    }

    #[test]
    fn the_bit_error_rate_stays_below_a_ten_thousandth() {
        for tenth in 75..600 {
            let snr = f64::from(tenth) / 10.0;
            let rate = scheme(snr).bit_error_rate(snr);
            assert!(rate <= 1e-4 * (1.0 + 1e-9), "{rate} at {snr} dB");
        }
        let bpsk = SCHEMES[0];
        assert!((bpsk.bit_error_rate(7.5) - 1e-4).abs() < 1e-12);
        // 3.0103 dB more are twice the signal, so the rate is 0.5 (2 10^-4)^2.
        assert!((bpsk.bit_error_rate(10.5103) - 2e-8).abs() < 1e-12);
        assert!((bpsk.bit_error_rate(-100.0) - 0.5).abs() < 1e-6);
    }
}
