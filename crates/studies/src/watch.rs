//! What a sender's window did, and what it met, for figures.

use kirikae_algorithms::CaState;
use kirikae_path::{Direction, Time};
use kirikae_sim::{End, Observer, Passage, Step};
use kirikae_tcp::Endpoint;

/// Time between two values of a curve, nanoseconds.
const STEP_NS: u64 = 20_000_000;

/// Watches the client of the first flow.
#[derive(Debug, Default)]
pub(super) struct WindowWatch {
    /// The congestion window over time: seconds, segments; what it was at the end of each step.
    pub cwnd: Vec<(f64, f64)>,
    /// How often recovery began.
    pub recoveries: u32,
    recovers: bool,
}

impl WindowWatch {
    fn look(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        let Some(socket) = endpoint.socket().filter(|_| flow == 0 && end == End::Client) else {
            return;
        };
        let recovers = socket.state() == CaState::Recovery;
        self.recoveries += u32::from(recovers && !self.recovers);
        self.recovers = recovers;
        let at = (now.as_nanos() / STEP_NS * STEP_NS) as f64 / 1e9;
        let cwnd = f64::from(socket.fields.snd_cwnd);
        match self.cwnd.last_mut() {
            Some((last, value)) if *last == at => *value = cwnd,
            // Until now it was as before.
            Some(&mut (_, value)) => self.cwnd.extend([(at, value), (at, cwnd)]),
            None => self.cwnd.push((at, cwnd)),
        }
    }
}

impl Observer for WindowWatch {
    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.look(now, flow, end, endpoint);
    }

    fn acted(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        self.look(now, flow, end, endpoint);
    }
}

/// How often the thesis' hosts noted their round-trip time (section 6.2), nanoseconds.
const NOTED_NS: u64 = 200_000_000;
/// Time that one value of loss stands for, nanoseconds.
const LOSS_NS: u64 = 10_000_000_000;
/// Time that one value of what was sent stands for, nanoseconds (Fig. 6-7).
const SENT_NS: u64 = 1_000_000_000;

/// Watches each flow's client and its way.
#[derive(Debug, Default)]
pub(super) struct PathWatch {
    /// By the flow's place.
    pub flows: Vec<FlowWatch>,
}

/// What there was to see of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowWatch {
    /// The smoothed round-trip time, noted with the first ACK of each 200 ms: seconds, seconds.
    pub rtt: Vec<(f64, f64)>,
    /// Segments with data sent in each second.
    pub sent: Vec<u32>,
    /// Of each ten seconds, how many segments with data entered the path and were lost by the channel.
    passed: Vec<(u32, u32)>,
    noted: Option<u64>,
}

impl PathWatch {
    fn flow(&mut self, place: usize) -> &mut FlowWatch {
        if self.flows.len() <= place {
            self.flows.resize_with(place + 1, FlowWatch::default);
        }
        &mut self.flows[place]
    }
}

impl FlowWatch {
    /// The share that the channel lost, by time in seconds.
    pub fn lost(&self) -> impl Iterator<Item = (f64, f64)> {
        let share = |(place, (entered, lost)): (usize, &(u32, u32))| {
            let at = place as f64 * LOSS_NS as f64 / 1e9;
            (*entered > 0).then(|| (at, f64::from(*lost) / f64::from(*entered)))
        };
        self.passed.iter().enumerate().filter_map(share)
    }
}

impl Observer for PathWatch {
    fn packet(&mut self, passage: Passage<'_>) {
        let forward = passage.hop.direction == Direction::Forward;
        if !forward || passage.segment.len == 0 {
            return;
        }
        let flow = self.flow(passage.flow);
        let now = passage.at.as_nanos();
        let (second, ten) = ((now / SENT_NS) as usize, (now / LOSS_NS) as usize);
        flow.sent.resize(flow.sent.len().max(second + 1), 0);
        flow.passed.resize(flow.passed.len().max(ten + 1), (0, 0));
        match passage.step {
            Step::Enters => {
                flow.sent[second] += 1;
                flow.passed[ten].0 += 1;
            }
            Step::Dropped(cause) if cause.is_channel_loss() => flow.passed[ten].1 += 1,
            Step::Dropped(_) | Step::Leaves => {}
        }
    }

    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        let period = now.as_nanos() / NOTED_NS;
        let flow = self.flow(flow);
        if end != End::Client || flow.noted == Some(period) {
            return;
        }
        let Some(socket) = endpoint.socket().filter(|it| it.fields.srtt_us > 0) else { return };
        flow.noted = Some(period);
        let srtt_s = f64::from(socket.fields.srtt_us >> 3) / 1e6;
        flow.rtt.push((now.as_nanos() as f64 / 1e9, srtt_s));
    }
}
