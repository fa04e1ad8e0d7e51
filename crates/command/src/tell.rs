//! Lines for the operator, which keep nobody waiting.
//!
//! A command writes each line at once. A program that has others to answer calls [`write_in_background`] first: its
//! lines then go into a bounded queue, one for standard output and one for standard error, and a thread for
//! each writes them. A reader that stops, a full disk or a closed pipe costs lines, which are counted, and nothing
//! else.

use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How many lines wait at most for each of the two to be written.
const QUEUED: usize = 1024;

/// Tells the operator a line on standard error, formatted as `format!` does.
#[macro_export]
macro_rules! tell {
    ($($line:tt)*) => { $crate::tell_line(::std::format_args!($($line)*)) };
}

/// A queue of lines, and what became of them.
struct Queue {
    lines: OnceLock<SyncSender<Vec<u8>>>,
    queued: AtomicU64,
    /// Those that were written, or could not be.
    done: AtomicU64,
    lost: AtomicU64,
}

static OUT: Queue = Queue::new();
static ERR: Queue = Queue::new();

impl Queue {
    const fn new() -> Queue {
        let (queued, done, lost) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Queue { lines: OnceLock::new(), queued, done, lost }
    }

    /// Starts the thread that writes.
    fn start(&'static self, mut stream: impl Write + Send + 'static) -> io::Result<()> {
        let (sender, lines): (_, Receiver<Vec<u8>>) = sync_channel(QUEUED);
        thread::Builder::new().name("lines".into()).spawn(move || {
            for line in lines {
                if stream.write_all(&line).and_then(|()| stream.flush()).is_err() {
                    self.lost.fetch_add(1, Ordering::Relaxed);
                }
                self.done.fetch_add(1, Ordering::Release);
            }
        })?;
        // Whoever was first has started one already, and this one ends.
        let _ = self.lines.set(sender);
        Ok(())
    }

    /// Adds a line if there is room, else counts it as lost.
    fn add(&self, sender: &SyncSender<Vec<u8>>, line: String) {
        self.queued.fetch_add(1, Ordering::Relaxed);
        if sender.try_send(line.into_bytes()).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
            self.done.fetch_add(1, Ordering::Release);
        }
    }

    fn is_written(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.queued.load(Ordering::Relaxed)
    }
}

/// Has threads write from now on what is told and what is queued.
///
/// # Errors
/// Fails if no thread can be made.
pub fn write_in_background() -> io::Result<()> {
    OUT.start(io::stdout())?;
    ERR.start(io::stderr())
}

/// Tells the operator a line on standard error; [`tell!`] formats it.
pub fn tell_line(line: fmt::Arguments) {
    let line = format!("{line}\n");
    match ERR.lines.get() {
        Some(sender) => ERR.add(sender, line),
        // Nobody is left who could be told that this failed.
        None => drop(io::stderr().write_all(line.as_bytes())),
    }
}

/// Has a thread write a line on standard output, after [`write_in_background`]; without that it is lost.
pub fn queue_line(line: String) {
    match OUT.lines.get() {
        Some(sender) => OUT.add(sender, line + "\n"),
        None => drop(OUT.lost.fetch_add(1, Ordering::Relaxed)),
    }
}

/// How many lines could not be written, or found no room in their queue.
pub fn lines_lost() -> u64 {
    OUT.lost.load(Ordering::Relaxed) + ERR.lost.load(Ordering::Relaxed)
}

/// Waits until all lines are written, but not longer than this.
pub fn finish_writing(within: Duration) {
    let deadline = Instant::now() + within;
    while !(OUT.is_written() && ERR.is_written()) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits until a line is written, for ten seconds at most.
    fn wait(queue: &Queue) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !queue.is_written() {
            assert!(Instant::now() < deadline, "not written");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn add(queue: &Queue, line: &str) {
        queue.add(queue.lines.get().unwrap(), line.into());
    }

    #[test]
    fn a_reader_that_stops_costs_lines_and_no_time() {
        static QUEUE: Queue = Queue::new();
        let (mut reader, writer) = io::pipe().unwrap();
        QUEUE.start(writer).unwrap();
        // More than the pipe has room for, and what is queued.
        let line = "x".repeat(1 << 10);
        let lines = QUEUED as u64 + 1000;
        (0..lines).for_each(|_| add(&QUEUE, &line));
        let lost = QUEUE.lost.load(Ordering::Relaxed);
        assert!((1..lines).contains(&lost), "{lost} of {lines} lost");
        assert!(!QUEUE.is_written());
        let reading = thread::spawn(move || io::copy(&mut reader, &mut io::sink()));
        wait(&QUEUE);
        add(&QUEUE, "the reader goes on");
        wait(&QUEUE);
        assert_eq!(QUEUE.lost.load(Ordering::Relaxed), lost);
        drop(reading);
    }

    #[test]
    fn what_cannot_be_written_is_counted() {
        static FULL: Queue = Queue::new();
        FULL.start(std::fs::File::options().write(true).open("/dev/full").unwrap()).unwrap();
        static CLOSED: Queue = Queue::new();
        CLOSED.start(io::pipe().unwrap().1).unwrap();
        for queue in [&FULL, &CLOSED] {
            (0..3).for_each(|_| add(queue, "line"));
            wait(queue);
            assert_eq!(queue.lost.load(Ordering::Relaxed), 3);
        }
    }
}
