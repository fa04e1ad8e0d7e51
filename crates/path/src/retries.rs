//! Retries that occupy the link, as in IEEE 802.11: each is a frame of its own.

use serde::Serialize;

use crate::GilbertElliott;
use crate::check::{Unfit, check};
use crate::gilbert_elliott::GilbertElliottSpec;

/// Frames that may be lost, and how often a lost one is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RetrySpec {
    /// The channel that each frame meets, in the order in which frames are sent.
    pub channel: GilbertElliottSpec,
    /// Number of retries; a packet is lost if its first frame and all of these were. At most 255.
    pub limit: u32,
}

impl RetrySpec {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        self.channel.check()?;
        check(self.limit <= 255, "limit", self.limit, "at most 255")
    }
}

/// Draws the frames of one packet after the other. Which frames are lost depends only on how many there were
/// before, so that packet n takes as many frames whoever sends it.
#[derive(Debug)]
pub(crate) struct Retries {
    channel: GilbertElliott,
    limit: u32,
}

impl Retries {
    pub fn new(spec: RetrySpec, seed: u64) -> Retries {
        Retries { channel: GilbertElliott::new(spec.channel, seed), limit: spec.limit }
    }

    /// How many frames the next packet takes, and whether the last of them passes.
    pub fn frames(&mut self) -> (u32, bool) {
        for retry in 0..=self.limit {
            if self.channel.passes() {
                return (retry + 1, true);
            }
        }
        (self.limit + 1, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_losses_are_those_of_theory() {
        // Independent frames, lost with e = 0.3, at most 3 of them: a packet is lost with e^3 =
        // 0.027 and takes 1 + e + e^2 = 1.39 frames. n = 10^6: standard deviations 0.000162 and
        // sqrt(1*0.7 + 4*0.21 + 9*0.09 - 1.39^2)/1000 = 0.000647; 4 of them either way.
        let channel = GilbertElliottSpec { p: 0.0, r: 1.0, k: 0.7, h: 0.0 };
        let mut retries = Retries::new(RetrySpec { channel, limit: 2 }, 1);
        let (mut frames, mut lost) = (0, 0);
        for _ in 0..1_000_000 {
            let (taken, passed) = retries.frames();
            frames += taken;
            lost += u32::from(!passed);
        }
        assert!((f64::from(lost) / 1e6 - 0.027).abs() < 0.000_65, "{lost}");
        assert!((f64::from(frames) / 1e6 - 1.39).abs() < 0.002_6, "{frames}");
    }

    #[test]
    fn a_bad_channel_outlasts_the_retries() {
        // From the first frame on the channel is bad for ever, and loses all frames.
        let channel = GilbertElliottSpec { p: 1.0, r: 0.0, k: 1.0, h: 0.0 };
        let mut retries = Retries::new(RetrySpec { channel, limit: 7 }, 1);
        assert_eq!([retries.frames(), retries.frames()], [(1, true), (8, false)]);
    }
}
