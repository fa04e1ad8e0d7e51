//! Finds that the path drops large packets without a word, and sends smaller ones (RFC 4821, section 7.7; Linux'
//! tcp_mtu_probing = 1).
//!
//! Only the way down is here. Linux tries larger segments again once data flows.

/// The size that is tried first, bytes of data (sysctl tcp_base_mss).
const BASE_MSS: u32 = 1_024;
/// No segment is made smaller than this, bytes of data (sysctls tcp_mtu_probe_floor, tcp_min_snd_mss).
const LEAST_MSS: u32 = 48;
/// Data has to be sent again in vain for so long before its size is blamed: three timeouts (sysctl tcp_retries1) that
/// begin at 200 ms and double take 3 s, whatever the connection's own timeout is.
const IN_VAIN_MS: u32 = 3_000;

/// What is known of the sizes that pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct MtuProbing {
    is_enabled: bool,
    /// The size that is held to pass, bytes of data. None: nothing has failed yet.
    low: Option<u32>,
}

impl MtuProbing {
    /// The state before any failure. If it is not enabled, it never changes.
    pub fn new(is_enabled: bool) -> MtuProbing {
        MtuProbing { is_enabled, low: None }
    }

    /// The retransmission timer has gone off while data has been sent again in vain for so long: returns the size of
    /// segments from now on, where segments of `mss` bytes may be what does not pass.
    pub fn timed_out(&mut self, in_vain_ms: u32, mss: u32) -> Option<u32> {
        if !self.is_enabled || in_vain_ms < IN_VAIN_MS {
            return None;
        }
        let low = self.low.map_or(BASE_MSS, |low| (low / 2).clamp(LEAST_MSS, BASE_MSS));
        self.low = Some(low);
        (low < mss).then_some(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_falls_with_each_timeout_after_three_seconds_in_vain() {
        let mut probing = MtuProbing::new(true);
        let mut mss = 8_948;
        let mut sizes = Vec::new();
        for in_vain_ms in [0, 600, 1_400, 2_999, 3_000, 12_400, 25_200, 50_800, 102_000, 222_000] {
            mss = probing.timed_out(in_vain_ms, mss).unwrap_or(mss);
            sizes.push(mss);
        }
        assert_eq!(sizes, [8_948, 8_948, 8_948, 8_948, 1_024, 512, 256, 128, 64, 48]);
        assert_eq!(probing.timed_out(342_000, mss), None, "it is the least");
    }

    #[test]
    fn segments_that_are_small_already_stay_as_they_are() {
        let mut probing = MtuProbing::new(true);
        assert_eq!(probing.timed_out(3_000, 536), None);
        assert_eq!(probing.timed_out(6_200, 536), Some(512));
    }

    #[test]
    fn without_it_no_size_is_tried() {
        assert_eq!(MtuProbing::new(false).timed_out(60_000, 8_948), None);
    }
}
