//! The parts of the agent that are in the kernel: they are attached, pinned, and taken out again.

use std::os::fd::AsFd;
use std::time::Instant;

use kirikae_algorithms::Algorithm;
use libbpf_rs::{Link, MapHandle};

use crate::agent::Config;
use crate::algorithms::{Algorithms, CONNECTIONS, Users};
use crate::error::{Doing, Error};
use crate::registered;
use crate::registration::{self, Registration};
use crate::restore::{Restored, Restorer, WAIT_FOR_RECOVERY};
use crate::state::State;
use crate::switcher::Switcher;
use crate::walks::Walker;

/// The parts of the agent that are in the kernel.
pub(crate) struct Attached {
    pub switcher: Option<Link>,
    pub connections: Option<MapHandle>,
    /// None where it is pinned.
    pub restorer: Option<Restorer>,
    pub algorithms: Vec<Registration>,
    /// The names of the algorithms that this agent registered itself.
    pub registered: Vec<&'static str>,
}

impl Attached {
    /// Pins each part as soon as it is there, and attaches the switcher last: if the agent is killed in
    /// between, nothing has been switched yet and [`undo`](crate::undo) finds what there is.
    pub fn attach(
        switcher: &Switcher,
        config: &Config,
        state: Option<&State>,
    ) -> Result<Attached, Error> {
        let connections = switcher.map(CONNECTIONS)?;
        let restorer = match state {
            Some(state) => state.pin_restorer(&connections).map(|()| None),
            None => Restorer::hidden(&connections).map(Some),
        };
        let mut attached = Attached {
            switcher: None,
            connections: Some(connections),
            restorer: restorer?,
            algorithms: Vec::new(),
            registered: Vec::new(),
        };
        attached.register(&config.algorithms, state)?;
        let mut link = switcher.attach(&config.cgroup)?;
        if let Some(state) = state {
            state.pin_switcher(&mut link)?;
        }
        attached.switcher = Some(link);
        Ok(attached)
    }

    /// Registers those of `wanted` that are not registered yet.
    pub fn register(&mut self, wanted: &[Algorithm], state: Option<&State>) -> Result<(), Error> {
        let for_programs = registered::registered()?;
        let is_preset = |it: &Algorithm| Algorithm::named(it.name()).as_ref() == Some(it);
        if let Some(set) =
            wanted.iter().find(|it| for_programs.contains(&it.name()) && !is_preset(it))
        {
            return Err(Error::Wrong(format!(
                "setting parameters of {}: it is registered for programs, as it is preset; `kirikae \
                 algorithms --unregister` takes it away",
                set.name()
            )));
        }
        let is_missing = |it: &&Algorithm| {
            !self.registered.contains(&it.name()) && !for_programs.contains(&it.name())
        };
        let missing: Vec<Algorithm> = wanted.iter().filter(is_missing).copied().collect();
        let connections = self.connections.as_ref().map(AsFd::as_fd);
        let registered = Algorithms::register_with(&missing, Users::Switcher, connections)?;
        for (name, mut algorithm) in registered.registrations {
            if let Some(state) = state {
                state.pin_algorithm(name, &mut algorithm)?;
            }
            self.algorithms.push(algorithm);
            self.registered.push(name);
        }
        Ok(())
    }

    /// Unregisters the algorithms from place `first` on, which are so new that no connection has them.
    pub fn unregister_from(&mut self, first: usize) {
        self.registered.truncate(first);
        for algorithm in self.algorithms.drain(first..) {
            // A failure leaves it pinned until the agent stops.
            let _ = algorithm.end();
        }
    }

    /// Restores the connections.
    pub fn restore(
        &self,
        state: Option<&State>,
        walker: &mut Walker,
        until: Instant,
    ) -> Result<Restored, Error> {
        match (&self.restorer, state) {
            (Some(restorer), _) => restorer.restore(walker, until),
            (None, Some(state)) => state.restore(walker, until),
            (None, None) => Ok(Restored::default()),
        }
    }

    /// Ends switching, then restores the connections, then unregisters the algorithms. In this order no
    /// connection is left on an algorithm that new connections cannot have. An error in one step does not
    /// keep the others from being taken; the first is returned. `before` is what was restored already.
    pub fn detach(
        mut self,
        state: Option<&State>,
        walker: &mut Walker,
        before: Option<Restored>,
    ) -> Result<Restored, Error> {
        let switcher = self.switcher.take().map_or(Ok(()), release);
        let restored = match before {
            Some(before) if before.is_complete() => Ok(before),
            Some(before) => self.restore(state, walker, Instant::now()).map(|mut restored| {
                restored.connections += before.connections;
                restored
            }),
            None => self.restore(state, walker, Instant::now() + WAIT_FOR_RECOVERY),
        };
        let ended = self.algorithms.into_iter().map(Registration::end);
        let algorithms = ended.fold(Ok(()), Result::and);
        let algorithms = algorithms.and_then(|()| registration::are_gone(&self.registered));
        switcher.and(restored).and_then(|restored| algorithms.map(|()| restored))
    }
}

fn release(mut link: Link) -> Result<(), Error> {
    if link.pin_path().is_some() {
        link.unpin().doing(|| "unpinning a link".to_owned())?;
    }
    Ok(())
}
