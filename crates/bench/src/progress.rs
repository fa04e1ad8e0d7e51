//! Shows on stderr how far a run has come: a bar on a terminal, otherwise a line now and then.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Time between two lines if there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Tells whoever started the run a line; that nobody reads it is no reason to end.
pub(crate) fn tell(line: fmt::Arguments) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// Counts what was played, and shows the time that is left of what is played now.
pub struct Progress {
    contests: usize,
    /// Contests of earlier waves that are over, and of this one.
    over: usize,
    playing: usize,
    begun: Instant,
    planned: Duration,
    next_line: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// The progress of a run of so many contests.
    pub fn new(contests: usize) -> Progress {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            let style = "{elapsed_precise} {wide_bar} {msg}";
            bar.with_style(ProgressStyle::with_template(style).expect("a valid template"))
        });
        let begun = Instant::now();
        let next_line = begun + LINE_EVERY;
        let planned = Duration::ZERO;
        Progress { contests, over: 0, playing: 0, begun, planned, next_line, bar }
    }

    /// Notes that so many contests begin now, which take about as long as planned.
    pub fn begin(&mut self, playing: usize, planned: Duration) {
        (self.playing, self.begun, self.planned) = (playing, Instant::now(), planned);
        if let Some(bar) = &self.bar {
            bar.set_length(planned.as_secs());
        }
    }

    /// Shows the state until all contests that have begun are over.
    pub fn follow(&mut self, over: impl Fn() -> usize) {
        loop {
            let now_over = over();
            if now_over == self.playing {
                self.over += self.playing;
                return;
            }
            self.show(self.over + now_over);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn show(&mut self, over: usize) {
        let elapsed = self.begun.elapsed();
        let left = self.planned.saturating_sub(elapsed).as_secs();
        let (contests, playing) = (self.contests, self.playing);
        let state =
            format!("{over} of {contests} played; {playing} at once, at most {left} s left");
        match &self.bar {
            Some(bar) => {
                bar.set_position(elapsed.as_secs());
                bar.set_message(state);
            }
            None if Instant::now() >= self.next_line => {
                tell(format_args!("{state}"));
                self.next_line = Instant::now() + LINE_EVERY;
            }
            None => {}
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
