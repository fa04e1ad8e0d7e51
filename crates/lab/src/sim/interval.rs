//! What arrives within a part of the simulated time.

use std::ops::Range;

use kirikae_path::Time;
use kirikae_sim::{End, Observer, Simulation};
use kirikae_tcp::Endpoint;

/// Counts what arrives in order from a time on and before another.
#[derive(Debug)]
pub(crate) struct Interval {
    time: Range<Time>,
    /// By flow, for what the client wrote and what the server wrote: bytes arrived before the interval
    /// began and before it ended.
    arrived: Vec<[Range<u64>; 2]>,
}

impl Interval {
    pub fn new(time: Range<Time>, simulation: &Simulation) -> Interval {
        Interval { time, arrived: vec![[0..0, 0..0]; simulation.flows.len()] }
    }

    /// When it is.
    pub fn time(&self) -> &Range<Time> {
        &self.time
    }

    /// Bytes that arrived in it: of what the client wrote, of what the server wrote.
    pub fn arrived(&self, flow: usize) -> [u64; 2] {
        self.arrived[flow].clone().map(|bytes| bytes.end - bytes.start)
    }
}

impl Observer for Interval {
    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        let bytes = &mut self.arrived[flow][end.other() as usize];
        if now < self.time.end {
            bytes.end = endpoint.in_order();
        }
        if now < self.time.start {
            bytes.start = bytes.end;
        }
    }
}
