//! Numbers with compulsory units: `"64 KiB"`, `"200 ms"`, `"10 Mbit/s"`.

use std::time::Duration;

use kirikae_path::{QueueLimit, Span, Time};

/// A kind of quantity: how it is written, and what a refusal says is allowed.
pub trait Quantity: Sized {
    /// What may be written, with an example.
    const ALLOWED: &str;

    /// Parses the quantity; None if number, unit or range are not allowed.
    fn parse(text: &str) -> Option<Self>;
}

const SECONDS: [(&str, f64); 5] =
    [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0)];
const BITS_PER_SECOND: [(&str, f64); 4] =
    [("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
const BYTES: [(&str, f64); 5] =
    [("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("KiB", 1024.0), ("MiB", 1_048_576.0)];

/// Parses a number and converts it to the base unit; refuses a sign, an exponent and a unit that is not
/// listed.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let plain = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    plain.then(|| number.parse::<f64>().ok())?.map(|number| number * factor)
}

/// Rounds to a whole number, if that is within the range.
fn whole(value: f64, least: u64, most: u64) -> Option<u64> {
    let rounded = value.round();
    (least as f64..=most as f64).contains(&rounded).then_some(rounded as u64)
}

impl Quantity for Duration {
    const ALLOWED: &str =
        r#"a time from "1 ns" to "60 min" in ns, us, ms, s or min, such as "200 ms""#;

    fn parse(text: &str) -> Option<Self> {
        whole(scaled(text, &SECONDS)? * 1e9, 1, 3_600_000_000_000).map(Duration::from_nanos)
    }
}

impl Quantity for Span {
    const ALLOWED: &str = Duration::ALLOWED;

    fn parse(text: &str) -> Option<Self> {
        Duration::parse(text)?.try_into().ok()
    }
}

/// A time span up to the largest [`Time`].
pub struct Long(pub Span);

impl Quantity for Long {
    const ALLOWED: &str =
        r#"a time from "1 ns" to "10000 min" in ns, us, ms, s or min, such as "60 s""#;

    fn parse(text: &str) -> Option<Self> {
        Time::parse(text).filter(|time| *time > Time::ZERO).map(|time| Long(time - Time::ZERO))
    }
}

impl Quantity for Time {
    const ALLOWED: &str =
        r#"a time from "0 s" to "10000 min" in ns, us, ms, s or min, such as "10 s""#;

    fn parse(text: &str) -> Option<Self> {
        whole(scaled(text, &SECONDS)? * 1e9, 0, 600_000_000_000_000).map(Time::from_nanos)
    }
}

/// A rate in bits per second.
pub struct Rate(pub u64);

impl Quantity for Rate {
    const ALLOWED: &str = r#"a rate from "1 bit/s" to "100 Gbit/s" in bit/s, kbit/s, Mbit/s or Gbit/s, such as "10 Mbit/s""#;

    fn parse(text: &str) -> Option<Self> {
        whole(scaled(text, &BITS_PER_SECOND)?, 1, 100_000_000_000).map(Rate)
    }
}

/// A size in bytes.
pub struct Size(pub u64);

impl Quantity for Size {
    const ALLOWED: &str =
        r#"a size from "1 B" to "1024 MiB" in B, kB, MB, KiB or MiB, such as "64 KiB""#;

    fn parse(text: &str) -> Option<Self> {
        whole(scaled(text, &BYTES)?, 1, 1 << 30).map(Size)
    }
}

impl Quantity for QueueLimit {
    const ALLOWED: &str = r#"a number of packets or a size, at least 1, such as "100 packets" or "64 KiB" (B, kB, MB, KiB, MiB)"#;

    fn parse(text: &str) -> Option<Self> {
        if let Some(packets) = scaled(text, &[("packets", 1.0)]) {
            return whole(packets, 1, 1 << 30).map(QueueLimit::Packets);
        }
        Size::parse(text).map(|size| QueueLimit::Bytes(size.0))
    }
}

/// Defines kinds of quantity that have one unit, from name, unit, and what is allowed.
macro_rules! quantities {
    ($($name:ident $unit:literal $allowed:literal)*) => {$(
        #[doc = concat!("In ", $unit, ".")]
        pub struct $name(pub f64);

        impl Quantity for $name {
            const ALLOWED: &str = $allowed;

            fn parse(text: &str) -> Option<Self> {
                scaled(text, &[($unit, 1.0)]).map($name)
            }
        }
    )*};
}

quantities! {
    Megahertz "MHz" r#"a frequency in MHz, such as "2000 MHz""#
    Metres "m" r#"a height in m, such as "30 m""#
    Kilometres "km" r#"a distance in km, such as "2 km""#
    KilometresPerHour "km/h" r#"a speed in km/h, such as "20 km/h""#
    Decibels "dB" r#"a ratio in dB, such as "160 dB""#
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_in_their_units() {
        assert_eq!(Duration::parse("2 s"), Some(Duration::from_secs(2)));
        assert_eq!(Duration::parse("0.5 ms"), Some(Duration::from_micros(500)));
        assert_eq!(Rate::parse("2.5 Mbit/s").map(|rate| rate.0), Some(2_500_000));
        assert_eq!(Size::parse("64 KiB").map(|size| size.0), Some(65_536));
        assert_eq!(QueueLimit::parse("30 packets"), Some(QueueLimit::Packets(30)));
        assert_eq!(QueueLimit::parse("64 kB"), Some(QueueLimit::Bytes(64_000)));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["2", "2s", "2  s", "-2 s", "+2 s", "1e3 s", "2 h", "0 s", "61 min", "", " s"] {
            assert_eq!(Duration::parse(text), None, "{text:?}");
        }
        for text in ["0 Mbit/s", "10 Mb/s", "10 MB/s", "200 Gbit/s", "0.4 bit/s"] {
            assert!(Rate::parse(text).is_none(), "{text:?}");
        }
        assert_eq!(Time::parse("0 s"), Some(Time::ZERO));
        assert_eq!(Time::parse("10001 min"), None);
        assert!(Long::parse("0 s").is_none() && Long::parse("10001 min").is_none());
        assert_eq!(Long::parse("10000 min").map(|long| long.0), Some(Span::from_secs(600_000)));
        assert_eq!(Megahertz::parse("1800 MHz").map(|frequency| frequency.0), Some(1800.0));
        assert!(Metres::parse("30 km").is_none());
        assert_eq!(QueueLimit::parse("0 packets"), None);
        assert_eq!(QueueLimit::parse("100"), None);
    }
}
