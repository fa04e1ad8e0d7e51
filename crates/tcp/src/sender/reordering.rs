//! The reordering that was seen on the path: RACK.reordering_seen of RFC 8985, and the dupthresh that grows
//! with it.

/// The largest reordering that the kernel assumes, segments (sysctl tcp_max_reordering).
const SEGMENTS_MAX: u32 = 300;

/// The reordering that was seen on a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reordering {
    segments: u32,
    seen: bool,
}

impl Reordering {
    /// The state before reordering was seen; `dupthresh` segments are allowed for (RFC 5681).
    pub fn new(dupthresh: u32) -> Reordering {
        Reordering { segments: dupthresh, seen: false }
    }

    /// How many segments above a hole have to be SACKed before the hole counts as lost.
    pub fn segments(&self) -> u32 {
        self.segments
    }

    /// Whether any segment has arrived after one that was sent later.
    pub fn is_seen(&self) -> bool {
        self.seen
    }

    /// Notes that a segment arrived after one that was so many segments ahead of it.
    pub fn note(&mut self, distance: u32) {
        if distance > self.segments {
            self.segments = distance.min(SEGMENTS_MAX);
        }
        self.seen = true;
    }

    /// Notes that a segment arrived late, by an unknown distance.
    pub fn note_any(&mut self) {
        self.seen = true;
    }

    /// Limits the reordering that is allowed for, since waiting for it has cost a timeout.
    pub fn limit(&mut self, dupthresh: u32) {
        self.segments = self.segments.min(dupthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_what_is_seen_up_to_a_limit_and_falls_only_by_a_timeout() {
        let mut reordering = Reordering::new(3);
        assert!(!reordering.is_seen());
        let mut after = |distance| {
            reordering.note(distance);
            reordering.segments()
        };
        assert_eq!([after(2), after(7), after(5), after(1_000)], [3, 7, 7, 300]);
        reordering.limit(3);
        assert_eq!((reordering.segments(), reordering.is_seen()), (3, true));
    }
}
