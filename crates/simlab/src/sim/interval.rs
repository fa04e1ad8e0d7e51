//! What arrives within a part of the time.

use std::ops::Range;

use kirikae_path::Time;
use kirikae_sim::{End, Observer};
use kirikae_tcp::Endpoint;

/// Counts what arrives in order from a time on and before another.
#[derive(Debug)]
pub struct Interval {
    time: Range<Time>,
    /// By flow, for what the client wrote and what the server wrote: bytes arrived before the interval
    /// began and before it ended.
    arrived: Vec<[Range<u64>; 2]>,
}

impl Interval {
    /// Of so many flows.
    pub fn new(time: Range<Time>, flows: usize) -> Interval {
        Interval { time, arrived: vec![[0..0, 0..0]; flows] }
    }

    /// So many bytes of what `from` wrote have arrived until now.
    pub fn note(&mut self, now: Time, flow: usize, from: End, arrived: u64) {
        let bytes = &mut self.arrived[flow][from as usize];
        if now < self.time.end {
            bytes.end = arrived;
        }
        if now < self.time.start {
            bytes.start = bytes.end;
        }
    }

    /// Bytes that arrived in it: of what the client wrote, of what the server wrote.
    pub fn arrived(&self, flow: usize) -> [u64; 2] {
        self.arrived[flow].clone().map(|bytes| bytes.end - bytes.start)
    }
}

impl Observer for Interval {
    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.note(now, flow, end.other(), endpoint.in_order());
    }
}
