//! One contender on one emulated path of its own.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddrV4, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_emu::Emulated;

use crate::error::{Error, While};
use crate::outcome::Measured;
use crate::scenario::{Contender, Scenario, stack};
use crate::workload::Bursts;
use crate::workload::clock::until;
use crate::workload::receiver::Receiver;
use crate::workload::schedule;
use crate::workload::sender::{Assignment, SUBCOMMAND, Sent};

/// How long after the last burst was due a run may still take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a sender may take to notice that the receiver has everything.
const FAREWELL: Duration = Duration::from_secs(2);

/// Port of every receiver, each being in a namespace of its own.
const RECEIVER_PORT: u16 = 5201;

/// Port of the first sender; the switcher reports connections by address and port, and the
/// addresses of two paths may be the same.
const FIRST_SENDER_PORT: u16 = 20_000;

/// A path with everything ready for its sender.
pub struct Trial<'a> {
    seed: u64,
    workload: &'a Bursts,
    contender: Contender,
    port: u16,
    emulated: Emulated,
    listener: TcpListener,
}

impl<'a> Trial<'a> {
    /// Makes the path and the listening socket; `ordinal` tells the trials of a run apart.
    pub fn prepare(
        scenario: &'a Scenario,
        contender: Contender,
        ordinal: u16,
    ) -> Result<Trial<'a>, Error> {
        let label = format!("{ordinal}-{}", contender.name().replace('_', "-"));
        let (path, workload) = scenario.bursts()?;
        let emulated = Emulated::create(path, scenario.seed, &label)?;
        match contender {
            Contender::Kirikae => start_from_baseline(&emulated)?,
            Contender::CubicWithoutIdleRestart => {
                emulated.sender().set_sysctl("net.ipv4.tcp_slow_start_after_idle", "0")?;
            }
            Contender::Stock(_) | Contender::Fixed(_) => {}
            Contender::RTcp | Contender::Bpftune => unreachable!("refused before"),
        }
        // The default receive window (64 KiB) would hold back the first bursts, whoever sends.
        let buffers =
            format!("4096 {} {}", 2 * stack::RECEIVE_BUFFER, 2 * stack::RECEIVE_BUFFER_MAX);
        emulated.receiver().set_sysctl("net.ipv4.tcp_rmem", &buffers)?;
        let address = SocketAddrV4::new(emulated.receiver().address(), RECEIVER_PORT);
        let listener = emulated
            .receiver()
            .run_in(|| TcpListener::bind(address))?
            .during(|| format!("listening on {address}"))?;
        let port = FIRST_SENDER_PORT + ordinal;
        Ok(Trial { seed: scenario.seed, workload, contender, port, emulated, listener })
    }

    /// Time from the first burst to the last.
    pub fn duration(&self) -> Duration {
        let due = schedule::due_times(self.workload, self.seed);
        due.last().copied().unwrap_or_default()
    }

    /// Time between bursts, the mean if they are not fixed.
    pub fn interval(&self) -> Duration {
        self.workload.interval
    }

    /// Bursts written in all, warm-up included.
    pub fn bursts(&self) -> u64 {
        self.workload.total().into()
    }

    /// Runs the workload from `start_ns` (CLOCK_MONOTONIC) on, until all has arrived, time is up
    /// or `stop` says so.
    pub fn run(
        self,
        start_ns: u64,
        cgroup: &Path,
        stop: impl Fn() -> bool,
        on_burst: impl Fn(),
    ) -> Result<Measured, Error> {
        let deadline_ns = start_ns + (self.duration() + PATIENCE).as_nanos() as u64;
        let mut sender = self.spawn_sender(&self.assignment(start_ns, deadline_ns, cgroup))?;
        let lines = sender.stdout.take().expect("the sender's output is a pipe");
        let sender_gone = AtomicBool::new(false);
        let receiver = Receiver {
            listener: self.listener,
            workload: self.workload,
            deadline_ns,
            stop: || stop() || sender_gone.load(Ordering::Relaxed),
        };
        let (sent, received, farewell) = thread::scope(|scope| {
            let sent = scope.spawn(|| {
                let sent = read_sent(lines);
                sender_gone.store(true, Ordering::Relaxed);
                sent
            });
            let received = receiver.run(on_burst);
            // A sender that is cut short can only complain of that.
            let cut_short = stop() || until(deadline_ns).is_zero();
            let farewell = if cut_short { end(sender) } else { dismiss(sender) };
            let sent = sent.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (sent, received, farewell)
        });
        farewell?;
        let report = self.emulated.finish()?;
        Ok(Measured {
            sent: sent?,
            arrivals: received?,
            switches: Vec::new(),
            end_ns: deadline_ns,
            port: self.port,
            report,
        })
    }

    fn assignment(&self, start_ns: u64, deadline_ns: u64, cgroup: &Path) -> Assignment {
        let switched = self.contender == Contender::Kirikae;
        Assignment {
            workload: *self.workload,
            seed: self.seed,
            start_ns,
            deadline_ns,
            namespace: self.emulated.sender().path(),
            cgroup: switched.then(|| cgroup.to_owned()),
            congestion_control: (!switched).then(|| self.contender.congestion_control().into()),
            local: SocketAddrV4::new(self.emulated.sender().address(), self.port),
            remote: SocketAddrV4::new(self.emulated.receiver().address(), RECEIVER_PORT),
        }
    }

    fn spawn_sender(&self, assignment: &Assignment) -> Result<Child, Error> {
        let argument = serde_json::to_string(assignment).expect("plain numbers and strings");
        let program = std::env::current_exe().during(|| "finding this program's file".into())?;
        Command::new(program)
            .args([SUBCOMMAND, &argument])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for us: we end the senders when we have read what they measured.
            .process_group(0)
            .spawn()
            .during(|| "starting a sender".into())
    }
}

/// Makes the baseline what connections start with, by name and whatever the host's default is.
///
/// By the route, since a namespace may take as its default only what the host allows to everyone
/// (net.ipv4.tcp_allowed_congestion_control), which need not have cubic in it and is the
/// operator's to change; and not by the socket, since an application that chooses for itself is
/// not what kirikae is for. (The route would win over the socket: the other contenders go without.)
fn start_from_baseline(emulated: &Emulated) -> Result<(), Error> {
    let receiver = emulated.receiver().address().to_string();
    let baseline = Contender::BASELINE.name();
    let route = ["route", "add", &receiver, "via", &receiver, "congctl", baseline];
    let output = Command::new("ip")
        .args(["-n", emulated.sender().name()])
        .args(route)
        .output()
        .during(|| "running ip".into())?;
    if output.status.success() {
        return Ok(());
    }
    let says = String::from_utf8_lossy(&output.stderr);
    Err(Error::Failed(format!("ip {}: {}", route.join(" "), says.trim())))
}

/// Every line that the sender prints, to the end of its output.
fn read_sent(lines: ChildStdout) -> Result<Vec<Sent>, Error> {
    let parse = |line: std::io::Result<String>| {
        let line = line.during(|| "reading the sender's output".into())?;
        serde_json::from_str(&line)
            .map_err(|error| Error::Failed(format!("the sender printed {line:?}: {error}")))
    };
    BufReader::new(lines).lines().map(parse).collect()
}

/// Waits a little for the sender to end, then ends it. An error is what it says on failing.
fn dismiss(mut sender: Child) -> Result<(), Error> {
    let waiting = || "waiting for a sender".into();
    let patience = Instant::now() + FAREWELL;
    while Instant::now() < patience {
        match sender.try_wait().during(waiting)? {
            Some(status) if status.success() => return Ok(()),
            Some(_) => {
                let mut says = String::new();
                let mut stderr = sender.stderr.take().expect("the sender's errors are a pipe");
                stderr.read_to_string(&mut says).during(waiting)?;
                return Err(Error::Failed(format!("a sender failed: {}", says.trim())));
            }
            None => thread::sleep(Duration::from_millis(20)),
        }
    }
    end(sender)
}

fn end(mut sender: Child) -> Result<(), Error> {
    sender.kill().and_then(|()| sender.wait()).during(|| "ending a sender".into())?;
    Ok(())
}
