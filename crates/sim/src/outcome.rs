//! What came of a simulation.

use std::collections::BTreeMap;
use std::ops::Range;

use kirikae_algorithms::{Losses, Switch};
use kirikae_path::{DropCause, Hop, Span, Time};
use serde::{Deserialize, Serialize};

use crate::parcels::Parcel;
use crate::simulation::End;
use crate::stream::Written;

/// What came of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// When it ended: at its duration, or once all flows had nothing left to do.
    pub end: Time,
    /// One for each flow, in their order.
    pub flows: Vec<FlowOutcome>,
    /// The directions of the links: forward and backward of each, in their order.
    pub links: Vec<DirectionOutcome>,
    /// The flows that had something left to do.
    pub left: Vec<Left>,
    /// How much was simulated.
    pub counters: Counters,
}

/// What came of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowOutcome {
    /// The switches of the congestion control, in order of time: those of the client and those of the server.
    pub switches: Vec<(Time, Switch)>,
    /// What the end with a switcher lost, as that counts it: the client where both have one.
    pub losses: Option<Losses>,
    /// What the client wrote.
    pub client: Vec<Written>,
    /// What the server wrote.
    pub server: Vec<Written>,
    /// What each end sent for it: first the client, then the server.
    pub traffic: [Traffic; 2],
}

/// What one end of a flow sent, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes that could be read in order at the other end.
    pub arrived: u64,
    /// Segments with data that it sent.
    pub segments: u64,
    /// How many of them it had sent before.
    pub retransmissions: u64,
    /// Its smoothed round-trip time at the end, if there was a sample.
    pub srtt: Option<Span>,
}

/// A flow that had something left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The flow's place among the simulation's.
    pub flow: usize,
    /// Bytes written that could not yet be read, both ways; those of an unlimited write excepted.
    pub bytes: u64,
    /// Whether its applications were to write more.
    pub more: bool,
}

/// What one direction of a link did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionOutcome {
    /// The link and its direction.
    pub hop: Hop,
    /// Packets that entered.
    pub offered: u64,
    /// Packets that left.
    pub delivered: u64,
    /// Packets dropped, by cause.
    pub dropped: BTreeMap<DropCause, u64>,
    /// Packets still under way at the end.
    pub inside: u64,
    /// Every packet dropped, in order of time.
    pub drops: Vec<DroppedPacket>,
}

impl DirectionOutcome {
    pub(crate) fn new(
        hop: Hop,
        offered: u64,
        inside: u64,
        drops: Vec<DroppedPacket>,
    ) -> DirectionOutcome {
        let delivered = offered - inside - drops.len() as u64;
        let mut dropped = BTreeMap::new();
        for drop in &drops {
            *dropped.entry(drop.cause).or_default() += 1;
        }
        DirectionOutcome { hop, offered, delivered, dropped, inside, drops }
    }
}

/// A packet that a link dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedPacket {
    /// When it was dropped.
    pub at: Time,
    /// Its number in its direction of the link, from 0.
    pub number: u64,
    /// Why it was dropped.
    pub cause: DropCause,
    /// The place of the flow that it belonged to.
    pub flow: usize,
    /// The end that sent it, or in whose place a relay did.
    pub from: End,
    /// Bytes of its end's stream in it; empty in an ACK.
    pub stream: Range<u64>,
}

impl DroppedPacket {
    pub(crate) fn new(at: Time, number: u64, cause: DropCause, parcel: &Parcel) -> DroppedPacket {
        let &Parcel { ref segment, flow, from, .. } = parcel;
        // The SYN takes number 0 of the sequence, the first byte number 1.
        let start = segment.seq.saturating_sub(1);
        let stream = start..start + u64::from(segment.len);
        DroppedPacket { at, number, cause, flow: flow as usize, from, stream }
    }
}

/// How much was simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Events: a link had something to do at a time, or a connection's timers or applications had.
    pub events: u64,
    /// Segments with data that reached the other end.
    pub delivered: u64,
    /// Segments with data that were sent again.
    pub retransmissions: u64,
}
