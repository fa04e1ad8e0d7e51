//! A thread of the agent that is started again when it has ended.

use std::any::Any;
use std::fmt::Display;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The pause before it is started again, at first. It doubles each time.
const LEAST_PAUSE: Duration = Duration::from_secs(1);
/// It grows up to this.
const MOST_PAUSE: Duration = Duration::from_secs(300);
/// When the thread has run for so long, the pause is as at first.
const LASTED: Duration = Duration::from_secs(600);

pub(crate) struct Supervised {
    /// What it does, for the operator: "the thread that ...".
    does: &'static str,
    thread: Option<JoinHandle<()>>,
    begun: Instant,
    pause: Duration,
    again_at: Instant,
    ended: u64,
}

/// What was found of the thread.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It runs, or has to wait, as before.
    Nothing,
    /// It has ended, or could not be started; a message to the operator.
    Ended(String),
    /// It was started again.
    Restarted(String),
}

impl Supervised {
    /// Looks after a thread that has just been started.
    pub fn begin(does: &'static str, thread: JoinHandle<()>, now: Instant) -> Supervised {
        let thread = Some(thread);
        Supervised { does, thread, begun: now, pause: LEAST_PAUSE, again_at: now, ended: 0 }
    }

    /// How often it has ended.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    pub fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Looks whether it has ended, and starts it again once the pause is over.
    pub fn look_after<E: Display>(
        &mut self,
        now: Instant,
        start: impl FnOnce() -> Result<JoinHandle<()>, E>,
    ) -> Found {
        if let Some(thread) = self.thread.take_if(|thread| thread.is_finished()) {
            let why = thread.join().map_or_else(|panic| said(&*panic), |()| "it returned".into());
            self.ended += 1;
            if now.duration_since(self.begun) >= LASTED {
                self.pause = LEAST_PAUSE;
            }
            return self.wait(now, format!("the thread that {} has ended: {why}", self.does));
        }
        if self.thread.is_some() || now < self.again_at {
            return Found::Nothing;
        }
        match start() {
            Ok(thread) => {
                (self.thread, self.begun) = (Some(thread), now);
                Found::Restarted(format!("the thread that {} was started again", self.does))
            }
            Err(error) => {
                let trouble = format!("the thread that {} cannot be started: {error}", self.does);
                self.wait(now, trouble)
            }
        }
    }

    fn wait(&mut self, now: Instant, trouble: String) -> Found {
        let pause = self.pause;
        self.again_at = now + pause;
        self.pause = MOST_PAUSE.min(2 * pause);
        Found::Ended(format!("{trouble}; the next start is in {} s", pause.as_secs()))
    }

    /// Waits for its end.
    pub fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// What a panic said.
pub(crate) fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// A thread that has ended.
    fn ended(f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        let thread = thread::spawn(f);
        while !thread.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        thread
    }

    fn started() -> Result<JoinHandle<()>, String> {
        Ok(ended(|| panic!("broken {}", 7)))
    }

    #[test]
    fn a_thread_that_ends_is_told_and_started_again_after_pauses_that_grow() {
        let begin = Instant::now();
        let at = |s| begin + Duration::from_secs(s);
        let mut thread = Supervised::begin("works", started().unwrap(), begin);
        let broken = |pause| {
            Found::Ended(format!(
                "the thread that works has ended: panic: broken 7; the next start is in {pause} s"
            ))
        };
        let again = || Found::Restarted("the thread that works was started again".into());
        assert!(!thread.is_alive());
        assert_eq!(thread.look_after(at(0), started), broken(1));
        assert_eq!(thread.look_after(at(0), started), Found::Nothing);
        assert_eq!(thread.look_after(at(1), started), again());
        assert_eq!(thread.look_after(at(2), started), broken(2));
        let refused = || Err("no threads");
        let told = "the thread that works cannot be started: no threads; the next start is in 4 s";
        assert_eq!(thread.look_after(at(4), refused), Found::Ended(told.into()));
        assert_eq!(thread.look_after(at(7), started), Found::Nothing);
        assert_eq!(thread.look_after(at(8), started), again());
        assert_eq!((thread.ended(), thread.is_alive()), (2, false));
        assert_eq!(thread.look_after(at(800), started), broken(1), "it had lasted");
    }

    #[test]
    fn a_thread_that_runs_is_left_alone() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let working = thread::spawn(move || assert!(receiver.recv().is_err()));
        let mut thread = Supervised::begin("works", working, Instant::now());
        assert_eq!(thread.look_after(Instant::now(), started), Found::Nothing);
        assert!(thread.is_alive());
        drop(sender);
        thread.join();
        assert!(!thread.is_alive());
    }
}
