//! The thread in which a network's packets are moved.

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use nix::sys::eventfd::EventFd;

use crate::Error;
use crate::clock::Clock;
use crate::mover::Mover;

/// A mover at work; dropping it ends it.
pub(crate) struct MoverThread {
    stop: Arc<EventFd>,
    handle: Option<JoinHandle<Result<Mover, Error>>>,
}

impl MoverThread {
    pub fn start(number: u32, mover: Mover, clock: Clock) -> Result<MoverThread, Error> {
        let stop = EventFd::new().map_err(|errno| Error::failed("creating an eventfd", errno))?;
        let stop = Arc::new(stop);
        let stopped = Arc::clone(&stop);
        let handle = thread::Builder::new()
            .name(format!("network-{number}"))
            .spawn(move || mover.run(&clock, &stopped))
            .map_err(|error| Error::failed("starting a network's thread", error))?;
        Ok(MoverThread { stop, handle: Some(handle) })
    }

    pub fn stop(&mut self) -> Result<Mover, Error> {
        let handle = self.handle.take().expect("a thread is stopped once");
        self.stop.write(1).map_err(|errno| Error::failed("stopping a network's thread", errno))?;
        handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for MoverThread {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take()
            && self.stop.write(1).is_ok()
        {
            // An error is of no interest to code that only drops a network.
            let _ = handle.join();
        }
    }
}

impl fmt::Debug for MoverThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MoverThread").finish_non_exhaustive()
    }
}
