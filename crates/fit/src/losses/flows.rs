//! The flows of a capture, and the choice of one of them.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use serde::{Serialize, Serializer};

use super::headers::{Content, Datagram, Packet, Segment};
use super::{Asked, Evidence, numbered, tcp};

/// Fewer packets than this are no flow to learn anything from.
const FEWEST: usize = 100;

/// Flows by their ends, in both directions.
#[derive(Default)]
pub(super) struct Flows {
    tcp: BTreeMap<[SocketAddr; 2], Vec<Arrival>>,
    udp: BTreeMap<[SocketAddr; 2], Vec<Datagram>>,
    /// Packets in the capture.
    pub(super) packets: u64,
    /// Number of packets that are neither TCP nor UDP, or not understood.
    others: u64,
    /// Whether it ends in the middle of a packet.
    pub(super) cut: bool,
    /// Packets that the capturing program was too slow for.
    pub(super) missed: u64,
}

/// A segment as it was captured.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    /// When it was captured, ns.
    pub at_ns: u64,
    /// Whether it is from the first of the two ends.
    pub from_first: bool,
    pub segment: Segment,
}

/// A direction of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// TCP or UDP.
    pub protocol: &'static str,
    /// The sending end.
    pub from: SocketAddr,
    /// The receiving end.
    pub to: SocketAddr,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} to {}", self.protocol, self.from, self.to)
    }
}

impl Serialize for Flow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Flows {
    pub(super) fn add(&mut self, packet: Option<Packet>, at_ns: u64) {
        self.packets += 1;
        let Some(Packet { from, to, content }) = packet else {
            self.others += 1;
            return;
        };
        match content {
            Content::Segment(segment) => {
                let from_first = from < to;
                let ends = if from_first { [from, to] } else { [to, from] };
                self.tcp.entry(ends).or_default().push(Arrival { at_ns, from_first, segment });
            }
            Content::Datagram(datagram) => self.udp.entry([from, to]).or_default().push(datagram),
        }
    }

    /// Remarks on the capture as a whole.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.cut {
            notes.push("the capture ends in the middle of a packet: taken until there".to_owned());
        }
        if self.missed > 0 {
            notes.push(format!(
                "the capturing program missed {} packets, which may look like losses",
                self.missed
            ));
        }
        notes
    }

    /// The flow with the most packets that carry data, and what it shows.
    pub(super) fn main(&self, asked: &Asked) -> Result<(Flow, Evidence), String> {
        let wanted = |ends: &[SocketAddr; 2]| {
            asked.port.is_none_or(|port| ends.iter().any(|end| end.port() == port))
        };
        let tcp = self.tcp.iter().filter(|(ends, _)| wanted(ends)).flat_map(|(ends, arrivals)| {
            [true, false].map(|from_first| {
                let data = |it: &&Arrival| it.from_first == from_first && it.segment.len > 0;
                (arrivals.iter().filter(data).count(), ends, Some((arrivals, from_first)))
            })
        });
        let udp = self.udp.iter().filter(|(ends, _)| wanted(ends));
        let udp = udp.map(|(ends, datagrams)| (datagrams.len(), ends, None));
        let most = tcp.chain(udp).max_by_key(|(packets, ..)| *packets);
        let Some((packets, [first, second], of_tcp)) =
            most.filter(|(packets, ..)| *packets >= FEWEST)
        else {
            return Err(self.no_flow(asked, most.map_or(0, |(packets, ..)| packets)));
        };
        let Some((arrivals, from_first)) = of_tcp else {
            let flow = Flow { protocol: "UDP", from: *first, to: *second };
            let evidence = numbered::evidence(&self.udp[&[*first, *second]], asked.numbering);
            return Ok((
                flow,
                evidence.map_err(|why| format!("{flow}, {packets} datagrams: {why}"))?,
            ));
        };
        let (from, to) = if from_first { (*first, *second) } else { (*second, *first) };
        let flow = Flow { protocol: "TCP", from, to };
        let evidence = tcp::evidence(arrivals, from_first, asked.side);
        Ok((flow, evidence.map_err(|why| format!("{flow}, {packets} segments with data: {why}"))?))
    }

    fn no_flow(&self, asked: &Asked, most: usize) -> String {
        let with = asked.port.map(|port| format!(" with port {port}")).unwrap_or_default();
        format!(
            "no usable flow{with}: {} packets, {} of them neither TCP nor UDP over IP; {} TCP connections, \
             {} UDP flows; the largest has {most} packets with data, and at least {FEWEST} are needed",
            self.packets,
            self.others,
            self.tcp.len(),
            self.udp.len(),
        )
    }
}
