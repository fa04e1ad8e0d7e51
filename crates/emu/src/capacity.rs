//! Measures how much this machine can emulate in time, so that a rate that it cannot hold is refused at the
//! start.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread;

use kirikae_path::{PathSpec, Span, Time, sustained_rate};

use crate::clock::Clock;
use crate::namespace::MTU;
use crate::{Emulated, Error};

/// How long the measurement sends.
const MEASURED_FOR: Span = Span::from_millis(100);

/// Share of the measured rate that may be asked for. The other half is for what runs beside the paths, and
/// for packets smaller than the largest.
const SHARE: f64 = 0.5;

/// What the networks of this process use of the machine, in packets/s.
#[derive(Debug)]
struct Ledger {
    /// The rate that one unlimited path moved, both directions together; `None` until measured.
    measured: Option<f64>,
    claimed: f64,
}

impl Ledger {
    fn measured(&mut self) -> Result<f64, Error> {
        match self.measured {
            Some(measured) => Ok(measured),
            None => Ok(*self.measured.insert(measure()?)),
        }
    }
}

static LEDGER: Mutex<Ledger> = Mutex::new(Ledger { measured: None, claimed: 0.0 });

/// The rate that may be asked of this machine if nothing else runs, both directions together, in bit/s.
///
/// # Errors
/// Fails if the measurement fails, which the first call of a process makes.
pub fn capacity() -> Result<f64, Error> {
    let mut ledger = LEDGER.lock().expect("no claim panics");
    Ok(ledger.measured()? * SHARE * 8.0 * f64::from(MTU))
}

/// Checks that the machine holds these links if nothing else runs. ([`Network::create`] takes into account
/// what runs.)
///
/// # Errors
/// Returns [`Error::TooFast`], with `label` in it, if it does not; fails also if the measurement fails.
///
/// [`Network::create`]: crate::Network::create
pub fn check_capacity(links: &[PathSpec], label: &str) -> Result<(), Error> {
    Reservation::claim(links, label).map(drop)
}

/// A network's part in the ledger, in packets/s; it is free again when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Reservation(f64);

impl Reservation {
    /// Claims what the links need when both directions of each are full of the largest packets, in the
    /// busiest second of a rate that varies. A direction without a rate claims nothing: only its report can
    /// tell whether the machine held it.
    pub(crate) fn claim(links: &[PathSpec], label: &str) -> Result<Reservation, Error> {
        let needed: f64 = links
            .iter()
            .flat_map(|link| [&link.forward, &link.backward])
            .filter_map(|direction| sustained_rate(direction))
            .map(packets_per_second)
            .sum();
        let mut ledger = LEDGER.lock().expect("no claim panics");
        let left = ledger.measured()? * SHARE - ledger.claimed;
        if needed > left {
            return Err(Error::TooFast {
                label: label.into(),
                asked: megabits_per_second(needed),
                held: megabits_per_second(left),
                mtu: MTU,
            });
        }
        ledger.claimed += needed;
        Ok(Reservation(needed))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.0 > 0.0 {
            LEDGER.lock().expect("no claim panics").claimed -= self.0;
        }
    }
}

fn packets_per_second(bits_per_second: u64) -> f64 {
    bits_per_second as f64 / 8.0 / f64::from(MTU)
}

fn megabits_per_second(packets_per_second: f64) -> f64 {
    packets_per_second * 8.0 * f64::from(MTU) / 1e6
}

/// Sends TCP through a path without elements as fast as it goes; returns packets/s, both directions together.
fn measure() -> Result<f64, Error> {
    let path = Emulated::create_with(&PathSpec::default(), 0, Reservation::default())?;
    let address = path.receiver().address();
    let listener = path.receiver().run_in(|| TcpListener::bind((address, 0)))?;
    let sent = listener.and_then(|listener| {
        let port = listener.local_addr()?.port();
        path.sender().run_in(|| send(listener, address, port)).map_err(io::Error::other)?
    });
    let seconds = sent.map_err(|error| Error::failed("measuring what the machine holds", error))?;
    let report = path.finish()?;
    Ok((report.forward.delivered + report.backward.delivered) as f64 / seconds)
}

/// Sends, and returns how long it took, in seconds.
fn send(listener: TcpListener, address: Ipv4Addr, port: u16) -> io::Result<f64> {
    let clock = Clock::start()?;
    let since_start = || Ok::<_, io::Error>(clock.now()? - Time::ZERO);
    let mut out = TcpStream::connect((address, port))?;
    thread::scope(|scope| {
        let receiver = scope.spawn(move || -> io::Result<()> {
            let (mut from, _) = listener.accept()?;
            let mut buffer = vec![0; 1 << 16];
            while from.read(&mut buffer)? > 0 {}
            Ok(())
        });
        let chunk = vec![0; 1 << 16];
        while since_start()? < MEASURED_FOR {
            out.write_all(&chunk)?;
        }
        out.shutdown(Shutdown::Write)?;
        receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(since_start()?.as_secs_f64())
    })
}
