//! Plays many contests on the real kernel: as many at the same time as the machine holds.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kirikae_path::sustained_rate;
use kirikae_results::contest::Contest;
use kirikae_scenario::{Controls, FlowGroup, Scenario};
use kirikae_simlab::sim::simulation;

use crate::error::Error;
use crate::player::clock::now_ns;
use crate::progress::Progress;
use crate::staged::{Played, Staged};
use crate::switched::Switched;
use crate::switcher::Switcher;

/// Time for all networks of a wave to start, before the first of them begins.
const RUN_UP: Duration = Duration::from_millis(500);

/// How much more CPU time a packet takes that comes alone. The emulator's capacity is measured with many
/// packets at once. On ten full links of 10 Mbit/s a packet and its ACK take 110 us of CPU time; on one link
/// without a limit they take a tenth of that.
const ALONE: f64 = 10.0;

/// What all contests of a run share.
pub struct Waves<'a> {
    pub controls: &'a Controls,
    /// Who switches connections, if anyone does.
    pub switcher: Option<&'a Switcher>,
    /// The largest number of networks at the same time.
    pub at_once: usize,
    /// A flag that is set when the run is to end early.
    pub stop: &'a AtomicBool,
}

impl Waves<'_> {
    /// Plays all contests and returns the course of each, in their order; None for those that had not begun
    /// when the run was to end. If one fails, the others are ended.
    pub fn play(&self, contests: &[Contest]) -> Result<Vec<Option<Played>>, Error> {
        let mut played: Vec<Option<Played>> = contests.iter().map(|_| None).collect();
        let mut progress = Progress::new(contests.len());
        // Contests of equal length are played together; contenders of a scenario stay beside each other.
        let mut waiting: Vec<usize> = (0..contests.len()).collect();
        let duration = |place: &usize| {
            let &Contest { scenario, contender, seed } = &contests[*place];
            simulation(scenario, contender, seed, self.controls).duration
        };
        waiting.sort_by_cached_key(|place| Reverse(duration(place)));
        let mut waiting = &waiting[..];
        while !waiting.is_empty() && !self.stop.load(Ordering::Relaxed) {
            let wave = self.prepare(contests, waiting)?;
            let (places, others) = waiting.split_at(wave.len());
            waiting = others;
            for (place, came) in places.iter().zip(self.run(wave, &mut progress)?) {
                played[*place] = Some(came);
            }
        }
        progress.finish();
        Ok(played)
    }

    /// Prepares the first of the waiting contests: as many as may run and as the machine holds.
    fn prepare(&self, contests: &[Contest], waiting: &[usize]) -> Result<Vec<Staged>, Error> {
        let mut wave = Vec::new();
        let mut left = kirikae_emu::capacity()? / ALONE;
        for place in &waiting[..waiting.len().min(self.at_once)] {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            left -= steady_load(contests[*place].scenario);
            if left < 0.0 && !wave.is_empty() {
                break;
            }
            let scenario = contests[*place].scenario;
            let cgroup_of = |contender| {
                let switched = Switched::of(contender, scenario, self.controls)?;
                self.switcher?.cgroup(&switched).map(Path::to_owned)
            };
            match Staged::prepare(&contests[*place], self.controls, &cgroup_of) {
                Ok(staged) => wave.push(staged),
                Err(Error::Emulator(kirikae_emu::Error::TooFast { .. })) if !wave.is_empty() => {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        wave.iter_mut().try_for_each(Staged::wait_until_ready)?;
        Ok(wave)
    }

    fn run(&self, wave: Vec<Staged>, progress: &mut Progress) -> Result<Vec<Played>, Error> {
        let networks = wave.len() as u32;
        let longest = wave.iter().map(|staged| staged.duration).max().unwrap_or_default();
        progress.begin(wave.len(), RUN_UP + longest);
        let start_ns = now_ns() + RUN_UP.as_nanos() as u64;
        let failed = AtomicBool::new(false);
        thread::scope(|scope| {
            let begin = |(place, staged): (u32, Staged)| {
                // The beginnings are spread so that not all bursts come at once: the machine has few cores.
                let put_off = staged.spread * place / networks;
                let start_ns = start_ns + put_off.as_nanos() as u64;
                let failed = &failed;
                let stop = || self.stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
                scope.spawn(move || {
                    let played = staged.run(start_ns, stop);
                    played.inspect_err(|_| failed.store(true, Ordering::Relaxed))
                })
            };
            let threads: Vec<_> = (0..).zip(wave).map(begin).collect();
            progress.follow(|| threads.iter().filter(|thread| thread.is_finished()).count());
            let join = |thread: thread::ScopedJoinHandle<'_, Result<Played, Error>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        })
    }
}

/// The rate of what bulk carries over its links for as long as the scenario is played, bit/s, all links together: it is no
/// faster on any of them than on its narrowest. (ACKs are reckoned with what they acknowledge. The mean rate of
/// other links is far below what they could carry.)
fn steady_load(scenario: &Scenario) -> f64 {
    let mut of_links = vec![0; scenario.links.len()];
    let rate = |group: &FlowGroup, place: usize| {
        let path = &scenario.links[place].path;
        sustained_rate(if group.reversed { &path.backward } else { &path.forward })
    };
    let is_bulk = |group: &&FlowGroup| group.activities.iter().any(|it| it.workload.is_bulk());
    for group in scenario.flows.iter().filter(is_bulk) {
        let narrowest = group.forward.iter().filter_map(|place| rate(group, *place)).min();
        for place in &group.forward {
            let own = rate(group, *place).unwrap_or(u64::MAX);
            of_links[*place] = own.min(of_links[*place] + narrowest.unwrap_or(0));
        }
    }
    of_links.iter().sum::<u64>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two links one after the other, of so many Mbit/s, and these flows.
    fn load(first: u64, second: u64, flows: &str) -> f64 {
        let link = |name: &str, rate: u64| {
            let way = |way: &str| {
                format!(
                    "[[link.{way}]]\nelement = \"rate\"\nrate = \"{rate} Mbit/s\"\nqueue = \"30 packets\"\n"
                )
            };
            format!("[[link]]\nname = \"{name}\"\n{}{}", way("forward"), way("backward"))
        };
        let text = format!(
            "title = \"T\"\nseed = 1\n{}{}{flows}[workload]\nkind = \"bulk\"\nbytes = \"unlimited\"\n\
             [sim]\nduration = \"10 s\"\n",
            link("a", first),
            link("b", second),
        );
        steady_load(&Scenario::parse("t.toml".as_ref(), text).unwrap()[0]) / 1e6
    }

    #[test]
    fn bulk_is_as_fast_as_its_narrowest_link() {
        let flow =
            |name: &str, route: &str| format!("[[flow]]\nname = \"{name}\"\nroute = [{route}]\n");
        assert_eq!(load(11, 10, &flow("x", r#""a", "b""#)), 20.0);
        assert_eq!(load(1, 100, &flow("x", r#""a", "b""#)), 2.0);
        // Two that share a link have no more of it than there is.
        let both = flow("x", r#""a", "b""#) + &flow("y", r#""b""#);
        assert_eq!(load(4, 10, &both), 14.0);
        assert_eq!(load(4, 100, &both), 104.0);
    }
}
