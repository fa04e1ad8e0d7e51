use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use kirikae_path::{Direction, PathSpec};
use nix::sys::eventfd::EventFd;

use crate::capacity::Reservation;
use crate::mover::Mover;
use crate::way::Way;
use crate::{Error, Namespace, Report, own_name};

/// An emulated path between two network namespaces of its own, running.
///
/// Dropping it takes everything down; [`finish`](Emulated::finish) does so too, and reports.
#[derive(Debug)]
pub struct Emulated {
    // Dropped in this order: the thread ends, and its devices with it, before the namespaces go.
    thread: Thread,
    sender: Namespace,
    receiver: Namespace,
    _reservation: Reservation,
}

impl Emulated {
    /// Makes the namespaces and starts to move packets. Forward is from the sender to the receiver;
    /// `seed` settles which packets the random elements lose; `label` appears in messages only.
    ///
    /// The first call of a process measures for about a third of a second what the machine holds.
    ///
    /// # Errors
    /// [`Error::Spec`] for impossible values, [`Error::TooFast`] if the rates of all paths of this
    /// process would come to more than half of what was measured, [`Error::Missing`] without root,
    /// iproute2 or /dev/net/tun, [`Error::Failed`] otherwise. Nothing is left behind.
    pub fn create(path: &PathSpec, seed: u64, label: &str) -> Result<Emulated, Error> {
        path.validate()?;
        let reservation = Reservation::claim(path, label)?;
        Emulated::start(path, seed, reservation)
    }

    /// The same without asking whether the machine holds it.
    pub(crate) fn start(
        path: &PathSpec,
        seed: u64,
        reservation: Reservation,
    ) -> Result<Emulated, Error> {
        let (forward, backward) = path.build(seed)?;
        let n = next_number();
        let [sender_address, receiver_address] = addresses(n);
        let (sender, sender_device) = Namespace::create(own_name(n, "sender"), sender_address)?;
        let (receiver, receiver_device) =
            Namespace::create(own_name(n, "receiver"), receiver_address)?;
        let thread = Thread::start(
            n,
            Mover {
                sender: sender_device,
                receiver: receiver_device,
                forward: Way::new(Direction::Forward, &path.forward, forward),
                backward: Way::new(Direction::Backward, &path.backward, backward),
            },
        )?;
        Ok(Emulated { thread, sender, receiver, _reservation: reservation })
    }

    /// Where data is sent from.
    pub fn sender(&self) -> &Namespace {
        &self.sender
    }

    /// Where data is sent to.
    pub fn receiver(&self) -> &Namespace {
        &self.receiver
    }

    /// Takes the path down and says what happened on it. Packets still under way are lost.
    ///
    /// # Errors
    /// If moving packets failed at some time, or the namespaces cannot be removed.
    pub fn finish(self) -> Result<Report, Error> {
        let Emulated { mut thread, sender, receiver, _reservation } = self;
        // The counters go with the devices and those with the thread, whose own error comes first.
        let device_drops = [sender.device_drops(), receiver.device_drops()];
        let (forward, backward) = thread.stop()?;
        let [sender_drops, receiver_drops] = device_drops;
        let (forward, mut drops) = forward.report(sender_drops?);
        let (backward, backward_drops) = backward.report(receiver_drops?);
        drops.extend(backward_drops);
        sender.remove()?;
        receiver.remove()?;
        let held = forward.held() && backward.held();
        Ok(Report { forward, backward, drops, held })
    }
}

/// Numbers the paths of this process.
fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The two addresses of the n-th /30 of 10.75.0.0/16. Paths are apart from each other and from the
/// host, so that nothing breaks when the numbers come round; that they differ is for the reader.
fn addresses(n: u32) -> [Ipv4Addr; 2] {
    let network = u32::from(Ipv4Addr::new(10, 75, 0, 0)) + n % (1 << 14) * 4;
    [Ipv4Addr::from(network + 1), Ipv4Addr::from(network + 2)]
}

/// The thread that moves packets; dropping it ends it.
struct Thread {
    stop: Arc<EventFd>,
    handle: Option<JoinHandle<Result<(Way, Way), Error>>>,
}

impl Thread {
    fn start(n: u32, mover: Mover) -> Result<Thread, Error> {
        let stop = EventFd::new().map_err(|errno| Error::failed("creating an eventfd", errno))?;
        let stop = Arc::new(stop);
        let stopped = Arc::clone(&stop);
        let handle = thread::Builder::new()
            .name(format!("path-{n}"))
            .spawn(move || mover.run(&stopped))
            .map_err(|error| Error::failed("starting a path's thread", error))?;
        Ok(Thread { stop, handle: Some(handle) })
    }

    fn stop(&mut self) -> Result<(Way, Way), Error> {
        let handle = self.handle.take().expect("a thread is stopped once");
        self.stop.write(1).map_err(|errno| Error::failed("stopping a path's thread", errno))?;
        handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take()
            && self.stop.write(1).is_ok()
        {
            // Whoever drops a path does not ask how it went.
            let _ = handle.join();
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stay_in_their_network() {
        let addresses = |n| addresses(n).map(|address| address.to_string());
        assert_eq!(addresses(0), ["10.75.0.1", "10.75.0.2"]);
        assert_eq!(addresses(16_383), ["10.75.255.253", "10.75.255.254"]);
        assert_eq!(addresses(16_384), addresses(0));
    }
}
