//! The segments in flight, sent and not cumulatively ACKed, and what is known of each.

use std::collections::VecDeque;
use std::ops::Range;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub seq: u64,
    /// Bytes of data.
    pub len: u32,
    /// Whether the receiver has it (SACK).
    pub sacked: bool,
    /// Whether it counts as lost, and no retransmission of it counts as delivered.
    pub lost: bool,
    /// Whether a retransmission of it is in flight.
    pub retransmitted: bool,
    /// Whether its first transmission took too long. It is not checked again, even if the reaction to it is
    /// undone: Linux does so, too, and then has to wait for the timeout.
    pub expired: bool,
    /// Whether it was ever sent again, so that its RTT is ambiguous (Karn).
    pub ever_retransmitted: bool,
    /// When it was last sent, microseconds.
    pub sent_us: u64,
    /// The connection's state of delivery when it was last sent.
    pub at_sending: AtSending,
}

/// What a segment remembers of the connection's delivery when it is sent (delivery_rate.rs).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AtSending {
    /// When the first segment of the present flight was sent, microseconds.
    pub first_sent_us: u64,
    /// When the latest delivery was reported, microseconds; 0 if a sample has used it already.
    pub delivered_us: u64,
    /// Number of segments delivered in all.
    pub delivered: u32,
    /// Whether the application, and not the window, was the limit then.
    pub app_limited: bool,
}

impl Sent {
    /// A segment that leaves for the first time.
    pub fn new(seq: u64, len: u32, sent_us: u64, at_sending: AtSending) -> Sent {
        Sent {
            seq,
            len,
            sacked: false,
            lost: false,
            retransmitted: false,
            expired: false,
            ever_retransmitted: false,
            sent_us,
            at_sending,
        }
    }

    /// Sequence number after the segment.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

/// A transmission's place in the order of sending: by time, and then by sequence number.
pub(super) type SendOrder = (u64, u64);

/// A retransmission; the list is in the order in which they were sent.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    seq: u64,
    sent_us: u64,
    /// `snd_nxt` when it was sent.
    nxt: u64,
}

/// The segments in flight in the order of their sequence numbers.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Retransmissions in the order of sending; some may be out of date.
    retransmissions: VecDeque<Retransmission>,
    /// The ranges that the receiver has beyond the cumulative ACK: in order, and none touches another.
    sacked: Vec<Range<u64>>,
    /// Each segment below this has been SACKed, has expired or was sent again. So the oldest that was sent
    /// only once, and may still expire, is at or above it.
    first_transmissions_from: u64,
    /// No segment below this counts as lost without having been sent again.
    retransmit_from: u64,
}

impl Scoreboard {
    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Adds a segment that leaves for the first time; it is the highest.
    pub fn push(&mut self, sent: Sent) {
        self.segments.push_back(sent);
    }

    /// Bytes on their way: those that are neither SACKed nor lost, and those that were sent again.
    pub fn bytes_in_flight(&self) -> u64 {
        let bytes = |sent: &Sent| {
            let times = u64::from(!sent.sacked && !sent.lost) + u64::from(sent.retransmitted);
            times * u64::from(sent.len)
        };
        self.segments.iter().map(bytes).sum()
    }

    /// The lowest segment in flight.
    pub fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// The segment at `index`, to be changed.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Sent> {
        self.segments.get_mut(index)
    }

    /// The segment at `index`.
    pub fn get(&self, index: usize) -> Option<&Sent> {
        self.segments.get(index)
    }

    /// Segments in flight.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Takes out the first segment if all of it lies below `ack`. If only a part does, that part is cut off.
    pub fn pop_acked(&mut self, ack: u64) -> Option<Sent> {
        let first = self.segments.front_mut()?;
        if first.end() <= ack {
            return self.segments.pop_front();
        }
        if first.seq < ack {
            first.len = (first.end() - ack) as u32;
            first.seq = ack;
        }
        None
    }

    /// Cuts the segment at `index` into segments of `mss` bytes at most; returns how many more there are then. The
    /// same is known of each.
    pub fn split(&mut self, index: usize, mss: u32) -> u32 {
        let mut more = 0;
        while let Some(sent) = self.segments.get_mut(index + more as usize)
            && sent.len > mss
        {
            let rest = Sent { seq: sent.seq + u64::from(mss), len: sent.len - mss, ..*sent };
            sent.len = mss;
            more += 1;
            self.segments.insert(index + more as usize, rest);
        }
        more
    }

    /// Removes what was known of the stream below `ack`.
    pub fn forget_below(&mut self, ack: u64) {
        let beyond = self.sacked.iter().position(|range| range.end > ack);
        self.sacked.drain(..beyond.unwrap_or(self.sacked.len()));
        if self.segments.is_empty() {
            self.retransmissions.clear();
            if self.segments.capacity() > IDLE_CAPACITY {
                *self = Scoreboard::default();
            }
        }
    }

    /// Index of the segment that contains `seq`; the number of segments if it lies beyond them.
    pub fn position(&self, seq: u64) -> usize {
        self.segments.partition_point(|sent| sent.end() <= seq)
    }

    /// End of the highest range that the receiver has reported.
    pub fn highest_sacked(&self) -> Option<u64> {
        self.sacked.last().map(|range| range.end)
    }

    /// Adds a block; returns the parts that the receiver had not reported before.
    pub fn add_sacked(&mut self, block: &Range<u64>) -> Vec<Range<u64>> {
        let from = self.sacked.partition_point(|range| range.end < block.start);
        let to = self.sacked.partition_point(|range| range.start <= block.end);
        let mut news = Vec::new();
        let mut at = block.start;
        for old in &self.sacked[from..to] {
            if at < old.start {
                news.push(at..old.start);
            }
            at = at.max(old.end);
        }
        if at < block.end {
            news.push(at..block.end);
        }
        if !news.is_empty() {
            let touched = &self.sacked[from..to];
            let start = touched.first().map_or(block.start, |old| old.start.min(block.start));
            let end = touched.last().map_or(block.end, |old| old.end.max(block.end));
            self.sacked.splice(from..to, std::iter::once(start..end));
        }
        news
    }

    /// Assumes that the receiver has nothing beyond the cumulative ACK any more.
    pub fn clear_sacked(&mut self) {
        self.sacked.clear();
        self.segments.iter_mut().for_each(|sent| sent.sacked = false);
    }

    /// Index of the first segment from `retransmit_from` on that is lost and not sent again.
    pub fn next_to_retransmit(&mut self) -> Option<usize> {
        let mut index = self.position(self.retransmit_from);
        while let Some(sent) = self.segments.get(index) {
            if sent.lost && !sent.sacked && !sent.retransmitted {
                self.retransmit_from = sent.seq;
                return Some(index);
            }
            index += 1;
        }
        self.retransmit_from = self.segments.back().map_or(0, Sent::end);
        None
    }

    /// Notes that the segment at `index` counts as lost from now on and so may be sent again.
    pub fn marked_lost(&mut self, index: usize) {
        self.retransmit_from = self.retransmit_from.min(self.segments[index].seq);
    }

    /// Notes that the segment at `index` has been sent again, when `nxt` was to be sent next.
    pub fn sent_again(&mut self, index: usize, nxt: u64) {
        let Sent { seq, sent_us, .. } = self.segments[index];
        self.retransmissions.push_back(Retransmission { seq, sent_us, nxt });
    }

    /// Index of the first segment below the highest SACKed one that is neither SACKed nor sent again, whether
    /// or not it counts as lost.
    pub fn next_hole(&self) -> Option<usize> {
        let highest = self.position(self.highest_sacked()?);
        (0..highest).find(|index| {
            let sent = &self.segments[*index];
            !sent.sacked && !sent.retransmitted
        })
    }

    /// Indices of the retransmissions in flight after which new data was sent that has been SACKed, unless
    /// that is the very next segment. Each is returned only once.
    pub fn overtaken(&mut self) -> Vec<usize> {
        let Some(last) = self.highest_sacked().map(|end| self.position(end - 1)) else {
            return Vec::new();
        };
        let highest = self.segments.get(last).map_or(0, |sent| sent.seq);
        let mut found = Vec::new();
        while let Some(&Retransmission { seq, sent_us, .. }) =
            self.retransmissions.front().filter(|again| again.nxt < highest)
        {
            let index = self.position(seq);
            let current = self.segments.get(index).is_some_and(|sent| {
                sent.seq <= seq && sent.retransmitted && !sent.sacked && sent.sent_us == sent_us
            });
            found.extend(current.then_some(index));
            self.retransmissions.pop_front();
        }
        found
    }

    /// Removes all marks of loss.
    pub fn unmark_lost(&mut self) {
        self.segments.iter_mut().for_each(|sent| sent.lost = false);
    }

    /// Indices of the transmissions in flight that were sent before `latest` and for which `expired` returns
    /// true. It is called for all that were sent before `latest`.
    pub fn expired(
        &mut self,
        latest: SendOrder,
        mut expired: impl FnMut(&Sent) -> bool,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        self.expired_retransmissions(latest, &mut expired, &mut found);
        let mut all_judged = true;
        let mut index = self.position(self.first_transmissions_from);
        while let Some(sent) = self.segments.get_mut(index) {
            if sent.sacked || sent.expired || sent.ever_retransmitted {
                // Its first transmission needs no more checks.
            } else if sent.lost {
                all_judged = false; // by a timeout, which may be taken back
            } else if (sent.sent_us, sent.end()) >= latest {
                break;
            } else if expired(sent) {
                sent.expired = true;
                found.push(index);
            } else {
                all_judged = false;
            }
            if all_judged {
                self.first_transmissions_from = sent.end();
            }
            index += 1;
        }
        found
    }

    /// Adds to `found` the indices of retransmissions that have expired.
    fn expired_retransmissions(
        &mut self,
        latest: SendOrder,
        expired: &mut impl FnMut(&Sent) -> bool,
        found: &mut Vec<usize>,
    ) {
        let mut at = 0;
        while let Some(&Retransmission { seq, sent_us, .. }) = self.retransmissions.get(at) {
            let index = self.position(seq);
            let current = self.segments.get(index).filter(|sent| {
                let out = sent.retransmitted || !sent.lost; // a probe's is not held for lost
                sent.seq <= seq && out && !sent.sacked && sent.sent_us == sent_us
            });
            match current {
                Some(sent) if (sent_us, sent.end()) >= latest => break,
                Some(sent) if !expired(sent) => {
                    at += 1;
                    continue;
                }
                Some(_) => found.push(index),
                None => {} // delivered, or sent once more since
            }
            self.retransmissions.remove(at);
        }
    }
}

/// An idle connection frees more room than this.
const IDLE_CAPACITY: usize = 8;

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    /// Ten segments of 100 bytes from 1 on, sent a microsecond apart, the first at 1 us.
    fn ten() -> Scoreboard {
        let mut board = Scoreboard::default();
        for n in 0..10 {
            board.push(Sent::new(1 + 100 * n, 100, 1 + n, AtSending::default()));
        }
        board
    }

    fn send_again(board: &mut Scoreboard, index: usize, sent_us: u64) {
        let sent = board.get_mut(index).unwrap();
        (sent.retransmitted, sent.ever_retransmitted, sent.sent_us) = (true, true, sent_us);
        board.sent_again(index, 1001);
    }

    #[test]
    fn only_news_of_a_block_is_told() {
        let mut board = ten();
        assert_eq!(board.add_sacked(&(201..301)), [201..301]);
        assert_eq!(board.add_sacked(&(401..501)), [401..501]);
        assert_eq!(board.add_sacked(&(201..601)), [301..401, 501..601]);
        assert_eq!(board.add_sacked(&(201..601)), []);
        assert_eq!(board.sacked, [201..601]);
        // Ranges that only touch become one.
        assert_eq!(board.add_sacked(&(601..701)), [601..701]);
        assert_eq!(board.add_sacked(&(801..901)), [801..901]);
        assert_eq!(board.sacked, [201..701, 801..901]);
        assert_eq!(board.highest_sacked(), Some(901));
    }

    #[test]
    fn an_ack_within_a_segment_cuts_it() {
        let mut board = ten();
        assert_eq!(board.pop_acked(151).map(|sent| sent.seq), Some(1));
        assert!(board.pop_acked(151).is_none());
        assert_eq!(board.first().map(|sent| (sent.seq, sent.len)), Some((151, 50)));
        assert_eq!((board.position(151), board.position(201), board.position(9999)), (0, 1, 9));
    }

    #[test]
    fn a_segment_that_is_too_large_is_cut_and_keeps_what_is_known_of_it() {
        let mut board = ten();
        board.get_mut(2).unwrap().lost = true;
        assert_eq!(board.split(2, 40), 2);
        let cut: Vec<_> =
            (1..6).filter_map(|n| board.get(n)).map(|it| (it.seq, it.len, it.lost)).collect();
        let expected = [
            (101, 100, false),
            (201, 40, true),
            (241, 40, true),
            (281, 20, true),
            (301, 100, false),
        ];
        assert_eq!(cut, expected);
        assert_eq!((board.len(), board.split(1, 100), board.split(99, 40)), (12, 0, 0));
    }

    #[test]
    fn what_is_lost_is_sent_again_once_and_lowest_first() {
        let mut board = ten();
        for index in [6, 2] {
            board.get_mut(index).unwrap().lost = true;
            board.marked_lost(index);
        }
        assert_eq!(board.next_to_retransmit(), Some(2));
        send_again(&mut board, 2, 20);
        assert_eq!(board.next_to_retransmit(), Some(6));
        send_again(&mut board, 6, 21);
        assert_eq!(board.next_to_retransmit(), None);
        // It is lost once more.
        board.get_mut(2).unwrap().retransmitted = false;
        board.marked_lost(2);
        assert_eq!(board.next_to_retransmit(), Some(2));
    }

    #[test]
    fn transmissions_are_judged_in_the_order_of_sending() {
        let mut board = ten();
        // 0 and 1 were found lost and sent again at 20 and 21 us.
        assert_eq!(board.expired((3, 0), |_| true), [0, 1]);
        for (index, sent_us) in [(0, 20), (1, 21)] {
            board.get_mut(index).unwrap().lost = true;
            send_again(&mut board, index, sent_us);
        }
        // What left at 5 us was delivered, so those before it are checked that have not been yet.
        let mut asked = Vec::new();
        let none = board.expired((5, 401), |sent| {
            asked.push(sent.seq);
            false
        });
        assert_eq!((none, asked), (vec![], vec![201, 301]));
        // What left at 21 us was delivered, and the first retransmission is older.
        board.get_mut(1).unwrap().sacked = true;
        let found = board.expired((21, 201), |sent| sent.sent_us > 10);
        assert_eq!(found, [0]);
    }
}
