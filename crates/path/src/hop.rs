//! Links beside each other: how a route names them, and what each of them draws.

use serde::Serialize;

use crate::{Direction, stream_seed};

/// Label of the links after the first, under the seed of all.
const LINKS: u64 = 5;

/// A link on a route, and which way it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// The link's place among all links, from 0.
    pub link: usize,
    /// Which of its directions.
    pub direction: Direction,
}

impl Hop {
    /// Its place among the directions of all links: forward and backward of each, in their order.
    pub fn place(self) -> usize {
        2 * self.link + self.direction as usize
    }
}

/// The seed of the link at this place: of the first it is the seed of all, so that a network of one
/// link draws what a path does ([`PathSpec::build`](crate::PathSpec::build)).
pub fn link_seed(seed: u64, link: usize) -> u64 {
    if link == 0 { seed } else { stream_seed(seed, &[LINKS, link as u64]) }
}
