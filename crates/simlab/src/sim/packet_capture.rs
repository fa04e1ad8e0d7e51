//! The packets that each host sends and receives, as tcpdump on it would write them: pcapng.
//!
//! A file for each host and not for each link: there a packet is seen once, and what answers it
//! comes a round trip later, which is what Wireshark's analysis of sequence numbers is made for.
//! Headers are true to the last bit but for three things: sequence numbers begin at 0, so that they
//! are those of the records; there is no payload, and checksums are those of zeros; the identification
//! is 0, as packets that may not be fragmented may have it (RFC 6864).

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement};
use kirikae_path::Time;
use kirikae_results::{Error, While};
use kirikae_sim::{End, Flow, Hop, Host, Observer, Passage, Simulation, Step};
use kirikae_tcp::{Ecn, Segment};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError};

use super::files::create;
use super::simulation::PORTS;

/// The server's address. Clients have 10.1.0.0 and those after it, each with so many ports.
const SERVER: [u8; 4] = [10, 0, 0, 1];
const CLIENT_PORTS: usize = 40_000;
/// As Linux sends it. A simulated link counts none down.
const TIME_TO_LIVE: u8 = 64;
/// IPv4 and TCP headers without options, bytes.
const HEADERS: u32 = 20 + 20;
/// The payload, for the checksum.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];
/// Time stamps are in units of 10 to minus this power seconds.
const NANOSECONDS: u8 = 9;

/// Writes the packets of all flows at both hosts.
pub(super) struct PacketCapture {
    /// The client's file and the server's.
    files: [Capture; 2],
    flows: Vec<Connection>,
    /// What went wrong first; nothing is written after it.
    written: Result<(), Error>,
}

/// The file of a host.
struct Capture {
    path: PathBuf,
    writer: PcapNgWriter<BufWriter<File>>,
}

/// What the packets of a flow have in common; the client's first, where there are two.
struct Connection {
    addresses: [[u8; 4]; 2],
    ports: [u16; 2],
    /// By which powers of 2 each host scales its window; none where it does not.
    scales: [Option<u8>; 2],
    sack: bool,
    /// The MSS option.
    mss: u16,
    /// Where each host's packets enter their first link.
    enter: [Hop; 2],
    /// Where they leave their last link.
    leave: [Hop; 2],
}

impl PacketCapture {
    /// Creates the files, the client's first.
    pub fn create(paths: [PathBuf; 2], simulation: &Simulation) -> Result<PacketCapture, Error> {
        let [client, server] = paths;
        Ok(PacketCapture {
            files: [Capture::create(client, End::Client)?, Capture::create(server, End::Server)?],
            flows: simulation.flows.iter().enumerate().map(Connection::new).collect(),
            written: Ok(()),
        })
    }

    /// Writes what is not written yet.
    pub fn finish(self) -> Result<(), Error> {
        self.written?;
        self.files.into_iter().try_for_each(|Capture { path, writer }| {
            writer.into_inner().flush().during(|| format!("writing {}", path.display()))
        })
    }
}

impl Observer for PacketCapture {
    fn packet(&mut self, passage: Passage<'_>) {
        let connection = &self.flows[passage.flow];
        let from = passage.from as usize;
        let host = match passage.step {
            Step::Enters if passage.hop == connection.enter[from] => passage.from,
            Step::Leaves if passage.hop == connection.leave[from] => passage.from.other(),
            _ => return,
        };
        if self.written.is_ok() {
            let headers = connection.headers(passage.from, passage.segment);
            let bytes = passage.segment.ip_bytes();
            self.written = self.files[host as usize].write(passage.at, &headers, bytes);
        }
    }
}

impl Capture {
    fn create(path: PathBuf, host: End) -> Result<Capture, Error> {
        let file = BufWriter::new(create(&path)?);
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(host.to_string().into()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        // Not the machine's own order: the same run gives the same bytes everywhere.
        let begun =
            PcapNgWriter::with_endianness(file, Endianness::Little).and_then(|mut writer| {
                writer.write_pcapng_block(interface)?;
                Ok(writer)
            });
        let writer = begun.map_err(io_error).during(|| format!("writing {}", path.display()))?;
        Ok(Capture { path, writer })
    }

    fn write(&mut self, at: Time, headers: &[u8], bytes: u32) -> Result<(), Error> {
        let packet = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: bytes,
            data: Cow::Borrowed(headers),
            options: Vec::new(),
        };
        let written = self.writer.write_pcapng_block(packet).map(drop).map_err(io_error);
        written.during(|| format!("writing {}", self.path.display()))
    }
}

impl Connection {
    fn new((place, flow): (usize, &Flow)) -> Connection {
        let [.., high, low] = (place / CLIENT_PORTS).to_be_bytes();
        let client = [10, 1, high, low];
        let ends = [&flow.client, &flow.server];
        let scale = |end: &Host| end.profile.window_scaling.then(|| end.profile.window_scale());
        let routes = [&flow.routes.forward, &flow.routes.backward];
        Connection {
            addresses: [client, SERVER],
            ports: [PORTS.0 + (place % CLIENT_PORTS) as u16, PORTS.1],
            scales: ends.map(scale),
            sack: flow.client.profile.sack,
            mss: (flow.client.profile.mtu - HEADERS) as u16,
            enter: routes.map(|route| route[0]),
            leave: routes.map(|route| route[route.len() - 1]),
        }
    }

    /// The headers of a segment.
    fn headers(&self, from: End, segment: &Segment) -> Vec<u8> {
        let (source, destination) = (from as usize, from.other() as usize);
        let mut tcp = TcpHeader::new(
            self.ports[source],
            self.ports[destination],
            segment.seq as u32,
            self.window(from, segment),
        );
        tcp.acknowledgment_number = segment.ack as u32;
        tcp.ack = segment.ack > 0;
        (tcp.syn, tcp.psh) = (segment.syn, segment.psh);
        (tcp.ece, tcp.cwr) = (segment.ece, segment.cwr);
        // As long as they were taken to be: no-operations fill what is left out.
        let room = (segment.ip_bytes() - segment.len - HEADERS) as usize;
        let mut options = self.options(from, segment);
        let filled = |options: &[TcpOptionElement]| options.iter().map(length).sum::<usize>();
        options.resize(options.len() + room - filled(&options), TcpOptionElement::Noop);
        tcp.set_options(&options).expect("the options of a segment fit");
        let [from, to] = [source, destination].map(|host| self.addresses[host]);
        let payload = &ZEROS[..segment.len as usize];
        tcp.checksum = tcp.calc_checksum_ipv4_raw(from, to, payload).expect("a packet that fits");

        let payload = tcp.header_len_u16() + segment.len as u16;
        let mut ip = Ipv4Header::new(payload, TIME_TO_LIVE, IpNumber::TCP, from, to)
            .expect("a packet that fits");
        ip.ecn = match segment.ecn {
            Ecn::NotEct => IpEcn::NotEct,
            Ecn::Ect => IpEcn::Ect0,
            Ecn::Ce => IpEcn::CongestionExperienced,
        };
        ip.header_checksum = ip.calc_header_checksum();
        [ip.to_bytes().as_slice(), tcp.to_bytes().as_slice()].concat()
    }

    /// The window field: scaled, but for a SYN's (RFC 7323, section 2.2).
    fn window(&self, from: End, segment: &Segment) -> u16 {
        let scale = self.scales[from as usize].filter(|_| !segment.syn).unwrap_or(0);
        u16::try_from(segment.window >> scale).unwrap_or(u16::MAX)
    }

    /// In the order in which Linux writes them.
    fn options(&self, from: End, segment: &Segment) -> Vec<TcpOptionElement> {
        use TcpOptionElement::{
            MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
            Timestamp, WindowScale,
        };
        let timestamp = segment.timestamp.map(|stamp| Timestamp(stamp.value, stamp.echo));
        let mut options = Vec::new();
        if segment.syn {
            options.push(MaximumSegmentSize(self.mss));
            options.extend(self.sack.then_some(SelectiveAcknowledgementPermitted));
            options.extend(timestamp);
            let scale = self.scales[from as usize].map(WindowScale);
            options.extend(scale.into_iter().flat_map(|scale| [Noop, scale]));
            return options;
        }
        if let Some(timestamp) = timestamp {
            options.extend([Noop, Noop, timestamp]);
        }
        let edges = |block: &std::ops::Range<u64>| (block.start as u32, block.end as u32);
        if let [first, others @ ..] = segment.sack_blocks() {
            let others = [0, 1, 2].map(|place| others.get(place).map(edges));
            options.extend([Noop, Noop, SelectiveAcknowledgement(edges(first), others)]);
        }
        options
    }
}

/// Bytes of an option.
fn length(option: &TcpOptionElement) -> usize {
    match option {
        TcpOptionElement::Noop => 1,
        TcpOptionElement::MaximumSegmentSize(_) => 4,
        TcpOptionElement::WindowScale(_) => 3,
        TcpOptionElement::SelectiveAcknowledgementPermitted => 2,
        TcpOptionElement::SelectiveAcknowledgement(_, others) => {
            10 + 8 * others.iter().flatten().count()
        }
        TcpOptionElement::Timestamp(..) => 10,
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        error => io::Error::other(error),
    }
}
