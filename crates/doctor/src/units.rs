//! Writes quantities for people.

/// A rate, from bit/s.
pub(crate) fn rate(bits_per_second: f64) -> String {
    let (value, unit) = scaled(bits_per_second, 1000.0, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);
    format!("{} {unit}", digits(value))
}

/// A size, from bytes.
pub(crate) fn size(bytes: f64) -> String {
    let (value, unit) = scaled(bytes, 1024.0, &["B", "KiB", "MiB", "GiB"]);
    format!("{} {unit}", digits(value))
}

/// A time, from seconds.
pub(crate) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    format!("{} {unit}", digits(value))
}

/// A share (0 to 1) as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

fn scaled<'a>(mut value: f64, step: f64, units: &[&'a str]) -> (f64, &'a str) {
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    (value, units[unit])
}

/// The value with three digits, without zeros at the end.
pub(crate) fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let places = (2 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits() {
        assert_eq!(rate(167_772_160.0), "168 Mbit/s");
        assert_eq!(rate(2_621_400.0), "2.62 Mbit/s");
        assert_eq!(rate(100e9), "100 Gbit/s");
        assert_eq!(size(4_194_304.0), "4 MiB");
        assert_eq!(size(65_535.0), "64 KiB");
        assert_eq!(time(0.2), "200 ms");
        assert_eq!(time(0.000_035), "35 us");
        assert_eq!(percent(0.941_5), "94.2 %");
        assert_eq!(digits(0.0), "0");
        assert_eq!(digits(1234.5), "1234");
    }
}
