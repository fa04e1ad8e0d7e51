//! A flow as it happens.

use kirikae_algorithms::Socket;
use kirikae_path::{Span, Time, stream_seed};
use kirikae_tcp::{Endpoint, Segment};

use crate::conversation::{Arrived, Conversation};
use crate::hosts::PathMemories;
use crate::opening::Opening;
use crate::outcome::{FlowOutcome, Left, Traffic};
use crate::roaming::Roaming;
use crate::simulation::{End, Flow, Routes};
use crate::snoop::Snoop;
use crate::split::Relay;

/// Label of what the congestion controls draw, under the simulation's seed.
const CONTROLS: u64 = 6;
/// The relay's place beside those of the two ends, under the same label.
const RELAY: u64 = 2;

/// A connection with both its ends and what uses it.
pub(crate) struct Connection {
    pub routes: Routes,
    ends: [Endpoint; 2],
    conversation: Conversation,
    /// Where the data ends that each end has sent.
    sent_until: [u64; 2],
    /// Segments with data that each end has sent, and how many of them again.
    sent: [(u64, u64); 2],
    opening: Opening,
    /// The end that closes the connection when it has written, if one does.
    closer: Option<End>,
    /// What is to come of the link of an end that is mobile.
    roaming: Option<Box<Roaming>>,
    /// The agent on its way, if there is one.
    pub snoop: Option<Box<Snoop>>,
    /// The relay on its way, if there is one.
    pub relay: Option<Box<Relay>>,
    /// When each end's timer goes off, kept here so that asking touches no endpoint.
    timers: [Option<Time>; 2],
}

impl Connection {
    pub fn new(flow: &Flow, index: usize, seed: u64, memories: &mut PathMemories) -> Connection {
        let mut end = |end: End| {
            let (host, peer) = (flow.host(end), flow.host(end.other()));
            let seed = stream_seed(seed, &[CONTROLS, index as u64, end as u64]);
            Endpoint::new(host.profile.clone(), memories.control(host, peer), seed)
        };
        let roaming = flow
            .mobile
            .as_ref()
            .map(|mobile| Box::new(Roaming::new(mobile, &flow.host(mobile.end).profile)));
        let ends = End::BOTH.map(&mut end);
        let relay = flow.split.as_ref().map(|split| {
            let seed = stream_seed(seed, &[CONTROLS, index as u64, RELAY]);
            Box::new(Relay::new(flow, split, seed, memories))
        });
        Connection {
            roaming,
            relay,
            snoop: flow.routes.snoop.and_then(|link| Snoop::new(link, &flow.routes)).map(Box::new),
            routes: flow.routes.clone(),
            ends,
            conversation: Conversation::new(&flow.activities, flow.start, index, seed),
            sent_until: [0; 2],
            sent: Default::default(),
            opening: Opening::new(flow.start, flow.after),
            closer: flow.closer(),
            timers: [None; 2],
        }
    }

    /// The flow that it waited for is done at `now`.
    pub fn release(&mut self, now: Time, flow: &Flow, index: usize, seed: u64) {
        let start = flow.start.max(now);
        self.conversation = Conversation::new(&flow.activities, start, index, seed);
        self.opening = Opening::At(start);
    }

    /// When it has something to do by itself.
    pub fn due(&self) -> Option<Time> {
        match self.opening {
            Opening::Waits => return None,
            Opening::At(at) => return Some(at),
            Opening::Done => {}
        }
        let [client, server] = self.timers;
        let roaming = self.roaming.as_ref().and_then(|roaming| roaming.next());
        let ends = Time::earliest(Time::earliest(client, server), roaming);
        let snoop = self.snoop.as_ref().and_then(|snoop| snoop.timer());
        let relay = self.relay.as_ref().and_then(|relay| relay.timer());
        let on_the_way = Time::earliest(snoop, relay);
        Time::earliest(Time::earliest(ends, on_the_way), self.conversation.next())
    }

    /// Does what is due by `now`; `sent` gets the segments of each end. Returns whether anything was due.
    pub fn act(&mut self, now: Time, sent: &mut [Vec<Segment>; 2]) -> bool {
        let mut acted = false;
        if self.opening.open(now) {
            let client = End::Client as usize;
            self.ends[client].open(now, &mut sent[client]);
            self.timers[client] = self.ends[client].timer();
            acted = true;
        }
        while let Some((end, bytes)) = self.conversation.act(now) {
            self.write(now, end, bytes, sent);
            acted = true;
        }
        self.write_more(now, sent);
        if let Some(roaming) = &mut self.roaming {
            let mobile = roaming.end as usize;
            if roaming.act(now, &mut self.ends[mobile], &mut sent[mobile]) {
                self.timers[mobile] = self.ends[mobile].timer();
                acted = true;
            }
        }
        for ((end, timer), sent) in self.ends.iter_mut().zip(&mut self.timers).zip(sent) {
            if timer.is_some_and(|timer| timer <= now) {
                end.on_timer(now, sent);
                *timer = end.timer();
                acted = true;
            }
        }
        acted
    }

    /// A segment reaches an end, which is the only one to send then. Returns whether a write has
    /// arrived whole with it.
    pub fn receive(
        &mut self,
        now: Time,
        to: End,
        segment: &Segment,
        sent: &mut [Vec<Segment>; 2],
    ) -> bool {
        let end = &mut self.ends[to as usize];
        end.receive(now, segment, &mut sent[to as usize]);
        self.timers[to as usize] = end.timer();
        let arrived = end.in_order();
        let mut whole = false;
        while let Some(Arrived { answer }) = self.conversation.arrived(now, to.other(), arrived) {
            whole = true;
            if let Some((end, bytes)) = answer {
                self.write(now, end, bytes, sent);
            }
        }
        if to == End::Client {
            self.write_more(now, sent);
        }
        whole
    }

    /// The client writes more as long as its kernel takes it.
    fn write_more(&mut self, now: Time, sent: &mut [Vec<Segment>; 2]) {
        while self.ends[End::Client as usize].has_taken_all()
            && let Some(bytes) = self.conversation.more(now)
        {
            self.write(now, End::Client, bytes, sent);
        }
    }

    fn write(&mut self, now: Time, end: End, bytes: u64, sent: &mut [Vec<Segment>; 2]) {
        self.ends[end as usize].write(now, bytes, &mut sent[end as usize]);
        if self.closer == Some(end) {
            self.ends[end as usize].close();
            if let Some(relay) = &mut self.relay {
                relay.closes(end, self.conversation.written_bytes(end));
            }
        }
        self.timers[end as usize] = self.ends[end as usize].timer();
    }

    /// An end sends a segment. Returns whether it did before.
    pub fn is_retransmission(&mut self, from: End, segment: &Segment) -> bool {
        let until = &mut self.sent_until[from as usize];
        let again = segment.len > 0 && segment.end() <= *until;
        *until = segment.end().max(*until);
        let (segments, retransmissions) = &mut self.sent[from as usize];
        *segments += u64::from(segment.len > 0);
        *retransmissions += u64::from(again);
        again
    }

    pub fn end(&self, end: End) -> &Endpoint {
        &self.ends[end as usize]
    }

    /// Whether everything was written and has arrived.
    pub fn is_done(&self) -> bool {
        self.conversation.is_done()
    }

    /// What is left to do, if anything is; `flow` is its place.
    pub fn left(&self, flow: usize) -> Option<Left> {
        self.conversation.left(flow)
    }

    pub fn outcome(self) -> FlowOutcome {
        let mut switches: Vec<_> =
            self.ends.iter().flat_map(|end| end.switches()).cloned().collect();
        switches.sort_by_key(|(at, _)| *at);
        let losses = self.ends.iter().find_map(|end| end.socket().and_then(Socket::losses));
        let traffic = End::BOTH.map(|end| self.traffic(end));
        let [client, server] = self.conversation.into_written();
        FlowOutcome { switches, losses, client, server, traffic }
    }

    fn traffic(&self, end: End) -> Traffic {
        let (segments, retransmissions) = self.sent[end as usize];
        // The socket has it in eighths of a microsecond, as the kernel does; 0 before the first.
        let srtt_8us = self.ends[end as usize].socket().map_or(0, |socket| socket.fields.srtt_us);
        Traffic {
            arrived: self.conversation.arrived_bytes(end),
            segments,
            retransmissions,
            srtt: (srtt_8us > 0).then(|| Span::from_nanos(u64::from(srtt_8us) * 1000 / 8)),
        }
    }
}
