//! Hosts whose interface has no carrier while an outage lasts, as a cable that is unplugged or a radio link that is
//! gone.

use kirikae_path::{ElementSpec, Intervals, Time};
use nix::errno::Errno;

use crate::mover::Device;

/// The carrier of a host's device.
#[derive(Debug)]
pub(crate) struct Carrier {
    /// The index of the device.
    device: usize,
    /// When it is gone.
    gone: Intervals,
    is_there: bool,
    /// When it goes or comes next.
    next: Option<Time>,
}

impl Carrier {
    /// The carriers of a device whose packets enter the network by a direction with these elements.
    pub fn all(device: usize, elements: &[ElementSpec]) -> impl Iterator<Item = Carrier> {
        elements.iter().filter_map(move |element| match element {
            ElementSpec::Outage(outage) if outage.carrier => {
                let gone = outage.when.clone();
                Some(Carrier { device, gone, is_there: true, next: Some(Time::ZERO) })
            }
            _ => None,
        })
    }

    /// The index of the device.
    pub fn device(&self) -> usize {
        self.device
    }

    /// When it goes or comes next.
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Takes the carrier away or brings it, if it is time to.
    pub fn follow(&mut self, now: Time, devices: &[Device]) -> Result<(), Errno> {
        if self.next.is_none_or(|next| next > now) {
            return Ok(());
        }
        let is_there = self.gone.left(now).is_none();
        if is_there != self.is_there {
            devices[self.device].set_carrier(is_there)?;
            self.is_there = is_there;
        }
        self.next = self.gone.next_edge(now);
        Ok(())
    }
}
