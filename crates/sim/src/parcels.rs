//! Segments under way. The links carry their places, a sixteenth of their size, since packets are
//! moved several times in each link.

use kirikae_tcp::Segment;

use crate::simulation::End;

/// A segment under way.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub segment: Segment,
    /// The place of the flow that it belongs to.
    pub flow: u32,
    /// The end that sent it, or in whose place a relay did.
    pub from: End,
    /// Links of its route that it has behind it.
    pub hop: u16,
}

/// Segments under way, each at a place.
#[derive(Debug, Default)]
pub(crate) struct Parcels {
    slots: Vec<Parcel>,
    /// Places that are free; the latest freed first, since it is in the cache.
    free: Vec<u32>,
}

impl Parcels {
    /// Finds a place for it.
    pub fn put(&mut self, parcel: Parcel) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = parcel;
                place
            }
            None => {
                self.slots.push(parcel);
                (self.slots.len() - 1) as u32
            }
        }
    }

    pub fn at(&mut self, place: u32) -> &mut Parcel {
        &mut self.slots[place as usize]
    }

    /// The place is free for another.
    pub fn free(&mut self, place: u32) {
        self.free.push(place);
    }
}
