//! The thread of an emulated path: lets packets in, waits, and lets them out in time.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use kirikae_path::Span;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::prctl;
use nix::sys::time::TimeSpec;

use crate::clock::Clock;
use crate::way::Way;
use crate::{Error, system};

/// A path's elements between its two devices.
pub(crate) struct Mover {
    pub(crate) sender: File,
    pub(crate) receiver: File,
    pub(crate) forward: Way,
    pub(crate) backward: Way,
}

impl Mover {
    /// Moves packets until `stop` becomes readable.
    pub(crate) fn run(mut self, stop: &EventFd) -> Result<(Way, Way), Error> {
        let failed = |doing: &'static str| {
            move |error: io::Error| Error::failed(format!("emulating a path: {doing}"), error)
        };
        // Beside busy processes this is the difference between 0.1 ms late and 3 ms. Where it is not
        // allowed, the report tells whether the path was held without it.
        let _ = system::go_before_ordinary_threads();
        // The default lets the kernel be 50 us late on purpose.
        prctl::set_timerslack(1)
            .map_err(|errno| Error::failed("setting the timer slack", errno))?;
        let clock = Clock::start().map_err(failed("reading the clock"))?;
        loop {
            let [from_sender, from_receiver, stopped] =
                self.wait(stop, &clock).map_err(failed("waiting for packets"))?;
            if stopped {
                return Ok((self.forward, self.backward));
            }
            if from_sender {
                self.forward
                    .take_in(&self.sender, &self.receiver, &clock)
                    .map_err(failed("moving packets from sender to receiver"))?;
            }
            if from_receiver {
                self.backward
                    .take_in(&self.receiver, &self.sender, &clock)
                    .map_err(failed("moving packets from receiver to sender"))?;
            }
            self.forward
                .put_out(&self.receiver, &clock)
                .map_err(failed("writing packets to the receiver"))?;
            self.backward
                .put_out(&self.sender, &clock)
                .map_err(failed("writing packets to the sender"))?;
        }
    }

    /// Sleeps until a packet can be read, one is due or it is time to stop; says which are
    /// readable: the sender's device, the receiver's, `stop`.
    fn wait(&self, stop: &EventFd, clock: &Clock) -> io::Result<[bool; 3]> {
        let next = [self.forward.next(), self.backward.next()];
        let timeout = match next.into_iter().flatten().min() {
            Some(due) => {
                let now = clock.now()?;
                let left = if due > now { due - now } else { Span::ZERO };
                Some(TimeSpec::from_duration(Duration::from(left)))
            }
            None => None,
        };
        let mut fds = [self.sender.as_fd(), self.receiver.as_fd(), stop.as_fd()]
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match ppoll(&mut fds, timeout, None) {
            Ok(_) => Ok(fds.map(|fd| fd.any().unwrap_or(true))),
            Err(Errno::EINTR) => Ok([false; 3]),
            Err(errno) => Err(errno.into()),
        }
    }
}
