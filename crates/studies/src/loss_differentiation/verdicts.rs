//! What a sender takes its losses for, beside what they were.

use std::ops::{AddAssign, Range};

use kirikae_algorithms::{CaState, Socket};
use kirikae_path::Time;
use kirikae_sim::{End, Observer, Passage, Step};
use kirikae_tcp::Endpoint;

/// A channel that loses at least this share of the packets is a lossy one, for the belief's verdict.
const LOSSY: f64 = 1e-3;

/// So many lost segments in a row are a burst loss (`bpf/switcher/core/loss_runs.h`).
const BURST_RUN_SEGMENTS: usize = 3;

/// Verdicts on what a recovery was for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Recoveries for losses of the channel alone, and those of them taken for that.
    pub channel: (u32, u32),
    /// Recoveries for what a queue dropped, among other losses or alone, and those taken for that.
    pub queue: (u32, u32),
}

impl Tally {
    fn add(&mut self, truth: Cause, verdict: Cause) {
        let (all, right) = match truth {
            Cause::Channel => &mut self.channel,
            Cause::Queue => &mut self.queue,
        };
        *all += 1;
        *right += u32::from(truth == verdict);
    }

    /// The shares that were taken for what they were, of each kind; none where there was none.
    pub fn shares(&self) -> [Option<f64>; 2] {
        [self.channel, self.queue]
            .map(|(all, right)| (all > 0).then(|| f64::from(right) / f64::from(all)))
    }

    /// The mean of both shares: 1/2 for whoever says always the same.
    pub fn balanced(&self) -> Option<f64> {
        let [channel, queue] = self.shares();
        Some((channel? + queue?) / 2.0)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        for (to, from) in [(&mut self.channel, other.channel), (&mut self.queue, other.queue)] {
            *to = (to.0 + from.0, to.1 + from.1);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Channel,
    Queue,
}

/// A recovery under way.
struct Recovery {
    /// The sequence numbers that were in flight when it began: what is lost of them it is for.
    flight: Range<u64>,
    /// By whether the window is reduced.
    verdict: Cause,
    /// By whether the channel is likelier than not to be lossy, where a switcher believes something.
    belief: Option<Cause>,
}

/// Watches the client of the first flow. Timeouts are no verdicts: nobody takes them for the channel's.
pub(super) struct Verdicts {
    /// For each of the switcher's conditions whether its channel is lossy.
    lossy: Vec<bool>,
    /// The sequence numbers of each lost segment, and why it was lost.
    lost: Vec<(Range<u64>, Cause)>,
    recovery: Option<Recovery>,
    pub by_window: Tally,
    pub by_belief: Tally,
    /// By the thesis' two patterns of loss (section 4.2): what is lost in a longer run was the queue's.
    pub by_runs: Tally,
}

impl Verdicts {
    pub fn new() -> Verdicts {
        let conditions = kirikae_table::usual().grid.conditions.iter();
        Verdicts {
            lossy: conditions.map(|it| it.loss >= LOSSY || it.burst_loss >= LOSSY).collect(),
            lost: Vec::new(),
            recovery: None,
            by_window: Tally::default(),
            by_belief: Tally::default(),
            by_runs: Tally::default(),
        }
    }

    fn look(&mut self, flow: usize, end: End, endpoint: &Endpoint) {
        let Some(socket) = endpoint.socket().filter(|_| flow == 0 && end == End::Client) else {
            return;
        };
        let recovers = socket.state() == CaState::Recovery;
        let una = u64::from(socket.fields.snd_una);
        // One recovery may follow another with the same ACK.
        if let Some(over) = self.recovery.take_if(|it| !recovers || una >= it.flight.end) {
            self.judge(&over);
        }
        if recovers && self.recovery.is_none() {
            self.recovery = Some(self.begin(socket));
        }
    }

    fn begin(&self, socket: &Socket) -> Recovery {
        let fields = &socket.fields;
        let is_reduced = fields.snd_ssthresh < fields.prior_cwnd;
        let likely = socket.belief(self.lossy.len()).map(|weights| {
            let lossy = weights.iter().zip(&self.lossy).filter(|(_, lossy)| **lossy);
            lossy.map(|(weight, _)| weight).sum::<f64>()
        });
        let cause = |is_queue| if is_queue { Cause::Queue } else { Cause::Channel };
        Recovery {
            flight: u64::from(fields.snd_una)..u64::from(fields.snd_nxt),
            verdict: cause(is_reduced),
            belief: likely.map(|likely| cause(likely < 0.5)),
        }
    }

    fn judge(&mut self, Recovery { flight, verdict, belief }: &Recovery) {
        let after =
            self.lost.iter().filter(|(lost, _)| lost.start >= flight.end).cloned().collect();
        let mut of_it = std::mem::replace(&mut self.lost, after);
        of_it.retain(|(lost, _)| flight.contains(&lost.start));
        if of_it.is_empty() {
            return; // nothing was lost after all
        }
        let cause = |is_queue| if is_queue { Cause::Queue } else { Cause::Channel };
        let truth = cause(of_it.iter().any(|(_, cause)| *cause == Cause::Queue));
        self.by_window.add(truth, *verdict);
        self.by_runs.add(truth, cause(longest_run(of_it) >= BURST_RUN_SEGMENTS));
        if let Some(belief) = belief {
            self.by_belief.add(truth, *belief);
        }
    }
}

/// The most segments lost in a row.
fn longest_run(mut lost: Vec<(Range<u64>, Cause)>) -> usize {
    lost.sort_by_key(|(lost, _)| lost.start);
    lost.dedup_by_key(|(lost, _)| lost.start); // sent again and lost again
    let runs = lost.chunk_by(|(one, _), (next, _)| one.end == next.start);
    runs.map(<[_]>::len).max().unwrap_or(0)
}

impl Observer for Verdicts {
    fn packet(&mut self, passage: Passage<'_>) {
        let Step::Dropped(cause) = passage.step else { return };
        if passage.flow == 0 && passage.from == End::Client && passage.segment.len > 0 {
            let cause = if cause.is_channel_loss() { Cause::Channel } else { Cause::Queue };
            self.lost.push((passage.segment.seq..passage.segment.end(), cause));
        }
    }

    fn received(&mut self, _now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.look(flow, end, endpoint);
    }

    fn acted(&mut self, _now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.look(flow, end, endpoint);
    }
}
