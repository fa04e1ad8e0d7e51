//! A mobile's radio link that adapts its modulation to where the mobile is, as IEEE 802.16e does
//! (Oguchi, doctoral thesis, 2016, section 5.2).

mod modulation;
mod path_loss;
mod waypoint;

use serde::Serialize;

use crate::check::{self, Unfit, check};
use crate::rate::Rate;
use crate::{Span, Time};
use modulation::{SCHEMES, Scheme, scheme};
use waypoint::Waypoints;

pub use path_loss::PathLoss;
pub use waypoint::Movement;

/// How often the modulation is chosen.
const PERIOD: Span = Span::from_millis(20);

/// The mobile is never nearer to the antenna than this.
const NEAREST_KM: f64 = 0.02;

/// A radio link with adaptive modulation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RadioSpec {
    /// Its rate in bit/s with the fastest modulation, 64QAM 3/4; at least 1. The others' rates are in
    /// proportion to the bits that a symbol carries.
    pub fastest_bits_per_second: u64,
    /// Signal-to-noise ratio without path loss in dB: power and antenna gains minus noise.
    pub budget_db: f64,
    /// The loss of the signal on its way.
    pub path_loss: PathLoss,
    /// How the mobile moves.
    pub movement: Movement,
}

impl RadioSpec {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        check::rate("fastest-rate", self.fastest_bits_per_second)?;
        self.path_loss.check()?;
        self.movement.check()?;
        let reaches = self.snr_db(NEAREST_KM) >= SCHEMES[0].from_db;
        let allowed = "so much that something is delivered near the base station";
        check(reaches, "budget", format_args!("{} dB", self.budget_db), allowed)
    }

    fn snr_db(&self, distance_km: f64) -> f64 {
        self.budget_db - self.path_loss.decibels(distance_km.max(NEAREST_KM))
    }
}

/// The state of a radio link as a function of time. Two with the same seed are in the same state at the same
/// time, whatever was asked before.
#[derive(Clone, Debug)]
pub(crate) struct Radio {
    spec: RadioSpec,
    mobile: Waypoints,
    /// When the present choice of a modulation ends.
    until: Time,
    scheme: Scheme,
    bit_error_rate: f64,
}

impl Radio {
    pub fn new(spec: RadioSpec, seed: u64) -> Radio {
        let mobile = Waypoints::new(spec.movement, seed);
        let scheme = SCHEMES[0];
        Radio { spec, mobile, until: Time::ZERO, scheme, bit_error_rate: 0.0 }
    }

    /// The probability that a packet of so many bytes has a bit error.
    pub fn loss(&mut self, now: Time, bytes: u32) -> f64 {
        self.choose(now);
        1.0 - (1.0 - self.bit_error_rate).powf(f64::from(bytes) * 8.0)
    }

    /// Chooses the modulation by the signal at the beginning of the present period.
    fn choose(&mut self, now: Time) {
        if now < self.until {
            return;
        }
        let period = now.as_nanos() / PERIOD.as_nanos();
        let began = Time::ZERO + PERIOD * period;
        let snr_db = self.spec.snr_db(self.mobile.distance_km(began));
        self.scheme = scheme(snr_db);
        self.bit_error_rate = self.scheme.bit_error_rate(snr_db);
        self.until = began + PERIOD;
    }
}

impl Rate for Radio {
    fn at(&mut self, time: Time) -> (u64, Option<Time>) {
        self.choose(time);
        (self.scheme.rate(self.spec.fastest_bits_per_second), Some(self.until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(budget_db: f64) -> RadioSpec {
        RadioSpec {
            fastest_bits_per_second: 18_000_000,
            budget_db,
            path_loss: PathLoss {
                frequency_mhz: 2000.0,
                base_height_m: 30.0,
                mobile_height_m: 1.5,
                metropolitan: false,
            },
            movement: Movement { radius_km: 2.0, slowest_kmh: 1.0, fastest_kmh: 20.0 },
        }
    }

    #[test]
    fn rate_and_errors_follow_the_distance() {
        // At 1 km the loss is 137.744 dB, so a budget of 157.8 dB leaves 20.06 dB: 64QAM 2/3 at 16
        // Mb/s, with a bit error rate just below 10^-4.
        let (mut radio, mut mobile) =
            (Radio::new(spec(157.8), 1), Waypoints::new(spec(0.0).movement, 1));
        let mut seen = std::collections::BTreeSet::new();
        for period in 0..500_000 {
            let now = Time::ZERO + PERIOD * period;
            let (rate, until) = radio.at(now);
            assert_eq!(until, Some(now + PERIOD));
            let snr = 157.8 - spec(0.0).path_loss.decibels(mobile.distance_km(now).max(NEAREST_KM));
            assert_eq!(rate, scheme(snr).rate(18_000_000));
            assert!(snr < 7.5 || radio.bit_error_rate <= 1e-4 * (1.0 + 1e-9));
            seen.insert(rate);
        }
        // At 2 km 9.46 dB are left: all schemes from BPSK 1/2 on occur.
        assert!(seen.len() >= 6, "{seen:?}");
    }

    #[test]
    fn a_packet_is_lost_if_one_of_its_bits_is() {
        let mut radio = Radio::new(spec(157.8), 1);
        radio.at(Time::ZERO);
        radio.bit_error_rate = 1e-4;
        // 1 - (1 - 10^-4)^12000 = 0.69883.
        assert!((radio.loss(Time::from_nanos(1), 1500) - 0.698_83).abs() < 1e-5);
        assert_eq!(radio.loss(Time::from_nanos(1), 0), 0.0);
    }

    #[test]
    fn how_often_it_is_asked_changes_nothing() {
        let (mut often, mut rarely) = (Radio::new(spec(157.8), 3), Radio::new(spec(157.8), 3));
        for milli in 0..1_000_000 {
            let now = Time::ZERO + Span::from_millis(milli);
            let (rate, loss) = (often.at(now), often.loss(now, 1500));
            if milli % 7_777 == 0 {
                assert_eq!((rarely.at(now), rarely.loss(now, 1500)), (rate, loss));
            }
        }
    }

    #[test]
    fn a_signal_that_reaches_nobody_is_refused() {
        assert_eq!(spec(157.8).check(), Ok(()));
        assert_eq!(spec(60.0).check().unwrap_err().field, "budget");
        assert_eq!(spec(f64::NAN).check().unwrap_err().field, "budget");
    }
}
