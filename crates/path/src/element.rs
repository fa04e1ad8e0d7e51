//! What every element of a path can do, and what can become of a packet in it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Packet, Span, Time, Waiting};

/// One piece of a path: a state machine that is told the time.
///
/// The driver (a [`Chain`](crate::Chain)) calls [`enqueue`](Element::enqueue) when a packet arrives
/// and [`dequeue`](Element::dequeue) at exactly the times that [`next`](Element::next) asked for, in
/// order of time. When a packet leaves need not be known when it arrives, and an element may drop
/// at either end.
pub trait Element<P> {
    /// A packet arrives. An element without a memory of packets answers at once; one that keeps
    /// packets answers [`Outcome::Held`] and asks for a time through `next`.
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P>;

    /// When `dequeue` is to be called next. Never earlier than the latest time the element was
    /// told; `None` while it waits for a packet to arrive.
    fn next(&self) -> Option<Time> {
        None
    }

    /// The least time between a packet's arrival and its leaving, whatever happens.
    fn least_delay(&self) -> Span {
        Span::ZERO
    }

    /// The time asked for has come. The element yields one packet, passed or dropped, or
    /// [`Outcome::Held`] if only its own state changed. If it has more to say at the same time,
    /// `next` keeps asking for that time.
    fn dequeue(&mut self, _now: Time) -> Outcome<P> {
        Outcome::Held
    }

    /// How many packets wait here for a link to be free; not those that are being sent or are under way.
    fn waiting(&self) -> Waiting {
        Waiting::default()
    }
}

/// What an element did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<P> {
    /// Nothing leaves the element now.
    Held,
    /// The packet leaves for the next element.
    Passed(Packet<P>),
    /// The packet is lost here.
    Dropped(Dropped<P>),
}

/// A packet that was lost, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The lost packet.
    pub packet: Packet<P>,
    /// The element's reason.
    pub cause: DropCause,
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropCause {
    /// [`IndependentLoss`](crate::IndependentLoss) drew it.
    IndependentLoss,
    /// [`GilbertElliott`](crate::GilbertElliott) drew it.
    GilbertElliott,
    /// Its number is on the list of a [`ListedLoss`](crate::ListedLoss).
    Listed,
    /// Part of a run that [`RunLoss`](crate::RunLoss) began.
    RunLoss,
    /// The queue before a link was full.
    QueueFull,
    /// It had waited too long in a queue with CoDel.
    CoDel,
    /// Neither it nor any of its retries passed a radio channel.
    RetriesExhausted,
    /// It arrived during an [`Outage`](crate::Outage).
    Outage,
    /// It was on a link that was given up for another, or came while there was none.
    LinkChange,
    /// It was larger than an [`Mtu`](crate::Mtu).
    TooLarge,
}

impl DropCause {
    /// Whether the channel lost the packet whatever the sender did, as opposed to a queue that the
    /// sender (or its competitors) filled.
    pub fn is_channel_loss(self) -> bool {
        !matches!(self, DropCause::QueueFull | DropCause::CoDel)
    }
}

impl fmt::Display for DropCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DropCause::IndependentLoss => "independent loss",
            DropCause::GilbertElliott => "Gilbert-Elliott loss",
            DropCause::Listed => "listed loss",
            DropCause::RunLoss => "run of losses",
            DropCause::QueueFull => "queue full",
            DropCause::CoDel => "CoDel",
            DropCause::RetriesExhausted => "retries exhausted",
            DropCause::Outage => "outage",
            DropCause::LinkChange => "link change",
            DropCause::TooLarge => "too large",
        })
    }
}
