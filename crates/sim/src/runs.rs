//! Many simulations on all cores.

use rayon::prelude::*;

use crate::outcome::Outcome;
use crate::simulation::{Simulation, SimulationError};

/// Plays all of them, on as many threads as the surrounding rayon pool has, and gives what came of
/// each in their order. `done` hears of each as it ends, in any order and from any thread.
///
/// # Errors
/// The first that is refused, see [`Simulation::validate`]; none is played then.
pub fn run_all(
    simulations: &[Simulation],
    done: impl Fn(usize) + Sync,
) -> Result<Vec<Outcome>, SimulationError> {
    simulations.iter().try_for_each(Simulation::validate)?;
    simulations
        .par_iter()
        .enumerate()
        // One at a time: they differ in length.
        .with_max_len(1)
        .map(|(index, simulation)| simulation.run().inspect(|_| done(index)))
        .collect()
}
