//! How far a run has come, on stderr: a bar on a terminal, else a line now and then.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Counts bursts and shows the time that is left, which the schedule tells.
pub struct Progress {
    arrived: AtomicU64,
    bursts: u64,
    begun: Instant,
    planned: Duration,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A run of so many bursts that takes about as long as planned.
    pub fn new(bursts: u64, planned: Duration) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(planned.as_secs());
            let style = "{elapsed_precise} {wide_bar} {msg}";
            bar.with_style(ProgressStyle::with_template(style).expect("a valid template"))
        });
        Progress { arrived: AtomicU64::new(0), bursts, begun: Instant::now(), planned, bar }
    }

    /// One more burst has arrived.
    pub fn burst(&self) {
        self.arrived.fetch_add(1, Ordering::Relaxed);
    }

    /// Shows the state until `over` says that the run has ended.
    pub fn follow(&self, over: impl Fn() -> bool) {
        let mut next_line = self.begun + LINE_EVERY;
        while !over() {
            let elapsed = self.begun.elapsed();
            let left = self.planned.saturating_sub(elapsed).as_secs();
            let (arrived, bursts) = (self.arrived.load(Ordering::Relaxed), self.bursts);
            let state = format!("{arrived} of {bursts} bursts, {left} s left");
            match &self.bar {
                Some(bar) => {
                    bar.set_position(elapsed.as_secs());
                    bar.set_message(state);
                }
                None if Instant::now() >= next_line => {
                    eprintln!("{state}");
                    next_line += LINE_EVERY;
                }
                None => {}
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
