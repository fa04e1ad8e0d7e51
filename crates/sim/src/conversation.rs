//! What is said on a connection, whoever carries it.

use kirikae_path::{Time, stream_seed};

use crate::application::{Application, WITHOUT_END};
use crate::outcome::Left;
use crate::simulation::End;
use crate::stream::{Stream, Written};
use crate::workload::Activity;

/// Label of what the applications draw, under the simulation's seed.
const APPLICATIONS: u64 = 4;

/// What the applications at both ends of a connection write, by the clock and in answer, and what of it
/// has arrived. It is told the time: the simulator plays it in virtual time, and whoever has a connection
/// of the real kernel can in its own.
pub struct Conversation {
    application: Application,
    /// What each end wrote.
    streams: [Stream; 2],
}

/// A write has arrived whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Who is to write in answer now, and how many bytes, if anybody is.
    pub answer: Option<(End, u64)>,
}

impl Conversation {
    /// On the connection of this place among a simulation's, opened at `start`; `seed` is the
    /// simulation's.
    pub fn new(activities: &[Activity], start: Time, flow: usize, seed: u64) -> Conversation {
        let seed = stream_seed(seed, &[APPLICATIONS, flow as u64]);
        let application = Application::new(activities, start, seed);
        Conversation { application, streams: Default::default() }
    }

    /// When an end writes something by itself.
    pub fn next(&self) -> Option<Time> {
        self.application.next()
    }

    /// Who writes by itself now, and how many bytes; none when there is no more to do at `now`. What is
    /// written before the connection is established waits for that.
    pub fn act(&mut self, now: Time) -> Option<(End, u64)> {
        let (activity, bytes) = self.application.act(now)?;
        let end = self.application.writer(activity);
        self.streams[end as usize].write(now, activity, bytes);
        Some((end, bytes))
    }

    /// The client's kernel has taken all that the client wrote: how many bytes it writes now, if it has been
    /// waiting to write more.
    pub fn more(&mut self, now: Time) -> Option<u64> {
        let (activity, bytes) = self.application.more()?;
        self.streams[End::Client as usize].write(now, activity, bytes);
        Some(bytes)
    }

    /// So many bytes of what `from` wrote can be read in order now. Tells of the writes that arrive whole
    /// with that, one with each call.
    pub fn arrived(&mut self, now: Time, from: End, bytes: u64) -> Option<Arrived> {
        let activity = self.streams[from as usize].advance(now, bytes)?;
        let answer = self.application.arrived(now, from, activity);
        if let Some((end, bytes)) = answer {
            self.streams[end as usize].write(now, activity, bytes);
        }
        Some(Arrived { answer })
    }

    /// Bytes that an end wrote.
    pub(crate) fn written_bytes(&self, end: End) -> u64 {
        self.streams[end as usize].bytes()
    }

    /// Bytes of what `from` wrote that can be read in order.
    pub fn arrived_bytes(&self, from: End) -> u64 {
        self.streams[from as usize].arrived
    }

    /// Whether everything was written and has arrived.
    pub fn is_done(&self) -> bool {
        self.streams.iter().all(Stream::is_whole)
            && self.application.next().is_none()
            && !self.application.has_more()
    }

    /// What is left to do, if anything is; `flow` is the connection's place.
    pub fn left(&self, flow: usize) -> Option<Left> {
        let limited = |stream: &&Stream| stream.bytes() < WITHOUT_END;
        let bytes = self.streams.iter().filter(limited).map(|s| s.bytes() - s.arrived).sum();
        let more = self.application.next().is_some()
            || self.application.has_more()
            || !self.streams.iter().all(|s| limited(&s));
        (!self.is_done()).then_some(Left { flow, bytes, more })
    }

    /// What each end wrote, the client's and the server's.
    pub fn into_written(self) -> [Vec<Written>; 2] {
        self.streams.map(|stream| stream.writes)
    }
}
