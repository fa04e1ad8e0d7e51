//! When flows are opened: by the clock, or once another one is done.

use std::collections::BTreeMap;

use kirikae_path::Time;

/// Whether a flow is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Another has to be done before.
    Waits,
    /// It will be at this time.
    At(Time),
    /// It is.
    Done,
}

impl Opening {
    /// Of a flow with this [`Flow::start`](crate::Flow::start) and [`Flow::after`](crate::Flow::after).
    pub fn new(start: Time, after: Option<usize>) -> Opening {
        if after.is_some() { Opening::Waits } else { Opening::At(start) }
    }

    /// Opens it where that is due; returns whether it was.
    pub fn open(&mut self, now: Time) -> bool {
        let is_due = matches!(self, Opening::At(at) if *at <= now);
        if is_due {
            *self = Opening::Done;
        }
        is_due
    }
}

/// The flows that are opened once another is done, see [`Flow::after`](crate::Flow::after).
#[derive(Debug)]
pub struct Followers(BTreeMap<usize, Vec<usize>>);

impl Followers {
    /// Of flows that each wait for the one at this place, or for none.
    pub fn new(after: impl IntoIterator<Item = Option<usize>>) -> Followers {
        let mut followers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (flow, after) in after.into_iter().enumerate() {
            if let Some(after) = after {
                followers.entry(after).or_default().push(flow);
            }
        }
        Followers(followers)
    }

    /// A flow is done: those that waited for it, in order of their places.
    pub fn release(&mut self, done: usize) -> Vec<usize> {
        self.0.remove(&done).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_released_once_by_the_one_it_waits_for() {
        let mut followers = Followers::new([None, Some(0), Some(1), Some(0)]);
        assert_eq!(followers.release(2), []);
        assert_eq!(followers.release(0), [1, 3]);
        assert_eq!(followers.release(0), []);
        assert_eq!(followers.release(1), [2]);
    }
}
