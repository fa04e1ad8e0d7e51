//! A Snoop agent: it stands before the link on which a connection ends, keeps what goes there until it is ACKed,
//! sends again what that link has lost, and hides from the sender that anything was missing.
//!
//! Source: H. Balakrishnan, S. Seshan, R. H. Katz, "Improving Reliable Transport and Handoff Performance in
//! Cellular Wireless Networks", Wireless Networks 1(4), 1995. Deliberate differences:
//!
//! 1. It reads SACK blocks, which the hosts of 1995 did not send, and takes them out of the ACKs where what is
//!    missing next is in its cache. Where it is not, it was lost before the agent, and the sender is told. Without
//!    SACK only the agent's timer tells it of a loss.
//! 2. A segment is lost if one that entered the link after it has arrived: a link keeps the order. That holds for
//!    what was sent again as well.
//! 3. The agent's timer is the smoothed round-trip time beyond it and four times its variation, at least 50 ms
//!    more than the former, so that a delayed ACK is waited for, and doubles each time.
//! 4. The cache holds all that is in flight. What the mobile host sends is not looked at: there are no NACKs.

use std::collections::BTreeMap;

use kirikae_path::{Direction, Hop, Span, Time};
use kirikae_tcp::Segment;

use crate::simulation::{End, Routes};

/// The timer before there is a round trip to set it by (RFC 6298, section 2).
const FIRST_TIMER: Span = Span::from_secs(1);
/// What a receiver may hold an ACK back, and some more.
const ALLOWANCE: Span = Span::from_millis(50);
/// The timer doubles so often at most.
const DOUBLINGS: u32 = 6;

/// The agent of a connection.
#[derive(Debug)]
pub(crate) struct Snoop {
    link: usize,
    /// The end whose data goes forward on the link.
    sender: End,
    /// The link's place on the way from there.
    hop: u16,
    /// What has entered the link and is not ACKed, by sequence number.
    cache: BTreeMap<u64, Cached>,
    /// The highest number that was ACKed, and the window that came with the latest ACK.
    acked: u64,
    window: u32,
    /// When that number last grew.
    advanced: Time,
    /// Counts what enters the link.
    entered: u64,
    /// The count of the latest that has arrived.
    arrived: u64,
    /// Whether anything was sent again, so that the receiver may have something twice.
    has_repaired: bool,
    /// Smoothed round-trip time beyond the agent, and its variation, nanoseconds.
    rtt: Option<(u64, u64)>,
    doublings: u32,
    timer: Option<Time>,
}

#[derive(Debug)]
struct Cached {
    segment: Segment,
    /// When it entered the link last, and the count then.
    at: Time,
    number: u64,
    again: bool,
    sacked: bool,
}

impl Snoop {
    /// The agent before this link, if the connection's data goes forward there.
    pub fn new(link: usize, routes: &Routes) -> Option<Snoop> {
        let there = Hop { link, direction: Direction::Forward };
        let place = |end: End| routes.from(end).iter().position(|hop| *hop == there);
        let (sender, hop) = End::BOTH.into_iter().find_map(|end| Some((end, place(end)?)))?;
        let back = Hop { link, direction: Direction::Backward };
        routes.from(sender.other()).contains(&back).then_some(())?;
        Some(Snoop {
            link,
            sender,
            hop: hop as u16,
            cache: BTreeMap::new(),
            acked: 0,
            window: 0,
            advanced: Time::ZERO,
            entered: 0,
            arrived: 0,
            has_repaired: false,
            rtt: None,
            doublings: 0,
            timer: None,
        })
    }

    /// The end whose data it keeps, and the place of its link on the way from there.
    pub fn place(&self) -> (End, u16) {
        (self.sender, self.hop)
    }

    /// When its timer goes off.
    pub fn timer(&self) -> Option<Time> {
        self.timer
    }

    /// A segment from an end enters a link.
    pub fn enters(&mut self, now: Time, from: End, hop: Hop, segment: &Segment) {
        let there = Hop { link: self.link, direction: Direction::Forward };
        if from != self.sender || hop != there || segment.len == 0 || segment.end() <= self.acked {
            return;
        }
        self.entered += 1;
        let (number, segment) = (self.entered, segment.clone());
        let again = self.cache.contains_key(&segment.seq);
        let cached = Cached { segment, at: now, number, again, sacked: false };
        self.cache.insert(cached.segment.seq, cached);
        self.set_timer(now);
    }

    /// A segment from an end has left a link. `again` gets what is to enter the agent's link again. Returns
    /// whether the segment goes on.
    pub fn leaves(
        &mut self,
        now: Time,
        from: End,
        hop: Hop,
        segment: &mut Segment,
        again: &mut Vec<Segment>,
    ) -> bool {
        let back = Hop { link: self.link, direction: Direction::Backward };
        if from == self.sender || hop != back || segment.syn || segment.ack < self.acked {
            return true;
        }
        let advances = segment.ack > self.acked;
        if advances {
            self.acknowledge(now, segment.ack);
        }
        self.note_sacked(segment);
        let lost = self.cache.values().filter(|it| !it.sacked && it.number < self.arrived);
        let before = again.len();
        again.extend(lost.map(|cached| cached.segment.clone()));
        self.has_repaired |= again.len() > before;
        let hides_hole = self.hide(segment);
        let is_duplicate = hides_hole && !advances && segment.window == self.window;
        self.window = segment.window;
        self.set_timer(now);
        !is_duplicate || segment.len > 0
    }

    /// Its timer may have gone off: then what is missing next is to enter the link again.
    pub fn on_timer(&mut self, now: Time, again: &mut Vec<Segment>) {
        if self.timer.is_none_or(|timer| timer > now) {
            return;
        }
        self.doublings = (self.doublings + 1).min(DOUBLINGS);
        self.has_repaired = true;
        again.extend(self.missing().map(|cached| cached.segment.clone()));
    }

    fn acknowledge(&mut self, now: Time, ack: u64) {
        let mut latest: Option<Cached> = None;
        while let Some(first) = self.cache.first_entry()
            && first.get().segment.end() <= ack
        {
            let cached = first.remove();
            self.arrived = self.arrived.max(cached.number);
            latest = Some(cached);
        }
        if let Some(cached) = latest.filter(|cached| !cached.again && !cached.sacked) {
            self.sample((now - cached.at).as_nanos());
        }
        self.acked = ack;
        self.advanced = now;
        self.doublings = 0;
    }

    fn note_sacked(&mut self, segment: &Segment) {
        for block in segment.sack_blocks() {
            for cached in self.cache.range_mut(block.start..block.end).map(|(_, cached)| cached) {
                if cached.segment.end() <= block.end {
                    cached.sacked = true;
                    self.arrived = self.arrived.max(cached.number);
                }
            }
        }
    }

    /// Takes the SACK blocks out of an ACK, if what they tell is the agent's affair. Returns whether they told of a
    /// hole. An ACK that tells of none goes on in any case: if the one before it was lost on the wire, the sender
    /// waits for it.
    fn hide(&self, segment: &mut Segment) -> bool {
        let blocks = segment.sack_blocks();
        let is_hole = blocks.iter().any(|block| block.end > segment.ack);
        // Without a hole it is a DSACK.
        let is_ours =
            if is_hole { self.cache.contains_key(&segment.ack) } else { self.has_repaired };
        if is_ours {
            segment.sack = None;
        }
        is_ours && is_hole
    }

    /// RFC 6298, section 2.
    fn sample(&mut self, rtt: u64) {
        self.rtt = Some(match self.rtt {
            None => (rtt, rtt / 2),
            Some((smoothed, variation)) => {
                ((7 * smoothed + rtt) / 8, (3 * variation + smoothed.abs_diff(rtt)) / 4)
            }
        });
    }

    /// What is missing next.
    fn missing(&self) -> Option<&Cached> {
        self.cache.values().find(|cached| !cached.sacked)
    }

    /// It runs from when the segment that is missing next entered the link, or from the latest progress.
    fn set_timer(&mut self, now: Time) {
        let wait = match self.rtt {
            None => FIRST_TIMER.as_nanos(),
            Some((rtt, variation)) => rtt + (4 * variation).max(ALLOWANCE.as_nanos()),
        };
        let wait = Span::from_nanos(wait << self.doublings);
        self.timer = self.missing().map(|it| (it.at.max(self.advanced) + wait).max(now));
    }
}
