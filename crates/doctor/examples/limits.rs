//! Measures what the real kernel carries over emulated paths, beside what `kirikae doctor` says of the host:
//! docs/doctor.md. It needs root. `limits [SECONDS [FINDING]]` says how long each connection sends, and picks
//! one finding.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_doctor::{Destination, Finding, Host, Limit, Path, examine};
use kirikae_emu::Emulated;
use kirikae_path::{ElementSpec, PathSpec, Span};
use socket2::SockRef;

type Done<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The rate that the doctor is told, bit/s: more than any of the hosts carries.
const RATE: f64 = 400e6;
const PORT: u16 = 5000;
/// How often each repetition is tried at most.
const TRIES: u64 = 3;

/// A host with a changed setting, and the finding that predicts the effect.
struct Case {
    /// The name of the finding.
    name: &'static str,
    /// Whether the setting is the receiver's.
    at_receiver: bool,
    congestion_control: &'static str,
    sysctl: Option<(&'static str, &'static str)>,
    loss: f64,
    rtts_ms: &'static [u64],
    /// Number of connections, one after the other.
    repetitions: usize,
}

/// Round-trip times, ms. Reno's slow start goes on until a loss, so that only the buffer ends it.
const BUFFERS: &[u64] = &[20, 50, 100, 200];
const CASES: &[Case] = &[
    Case {
        name: "send-buffer",
        at_receiver: false,
        congestion_control: "reno",
        sysctl: Some(("net.ipv4.tcp_wmem", "4096 16384 262144")),
        loss: 0.0,
        rtts_ms: BUFFERS,
        repetitions: 3,
    },
    Case {
        name: "send-buffer",
        at_receiver: false,
        congestion_control: "reno",
        sysctl: Some(("net.ipv4.tcp_wmem", "4096 16384 1048576")),
        loss: 0.0,
        rtts_ms: &[100, 200],
        repetitions: 3,
    },
    Case {
        name: "receive-buffer",
        at_receiver: true,
        congestion_control: "reno",
        sysctl: Some(("net.ipv4.tcp_rmem", "4096 131072 262144")),
        loss: 0.0,
        rtts_ms: BUFFERS,
        repetitions: 3,
    },
    Case {
        name: "receive-buffer",
        at_receiver: true,
        congestion_control: "reno",
        sysctl: Some(("net.ipv4.tcp_rmem", "4096 131072 1048576")),
        loss: 0.0,
        rtts_ms: &[100, 200],
        repetitions: 3,
    },
    Case {
        name: "receive-buffer",
        at_receiver: true,
        congestion_control: "reno",
        sysctl: Some(("net.ipv4.tcp_moderate_rcvbuf", "0")),
        loss: 0.0,
        rtts_ms: &[50, 200],
        repetitions: 3,
    },
    Case {
        name: "window-scaling",
        at_receiver: false,
        congestion_control: "reno",
        sysctl: Some(("net.ipv4.tcp_window_scaling", "0")),
        loss: 0.0,
        rtts_ms: &[20, 200],
        repetitions: 3,
    },
    Case {
        name: "congestion-control",
        at_receiver: false,
        congestion_control: "cubic",
        sysctl: None,
        loss: 0.001,
        rtts_ms: &[50, 200],
        repetitions: 3,
    },
    Case {
        name: "congestion-control",
        at_receiver: false,
        congestion_control: "cubic",
        sysctl: None,
        loss: 0.01,
        rtts_ms: &[50, 200],
        repetitions: 3,
    },
    Case {
        name: "congestion-control",
        at_receiver: false,
        congestion_control: "reno",
        sysctl: None,
        loss: 0.01,
        rtts_ms: &[50, 200],
        repetitions: 3,
    },
];

fn main() -> Done<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(12), |text| text.parse::<u64>())?;
    println!(
        "finding, host, RTT, predicted Mbit/s, measured Mbit/s: median (each), measured/predicted"
    );
    let wanted = std::env::args().nth(2);
    for case in CASES.iter().filter(|case| wanted.as_ref().is_none_or(|name| name == case.name)) {
        for rtt_ms in case.rtts_ms {
            let mut measured = Vec::new();
            let mut predicted = 0.0;
            // If no losses are wanted, a run in which a busy machine lost or delayed packets is made again.
            for seed in 1..=TRIES * case.repetitions as u64 {
                if measured.len() == case.repetitions {
                    break;
                }
                // A mean window needs some losses to settle.
                let lasting =
                    Duration::from_secs(if case.loss > 0.0 { 5 * seconds } else { seconds });
                let (expected, found, again) = play(case, *rtt_ms, seed, lasting)?;
                predicted = expected;
                if case.loss > 0.0 || again == 0 {
                    measured.push(found);
                }
            }
            if measured.is_empty() {
                println!("{}, {rtt_ms} ms: something was sent again each time", case.name);
                continue;
            }
            measured.sort_by(f64::total_cmp);
            let median = measured[measured.len() / 2];
            let each: Vec<String> = measured.iter().map(|it| format!("{it:.2}")).collect();
            let host = case.sysctl.map_or_else(
                || format!("{}, p={}", case.congestion_control, case.loss),
                |(name, value)| format!("{name}={value:?}"),
            );
            println!(
                "{}, {host}, {rtt_ms} ms, {predicted:.2}, {median:.2} ({}), {:.3}",
                case.name,
                each.join(" "),
                median / predicted,
            );
        }
    }
    Ok(())
}

/// The predicted and the measured rate, Mbit/s, and the number of retransmitted segments.
fn play(case: &Case, rtt_ms: u64, seed: u64, lasting: Duration) -> Done<(f64, f64, u32)> {
    let delay = ElementSpec::Delay { delay: Span::from_millis(rtt_ms / 2) };
    let loss = ElementSpec::Loss { probability: case.loss };
    // There is no bottleneck: the host alone limits.
    let mut forward = vec![delay.clone()];
    forward.extend((case.loss > 0.0).then_some(loss));
    let path = Emulated::create(&PathSpec { forward, backward: vec![delay] }, seed, case.name)?;
    let host = if case.at_receiver { path.receiver() } else { path.sender() };
    for at in [path.sender(), path.receiver()] {
        at.set_sysctl("net.ipv4.tcp_no_metrics_save", "1")?;
        // All buffers are large, except the one in question.
        at.set_sysctl("net.ipv4.tcp_wmem", "4096 16384 67108864")?;
        at.set_sysctl("net.ipv4.tcp_rmem", "4096 131072 67108864")?;
    }
    if let Some((name, value)) = case.sysctl {
        host.set_sysctl(name, value)?;
    }
    let asked = Path::new(Some(RATE), Some(rtt_ms as f64 / 1e3), Some(case.loss), 65_536, &[]);
    let other = if case.at_receiver { path.sender() } else { path.receiver() };
    let peer = other.address().into();
    let mut read = host.run_in(|| Host::read(Some(peer)))?;
    // A route may name any algorithm; the sysctl of a namespace takes only what the host allows to all.
    read.route.as_mut().map_err(|why| why.clone())?.congestion_control =
        Some(case.congestion_control.to_owned());
    let report = examine(read, asked, Vec::new());
    let own = |finding: &&Finding| finding.name == case.name;
    let finding = report.findings.iter().find(own).ok_or("no such finding")?;
    let Some(Limit::Throughput(most)) = finding.limit else { return Err("no limit".into()) };
    let predicted = finding.expected.unwrap_or(most);
    let (measured, again) = transfer(&path, case.congestion_control, lasting)?;
    let report = path.finish()?;
    if !report.held {
        eprintln!("the machine did not keep up: {:?}", report.forward.timing_error);
    }
    Ok((predicted / 1e6, measured / 1e6, again))
}

/// The bytes that arrived in the second half of the time, as bit/s, and the number of retransmitted segments.
fn transfer(path: &Emulated, congestion_control: &str, lasting: Duration) -> Done<(f64, u32)> {
    let (from, to) = (path.sender(), path.receiver());
    let listener = to.run_in(|| TcpListener::bind((to.address(), PORT)))??;
    let mut out = from.run_in(|| TcpStream::connect((to.address(), PORT)))??;
    SockRef::from(&out).set_tcp_congestion(congestion_control.as_bytes())?;
    let (mut arriving, _) = listener.accept()?;
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let receiver = thread::spawn(move || {
        let mut data = vec![0; 1 << 18];
        while let Ok(bytes @ 1..) = arriving.read(&mut data) {
            counted.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    });
    out.set_write_timeout(Some(Duration::from_millis(100)))?;
    let data = vec![0; 1 << 18];
    let begin = Instant::now();
    let mut half = None;
    while begin.elapsed() < lasting {
        // The buffer may be full; that is what is measured.
        let _ = out.write(&data);
        if half.is_none() && begin.elapsed() > lasting / 2 {
            half = Some((Instant::now(), count.load(Ordering::Relaxed)));
        }
    }
    let (since, before) = half.ok_or("too short")?;
    let (bytes, time) = (count.load(Ordering::Relaxed) - before, since.elapsed());
    let destination: Destination = to.address().to_string().parse()?;
    let seen = from.run_in(|| destination.look())??;
    let again = seen.connections.iter().map(|it| it.retransmitted).sum();
    // The connection is reset, so that nobody waits for what is still unsent.
    SockRef::from(&out).set_linger(Some(Duration::ZERO))?;
    drop(out);
    receiver.join().map_err(|_| "the receiver failed")?;
    Ok((bytes as f64 * 8.0 / time.as_secs_f64(), again))
}
