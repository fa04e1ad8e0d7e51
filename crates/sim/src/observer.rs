//! Who watches a simulation.

use kirikae_path::{DropCause, Time};
use kirikae_tcp::{Endpoint, Segment};

use crate::simulation::{End, Hop};

/// Watches a simulation as it runs. What an observer does not listen to costs nothing.
pub trait Observer {
    /// A packet enters or leaves a link, or is lost in it. Told in order of time; but for losses
    /// behind an element that holds packets, which may be told when the next packet leaves.
    fn packet(&mut self, _passage: Passage<'_>) {}

    /// An end has dealt with a segment that it received.
    fn received(&mut self, _now: Time, _flow: usize, _end: End, _endpoint: &Endpoint) {}
}

/// Nobody watches.
impl Observer for () {}

/// A packet at one end of a link.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// When.
    pub at: Time,
    /// Where, and which way.
    pub hop: Hop,
    /// What becomes of it.
    pub step: Step,
    /// The flow's place among the simulation's.
    pub flow: usize,
    /// Sent by which end.
    pub from: End,
    /// What is in it.
    pub segment: &'a Segment,
}

/// What becomes of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It enters the link.
    Enters,
    /// It leaves the link, for the next one or its receiver.
    Leaves,
    /// It is lost in the link.
    Dropped(DropCause),
}
