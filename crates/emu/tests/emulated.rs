//! Tests emulated paths on the real kernel. They need root.

mod common;

use std::fs;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kirikae_emu::{Emulated, Error, owner_of, remove_stale};
use kirikae_path::{
    Direction, DropCause, ElementSpec, LinkSpec, PathSpec, QueueLimit, QueueSpec, RateSpec,
};
use kirikae_vocabulary::Report;
use socket2::SockRef;

use common::{delay, privileged, receive, round_trips};

/// A UDP socket at each end, connected to each other.
fn sockets(path: &Emulated) -> (UdpSocket, UdpSocket) {
    let bind = |address| move || UdpSocket::bind((address, 5000)).unwrap();
    let (sender, receiver) = (path.sender(), path.receiver());
    let at_sender = sender.run_in(bind(sender.address())).unwrap();
    let at_receiver = receiver.run_in(bind(receiver.address())).unwrap();
    at_sender.connect((receiver.address(), 5000)).unwrap();
    at_receiver.connect((sender.address(), 5000)).unwrap();
    for socket in [&at_sender, &at_receiver] {
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    }
    (at_sender, at_receiver)
}

fn namespaces() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/run/netns") else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_round_trip_takes_both_delays() {
    if !privileged() {
        return;
    }
    let spec = PathSpec { forward: vec![delay(30)], backward: vec![delay(10)] };
    let path = Emulated::create(&spec, 1, "round trip").unwrap();
    let (sender, receiver) = sockets(&path);
    let sent = round_trips(Duration::from_millis(40), |n| {
        let (start, mut byte) = (Instant::now(), [0]);
        sender.send(&[n]).unwrap();
        receive(&receiver, &mut byte);
        receiver.send(&byte).unwrap();
        receive(&sender, &mut byte);
        assert_eq!(byte, [n]);
        start.elapsed()
    });

    let report = path.finish().unwrap();
    for direction in [&report.forward, &report.backward] {
        assert_eq!((direction.offered, direction.delivered), (sent, sent));
        assert_eq!((direction.dropped.len(), direction.device_drops), (0, 0));
    }
    assert!(report.drops.is_empty());
}

#[test]
fn exactly_the_listed_packets_are_lost() {
    if !privileged() {
        return;
    }
    let listed = ElementSpec::ListedLoss { packets: vec![0, 3, 4, 19] };
    let spec = PathSpec { forward: vec![listed, delay(1)], backward: vec![] };
    let path = Emulated::create(&spec, 1, "listed").unwrap();
    let (sender, receiver) = sockets(&path);
    for n in 0..=20u8 {
        sender.send(&[n]).unwrap();
    }
    let expected: Vec<u8> = (0..=20).filter(|n| ![0, 3, 4, 19].contains(n)).collect();
    let received: Vec<u8> = expected
        .iter()
        .map(|_| {
            let mut byte = [0];
            receive(&receiver, &mut byte);
            byte[0]
        })
        .collect();
    assert_eq!(received, expected);

    let report = path.finish().unwrap();
    assert_eq!((report.forward.offered, report.forward.delivered), (21, 17));
    assert_eq!(report.forward.dropped[&DropCause::Listed], 4);
    let numbers: Vec<u64> = report.drops.iter().map(|drop| drop.number).collect();
    assert_eq!(numbers, [0, 3, 4, 19]);
    assert!(report.drops.iter().all(|drop| drop.segment.is_none()));
}

#[test]
fn marks_reach_the_receivers_kernel() {
    if !privileged() {
        return;
    }
    // One packet is sent at once, one may wait, and the three behind it are marked: at 1 Mb/s all are there
    // long before the first is out. If this process was stopped in between, the first left late, and the
    // report says so.
    let in_time = (0..20).any(|_| {
        let (marks, report) = marks();
        let late_us = report.forward.timing_error.max_us;
        assert!(marks == (2, 3) || late_us > 500.0, "{marks:?}, {late_us} us late");
        marks == (2, 3)
    });
    assert!(in_time, "the path always fell behind");
}

/// Counts the packets of five at once that came unmarked and marked, over a link that marks all that wait
/// behind another.
fn marks() -> ((u64, u64), Report) {
    let queue = QueueSpec {
        mark: Some(QueueLimit::Packets(1)),
        ..QueueSpec::drop_tail(QueueLimit::Packets(10))
    };
    let link = ElementSpec::Link(LinkSpec::new(RateSpec::Constant(1_000_000), queue));
    let spec = PathSpec { forward: vec![link], backward: vec![] };
    let path = Emulated::create(&spec, 1, "marks").unwrap();
    let (sender, receiver) = sockets(&path);
    const ECT_0: u32 = 0b10;
    SockRef::from(&sender).set_tos_v4(ECT_0).unwrap();
    for n in 0..5 {
        sender.send(&[n; 1000]).unwrap();
    }
    for n in 0..5 {
        let mut received = [0; 1000];
        // A packet with a wrong checksum would not arrive.
        receive(&receiver, &mut received);
        assert_eq!(received, [n; 1000]);
    }
    let counters =
        path.receiver().run_in(|| fs::read_to_string("/proc/thread-self/net/netstat")).unwrap();
    let counters = counters.unwrap();
    let mut lines = counters.lines().filter(|line| line.starts_with("IpExt:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let counted = |name| {
        let place = names.split(' ').position(|found| found == name).unwrap();
        values.split(' ').nth(place).unwrap().parse::<u64>().unwrap()
    };
    let marks = (counted("InECT0Pkts"), counted("InCEPkts"));
    (marks, path.finish().unwrap())
}

#[test]
fn a_lost_segment_is_found_in_its_stream() {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    if !privileged() {
        return;
    }
    // The sender's packets are 0 SYN, 1 ACK, then data; the third segment of data is lost.
    let listed = ElementSpec::ListedLoss { packets: vec![4] };
    let spec = PathSpec { forward: vec![listed, delay(5)], backward: vec![delay(5)] };
    let path = Emulated::create(&spec, 1, "segment").unwrap();
    let address = path.receiver().address();
    let listener = path.receiver().run_in(|| TcpListener::bind((address, 5000))).unwrap().unwrap();
    let mut out = path.sender().run_in(|| TcpStream::connect((address, 5000))).unwrap().unwrap();
    let (mut from, _) = listener.accept().unwrap();
    let sent: Vec<u8> = (0..10_000u32).map(|n| n as u8).collect();
    out.write_all(&sent).unwrap();
    drop(out);
    let mut received = Vec::new();
    from.read_to_end(&mut received).unwrap();
    assert_eq!(received, sent);

    let report = path.finish().unwrap();
    let [drop] = &report.drops[..] else { panic!("{:?}", report.drops) };
    assert_eq!((drop.number, drop.direction), (4, Direction::Forward));
    let segment = drop.segment.unwrap();
    assert_eq!(segment.destination_port, 5000);
    assert!(!segment.syn);
    // The payload is 1500 bytes minus the IP and TCP headers and the timestamp option.
    assert_eq!((segment.payload_bytes, segment.stream_offset), (1448, Some(2 * 1448)));
}

#[test]
fn sysctls_are_set_inside_only() {
    if !privileged() {
        return;
    }
    const FILE: &str = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";
    let outside = fs::read_to_string(FILE).unwrap();
    let path = Emulated::create(&PathSpec::default(), 1, "sysctl").unwrap();
    for value in ["0", "1"] {
        path.sender().set_sysctl("net.ipv4.tcp_slow_start_after_idle", value).unwrap();
        let inside = path.sender().run_in(|| fs::read_to_string(FILE).unwrap()).unwrap();
        assert_eq!(inside.trim(), value);
    }
    assert_eq!(fs::read_to_string(FILE).unwrap(), outside);
    assert!(path.sender().set_sysctl("net.ipv4.no_such_key", "1").is_err());
}

#[test]
fn nothing_is_left_behind() {
    if !privileged() {
        return;
    }
    let names = |path: &Emulated| [path.sender().name(), path.receiver().name()].map(String::from);
    let finished = Emulated::create(&PathSpec::default(), 1, "finished").unwrap();
    let dropped = Emulated::create(&PathSpec::default(), 1, "dropped").unwrap();
    let ours = [names(&finished), names(&dropped)].concat();
    assert!(ours.iter().all(|name| namespaces().contains(name)));
    finished.finish().unwrap();
    drop(dropped);
    assert!(!ours.iter().any(|name| namespaces().contains(name)));
}

#[test]
fn forty_paths_run_side_by_side() {
    if !privileged() {
        return;
    }
    let spec = PathSpec { forward: vec![delay(1)], backward: vec![delay(1)] };
    let paths: Vec<Emulated> =
        (0..40).map(|_| Emulated::create(&spec, 1, "one of forty").unwrap()).collect();
    for (n, path) in (0..).zip(&paths) {
        let (sender, receiver) = sockets(path);
        let mut byte = [0];
        sender.send(&[n]).unwrap();
        receive(&receiver, &mut byte);
        assert_eq!(byte, [n]);
    }
    for path in paths {
        assert_eq!(path.finish().unwrap().forward.delivered, 1);
    }
}

#[test]
fn a_rate_that_cannot_be_held_is_refused() {
    if !privileged() {
        return;
    }
    let terabit =
        ElementSpec::Rate { bits_per_second: 1_000_000_000_000, limit: QueueLimit::Packets(100) };
    let spec = PathSpec { forward: vec![terabit], backward: vec![] };
    let error = Emulated::create(&spec, 1, "terabit").unwrap_err();
    assert!(matches!(error, Error::TooFast { .. }), "{error}");
    assert!(error.to_string().starts_with("terabit: 1000000.0 Mb/s"), "{error}");
}

/// Tests that remove stale namespaces hold this lock, so that they do not remove each other's.
static STALE: Mutex<()> = Mutex::new(());

#[test]
fn only_what_dead_owners_left_is_stale() {
    if !privileged() {
        return;
    }
    let _alone = STALE.lock().unwrap();
    let living = Emulated::create(&PathSpec::default(), 1, "living").unwrap();
    // The process id is beyond the kernel's largest, so that it is never alive.
    let stale = format!("kirikae-4194305-1-{}-sender", std::process::id());
    // This name is near to those that we give, but is not one.
    let foreign = format!("kirikae-4194305-test{}", std::process::id());
    for name in [&stale, &foreign] {
        assert!(Command::new("ip").args(["netns", "add", name]).status().unwrap().success());
    }
    let removed = remove_stale().unwrap();
    let left = namespaces();
    assert!(Command::new("ip").args(["netns", "delete", &foreign]).status().unwrap().success());
    assert!(removed.contains(&stale), "{removed:?}");
    assert!(!left.contains(&stale));
    assert!(left.contains(&foreign));
    assert!(left.iter().any(|name| name == living.sender().name()));
}

#[test]
fn paths_share_what_the_machine_holds() {
    if !privileged() {
        return;
    }
    let rate = |megabits_per_second: f64| PathSpec {
        forward: vec![ElementSpec::Rate {
            bits_per_second: (megabits_per_second * 1e6) as u64,
            limit: QueueLimit::Packets(100),
        }],
        backward: vec![],
    };
    let Err(Error::TooFast { held, .. }) = Emulated::create(&rate(1e6), 1, "terabit") else {
        panic!("1 Tb/s is not refused");
    };
    let more_than_half = rate(held * 0.6);
    let first = Emulated::create(&more_than_half, 1, "first").unwrap();
    let error = Emulated::create(&more_than_half, 1, "second").unwrap_err();
    assert!(matches!(error, Error::TooFast { .. }), "{error}");
    first.finish().unwrap();
    Emulated::create(&more_than_half, 1, "third").unwrap();
}

/// This is not a test of its own: `what_is_missing_is_said_with_what_to_do` runs it where something is
/// missing.
#[test]
#[ignore = "run by what_is_missing_is_said_with_what_to_do"]
fn say_what_is_missing() {
    match Emulated::create(&PathSpec::default(), 1, "missing") {
        Err(Error::Missing(message)) => println!("\nmissing: {message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_missing_is_said_with_what_to_do() {
    use std::os::unix::process::CommandExt;
    if !privileged() {
        return;
    }
    // The file is in a directory in which another user may run it, too.
    let program = std::env::temp_dir().join(format!("kirikae-emu-test-{}", std::process::id()));
    // fs::copy cannot be used: a child that another test forks at that moment would hold the file open for
    // writing, and it could not be run.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    let said_by = |command: &mut Command| {
        let output = command
            .args(["say_what_is_missing", "--exact", "--ignored", "--nocapture"])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let nobody = said_by(Command::new(&program).uid(65_534).gid(65_534));
    let no_ip = said_by(Command::new(&program).env("PATH", "/nonexistent"));
    fs::remove_file(&program).unwrap();
    assert!(nobody.contains("missing: no permission to make network namespaces"), "{nobody}");
    assert!(nobody.contains("run as root"), "{nobody}");
    assert!(no_ip.contains("missing: the command `ip` is missing: install iproute2"), "{no_ip}");
}

/// This is not a test of its own: it is the process that `a_killed_process_is_cleaned_up_after` kills.
#[test]
#[ignore = "run by a_killed_process_is_cleaned_up_after"]
fn run_until_killed() {
    let path = Emulated::create(&PathSpec::default(), 1, "to be killed").unwrap();
    println!("\n{}", path.sender().name());
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_killed_process_is_cleaned_up_after() {
    use std::io::{BufRead, BufReader};
    if !privileged() {
        return;
    }
    let _alone = STALE.lock().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["run_until_killed", "--exact", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let sender = lines
        .map(Result::unwrap)
        .find(|line| owner_of(line).is_some())
        .expect("the child made a path");
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(namespaces().contains(&sender), "kill -9 leaves the namespace");
    assert_eq!(owner_of(&sender).unwrap().pid, child.id());
    remove_stale().unwrap();
    let child_names = namespaces()
        .into_iter()
        .filter(|name| owner_of(name).is_some_and(|owner| owner.pid == child.id()));
    assert_eq!(child_names.count(), 0);
}
