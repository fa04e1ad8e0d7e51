//! What a simulated run writes, read back with the libraries of others.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use etherparse::{Ipv4Header, LaxSlicedPacket, TcpOptionElement, TcpSlice, TransportSlice};
use kirikae_results::Error;
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim::{self, Files, Format, Options};
use kirikae_tcp::Profile;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use pcap_parser::{Block, PcapBlockOwned, PcapNGSlice};

const SCENARIO: &str = r#"
title = "Lossy, 2 %"
seed = 1

[workload]
burst = "64 KiB"
interval = "1 s"
count = 20

[[path.forward]]
element = "loss"
probability = 0.02

[[path.forward]]
element = "rate"
rate = "10 Mbit/s"
queue = "20 packets"

[[path.forward]]
element = "delay"
delay = "50 ms"

[[path.backward]]
element = "delay"
delay = "50 ms"

[bench]
contenders = ["cubic", "kirikae"]
"#;
/// Bytes of data in a full segment.
const MSS: u64 = 1448;

/// Runs the scenario with these files in `directory`; gives how its hosts' TCP behaves.
fn run(directory: &Path, files: Files) -> Profile {
    let file = directory.join("scenario.toml");
    fs::write(&file, SCENARIO).unwrap();
    let scenarios = Scenario::load(&file).unwrap();
    let controls = Controls::default();
    sim::run(&scenarios, &Options { output: None, files, controls }).unwrap();
    scenarios[0].stack.clone()
}

#[test]
fn no_simulation_begins_once_it_is_stopped() {
    let scenarios = Scenario::parse(Path::new("scenario.toml"), SCENARIO.into()).unwrap();
    let simulate = |stop| sim::simulate(&scenarios, &Controls::default(), &AtomicBool::new(stop));
    let outcome = simulate(false).unwrap();
    let drops = outcome.comparisons[0].performances.iter().map(|it| it.report.drops.len());
    assert!(drops.min() > Some(0), "each contender loses packets, and they are listed");
    assert!(matches!(simulate(true), Err(Error::Interrupted(_))));
}

/// A packet as captured.
struct Packet {
    nanoseconds: u64,
    bytes: u32,
    headers: Vec<u8>,
}

impl Packet {
    fn tcp(&self) -> TcpSlice<'_> {
        // The payload that the length speaks of was left out.
        match LaxSlicedPacket::from_ip(&self.headers).unwrap().transport {
            Some(TransportSlice::Tcp(tcp)) => tcp,
            other => panic!("{other:?}"),
        }
    }

    fn options(&self) -> Vec<TcpOptionElement> {
        self.tcp().options_iterator().map(Result::unwrap).collect()
    }

    /// Bytes of data.
    fn len(&self) -> u32 {
        self.bytes - self.headers.len() as u32
    }
}

fn packets(path: &Path) -> Vec<Packet> {
    let bytes = fs::read(path).unwrap();
    let mut packets = Vec::new();
    for block in PcapNGSlice::from_slice(&bytes).unwrap() {
        match block.unwrap() {
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                assert_eq!((interface.linktype.0, interface.if_tsresol), (101, 9));
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let nanoseconds = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let headers = packet.data[..packet.caplen as usize].to_vec();
                packets.push(Packet { nanoseconds, bytes: packet.origlen, headers });
            }
            _ => {}
        }
    }
    packets
}

#[test]
fn captures_are_what_each_host_sends_and_receives() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let packets_to = Some(directory.path().to_owned());
    let trace = Some((directory.path().to_owned(), Format::Csv));
    let profile = run(directory.path(), Files { packets: packets_to, trace, plot: None });
    let client = packets(&path("lossy-2.cubic.client.pcapng"));
    let server = packets(&path("lossy-2.cubic.server.pcapng"));
    for packets in [&client, &server] {
        assert!(packets.is_sorted_by_key(|packet| packet.nanoseconds));
        assert!(packets.iter().all(|packet| packet.headers.len() <= 20 + 60));
    }

    // SYN and its answer, with the options of Linux.
    let [syn, answer] = [&client[0], &client[1]];
    let (syn_tcp, answer_tcp) = (syn.tcp(), answer.tcp());
    assert_eq!((syn_tcp.syn(), syn_tcp.ack(), syn_tcp.sequence_number()), (true, false, 0));
    assert_eq!((answer_tcp.syn(), answer_tcp.ack()), (true, true));
    assert_eq!((answer_tcp.sequence_number(), answer_tcp.acknowledgment_number()), (0, 1));
    assert_eq!(answer_tcp.source_port(), syn_tcp.destination_port());
    use TcpOptionElement::*;
    let scale = profile.window_scale();
    let options = |value, echo| {
        let stamp = Timestamp(value, echo);
        [
            MaximumSegmentSize(1460),
            SelectiveAcknowledgementPermitted,
            stamp,
            Noop,
            WindowScale(scale),
        ]
    };
    assert_eq!((syn.options(), answer.options()), (options(0, 0).into(), options(50, 0).into()));
    assert_eq!((syn.nanoseconds, syn.bytes), (0, 60));
    // A way takes 50 ms, and 48 us more for 60 bytes through the narrow link.
    assert_eq!((server[0].nanoseconds, answer.nanoseconds), (50_048_000, 100_048_000));
    // A SYN's window is not scaled and at most 64 KiB, those after it tell four fifths of the buffer (Linux
    // 6.10).
    let window = u32::from(client[2].tcp().window_size()) << scale;
    assert!(window.abs_diff(profile.receive_buffer / 5 * 4) < 1448, "{window}");
    assert!(syn_tcp.window_size() > u16::MAX - 1460);

    // Whole segments say how long they were, and the last of a write pushes it.
    let data: Vec<&Packet> = client.iter().filter(|packet| packet.len() > 0).collect();
    assert_eq!((data[0].nanoseconds, data[0].bytes, data[0].len()), (2_000_000_000, 1500, 1448));
    assert!(data.iter().filter(|packet| packet.tcp().psh()).count() >= 21);
    for packet in client.iter().chain(&server) {
        let payload = vec![0; packet.len() as usize];
        let (ip, _) = Ipv4Header::from_slice(&packet.headers).unwrap();
        let tcp = packet.tcp().to_header();
        assert_eq!(
            Ok(tcp.checksum),
            tcp.calc_checksum_ipv4_raw(ip.source, ip.destination, &payload)
        );
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        assert_eq!(u32::from(ip.total_len), packet.bytes);
    }

    // Packets are lost between the hosts, SACK blocks tell of it, and the client sends again.
    let received = server.iter().filter(|packet| packet.len() > 0).count();
    let lost = data.len() - received;
    assert!(lost > 5, "{lost}");
    let sack = |packet: &&Packet| {
        packet.options().iter().any(|option| matches!(option, SelectiveAcknowledgement(..)))
    };
    assert!(client.iter().filter(sack).all(|packet| packet.len() == 0));
    assert!(client.iter().filter(sack).count() > lost);
    let mut until = 0;
    let mut again = 0;
    for packet in &data {
        let end = packet.tcp().sequence_number() + packet.len();
        again += if end <= until { u64::from(packet.len()) } else { 0 };
        until = until.max(end);
    }

    // The trace counts the same bytes sent again, and has a row for each packet that came back.
    let mut rows = csv::Reader::from_path(path("lossy-2.cubic.csv")).unwrap();
    let names = rows.headers().unwrap().clone();
    let place = |name| names.iter().position(|other| other == name).unwrap();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let number = |row: &csv::StringRecord, name| row[place(name)].parse::<u64>().unwrap();
    assert_eq!(number(rows.last().unwrap(), "retransmitted_bytes"), again);
    let came_back =
        client.iter().filter(|packet| packet.tcp().source_port() != syn_tcp.source_port());
    assert_eq!(rows.len(), came_back.skip(1).count());
    for row in &rows {
        let (segments, bytes) = (number(row, "inflight"), number(row, "inflight_bytes"));
        assert!(bytes <= segments * MSS && (bytes == 0) == (segments == 0), "{row:?}");
        assert!(number(row, "srtt_us") >= 100_000 && number(row, "rto_us") >= 200_000);
        assert!(["open", "disorder", "recovery", "loss"].contains(&&row[place("state")]));
    }
}

#[test]
fn both_formats_of_a_trace_say_the_same() {
    let directory = tempfile::tempdir().unwrap();
    for format in [Format::Csv, Format::Parquet] {
        let trace = Some((directory.path().to_owned(), format));
        run(directory.path(), Files { trace, ..Files::default() });
    }
    for contender in ["cubic", "kirikae"] {
        let path = |format: &str| directory.path().join(format!("lossy-2.{contender}.{format}"));
        let file = SerializedFileReader::new(File::open(path("parquet")).unwrap()).unwrap();
        let mut table = file.get_row_iter(None).unwrap();
        let mut rows = csv::Reader::from_path(path("csv")).unwrap();
        let names = rows.headers().unwrap().clone();
        let mut algorithms = Vec::new();
        for row in rows.records().map(Result::unwrap) {
            let other = table.next().unwrap().unwrap();
            let other: Vec<_> = other.get_column_iter().collect();
            assert!(other.iter().map(|(name, _)| name.as_str()).eq(&names));
            for ((_, field), text) in other.into_iter().zip(&row) {
                match field {
                    Field::Null => assert_eq!(text, ""),
                    Field::Str(value) => assert_eq!(text, value),
                    Field::UInt(value) => assert_eq!(text, value.to_string()),
                    Field::ULong(value) => assert_eq!(text, value.to_string()),
                    Field::Double(value) => assert_eq!(text.parse(), Ok(*value)),
                    other => panic!("{other:?}"),
                }
            }
            algorithms.push(row[3].to_owned());
        }
        assert!(table.next().is_none());
        algorithms.dedup();
        let is_switched = algorithms.iter().any(|name| name.starts_with("kk_"));
        assert_eq!(is_switched, contender == "kirikae", "{algorithms:?}");
    }
}
