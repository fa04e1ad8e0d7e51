//! The grid of a table: the paths on which latencies are measured, and the sizes of bursts.

use std::fmt;

/// The axes of a table. A *cell* is one round-trip time, rate and load; in each cell every condition is
/// measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Round-trip times without any waiting, microseconds, ascending.
    pub rtts_us: Vec<u32>,
    /// Rates of the bottleneck, bit/s, ascending.
    pub rates: Vec<u64>,
    /// Sizes of a burst, bytes, ascending. The largest stands for bulk, too.
    pub bursts: Vec<u32>,
    /// The demands of streams as shares of the rate, ascending.
    pub streams: Vec<f64>,
    /// What a path does that a connection cannot see and has to infer.
    pub conditions: Vec<Condition>,
}

/// What happens to packets beside delay and rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// Probability of isolated losses: that a packet is lost, independently of others.
    pub loss: f64,
    /// Probability of burst losses: that a run of [`BURST_LOSS_PACKETS`] lost packets begins.
    pub burst_loss: f64,
    /// Packets that the bottleneck's queue holds.
    pub queue: u32,
}

/// What the application asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// That many bytes at once, after idle time.
    Burst(u32),
    /// Writes without idle time between them, which ask for this share of the rate (0 to 1).
    Stream(f64),
}

/// Length of the runs of a condition's burst losses, packets.
pub const BURST_LOSS_PACKETS: u64 = 8;

/// A cell of a grid, and one of its conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Round-trip time, microseconds.
    pub rtt_us: u32,
    /// Rate of the bottleneck, bit/s.
    pub rate: u64,
    /// The load.
    pub load: Load,
    /// The condition of the path.
    pub condition: Condition,
}

/// What was measured of an algorithm at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expectation {
    /// Mean latency of a write, seconds.
    pub latency_s: f64,
    /// Segments lost in runs of at most 2, per segment sent.
    pub isolated: f64,
    /// Runs of at least 3 lost segments, per segment sent.
    pub bursts: f64,
}

impl Grid {
    /// The number of places.
    pub fn len(&self) -> usize {
        self.rtts_us.len() * self.rates.len() * self.loads() * self.conditions.len()
    }

    /// The number of loads: bursts, then streams.
    pub(crate) fn loads(&self) -> usize {
        self.bursts.len() + self.streams.len()
    }

    /// Whether an axis is without points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every place, in the order of a table's rows: conditions vary fastest, then loads, rates and
    /// round-trip times.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        (0..self.len()).map(|place| self.place(place))
    }

    /// The place with this number in that order.
    ///
    /// # Panics
    /// Panics if the number is [`len`](Grid::len) or more.
    pub fn place(&self, place: usize) -> Place {
        let (cell, condition) = split(place, self.conditions.len());
        let (cell, load) = split(cell, self.loads());
        let (rtt, rate) = split(cell, self.rates.len());
        Place {
            rtt_us: self.rtts_us[rtt],
            rate: self.rates[rate],
            load: match load.checked_sub(self.bursts.len()) {
                None => Load::Burst(self.bursts[load]),
                Some(stream) => Load::Stream(self.streams[stream]),
            },
            condition: self.conditions[condition],
        }
    }
}

impl Condition {
    /// How many times less likely the condition is than the best one, before anything is known of a path.
    /// Rare conditions are the bad ones: by far most paths lose next to nothing by themselves. It is better
    /// to expect too much of a path than too little: a worse path shows by its losses, but a better one may
    /// never show while an algorithm is in use that avoids losses.
    pub(crate) fn doubt(&self) -> f64 {
        const NEXT_TO_NOTHING: f64 = 1e-5;
        const DEEP: f64 = 1000.0;
        let heavier = |probability: f64| (probability / NEXT_TO_NOTHING).max(1.0).sqrt();
        let shallower = (DEEP / f64::from(self.queue)).max(1.0);
        heavier(self.loss) * heavier(self.burst_loss) * shallower
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Place { rtt_us, rate, load, condition } = self;
        let (rtt_ms, mbit) = (f64::from(*rtt_us) / 1e3, *rate as f64 / 1e6);
        write!(f, "RTT {rtt_ms} ms, {mbit} Mbit/s, {load}, {condition}")
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Burst(bytes) => write!(f, "bursts of {bytes} bytes"),
            Load::Stream(share) => write!(f, "a stream of {share} of the rate"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Condition { loss, burst_loss, queue } = self;
        write!(f, "loss {loss}, burst loss {burst_loss}, queue {queue}")
    }
}

fn split(number: usize, by: usize) -> (usize, usize) {
    (number / by, number % by)
}
