//! A video as its viewer sees it.

use kirikae_path::Time;
use kirikae_sim::{Video, Written};
use serde::{Deserialize, Serialize};

/// How a video was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// Number of pictures that there should have been.
    pub pictures: u32,
    /// Number of pictures that were left out, or later than allowed.
    pub late: u32,
    /// How long there was no new picture, beyond the time from which on a picture is late, seconds.
    pub frozen_s: f64,
}

impl Watched {
    /// Judges what the client wrote as this video, until `end`; None if the video had not begun.
    pub fn of(video: &Video, written: &[Written], end: Time) -> Option<Watched> {
        let begin = written.first()?.start;
        let elapsed = ((end - begin).as_nanos() / video.interval.as_nanos().max(1)) as u32 + 1;
        let pictures = video.count.min(elapsed);
        let in_time = |write: &&Written| write.latency().is_some_and(|took| took <= video.late);
        let arrivals = written.iter().filter_map(|write| write.last);
        let last = if pictures == video.count { None } else { Some(end) };
        let mut before = begin;
        let mut frozen_ns = 0;
        for at in arrivals.chain(last) {
            frozen_ns += (at - before).as_nanos().saturating_sub(video.late.as_nanos());
            before = at;
        }
        let late = pictures.saturating_sub(written.iter().filter(in_time).count() as u32);
        Some(Watched { pictures, late, frozen_s: frozen_ns as f64 / 1e9 })
    }
}

#[cfg(test)]
mod tests {
    use kirikae_path::Span;

    use super::*;

    #[test]
    fn what_is_left_out_is_late_and_what_shows_no_change_is_frozen() {
        let millis = Span::from_millis;
        let video = Video {
            interval: millis(100),
            ladder: [1000].into(),
            key_every: 1,
            key_times: 1,
            late: millis(300),
            count: 10,
        };
        let write = |start, took| Written {
            activity: 0,
            start: Time::ZERO + millis(start),
            offset: 0,
            bytes: 1000,
            first: None,
            last: Some(Time::ZERO + millis(start + took)),
        };
        // The third picture comes after 0.7 s; five are left out.
        let written =
            [write(0, 50), write(100, 50), write(200, 700), write(800, 150), write(900, 50)];
        let watched = Watched::of(&video, &written, Time::ZERO + millis(2000)).unwrap();
        assert_eq!((watched.pictures, watched.late), (10, 6));
        assert!((watched.frozen_s - 0.45).abs() < 1e-9, "{watched:?}");
    }
}
