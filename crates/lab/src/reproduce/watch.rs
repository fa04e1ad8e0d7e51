//! What a sender's window did, for figures.

use kirikae_algorithms::CaState;
use kirikae_path::Time;
use kirikae_sim::{End, Observer};
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
