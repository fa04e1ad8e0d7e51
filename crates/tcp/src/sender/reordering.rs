//! How far the path was seen to deliver segments out of order: what RFC 8985 keeps as
//! RACK.reordering_seen, and the dupthresh that grows with it.

/// The kernel takes no more than this for reordering, segments (sysctl tcp_max_reordering).
const SEGMENTS_MAX: u32 = 300;

/// The reordering that was seen on a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reordering {
    segments: u32,
    seen: bool,
}

impl Reordering {
    /// None was seen yet, and so many segments are allowed for: dupthresh (RFC 5681).
    pub fn new(dupthresh: u32) -> Reordering {
        Reordering { segments: dupthresh, seen: false }
    }

    /// Segments that a SACKed one must be ahead of a hole before the hole is held for lost.
    pub fn segments(&self) -> u32 {
        self.segments
    }

    /// Whether any segment has arrived after a later one.
    pub fn is_seen(&self) -> bool {
        self.seen
    }

    /// A segment arrived after one that was so many segments ahead of it.
    pub fn note(&mut self, distance: u32) {
        if distance > self.segments {
            self.segments = distance.min(SEGMENTS_MAX);
        }
        self.seen = true;
    }

    /// A segment arrived late; how far it was behind is not known.
    pub fn note_any(&mut self) {
        self.seen = true;
    }

    /// Waiting for so much reordering has cost a timeout: no more than so many are allowed for.
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
