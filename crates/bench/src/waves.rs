//! Many contests on the real kernel: as many at the same time as the machine holds.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kirikae_path::{ElementSpec, sustained_rate};
use kirikae_results::contest::Contest;
use kirikae_scenario::{Controls, FlowGroup, Link, Scenario};
use kirikae_simlab::sim::simulation;

use crate::error::Error;
use crate::player::clock::now_ns;
use crate::progress::Progress;
use crate::staged::{Played, Staged};

/// Time for all networks of a wave to start, before the first of them begins.
const RUN_UP: Duration = Duration::from_millis(500);

/// How much more of the machine a packet takes that comes alone than one of many at once, as which the
/// emulator's capacity is measured: on ten links of 10 Mbit/s that are full it is 110 us of CPU time for a
/// packet and its ACK, on one without a limit a tenth of that.
const ALONE: f64 = 10.0;

/// What the contests of a run have in common.
pub struct Waves<'a> {
    pub controls: &'a Controls,
    /// Where clients are switched, if any are.
    pub cgroup: Option<&'a Path>,
    /// Most networks at the same time.
    pub at_once: usize,
    /// Set when the run is to end early.
    pub stop: &'a AtomicBool,
}

impl Waves<'_> {
    /// Plays all of them, and says how each went, in their order; none of those that were not begun when
    /// the run was to end. One that fails ends the others.
    pub fn play(&self, contests: &[Contest]) -> Result<Vec<Option<Played>>, Error> {
        let mut played: Vec<Option<Played>> = contests.iter().map(|_| None).collect();
        let mut progress = Progress::new(contests.len());
        // What takes equally long is played together; contenders of a scenario stay beside each other.
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

    /// The first of those that wait, as many as there may be and as the machine holds.
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
            match Staged::prepare(&contests[*place], self.controls, self.cgroup) {
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
                // Not all bursts at the same instant: the machine has few cores.
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

/// What the links carry that are full for as long as it is played, in bit/s: those on the way of bulk.
/// Others carry little of what they could in the mean.
fn steady_load(scenario: &Scenario) -> f64 {
    let is_bulk =
        |group: &&FlowGroup| group.activities.iter().any(|activity| activity.workload.is_bulk());
    let bulk = || scenario.flows.iter().filter(is_bulk);
    let of_link = |(place, link): (usize, &Link)| {
        let forward = bulk().any(|group| group.forward.contains(&place));
        let backward = bulk().any(|group| group.backward.contains(&place));
        let rate = |used: bool, elements: &[ElementSpec]| {
            sustained_rate(elements).filter(|_| used).unwrap_or(0) as f64
        };
        rate(forward, &link.path.forward) + rate(backward, &link.path.backward)
    };
    scenario.links.iter().enumerate().map(of_link).sum()
}
