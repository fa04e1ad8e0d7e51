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
    let done = |index, (), outcome| {
        done(index);
        Ok(outcome)
    };
    observe_all(simulations, |_| Ok(()), done)
}

/// Plays all of them as [`run_all`] does, each before an observer of its own, made when it begins.
/// `done` is given the observer back as each ends, with what came of it, and says what is kept.
///
/// # Errors
/// A simulation that is refused, none is played then; or an error of `observer` or `done`.
pub fn observe_all<O: Observer, T: Send, E: From<SimulationError> + Send>(
    simulations: &[Simulation],
    observer: impl Fn(usize) -> Result<O, E> + Sync,
    done: impl Fn(usize, O, Outcome) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    simulations.iter().try_for_each(Simulation::validate)?;
    let play = |(index, simulation): (usize, &Simulation)| {
        let mut observer = observer(index)?;
        let outcome = simulation.observe(&mut observer)?;
        done(index, observer, outcome)
    };
    simulations
        .par_iter()
        .enumerate()
        // One at a time: they differ in length.
        .with_max_len(1)
        .map(play)
        .collect()
}
