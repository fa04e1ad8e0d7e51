//! A video whose encoder follows what the path carries.

use std::collections::VecDeque;
use std::sync::Arc;

use kirikae_path::{Span, Time};
use serde::{Deserialize, Serialize};

/// Pictures at a rate, each reported by the other end as soon as it has all of it. While reports are late
/// pictures are left out and the next are smaller; after a while without they are larger again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Video {
    /// The time from a picture to the next; above 0.
    pub interval: Span,
    /// Bytes of a picture at each quality, the lowest first.
    pub ladder: Arc<[u64]>,
    /// The first of each so many pictures is a key picture.
    pub key_every: u32,
    /// A key picture has so many times the bytes of another.
    pub key_times: u32,
    /// A picture whose report takes longer than this is late.
    pub late: Span,
    /// How many pictures there are.
    pub count: u32,
}

impl Video {
    /// What is wrong with it, if anything is.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let falls = self.ladder.windows(2).any(|pair| pair[1] <= pair[0]);
        let faults = [
            (self.ladder.is_empty(), "a video without a ladder"),
            (self.ladder.first() == Some(&0), "a picture of 0 bytes"),
            (falls, "a ladder that does not rise"),
            (self.interval == Span::ZERO, "pictures without time in between"),
            (self.key_every == 0 || self.key_times == 0, "key pictures of 0 bytes"),
            (self.count == 0, "no pictures"),
        ];
        faults.into_iter().find_map(|(is_so, fault)| is_so.then_some(fault))
    }
}

/// Bytes of a report.
pub const REPORT: u64 = 64;
/// Quality goes up after so long in which each report came in half of the time that is late.
const UP_AFTER: Span = Span::from_secs(2);

/// What encodes a video.
pub(crate) struct Encoder {
    /// Quality, a place in the ladder.
    level: usize,
    /// When the pictures were written that were not reported yet.
    unreported: VecDeque<Time>,
    /// Since when all went well.
    well_since: Time,
    /// Whether pictures are left out.
    skips: bool,
}

impl Encoder {
    /// Begins at `begin` with the lowest quality.
    pub fn new(begin: Time) -> Encoder {
        Encoder { level: 0, unreported: VecDeque::new(), well_since: begin, skips: false }
    }

    /// Bytes of the picture of this number; none where it is left out.
    pub fn picture(&mut self, video: &Video, number: u32, now: Time) -> Option<u64> {
        let waits = self.unreported.front().map_or(Span::ZERO, |written| now - *written);
        if waits * 2 > video.late {
            self.well_since = now;
        }
        if waits > video.late {
            if !self.skips {
                self.level = self.level.saturating_sub(1);
            }
            self.skips = true;
            return None;
        }
        self.skips = false;
        if now - self.well_since >= UP_AFTER {
            self.level = (self.level + 1).min(video.ladder.len() - 1);
            self.well_since = now;
        }
        self.unreported.push_back(now);
        let times = if number.is_multiple_of(video.key_every) { video.key_times } else { 1 };
        Some(video.ladder[self.level] * u64::from(times))
    }

    /// The oldest of the pictures that were not reported was.
    pub fn reported(&mut self) {
        self.unreported.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn video() -> Video {
        Video {
            interval: Span::from_millis(100),
            ladder: [1000, 2000, 4000].into(),
            key_every: 10,
            key_times: 5,
            late: Span::from_millis(500),
            count: 1000,
        }
    }

    /// Pictures from one to another, each reported before the next where `reported`.
    fn written(encoder: &mut Encoder, numbers: std::ops::Range<u32>, reported: bool) -> Vec<u64> {
        let mut bytes = Vec::new();
        for number in numbers {
            let now = Time::ZERO + video().interval * u64::from(number);
            if let Some(picture) = encoder.picture(&video(), number, now) {
                bytes.push(picture);
                if reported {
                    encoder.reported();
                }
            }
        }
        bytes
    }

    #[test]
    fn the_first_of_ten_is_a_key_picture() {
        let mut encoder = Encoder::new(Time::ZERO);
        let bytes = written(&mut encoder, 0..11, true);
        assert_eq!(bytes, [&[5000][..], &[1000; 9], &[5000]].concat());
    }

    #[test]
    fn quality_follows_the_reports() {
        let mut encoder = Encoder::new(Time::ZERO);
        assert_eq!(written(&mut encoder, 0..19, true)[18], 1000);
        assert_eq!(written(&mut encoder, 19..22, true), [1000, 10_000, 2000]);
        assert_eq!(written(&mut encoder, 22..100, true)[77], 4000, "and no better");
        // Half a second later pictures are left out until the first is reported.
        assert_eq!(written(&mut encoder, 101..120, false), [4000; 6]);
        for _ in 0..6 {
            encoder.reported();
        }
        assert_eq!(written(&mut encoder, 121..122, true), [2000]);
    }
}
