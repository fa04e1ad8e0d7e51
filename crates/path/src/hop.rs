//! Links beside each other: how a route names them, and the seeds of their random streams.

use serde::Serialize;

use crate::{Direction, stream_seed};

/// Label of the links after the first in the derivation of seeds.
const LINKS: u64 = 5;

/// A link on a route, and the direction in which it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// The link's index among all links, from 0.
    pub link: usize,
    /// Which of its directions.
    pub direction: Direction,
}

impl Hop {
    /// Its index among the directions of all links: forward and backward of each, in their order.
    pub fn place(self) -> usize {
        2 * self.link + self.direction as usize
    }
}

/// The seed of the link with this index. The first link has the seed of all, so that a network of one link
/// draws the same numbers as a path ([`PathSpec::build`](crate::PathSpec::build)).
pub fn link_seed(seed: u64, link: usize) -> u64 {
    if link == 0 { seed } else { stream_seed(seed, &[LINKS, link as u64]) }
}
