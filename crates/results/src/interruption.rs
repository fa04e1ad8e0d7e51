//! Lets runs end early when a signal asks them to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Error, While};

/// A flag that SIGINT, SIGTERM and SIGHUP (a lost ssh session) set while this value lives.
pub struct Interruption(Arc<AtomicBool>, [signal_hook::SigId; 3]);

impl Interruption {
    /// Listens for the signals from now on.
    ///
    /// # Errors
    /// Fails if the operating system refuses it.
    pub fn listen() -> Result<Interruption, Error> {
        let flag = Arc::new(AtomicBool::new(false));
        let on = |signal| {
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .during(|| format!("listening for signal {signal}"))
        };
        let signals = [on(SIGINT)?, on(SIGTERM)?, on(SIGHUP)?];
        Ok(Interruption(flag, signals))
    }

    /// The flag that is set.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Whether a signal has come.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        for signal in self.1 {
            signal_hook::low_level::unregister(signal);
        }
    }
}
