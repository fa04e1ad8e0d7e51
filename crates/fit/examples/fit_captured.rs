//! Runs `kirikae-lab fit` on captures of the real kernel's packets over an emulated channel: docs/fit.md. It
//! needs root and dumpcap (wireshark-common). `fit_captured DIRECTORY` names the directory of the captures.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use kirikae_emu::{Emulated, Namespace};
use kirikae_fit::losses::{Asked, Report, render};
use kirikae_path::{ElementSpec, GilbertElliottSpec, PathSpec, Span};

type Done<T> = Result<T, Box<dyn Error>>;

const CHANNEL: GilbertElliottSpec = GilbertElliottSpec { p: 0.002, r: 0.25, k: 1.0, h: 0.0 };
const DATAGRAMS: u32 = 60_000;
/// Time between two datagrams.
const APART: Duration = Duration::from_micros(500);
const BULK: Duration = Duration::from_secs(40);
const PORT: u16 = 5000;

fn main() -> Done<()> {
    let directory = PathBuf::from(std::env::args().nth(1).ok_or("where to?")?);
    let delay = ElementSpec::Delay { delay: Span::from_millis(10) };
    let forward = vec![delay.clone(), ElementSpec::GilbertElliott(CHANNEL)];
    let path = Emulated::create(&PathSpec { forward, backward: vec![delay] }, 7, "captured")?;
    let address = path.receiver().address();

    let file = directory.join("udp.receiver.pcapng");
    let capture = Capture::start(path.receiver(), &file)?;
    let into = path.receiver().run_in(|| UdpSocket::bind((address, PORT)))??;
    let from = path.sender().run_in(|| UdpSocket::bind("0.0.0.0:0"))??;
    let begin = Instant::now();
    for number in 0..DATAGRAMS {
        let payload = [&number.to_be_bytes()[..], &[0; 96]].concat();
        from.send_to(&payload, (address, PORT))?;
        sleep((APART * number).saturating_sub(begin.elapsed()));
    }
    drop(into);
    capture.finish()?;
    tell(&file);

    let files = ["tcp.sender.pcapng", "tcp.receiver.pcapng"].map(|name| directory.join(name));
    let captures =
        [Capture::start(path.sender(), &files[0])?, Capture::start(path.receiver(), &files[1])?];
    let listener = path.receiver().run_in(|| TcpListener::bind((address, PORT)))??;
    let mut out = path.sender().run_in(|| TcpStream::connect((address, PORT)))??;
    let (mut into, _) = listener.accept()?;
    let receiver = thread::spawn(move || {
        let mut data = vec![0; 1 << 16];
        while let Ok(1..) = into.read(&mut data) {}
    });
    let begin = Instant::now();
    while begin.elapsed() < BULK {
        out.write_all(&[0; 1 << 16])?;
    }
    drop(out);
    receiver.join().map_err(|_| "the receiver failed")?;
    for capture in captures {
        capture.finish()?;
    }
    files.iter().for_each(|file| tell(file));
    let report = path.finish()?;
    println!("of {} packets offered {} were dropped", report.forward.offered, report.drops.len());
    Ok(())
}

fn tell(file: &Path) {
    match Report::of(file, &Asked::default()) {
        Ok(report) => println!("{}", render(&report, false)),
        Err(error) => println!("{error}"),
    }
}

/// A dumpcap that runs in a namespace.
struct Capture(Child);

impl Capture {
    fn start(at: &Namespace, file: &Path) -> Done<Capture> {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", at.name(), "dumpcap", "-q", "-B", "64", "-s", "128"])
            .args(["-i", "kirikae0", "-w"])
            .arg(file)
            .stderr(Stdio::null());
        let child = command.spawn()?;
        sleep(Duration::from_secs(3));
        Ok(Capture(child))
    }

    fn finish(mut self) -> Done<()> {
        sleep(Duration::from_secs(2));
        // It writes what it has when it is asked to end.
        Command::new("kill").args(["-INT", &self.0.id().to_string()]).status()?;
        self.0.wait()?;
        Ok(())
    }
}
