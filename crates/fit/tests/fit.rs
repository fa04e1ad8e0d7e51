//! A loss element from a capture: what a known channel lost is found in captures of both ends.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use etherparse::PacketBuilder;
use kirikae_fit::losses::{Asked, Model, Report, Side, element};
use kirikae_path::{Ecn, Element, GilbertElliott, GilbertElliottSpec, Outcome, Packet, Time};
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim::{self, Files, Options};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

const TRUTH: GilbertElliottSpec = GilbertElliottSpec { p: 0.002, r: 0.25, k: 1.0, h: 0.0 };

const SCENARIO: &str = r#"
title = "Bulk"
seed = 5

[workload]
kind = "bulk"
bytes = "unlimited"

[[path.forward]]
element = "rate"
rate = "20 Mbit/s"
queue = "10000 packets"

[[path.forward]]
element = "delay"
delay = "10 ms"

[[path.forward]]
element = "gilbert-elliott"
p = 0.002
r = 0.25
k = 1
h = 0

[[path.backward]]
element = "delay"
delay = "10 ms"

[bench]
contenders = ["bbr"]

[sim]
duration = "60 s"
"#;

fn report(file: &Path) -> Report {
    Report::of(file, &Asked::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether the intervals hold what made the losses.
#[track_caller]
fn holds_the_truth(report: &Report) {
    let chosen = &report.fit.chosen;
    assert_eq!(chosen.model, Model::SimpleGilbert);
    assert!(report.fit.bursts.evident);
    for (name, truth) in [("p", TRUTH.p), ("r", TRUTH.r)] {
        let (_, it) = chosen.parameters.iter().find(|(it, _)| *it == name).unwrap();
        assert!(it.low < truth && truth < it.high, "{name} = {truth}: {it:?}");
    }
}

#[test]
fn both_ends_of_a_connection_tell_the_channel() {
    let directory = tempfile::tempdir().unwrap();
    let scenarios = Scenario::parse(Path::new("bulk.toml"), SCENARIO.into()).unwrap();
    let files = Files { packets: Some(directory.path().to_owned()), ..Files::default() };
    let options = Options { output: None, files, controls: Controls::default() };
    let outcome = sim::run(&scenarios, &options).unwrap();
    drop(outcome);
    for (end, side) in [("client", Side::Sender), ("server", Side::Receiver)] {
        let report = report(&directory.path().join(format!("bulk.bbr.{end}.pcapng")));
        let said =
            format!("captured at the {} (by what is in it)", format!("{side:?}").to_lowercase());
        assert!(report.evidence[0].contains(&said), "{:?}", report.evidence);
        // One of 60 s at 20 Mbit/s.
        assert!((95_000..105_000).contains(&report.fit.packets), "{}", report.fit.packets);
        holds_the_truth(&report);
        // The element is one of a scenario; the scenario of this test has it.
        let pasted =
            SCENARIO.replace("[[path.backward]]", &(element(&report.fit) + "\n[[path.backward]]"));
        Scenario::parse(Path::new("pasted.toml"), pasted).unwrap();
        assert!(report.plot().starts_with("<svg"));
    }
}

/// Which of so many packets the channel loses.
fn losses(packets: u64, seed: u64) -> Vec<bool> {
    let mut channel = GilbertElliott::new(TRUTH, seed);
    let lost = |number| {
        let packet = Packet { number, bytes: 500, ecn: Ecn::NotEct, payload: () };
        matches!(channel.enqueue(Time::ZERO, packet), Outcome::Dropped(_))
    };
    (0..packets).map(lost).collect()
}

/// Numbered datagrams of which those are missing that were lost, each as this makes it.
fn datagrams(lost: &[bool], packet: impl Fn(&[u8]) -> Vec<u8>) -> Vec<Vec<u8>> {
    let numbers = lost.iter().enumerate().filter(|(_, lost)| !**lost);
    numbers.map(|(number, _)| packet(&(number as u32).to_be_bytes())).collect()
}

/// A pcap file in the order of bytes of big-endian machines.
fn pcap(file: &Path, link: u32, packets: &[Vec<u8>]) {
    let mut bytes = Vec::new();
    let mut word = |value: u32| bytes.extend(value.to_be_bytes());
    [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, link].into_iter().for_each(&mut word);
    for (at, packet) in (0..).zip(packets) {
        [at, 0, packet.len() as u32, packet.len() as u32]
            .into_iter()
            .for_each(|value: u32| bytes.extend(value.to_be_bytes()));
        bytes.extend(packet);
    }
    File::create(file).unwrap().write_all(&bytes).unwrap();
}

#[test]
fn every_link_layer_is_understood() {
    let directory = tempfile::tempdir().unwrap();
    let lost = losses(20_000, 1);
    let number = lost.iter().filter(|lost| **lost).count() as u64;
    let (v4, v6) = (([10, 0, 0, 1], [10, 0, 0, 2]), ([1; 16], [2; 16]));
    let written = |builder: etherparse::PacketBuilderStep<etherparse::UdpHeader>,
                   payload: &[u8]| {
        let mut bytes = Vec::new();
        builder.write(&mut bytes, payload).unwrap();
        bytes
    };
    let mac = || PacketBuilder::ethernet2([1; 6], [2; 6]);
    let ip = |payload: &[u8]| written(PacketBuilder::ipv4(v4.0, v4.1, 64).udp(1, 5000), payload);
    let cooked = |header: &[u8], payload: &[u8]| [header, &ip(payload)].concat();
    type Make<'a> = (&'a str, u32, Box<dyn Fn(&[u8]) -> Vec<u8> + 'a>);
    let layers: [Make; 8] = [
        ("Ethernet", 1, Box::new(|it| written(mac().ipv4(v4.0, v4.1, 64).udp(1, 5000), it))),
        (
            "VLAN",
            1,
            Box::new(|it| {
                let vlan = mac().single_vlan(5.try_into().unwrap());
                written(vlan.ipv6(v6.0, v6.1, 64).udp(1, 5000), it)
            }),
        ),
        (
            "two VLANs",
            1,
            Box::new(|it| {
                let vlan = mac().double_vlan(5.try_into().unwrap(), 6.try_into().unwrap());
                written(vlan.ipv4(v4.0, v4.1, 64).udp(1, 5000), it)
            }),
        ),
        ("raw IPv4", 101, Box::new(&ip)),
        (
            "raw IPv6",
            101,
            Box::new(|it| written(PacketBuilder::ipv6(v6.0, v6.1, 64).udp(1, 5000), it)),
        ),
        ("cooked", 113, Box::new(|it| cooked(&[&[0; 14][..], &[8, 0]].concat(), it))),
        ("cooked 2", 276, Box::new(|it| cooked(&[&[8, 0][..], &[0; 18]].concat(), it))),
        ("loopback", 0, Box::new(|it| cooked(&[2, 0, 0, 0], it))),
    ];
    for (name, link, make) in &layers {
        let file = directory.path().join(format!("{name}.pcap"));
        pcap(&file, *link, &datagrams(&lost, make));
        let report = report(&file);
        assert_eq!((report.fit.packets, report.fit.lost), (20_000, number), "{name}");
        assert!(report.flow.to_string().ends_with(":5000"), "{name}: {}", report.flow);
        holds_the_truth(&report);
    }
}

#[test]
fn what_cannot_be_used_is_refused_with_the_counts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("capture.pcap");
    let refused = |asked: &Asked| Report::of(&file, asked).unwrap_err().to_string();
    let usual = || refused(&Asked::default());
    let udp = |payload: &[u8]| {
        let mut bytes = Vec::new();
        let packet = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 5000);
        packet.write(&mut bytes, payload).unwrap();
        bytes
    };

    assert!(usual().contains("No such file"));
    fs::write(&file, "").unwrap();
    assert!(usual().contains("an empty file; allowed: a capture"), "{}", usual());
    fs::write(&file, "not a capture at all, but a text of some length").unwrap();
    assert!(usual().contains("no capture; allowed: "), "{}", usual());
    pcap(&file, 101, &[]);
    assert!(usual().contains("no usable flow: 0 packets"), "{}", usual());
    pcap(&file, 101, &vec![vec![0; 60]; 500]);
    assert!(usual().contains("500 packets, 500 of them neither TCP nor UDP"), "{}", usual());

    let few: Vec<bool> = (0..1000).map(|number| [100, 101, 500].contains(&number)).collect();
    pcap(&file, 101, &datagrams(&few, udp));
    let said = "too little loss to fit: 1000 packets, 3 lost in 2 runs; at least 10 runs";
    assert!(usual().contains(said), "{}", usual());
    let port = Asked { port: Some(80), ..Asked::default() };
    assert!(
        refused(&port).contains("no usable flow with port 80: 997 packets"),
        "{}",
        refused(&port)
    );
    let number = Asked { numbering: Some("8:64".parse().unwrap()), ..Asked::default() };
    assert!(refused(&number).contains("997 datagrams: no number that counts them"));

    // Cut in the middle of a packet, as of a killed tcpdump: the rest is taken.
    pcap(&file, 101, &datagrams(&losses(20_000, 1), udp));
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 7]).unwrap();
    let report = report(&file);
    assert!(report.evidence.iter().any(|note| note.contains("ends in the middle of a packet")));
    holds_the_truth(&report);
}

#[test]
fn independent_losses_are_no_bursts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("capture.pcap");
    let spec = GilbertElliottSpec { p: 0.0, r: 1.0, k: 0.99, h: 1.0 };
    let mut channel = GilbertElliott::new(spec, 3);
    let lost = |number| {
        let packet = Packet { number, bytes: 500, ecn: Ecn::NotEct, payload: () };
        matches!(channel.enqueue(Time::ZERO, packet), Outcome::Dropped(_))
    };
    let lost: Vec<bool> = (0..50_000).map(lost).collect();
    let raw = |payload: &[u8]| {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .udp(1, 5000)
            .write(&mut bytes, payload)
            .unwrap();
        bytes
    };
    pcap(&file, 101, &datagrams(&lost, raw));
    let report = report(&file);
    assert_eq!(report.fit.chosen.model, Model::Independent);
    assert!(!report.fit.bursts.evident);
    assert!(element(&report.fit).contains("element = \"loss\"\nprobability = 0.0"));
    let rate = report.fit.loss_rate;
    assert!(rate.low < 0.01 && 0.01 < rate.high, "{rate:?}");
}

/// What the fuzzer looks for longer (crates/fuzzed/src/capture.rs).
#[test]
fn a_changed_capture_is_fitted_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/capture");
    let mut random = Pcg32::seed_from_u64(1);
    for entry in fs::read_dir(corpus).unwrap() {
        let whole = fs::read(entry.unwrap().path()).unwrap();
        let read = |bytes: &[u8]| Report::read(Path::new("changed"), bytes, &Asked::default());
        assert!(read(&whole).is_ok());
        for _ in 0..500 {
            let mut bytes = whole.clone();
            for _ in 0..random.random_range(1..8) {
                let place = random.random_range(0..bytes.len());
                bytes[place] = random.random();
            }
            bytes.truncate(random.random_range(0..=2 * whole.len()));
            if let Ok(report) = read(&bytes) {
                assert!(report.fit.lost <= report.fit.packets);
                element(&report.fit);
            }
        }
    }
}
