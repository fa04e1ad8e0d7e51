//! Asks the agent from a thread of its own, beside the one that draws.

use std::borrow::Cow;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_agent::Connection;
use kirikae_daemon::client::{self, AskError};
use kirikae_daemon::status::{Connections, Status};

use super::text::clean;

/// What the agent told. Control characters in its texts have been replaced, so that they can be printed on a
/// terminal.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub status: Status,
    /// CLOCK_MONOTONIC in nanoseconds, when the connections were looked at.
    pub now_ns: u64,
    pub connections: Vec<Connection>,
}

impl Snapshot {
    pub fn new(mut status: Status, connections: Connections) -> Snapshot {
        let Connections { now_ns, mut connections, .. } = connections;
        for connection in &mut connections {
            let Connection { algorithm, original, chosen, scope, .. } = connection;
            [algorithm, original, chosen].into_iter().chain(scope).for_each(make_fit);
        }
        status.policy.file.iter_mut().for_each(make_fit);
        make_fit(&mut status.version);
        let fit = |(name, number): (String, usize)| (clean(&name).into_owned(), number);
        status.by_algorithm = status.by_algorithm.into_iter().map(fit).collect();
        Snapshot { status, now_ns, connections }
    }
}

fn make_fit(text: &mut String) {
    if let Cow::Owned(fit) = clean(text) {
        *text = fit;
    }
}

/// Asks the agent once.
pub fn ask() -> Result<Snapshot, AskError> {
    let status = client::get("/status")?;
    Ok(Snapshot::new(status, client::get("/connections")?))
}

/// How long an answer may take before the screen says that it is missing.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks again and again from a thread of its own, and only when the question before has been answered.
pub struct Asker {
    questions: Sender<()>,
    answers: Receiver<Result<Snapshot, AskError>>,
    every: Duration,
    asked_at: Instant,
    is_waiting: bool,
}

impl Asker {
    /// Starts the thread.
    pub fn new(every: Duration) -> Asker {
        let (questions, asked) = mpsc::channel();
        let (sender, answers) = mpsc::channel();
        // The thread ends when its channels are closed.
        thread::spawn(move || asked.iter().all(|()| sender.send(ask()).is_ok()));
        Asker { questions, answers, every, asked_at: Instant::now(), is_waiting: false }
    }

    /// Asks if it is time, and returns the latest answer, or why there is none.
    pub fn turn(&mut self) -> Option<Result<Snapshot, String>> {
        if !self.is_waiting && self.asked_at.elapsed() >= self.every {
            self.asked_at = Instant::now();
            self.is_waiting = self.questions.send(()).is_ok();
        }
        if let Ok(answer) = self.answers.try_recv() {
            self.is_waiting = false;
            return Some(answer.map_err(|why| why.to_string()));
        }
        let waited = self.asked_at.elapsed();
        let is_late = self.is_waiting && waited > PATIENCE;
        is_late.then(|| Err(format!("no answer for {} s", waited.as_secs())))
    }
}
