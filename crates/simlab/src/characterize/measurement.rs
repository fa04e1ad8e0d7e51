//! What an algorithm does at a place of the grid.
//!
//! A repetition is a connection of its own that is alone on its path. The client writes a burst, the
//! server answers with a byte as soon as it has all of it, and the client waits for a while before it
//! writes the next one, so that each burst meets an idle connection and an empty queue however long
//! the one before it took: with bursts by the clock the slow places would measure how bursts queue
//! up behind each other.
//!
//! Of a stream that is just what is to be measured: the client writes by the clock, as much each time as
//! makes its share of the rate.

use std::sync::Arc;

use kirikae_algorithms::{Algorithm, Losses, Rule, Switcher};
use kirikae_interface::{policy, scope};
use kirikae_path::{
    DropCause, ElementSpec, PathSpec, QueueLimit, RandomStream, RunLossSpec, Span, Time,
    stream_seed,
};
use kirikae_results::statistics::{mean, quantile};
use kirikae_sim::{
    Activity, DroppedPacket, Flow, Host, Interval, Outcome, Routes, Simulation, SimulationError,
    Workload,
};
use kirikae_table::{BURST_LOSS_PACKETS, Expectation, Load, Place};
use kirikae_tcp::Control;
use serde::{Deserialize, Serialize};

use super::grid_file::GridFile;

/// Least time between the end of a burst and the next one: longer than a usual retransmission
/// timeout, so that the connection counts as idle.
const PAUSE: Span = Span::from_secs(2);
/// On a path where a round trip or a burst takes long, the pause is so many times both.
const PAUSE_TIMES: u64 = 4;
/// Pauses differ from connection to connection by up to this share, so that what happens by the
/// clock (the probes of a BBR, jiffies) does not meet the bursts always at the same point.
const PAUSE_SPREAD: f64 = 0.25;
/// A stream writes so often in a round trip, but not more often than every [`FRAME_LEAST`], nor more
/// seldom than every [`FRAME_MOST`].
const FRAMES: u64 = 4;
const FRAME_LEAST: Span = Span::from_millis(10);
const FRAME_MOST: Span = Span::from_millis(100);
/// A stream is measured for so many round trips, and so long, at least: some losses of the rare ones, and what
/// happens by the clock, have to come.
const STREAM_ROUNDS: u64 = 25;
const STREAM_LASTS: Span = Span::from_secs(4);
/// So much of it, from its beginning, is not measured.
const STREAM_WARM_UP: f64 = 0.2;
/// Of a stream that is not carried, what waits is waited for so many times as long as it lasted.
const STREAM_PATIENCE: u64 = 1;
/// How long a burst may take in the mean of a connection before it is given up.
const PATIENCE: Span = Span::from_secs(600);
/// Runs of lost packets that are to be expected on all connections of a place before its interval is
/// trusted: where there was none, nothing is known of what one does.
const RUNS: f64 = 10.0;
/// Label of the stream of pauses, under a repetition's seed; those below are the simulator's.
const PAUSES: u64 = 6;

/// What was measured of an algorithm at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Connections simulated.
    pub repetitions: u32,
    /// Bursts measured on all of them; of each connection the first is not.
    pub writes: u32,
    /// How many of them had not arrived when their simulation ended. They count with the time that
    /// they had waited.
    pub unfinished: u32,
    /// Mean over the connections of their mean latencies, seconds.
    pub mean_s: f64,
    /// Half the width of its 95 % interval, seconds.
    pub half_width_s: f64,
    /// Median of the latencies, seconds.
    pub p50_s: f64,
    /// Their 95th percentile, seconds.
    pub p95_s: f64,
    /// Segments sent, those of the first bursts included, as the switcher counts them.
    pub segments: u64,
    /// Those lost in runs of at most 2.
    pub isolated: u64,
    /// The same per segment sent, without what chance drew more or less of them than the path's
    /// probability says: rare losses are known better from that than from a few that were drawn.
    pub isolated_rate: f64,
    /// Runs of at least 3 lost segments.
    pub bursts: u64,
    /// Whether the interval is wider than asked for, after the most repetitions.
    pub capped: bool,
}

impl Measurement {
    /// What a table says of it.
    pub fn expectation(&self) -> Expectation {
        Expectation {
            latency_s: self.mean_s,
            isolated: self.isolated_rate,
            bursts: (self.bursts as f64 / self.segments.max(1) as f64).min(1.0),
        }
    }
}

/// Measures an algorithm at a place.
pub(super) fn measure(
    file: &GridFile,
    place: &Place,
    algorithm: Algorithm,
) -> Result<Measurement, SimulationError> {
    let confidence = &file.confidence;
    let mut sample = Sample::default();
    loop {
        let repetition = sample.means.len() as u32;
        let unmeasured = unmeasured(file, place);
        sample.add(&simulation(file, place, algorithm, repetition).run()?, unmeasured);
        let repetitions = repetition + 1;
        if repetitions < confidence.least {
            continue;
        }
        let (value, half_width_s) = sample.mean();
        let wide = half_width_s > confidence.interval * value;
        let runs = place.condition.burst_loss * sample.sent as f64;
        let known = !wide && (place.condition.burst_loss == 0.0 || runs >= RUNS);
        if known || repetitions == confidence.most {
            return Ok(sample.measurement(place.condition.loss, wide));
        }
    }
}

/// What several repetitions measured.
#[derive(Default)]
struct Sample {
    /// Of each repetition the mean latency, seconds.
    means: Vec<f64>,
    /// Of every burst, seconds.
    latencies: Vec<f64>,
    unfinished: u32,
    losses: Losses,
    /// Segments with data that entered the path.
    sent: u64,
    /// Those of them that were lost each for itself.
    drawn: u64,
}

impl Sample {
    /// The first `unmeasured` writes meet a connection that has not yet seen its path. Where not even those
    /// arrived, they are what is known.
    fn add(&mut self, outcome: &Outcome, unmeasured: usize) {
        let flow = &outcome.flows[0];
        let measured = &flow.client[unmeasured.min(flow.client.len() - 1)..];
        let mut sum = 0.0;
        for write in measured {
            let latency = write.latency().unwrap_or_else(|| {
                self.unfinished += 1;
                outcome.end - write.start
            });
            sum += latency.as_secs_f64();
            self.latencies.push(latency.as_secs_f64());
        }
        self.means.push(sum / measured.len() as f64);
        let losses = flow.losses.unwrap_or_default();
        self.losses.segments += losses.segments;
        self.losses.isolated += losses.isolated;
        self.losses.bursts += losses.bursts;
        self.sent += flow.traffic[0].segments;
        let drawn = |drop: &&DroppedPacket| {
            drop.cause == DropCause::IndependentLoss && !drop.stream.is_empty()
        };
        self.drawn += outcome.links[0].drops.iter().filter(drawn).count() as u64;
    }

    /// The mean latency and half the width of its interval, seconds.
    fn mean(&self) -> (f64, f64) {
        let estimate = mean(&self.means).expect("a repetition");
        (estimate.value, estimate.half_width.expect("two repetitions"))
    }

    fn measurement(mut self, loss: f64, capped: bool) -> Measurement {
        let (mean_s, half_width_s) = self.mean();
        self.latencies.sort_by(f64::total_cmp);
        let quantile = |q| quantile(&self.latencies, q).expect("a latency");
        let Losses { segments, isolated, bursts } = self.losses;
        // A control variate: its mean is 0, and it goes along with the losses counted.
        let chance = self.drawn as f64 - loss * self.sent as f64;
        Measurement {
            repetitions: self.means.len() as u32,
            writes: self.latencies.len() as u32,
            unfinished: self.unfinished,
            mean_s,
            half_width_s,
            p50_s: quantile(0.5),
            p95_s: quantile(0.95),
            segments,
            // What was held for lost and was not is taken back, once it is known.
            isolated: isolated.max(0).cast_unsigned(),
            isolated_rate: ((isolated as f64 - chance) / segments.max(1) as f64).clamp(0.0, 1.0),
            bursts: bursts.max(0).cast_unsigned(),
            capped,
        }
    }
}

/// A repetition. Its seed is the same for every algorithm, and does not depend on which other places
/// the grid has.
fn simulation(file: &GridFile, place: &Place, algorithm: Algorithm, repetition: u32) -> Simulation {
    let &Place { rtt_us, rate, load, condition } = place;
    let labels = [
        u64::from(rtt_us),
        rate,
        match load {
            Load::Burst(bytes) => bytes.into(),
            Load::Stream(share) => share.to_bits(),
        },
        condition.loss.to_bits(),
        condition.burst_loss.to_bits(),
        u64::from(condition.queue),
        u64::from(repetition),
    ];
    let seed = stream_seed(file.seed, &labels);
    let spread = RandomStream::new(stream_seed(seed, &[PAUSES])).uniform() * PAUSE_SPREAD;
    let (workload, duration) = match load {
        Load::Burst(bytes) => requests(file, place, bytes, spread),
        Load::Stream(share) => stream(Stream::new(file, place, share), spread),
    };
    let profile = Arc::new(file.stack.clone());
    let host = |address, algorithm, switcher| Host {
        profile: Arc::clone(&profile),
        control: Control { algorithm, switcher }.into(),
        address,
    };
    let cubic = Algorithm::stock("cubic").expect("the kernel has it");
    let flow = Flow {
        start: Time::ZERO,
        after: None,
        routes: Routes::through(&[0]),
        client: host(
            0,
            algorithm,
            Some(Rule::Switcher(Switcher::measuring(policy::one(scope::usual())))),
        ),
        server: host(1, cubic, None),
        activities: vec![Activity { after: Span::ZERO, workload }],
        mobile: None,
        split: None,
    };
    Simulation { seed, links: vec![path(place)], flows: vec![flow], duration }
}

/// Bursts, each after a pause, and how long they may take together.
fn requests(file: &GridFile, place: &Place, burst: u32, spread: f64) -> (Workload, Span) {
    let pause = pause(place, burst).as_nanos() as f64 * (1.0 + spread);
    let pause = Span::from_nanos(pause as u64);
    // The first is not measured.
    let count = file.confidence.writes(burst.into()) + 1;
    let think = Interval::Fixed(pause);
    let workload = Workload::Requests { request: burst.into(), response: 1, think, count };
    (workload, (pause + PATIENCE) * u64::from(count))
}

/// How a stream is written.
struct Stream {
    /// From one write to the next.
    every: Span,
    /// Of each write.
    bytes: u64,
    writes: u64,
}

impl Stream {
    fn new(file: &GridFile, place: &Place, share: f64) -> Stream {
        let rtt = Span::from_nanos(u64::from(place.rtt_us) * 1000);
        let every = Span::from_nanos(rtt.as_nanos() / FRAMES).max(FRAME_LEAST).min(FRAME_MOST);
        let rate = share * place.rate as f64 / 8.0;
        let lasts_s = (file.confidence.volume as f64 / rate)
            .max((rtt * STREAM_ROUNDS).as_secs_f64())
            .max(STREAM_LASTS.as_secs_f64());
        Stream {
            every,
            bytes: ((rate * every.as_secs_f64()) as u64).max(1),
            writes: (lasts_s / every.as_secs_f64()).ceil() as u64,
        }
    }
}

/// Writes by the clock, and how long they may take together.
fn stream(stream: Stream, spread: f64) -> (Workload, Span) {
    let Stream { every, bytes, writes } = stream;
    let first = every.as_nanos() as f64 * spread;
    let due = |n: u64| Span::from_nanos(first as u64 + every.as_nanos() * n);
    (Workload::bursts(bytes, (0..writes).map(due)), every * (writes * (1 + STREAM_PATIENCE)))
}

/// Of how many writes nothing is counted.
fn unmeasured(file: &GridFile, place: &Place) -> usize {
    match place.load {
        Load::Burst(_) => 1,
        Load::Stream(share) => {
            (Stream::new(file, place, share).writes as f64 * STREAM_WARM_UP) as usize
        }
    }
}

/// The least pause behind a burst.
fn pause(place: &Place, burst: u32) -> Span {
    let bits = u64::from(burst) * 8;
    let serialisation_ns = u128::from(bits) * 1_000_000_000 / u128::from(place.rate);
    let both = Span::from_nanos(u64::from(place.rtt_us) * 1000 + serialisation_ns as u64);
    PAUSE.max(both * PAUSE_TIMES)
}

fn path(place: &Place) -> PathSpec {
    let condition = &place.condition;
    let mut forward = Vec::new();
    if condition.loss > 0.0 {
        forward.push(ElementSpec::Loss { probability: condition.loss });
    }
    if condition.burst_loss > 0.0 {
        let lengths = vec![(BURST_LOSS_PACKETS, 1.0)];
        forward.push(ElementSpec::RunLoss(RunLossSpec { begin: condition.burst_loss, lengths }));
    }
    let limit = QueueLimit::Packets(condition.queue.into());
    forward.push(ElementSpec::Rate { bits_per_second: place.rate, limit });
    let delay = Span::from_nanos(u64::from(place.rtt_us) * 500);
    forward.push(ElementSpec::Delay { delay });
    PathSpec { forward, backward: vec![ElementSpec::Delay { delay }] }
}
