//! Who watches a simulation.

use kirikae_path::{Chain, DropCause, Hop, Time, Waiting};
use kirikae_tcp::{Endpoint, Segment};

use crate::simulation::End;

/// Watches a simulation as it runs. What an observer does not listen to costs nothing.
pub trait Observer {
    /// A packet enters or leaves a link, or is lost in it. Told in order of time; but for losses
    /// behind an element that holds packets, which may be told when the next packet leaves.
    fn packet(&mut self, _passage: Passage<'_>) {}

    /// What waits in a link may have changed. Links are looked at when somebody has to wait for them:
    /// this is told in order of time for each direction, but later than it was.
    fn link(&mut self, _state: LinkState<'_>) {}

    /// An end has dealt with a segment that it received.
    fn received(&mut self, _now: Time, _flow: usize, _end: End, _endpoint: &Endpoint) {}

    /// An end's timers or its application may have done something.
    fn acted(&mut self, _now: Time, _flow: usize, _end: End, _endpoint: &Endpoint) {}
}

/// An observer that watches nothing.
impl Observer for () {}

/// An observer that may be missing.
impl<O: Observer> Observer for Option<O> {
    fn packet(&mut self, passage: Passage<'_>) {
        self.iter_mut().for_each(|observer| observer.packet(passage));
    }

    fn link(&mut self, state: LinkState<'_>) {
        self.iter_mut().for_each(|observer| observer.link(state));
    }

    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.iter_mut().for_each(|observer| observer.received(now, flow, end, endpoint));
    }

    fn acted(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.iter_mut().for_each(|observer| observer.acted(now, flow, end, endpoint));
    }
}

/// Two observers, of which the first is told first.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn packet(&mut self, passage: Passage<'_>) {
        self.0.packet(passage);
        self.1.packet(passage);
    }

    fn link(&mut self, state: LinkState<'_>) {
        self.0.link(state);
        self.1.link(state);
    }

    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.0.received(now, flow, end, endpoint);
        self.1.received(now, flow, end, endpoint);
    }

    fn acted(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.0.acted(now, flow, end, endpoint);
        self.1.acted(now, flow, end, endpoint);
    }
}

/// A direction of a link.
#[derive(Clone, Copy)]
pub struct LinkState<'a> {
    /// The time at which it is told.
    pub at: Time,
    /// The link and its direction.
    pub hop: Hop,
    pub(crate) chain: &'a Chain<u32>,
}

impl LinkState<'_> {
    /// How much waits for it to be free.
    pub fn waiting(&self) -> Waiting {
        self.chain.waiting()
    }
}

/// A packet at one end of a link.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// When it was there.
    pub at: Time,
    /// The link and its direction.
    pub hop: Hop,
    /// What becomes of it.
    pub step: Step,
    /// The flow's place among the simulation's.
    pub flow: usize,
    /// The end that sent it, or in whose place a relay did.
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
