//! The receive window of the other end as it was last announced (RFC 9293, section 3.10.7.4).

/// How much the other end allows to be in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerWindow {
    /// SND.WND, already scaled.
    bytes: u32,
    /// SND.WL1: sequence number of the segment that announced the window.
    seq: u64,
    /// The largest so far, bytes (max_window).
    largest: u32,
}

impl PeerWindow {
    /// A closed window, before the first segment, which has sequence number `seq`.
    pub fn closed(seq: u64) -> PeerWindow {
        PeerWindow { bytes: 0, seq, largest: 0 }
    }

    /// The window in bytes, from the first byte that is not ACKed on.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Sets the window that the handshake told.
    pub fn set(&mut self, bytes: u32) {
        self.bytes = bytes;
        self.largest = self.largest.max(bytes);
    }

    /// The largest window so far, bytes.
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// Whether a segment that announces this window is newer than what is known. If two segments have the
    /// same sequence number and ACK, the later one is not known: then a larger window counts, and a closed
    /// one.
    pub fn is_news(&self, seq: u64, bytes: u32, una_advanced: bool) -> bool {
        let is_same = seq == self.seq && (bytes > self.bytes || bytes == 0);
        una_advanced || seq > self.seq || is_same
    }

    /// Takes the window that a segment with this sequence number announces. Returns whether it has changed.
    pub fn update(&mut self, seq: u64, bytes: u32) -> bool {
        let changes = bytes != self.bytes;
        *self = PeerWindow { bytes, seq, largest: self.largest.max(bytes) };
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_segment_does_not_shrink_the_window() {
        let mut window = PeerWindow::closed(1);
        assert!(window.update(101, 50_000));
        assert!(!window.is_news(1, 60_000, false), "it was overtaken");
        assert!(window.is_news(102, 40_000, false), "it is later");
        assert!(window.is_news(1, 40_000, true), "it ACKs something new");
        assert!(!window.is_news(101, 40_000, false), "which of the two is later is not known");
        assert!(window.is_news(101, 60_000, false) && window.is_news(101, 0, false));
        assert!(!window.update(102, 50_000) && window.update(103, 0));
        assert_eq!(window.bytes(), 0);
    }
}
