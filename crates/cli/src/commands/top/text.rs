//! Formats values for people, and removes what a terminal would obey.

use std::borrow::Cow;
use std::time::Duration;

/// Replaces each character that a terminal would take for a command, or that would make the text look like
/// another.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unfit) {
        let fit = |c| if is_unfit(c) { char::REPLACEMENT_CHARACTER } else { c };
        return text.chars().map(fit).collect();
    }
    text.into()
}

/// Whether it is a control character, one without width, or one that changes the direction of writing.
fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// A short time, in at most 8 characters: `0.03 ms`, `123.4 ms`, `12.3 s`.
pub fn seconds(s: f64) -> String {
    match s * 1e3 {
        ms if ms < 1.0 => format!("{ms:.2} ms"),
        ms if ms < 999.95 => format!("{ms:.1} ms"),
        ms if ms < 9_995.0 => format!("{s:.2} s"),
        _ => format!("{s:.1} s"),
    }
}

/// A long time, in at most 6 characters: `12 s`, `3 h`.
pub fn ago(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3_600 => format!("{} min", s / 60),
        s @ 3_600..172_800 => format!("{} h", s / 3_600),
        s => format!("{} d", s / 86_400),
    }
}

/// A share from 0 to 1, in at most 6 characters: `0.12 %`, `12.3 %`, `100 %`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 9.995 => format!("{percent:.2} %"),
        percent if percent < 99.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// A rate: `12.3 Mbit/s`
pub fn rate(bit_s: u64) -> String {
    format!("{:.1} Mbit/s", bit_s as f64 / 1e6)
}

/// A size: `12.3 kB`
pub fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1e3 => format!("{b} B"),
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

/// A number with its noun: `1 event`, `2 events`
pub fn number(n: impl Into<u64>, of: &str) -> String {
    match n.into() {
        1 => format!("1 {of}"),
        n if of.ends_with("ch") => format!("{n} {of}es"),
        n => format!("{n} {of}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(clean("kk_cubic, 接続"), "kk_cubic, 接続");
        for escape in ["\x1b[2J", "\u{9b}2J", "\x07", "a\r\nb", "\u{202e}cipher", "\u{200b}"] {
            let cleaned = clean(escape);
            assert!(!cleaned.chars().any(is_unfit), "{escape:?} is {cleaned:?}");
            assert_eq!(cleaned.chars().count(), escape.chars().count());
        }
    }

    #[test]
    fn values_are_short() {
        let times = [0.0, 0.000_03, 0.000_999, 0.001, 0.123_4, 0.999_96, 1.0, 12.34, 99_999.0];
        let times = times.map(seconds);
        assert_eq!(
            times,
            [
                "0.00 ms",
                "0.03 ms",
                "1.00 ms",
                "1.0 ms",
                "123.4 ms",
                "1.00 s",
                "1.00 s",
                "12.3 s",
                "99999.0 s"
            ]
        );
        let ages = [0, 59, 60, 3_599, 3_600, 172_799, 172_800].map(|s| ago(Duration::from_secs(s)));
        assert_eq!(ages, ["0 s", "59 s", "1 min", "59 min", "1 h", "47 h", "2 d"]);
        let shares = [0.0, 0.001_2, 0.099_9, 0.123, 0.999_4, 1.0].map(percent);
        assert_eq!(shares, ["0.00 %", "0.12 %", "9.99 %", "12.3 %", "99.9 %", "100 %"]);
        assert_eq!(
            [999, 1_500, 2_000_000, 3_000_000_000].map(bytes),
            ["999 B", "1.5 kB", "2.0 MB", "3.0 GB"]
        );
        assert_eq!(rate(12_340_000), "12.3 Mbit/s");
        assert_eq!([number(1u32, "event"), number(2u32, "switch")], ["1 event", "2 switches"]);
    }
}
