//! Many simulations on all cores.

use rayon::prelude::*;

use crate::observer::Observer;
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
    in_parallel(simulations.len(), |index| simulations[index].run().inspect(|_| done(index)))
}

/// Plays so many simulations, on as many threads as [`run_all`], each before an observer of its
/// own; gives what is kept of each in their order. Each is made when it begins, and `done` says as it
/// ends what is kept: no more of them are in memory than threads.
///
/// # Errors
/// A simulation that is refused, see [`Simulation::validate`]; or an error of `observer` or `done`.
/// Others may have been played then.
pub fn observe_all<O: Observer, T: Send, E: From<SimulationError> + Send>(
    simulations: usize,
    simulation: impl Fn(usize) -> Simulation + Sync,
    observer: impl Fn(usize, &Simulation) -> Result<O, E> + Sync,
    done: impl Fn(usize, O, Outcome) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    in_parallel(simulations, |index| {
        let simulation = simulation(index);
        let mut observer = observer(index, &simulation)?;
        let outcome = simulation.observe(&mut observer)?;
        done(index, observer, outcome)
    })
}

fn in_parallel<T: Send, E: Send>(
    simulations: usize,
    play: impl Fn(usize) -> Result<T, E> + Sync + Send,
) -> Result<Vec<T>, E> {
    // One at a time: they differ in length.
    (0..simulations).into_par_iter().with_max_len(1).map(play).collect()
}
