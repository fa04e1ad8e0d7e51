//! Virtual time: what happens at each event.

use std::mem;

use kirikae_path::{Chain, Direction, Dropped, Ecn, Hop, Packet, Time, link_seed};
use kirikae_tcp::Segment;

use crate::connection::Connection;
use crate::hosts::PathMemories;
use crate::observer::{LinkState, Observer, Passage, Step};
use crate::opening::Followers;
use crate::outcome::{Counters, DirectionOutcome, DroppedPacket, Outcome};
use crate::parcels::{Parcel, Parcels};
use crate::queue::EventQueue;
use crate::simulation::{End, Simulation};

/// A simulation under way. The sources of events are the directions of the links, numbered as in
/// [`Hop::place`], and after them the connections.
pub(crate) struct Engine<'a, O> {
    simulation: &'a Simulation,
    queue: EventQueue,
    ways: Vec<Way>,
    connections: Vec<Connection>,
    parcels: Parcels,
    /// Parcels that have left a link now and are to go on.
    moved: Vec<u32>,
    /// What each end of a connection sends now.
    sent: [Vec<Segment>; 2],
    /// What an agent on the way sends again now.
    again: Vec<Segment>,
    /// What a relay on the way sends to each end now.
    relayed: [Vec<Segment>; 2],
    /// Connections that wait for others.
    followers: Followers,
    /// Connections with something left to do.
    unfinished: usize,
    counters: Counters,
    observer: &'a mut O,
}

/// One direction of a link.
struct Way {
    hop: Hop,
    chain: Chain<u32>,
    drops: Vec<DroppedPacket>,
}

impl<'a, O: Observer> Engine<'a, O> {
    /// The engine for a simulation that [`Simulation::validate`] accepts.
    pub fn new(simulation: &'a Simulation, observer: &'a mut O) -> Engine<'a, O> {
        let seed = simulation.seed;
        let mut ways = Vec::with_capacity(2 * simulation.links.len());
        for (link, path) in simulation.links.iter().enumerate() {
            let (forward, backward) =
                path.build(link_seed(seed, link)).expect("the simulation is valid");
            let way =
                |direction, chain| Way { hop: Hop { link, direction }, chain, drops: Vec::new() };
            ways.extend([way(Direction::Forward, forward), way(Direction::Backward, backward)]);
        }
        let flows = simulation.flows.iter().enumerate();
        let mut memories = PathMemories::default();
        let connections: Vec<Connection> =
            flows.map(|(index, flow)| Connection::new(flow, index, seed, &mut memories)).collect();
        let mut queue = EventQueue::new(ways.len() + connections.len());
        let due = |way: &Way| way.chain.next();
        let due = ways.iter().map(due).chain(connections.iter().map(Connection::due));
        for (source, due) in due.enumerate() {
            due.into_iter().for_each(|due| queue.arm(source, due));
        }
        Engine {
            simulation,
            queue,
            followers: Followers::new(simulation.flows.iter().map(|flow| flow.after)),
            unfinished: connections.iter().filter(|connection| !connection.is_done()).count(),
            ways,
            connections,
            parcels: Parcels::default(),
            moved: Vec::new(),
            sent: Default::default(),
            again: Vec::new(),
            relayed: Default::default(),
            counters: Counters::default(),
            observer,
        }
    }

    /// Plays until nothing is left to do, or until `end`.
    pub fn run(mut self, end: Time) -> Outcome {
        let mut now = Time::ZERO;
        while self.unfinished > 0 {
            let next = self.queue.first().filter(|(at, _)| *at <= end);
            let Some((at, source)) = next else {
                now = end;
                break;
            };
            now = at;
            let due = match source.checked_sub(self.ways.len()) {
                None => self.advance_way(now, source),
                Some(flow) => self.advance_connection(now, flow),
            };
            self.queue.settle(due);
        }
        self.finish(now)
    }

    /// A direction of a link has something to do; returns when it has again.
    fn advance_way(&mut self, now: Time, place: usize) -> Option<Time> {
        self.counters.events += 1;
        self.settle_way(now, place);
        self.move_on(now);
        self.ways[place].chain.next()
    }

    fn settle_way(&mut self, now: Time, place: usize) {
        let Engine { ways, parcels, moved, observer, .. } = self;
        let Way { hop, chain, drops } = &mut ways[place];
        let hop = *hop;
        while let Some(at) =
            chain.step(now, |at, fate| settle(at, fate, hop, parcels, moved, drops, *observer))
        {
            observer.link(LinkState { at, hop, chain });
        }
    }

    /// A connection may have something to do by itself; returns when it has again.
    fn advance_connection(&mut self, now: Time, flow: usize) -> Option<Time> {
        if self.connections[flow].act(now, &mut self.sent) {
            self.counters.events += 1;
            for end in End::BOTH {
                self.observer.acted(now, flow, end, self.connections[flow].end(end));
                self.send(now, flow, end);
            }
            self.move_on(now);
        }
        if let Some(snoop) = &mut self.connections[flow].snoop {
            snoop.on_timer(now, &mut self.again);
            self.send_again(now, flow);
            self.move_on(now);
        }
        if let Some(relay) = &mut self.connections[flow].relay
            && relay.on_timer(now, &mut self.relayed)
        {
            self.counters.events += 1;
            self.send_relayed(now, flow);
            self.move_on(now);
        }
        self.connections[flow].due()
    }

    /// Hands on everything that has left a link now, which may make more of it.
    fn move_on(&mut self, now: Time) {
        let mut first = 0;
        while let Some(&place) = self.moved.get(first) {
            first += 1;
            let parcel = self.parcels.at(place);
            parcel.hop += 1;
            let (flow, from) = (parcel.flow as usize, parcel.from);
            let Connection { routes, snoop, relay, .. } = &mut self.connections[flow];
            let route = routes.from(from);
            if let Some(relay) = relay
                && relay.place(from) == parcel.hop
            {
                relay.receive(now, from, &parcel.segment, &mut self.relayed);
                self.parcels.free(place);
                self.send_relayed(now, flow);
                continue;
            }
            if let Some(snoop) = snoop {
                let left = route[usize::from(parcel.hop) - 1];
                if !snoop.leaves(now, from, left, &mut parcel.segment, &mut self.again) {
                    self.parcels.free(place);
                    self.send_again(now, flow);
                    continue;
                }
            }
            match route.get(usize::from(parcel.hop)) {
                Some(&hop) => self.enter(now, hop, place),
                None => self.deliver(now, flow, from.other(), place),
            }
            self.send_again(now, flow);
        }
        self.moved.clear();
    }

    /// A parcel has reached its receiver.
    fn deliver(&mut self, now: Time, flow: usize, to: End, place: u32) {
        let segment = &self.parcels.at(place).segment;
        self.counters.delivered += u64::from(segment.len > 0);
        let connection = &mut self.connections[flow];
        let whole = connection.receive(now, to, segment, &mut self.sent);
        self.parcels.free(place);
        self.observer.received(now, flow, to, connection.end(to));
        if whole && connection.is_done() {
            self.unfinished -= 1;
            self.release(now, flow);
        }
        self.send(now, flow, to);
        if let Some(due) = self.connections[flow].due() {
            self.queue.arm(self.ways.len() + flow, due);
        }
    }

    /// A connection has nothing left to do: those that waited for it go on.
    fn release(&mut self, now: Time, done: usize) {
        let Simulation { flows, seed, .. } = self.simulation;
        for flow in self.followers.release(done) {
            let connection = &mut self.connections[flow];
            connection.release(now, &flows[flow], flow, *seed);
            if let Some(due) = connection.due() {
                self.queue.arm(self.ways.len() + flow, due);
            }
        }
    }

    /// Puts what an end of a connection sends on its way.
    fn send(&mut self, now: Time, flow: usize, from: End) {
        if self.sent[from as usize].is_empty() {
            return;
        }
        let mut sent = mem::take(&mut self.sent[from as usize]);
        let first = self.connections[flow].routes.from(from)[0];
        for segment in sent.drain(..) {
            let again = self.connections[flow].is_retransmission(from, &segment);
            self.counters.retransmissions += u64::from(again);
            let parcel = Parcel { segment, flow: flow as u32, from, hop: 0 };
            let place = self.parcels.put(parcel);
            self.enter(now, first, place);
        }
        self.sent[from as usize] = sent;
    }

    /// Puts what a connection's agent sends again on its way, from the link before which it stands.
    fn send_again(&mut self, now: Time, flow: usize) {
        let Some(snoop) = &self.connections[flow].snoop else { return };
        let (from, hop) = snoop.place();
        let first = self.connections[flow].routes.from(from)[usize::from(hop)];
        let mut again = mem::take(&mut self.again);
        for segment in again.drain(..) {
            let place = self.parcels.put(Parcel { segment, flow: flow as u32, from, hop });
            self.enter(now, first, place);
        }
        self.again = again;
    }

    /// Puts what a connection's relay sends on its way, in the place of the end that is not its receiver.
    fn send_relayed(&mut self, now: Time, flow: usize) {
        for to in End::BOTH {
            let connection = &self.connections[flow];
            let Some(relay) = &connection.relay else { return };
            let from = to.other();
            let hop = relay.place(from);
            let first = connection.routes.from(from)[usize::from(hop)];
            let mut relayed = mem::take(&mut self.relayed[to as usize]);
            for segment in relayed.drain(..) {
                let place = self.parcels.put(Parcel { segment, flow: flow as u32, from, hop });
                self.enter(now, first, place);
            }
            self.relayed[to as usize] = relayed;
        }
        if let Some(due) = self.connections[flow].due() {
            self.queue.arm(self.ways.len() + flow, due);
        }
    }

    /// A parcel enters a direction of a link.
    fn enter(&mut self, now: Time, hop: Hop, place: u32) {
        let way = hop.place();
        // What the link has left to this moment.
        self.settle_way(now, way);
        let Engine { ways, connections, queue, parcels, moved, observer, .. } = self;
        let connections_from = ways.len();
        let Way { chain, drops, .. } = &mut ways[way];
        let parcel = parcels.at(place);
        let bytes = parcel.segment.ip_bytes();
        let flow = parcel.flow as usize;
        if let Some(snoop) = &mut connections[flow].snoop {
            snoop.enters(now, parcel.from, hop, &parcel.segment);
            if let Some(timer) = snoop.timer() {
                queue.arm(connections_from + flow, timer);
            }
        }
        observer.packet(passage(now, hop, Step::Enters, parcel));
        let ecn = match parcel.segment.ecn {
            kirikae_tcp::Ecn::NotEct => Ecn::NotEct,
            kirikae_tcp::Ecn::Ect => Ecn::Ect,
            kirikae_tcp::Ecn::Ce => Ecn::Ce,
        };
        chain.enqueue(now, bytes, ecn, place, |at, fate| {
            settle(at, fate, hop, parcels, moved, drops, *observer);
        });
        observer.link(LinkState { at: now, hop, chain });
        if let Some(due) = self.ways[way].chain.next() {
            self.queue.arm(way, due);
        }
    }

    /// What came of it. The links may have left to this moment what nobody had to wait for.
    fn finish(mut self, end: Time) -> Outcome {
        for place in 0..self.ways.len() {
            self.settle_way(end, place);
        }
        let left = self.connections.iter().enumerate();
        Outcome {
            end,
            left: left.filter_map(|(flow, connection)| connection.left(flow)).collect(),
            flows: self.connections.into_iter().map(Connection::outcome).collect(),
            links: self.ways.into_iter().map(Way::outcome).collect(),
            counters: self.counters,
        }
    }
}

impl Way {
    fn outcome(self) -> DirectionOutcome {
        let Way { hop, chain, drops } = self;
        let (offered, inside) = (chain.offered(), chain.inside());
        DirectionOutcome::new(hop, offered, inside, drops)
    }
}

/// What becomes of a parcel that leaves a link or is lost in it.
fn settle<O: Observer>(
    at: Time,
    fate: Result<Packet<u32>, Dropped<u32>>,
    hop: Hop,
    parcels: &mut Parcels,
    moved: &mut Vec<u32>,
    drops: &mut Vec<DroppedPacket>,
    observer: &mut O,
) {
    match fate {
        Ok(packet) => {
            let parcel = parcels.at(packet.payload);
            if packet.ecn == Ecn::Ce {
                parcel.segment.ecn = kirikae_tcp::Ecn::Ce;
            }
            observer.packet(passage(at, hop, Step::Leaves, parcel));
            moved.push(packet.payload);
        }
        Err(Dropped { packet, cause }) => {
            let parcel = parcels.at(packet.payload);
            observer.packet(passage(at, hop, Step::Dropped(cause), parcel));
            drops.push(DroppedPacket::new(at, packet.number, cause, parcel));
            parcels.free(packet.payload);
        }
    }
}

fn passage(at: Time, hop: Hop, step: Step, parcel: &Parcel) -> Passage<'_> {
    let Parcel { segment, flow, from, .. } = parcel;
    Passage { at, hop, step, flow: *flow as usize, from: *from, segment }
}
