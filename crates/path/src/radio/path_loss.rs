//! COST-231-Hata: what a radio signal loses on its way through a city (COST Action 231, Digital
//! mobile radio towards future generation systems, final report, 1999, section 4.4.1).

use serde::Serialize;

use crate::check::{Unfit, check};

/// The parameters of the loss besides the distance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PathLoss {
    /// The frequency in MHz; 1500 to 2000.
    pub frequency_mhz: f64,
    /// Height of the base station's antenna in metres; 30 to 200.
    pub base_height_m: f64,
    /// Height of the mobile's antenna in metres; 1 to 10.
    pub mobile_height_m: f64,
    /// Whether it is a metropolitan centre, where 3 dB more are lost than in a medium-sized city.
    pub metropolitan: bool,
}

impl PathLoss {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        let within = |field, value: f64, least: f64, most: f64, allowed| {
            check((least..=most).contains(&value), field, value, allowed)
        };
        within("frequency", self.frequency_mhz, 1500.0, 2000.0, "1500 to 2000 MHz")?;
        within("base-height", self.base_height_m, 30.0, 200.0, "30 to 200 m")?;
        within("mobile-height", self.mobile_height_m, 1.0, 10.0, "1 to 10 m")
    }

    /// The loss in dB at this distance. The model is for 1 to 20 km and continued inwards.
    pub fn decibels(&self, distance_km: f64) -> f64 {
        let f = self.frequency_mhz.log10();
        let base = self.base_height_m.log10();
        let mobile = (1.1 * f - 0.7) * self.mobile_height_m - (1.56 * f - 0.8);
        let centre = if self.metropolitan { 3.0 } else { 0.0 };
        46.3 + 33.9 * f - 13.82 * base - mobile
            + (44.9 - 6.55 * base) * distance_km.log10()
            + centre
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_formula_by_hand() {
        // f = 2000: log 3.30103; base 30: log 1.47712; mobile 1.5: (3.63113 - 0.7) 1.5 - (5.14961 -
        // 0.8) = 0.04709. At 1 km 46.3 + 111.90492 - 20.41382 - 0.04709 = 137.74401; for each
        // decade 44.9 - 9.67514 = 35.22486 more.
        let mut loss = PathLoss {
            frequency_mhz: 2000.0,
            base_height_m: 30.0,
            mobile_height_m: 1.5,
            metropolitan: false,
        };
        assert!((loss.decibels(1.0) - 137.744).abs() < 0.001, "{}", loss.decibels(1.0));
        assert!((loss.decibels(10.0) - 172.969).abs() < 0.001, "{}", loss.decibels(10.0));
        loss.metropolitan = true;
        assert!((loss.decibels(1.0) - 140.744).abs() < 0.001);
    }

    #[test]
    fn values_out_of_the_models_range_are_refused() {
        let good = PathLoss {
            frequency_mhz: 1800.0,
            base_height_m: 100.0,
            mobile_height_m: 2.0,
            metropolitan: false,
        };
        assert_eq!(good.check(), Ok(()));
        for (bad, field) in [
            (PathLoss { frequency_mhz: 2001.0, ..good }, "frequency"),
            (PathLoss { base_height_m: 29.0, ..good }, "base-height"),
            (PathLoss { mobile_height_m: f64::NAN, ..good }, "mobile-height"),
        ] {
            assert_eq!(bad.check().unwrap_err().field, field);
        }
    }
}
