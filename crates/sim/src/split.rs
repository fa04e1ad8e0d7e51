//! Split TCP: a relay stands before a link, ends the connection of each end in the place of the other, and hands on
//! what arrives. Each leg has a TCP of its own, with its own window and congestion control.
//!
//! Source: RFC 3135, section 2.4 (split connections); A. Bakre, B. R. Badrinath, "I-TCP: Indirect TCP for Mobile
//! Hosts", ICDCS 1995. Deliberate differences:
//!
//! 1. The relay speaks the same TCP on both legs. (I-TCP's wireless leg may have a transport of its own.)
//! 2. It opens the second leg when the first is established, and reads nothing before the second is, as a program
//!    does that accepts and then connects. What the client sends meanwhile waits in the receive buffer.
//! 3. It is such a program on both legs: it reads a piece when all before it has been taken by the other leg's send
//!    buffer. While that is full, the piece waits and what arrives stays in the receive buffer, whose window closes.
//! 4. It stays where it is: there are no handovers between relays.
//! 5. The FIN is not simulated. A leg is closed when all has been handed on that the end wrote which has closed.

use kirikae_path::{Direction, Hop, Time, stream_seed};
use kirikae_tcp::{Endpoint, Segment};

use crate::hosts::PathMemories;
use crate::simulation::{End, Flow, Routes, Split};

/// What the relay reads and writes at once, bytes: the buffer of a program that relays, for each way (HAProxy's is of
/// this size unless it is set, `tune.bufsize`).
const PIECE: u64 = 16 << 10;

/// The relay of a connection. What is said of an end is kept at that end's place.
pub(crate) struct Relay {
    /// The relay's end of the leg to an end.
    ends: [Endpoint; 2],
    /// The links on the way from an end to the relay.
    places: [u16; 2],
    /// Bytes handed on of what an end wrote.
    passed: [u64; 2],
    /// Bytes that an end wrote in all, if it has closed and the leg to the other end is still open.
    closes_after: [Option<u64>; 2],
    /// When a timer goes off, kept here so that asking touches no endpoint.
    timer: Option<Time>,
}

impl Relay {
    /// The relay of a flow that [`places`](Relay::places) accepts.
    pub fn new(flow: &Flow, split: &Split, seed: u64, memories: &mut PathMemories) -> Relay {
        let places = Relay::places(split.link, &flow.routes).expect("the simulation is valid");
        let end = |end: End| {
            let Split { host, .. } = split;
            let control = memories.control(host, flow.host(end));
            let seed = stream_seed(seed, &[end as u64]);
            let mut leg = Endpoint::new(host.profile.clone(), control, seed);
            // From the beginning it reads only what it can hand on.
            leg.read(Time::ZERO, 0, &mut Vec::new());
            leg
        };
        Relay {
            ends: End::BOTH.map(end),
            places,
            passed: [0; 2],
            closes_after: [None; 2],
            timer: None,
        }
    }

    /// The number of links between each end and a relay before this link, if the connection's data goes forward on it
    /// and ACKs come back, and there is a link on either side of the relay both ways.
    pub fn places(link: usize, routes: &Routes) -> Option<[u16; 2]> {
        let place = |end: End, direction| {
            routes.from(end).iter().position(|hop| *hop == Hop { link, direction })
        };
        let sends = |end: &End| place(*end, Direction::Forward).is_some();
        let sender = End::BOTH.into_iter().find(sends)?;
        let mut places = [0; 2];
        places[sender as usize] = place(sender, Direction::Forward)?;
        places[sender.other() as usize] = place(sender.other(), Direction::Backward)? + 1;
        let is_between = |end: End| (1..routes.from(end).len()).contains(&places[end as usize]);
        End::BOTH.into_iter().all(is_between).then(|| places.map(|place| place as u16))
    }

    /// The number of links on the way from an end to the relay.
    pub fn place(&self, from: End) -> u16 {
        self.places[from as usize]
    }

    /// When it has something to do by itself.
    pub fn timer(&self) -> Option<Time> {
        self.timer
    }

    /// A segment from an end reaches the relay. `out` gets what the relay sends to each end.
    pub fn receive(
        &mut self,
        now: Time,
        from: End,
        segment: &Segment,
        out: &mut [Vec<Segment>; 2],
    ) {
        let [client, server] = &mut self.ends;
        match from {
            End::Client => {
                let was_established = client.is_established();
                client.receive(now, segment, &mut out[End::Client as usize]);
                if client.is_established() && !was_established {
                    server.open(now, &mut out[End::Server as usize]);
                }
            }
            End::Server => server.receive(now, segment, &mut out[End::Server as usize]),
        }
        self.hand_on(now, out);
    }

    /// Does what is due at `now`; whether anything was. `out` gets what the relay sends to each end.
    pub fn on_timer(&mut self, now: Time, out: &mut [Vec<Segment>; 2]) -> bool {
        if self.timer.is_none_or(|timer| timer > now) {
            return false;
        }
        for (end, out) in self.ends.iter_mut().zip(&mut *out) {
            if end.timer().is_some_and(|timer| timer <= now) {
                end.on_timer(now, out);
            }
        }
        self.hand_on(now, out);
        true
    }

    /// An end has closed after so many bytes.
    pub fn closes(&mut self, from: End, bytes: u64) {
        self.closes_after[from as usize] = Some(bytes);
    }

    /// Hands on both ways as much as the send buffers take.
    fn hand_on(&mut self, now: Time, out: &mut [Vec<Segment>; 2]) {
        for from in End::BOTH {
            while let Some(piece) = self.next_piece(from) {
                let to = from.other() as usize;
                self.ends[from as usize].read(now, piece, &mut out[from as usize]);
                self.ends[to].write(now, piece, &mut out[to]);
                self.passed[from as usize] += piece;
            }
            self.pass_close(from);
        }
        let [client, server] = &self.ends;
        self.timer = Time::earliest(client.timer(), server.timer());
    }

    /// How much of what an end wrote can be handed on at once, if anything.
    fn next_piece(&self, from: End) -> Option<u64> {
        let to = &self.ends[from.other() as usize];
        let has_room = to.is_established() && (to.socket().is_none() || to.has_taken_all());
        let unread = self.ends[from as usize].in_order() - self.passed[from as usize];
        (has_room && unread > 0).then_some(unread.min(PIECE))
    }

    fn pass_close(&mut self, from: End) {
        let closes_after = &mut self.closes_after[from as usize];
        if closes_after.is_some_and(|bytes| bytes == self.passed[from as usize]) {
            *closes_after = None;
            self.ends[from.other() as usize].close();
        }
    }
}
