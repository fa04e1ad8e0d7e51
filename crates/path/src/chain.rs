use std::ops::Add;

use crate::{Dropped, Ecn, Element, Outcome, Packet, Span, Time, Waiting};

/// One direction of a path: its elements in the order in which packets meet them.
///
/// Everything inside happens at its exact time, however rarely and irregularly the driver calls:
/// a driver that comes late delivers late, but drops the same packets, and the lateness does not add
/// up. Events at the same time happen nearest the exit first, so a queue has room for a packet that
/// arrives as another leaves; an arrival from outside comes after all that was due by then.
///
/// The sink is told the time and the fate of each packet that leaves, in order of time.
pub struct Chain<P> {
    elements: Vec<Box<dyn Element<P> + Send>>,
    /// Each element's `next`, or [`NEVER`], kept here so that looking for the earliest touches no
    /// element.
    due: Vec<Time>,
    /// How long a packet takes at least from leaving each element to the exit.
    behind: Vec<Span>,
    /// The result of [`look`](Chain::look): the earliest of `due` with its element, the one nearest the exit
    /// if several are equal; and when a packet may leave, or [`NEVER`].
    first: (Time, usize),
    leaves: Time,
    now: Time,
    offered: u64,
    inside: u64,
}

/// A time that never comes.
const NEVER: Time = Time::from_nanos(u64::MAX);

impl<P> Chain<P> {
    /// A direction made of these elements; with none, packets pass untouched.
    pub fn new(elements: Vec<Box<dyn Element<P> + Send>>) -> Chain<P> {
        let due = elements.iter().map(|element| element.next().unwrap_or(NEVER)).collect();
        let mut behind = vec![Span::ZERO; elements.len()];
        for index in (1..elements.len()).rev() {
            behind[index - 1] = behind[index] + elements[index].least_delay();
        }
        let (first, leaves) = ((NEVER, 0), NEVER);
        let now = Time::ZERO;
        let mut chain = Chain { elements, due, behind, first, leaves, now, offered: 0, inside: 0 };
        chain.look();
        chain
    }

    /// A packet of `bytes` (IP length) with this ECN field enters at `now` and gets the next number.
    /// What was due until now happens first. Returns the packet's number.
    ///
    /// # Panics
    /// Panics if `now` is earlier than the latest time told.
    pub fn enqueue(
        &mut self,
        now: Time,
        bytes: u32,
        ecn: Ecn,
        payload: P,
        mut sink: impl FnMut(Time, Result<Packet<P>, Dropped<P>>),
    ) -> u64 {
        self.advance(now, &mut sink);
        let number = self.offered;
        self.offered += 1;
        self.inside += 1;
        self.hand_on(0, Packet { number, bytes, ecn, payload }, &mut sink);
        self.look();
        number
    }

    /// When [`advance`](Chain::advance) is to be called next, or `None` if nothing happens until a
    /// packet enters: no packet leaves earlier. What happens inside before may be left to that call;
    /// the sink then hears of packets dropped meanwhile later than they were. With cross traffic
    /// there is always something to do, even with nothing [`inside`](Chain::inside).
    pub fn next(&self) -> Option<Time> {
        (self.leaves != NEVER).then_some(self.leaves)
    }

    /// Lets everything happen that is due until `now` inclusive.
    ///
    /// # Panics
    /// Panics if `now` is earlier than the latest time told.
    pub fn advance(
        &mut self,
        now: Time,
        mut sink: impl FnMut(Time, Result<Packet<P>, Dropped<P>>),
    ) {
        while self.step(now, &mut sink).is_some() {}
    }

    /// The same as [`advance`](Chain::advance) in steps, for callers that look at it in between. Lets the
    /// next thing happen that is due until `now`, and returns its time; None if nothing is left to do.
    ///
    /// # Panics
    /// Panics if `now` is earlier than the latest time told.
    pub fn step(
        &mut self,
        now: Time,
        mut sink: impl FnMut(Time, Result<Packet<P>, Dropped<P>>),
    ) -> Option<Time> {
        assert!(now >= self.now, "time went back from {} to {now}", self.now);
        let (due, index) = self.first;
        if due > now || due == NEVER {
            self.now = now;
            return None;
        }
        assert!(due >= self.now, "an element asked for {due} at {}", self.now);
        self.now = due;
        let element = &mut self.elements[index];
        let outcome = element.dequeue(due);
        self.due[index] = element.next().unwrap_or(NEVER);
        self.settle(index, outcome, &mut sink);
        self.look();
        Some(due)
    }

    /// The number of packets that have entered.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// The number of packets that have entered and were neither delivered nor dropped yet.
    pub fn inside(&self) -> u64 {
        self.inside
    }

    /// How much waits for the links of its elements to be free.
    pub fn waiting(&self) -> Waiting {
        let waiting = self.elements.iter().map(|element| element.waiting());
        waiting.fold(Waiting::default(), Add::add)
    }

    /// Looks over the times that the elements ask for, after any of them has changed.
    fn look(&mut self) {
        (self.first, self.leaves) = ((NEVER, 0), NEVER);
        for (index, (&due, behind)) in self.due.iter().zip(&self.behind).enumerate() {
            if due <= self.first.0 {
                self.first = (due, index);
            }
            let leaves = due.as_nanos().saturating_add(behind.as_nanos());
            self.leaves = self.leaves.min(Time::from_nanos(leaves));
        }
    }

    /// Passes a packet to the element at `index` and on, until one keeps or drops it or it is out.
    fn hand_on(
        &mut self,
        mut index: usize,
        mut packet: Packet<P>,
        sink: &mut impl FnMut(Time, Result<Packet<P>, Dropped<P>>),
    ) {
        while let Some(element) = self.elements.get_mut(index) {
            let outcome = element.enqueue(self.now, packet);
            self.due[index] = element.next().unwrap_or(NEVER);
            match outcome {
                Outcome::Passed(passed) => packet = passed,
                Outcome::Held => return,
                Outcome::Dropped(dropped) => {
                    self.inside -= 1;
                    return sink(self.now, Err(dropped));
                }
            }
            index += 1;
        }
        self.inside -= 1;
        sink(self.now, Ok(packet));
    }

    fn settle(
        &mut self,
        index: usize,
        outcome: Outcome<P>,
        sink: &mut impl FnMut(Time, Result<Packet<P>, Dropped<P>>),
    ) {
        match outcome {
            Outcome::Held => {}
            Outcome::Passed(packet) => self.hand_on(index + 1, packet, sink),
            Outcome::Dropped(dropped) => {
                self.inside -= 1;
                sink(self.now, Err(dropped));
            }
        }
    }
}
