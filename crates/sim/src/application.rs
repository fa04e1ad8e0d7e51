//! What applications do, as it happens.

use kirikae_path::{OnTime, RandomStream, Span, Time, stream_seed};

use crate::simulation::End;
use crate::video::{Encoder, REPORT};
use crate::workload::{Activity, Interval, Workload, Write};

/// What uses a connection: its activities under way.
pub(crate) struct Application {
    running: Box<[Running]>,
}

/// An activity under way.
struct Running {
    workload: Workload,
    begin: Time,
    /// When it does something by itself.
    next: Option<Time>,
    /// Writes or requests made so far.
    made: u32,
    /// Bytes that are left of a file that has begun.
    left: u64,
    /// Until when it writes, where it writes on and off.
    on_time: OnTime,
    /// What rounding left over of the writes of [`Workload::OnOff`], in bits times 10^9.
    carry: u64,
    /// The encoder, where the activity is a video.
    encoder: Encoder,
    random: RandomStream,
}

impl Application {
    /// The activities of a connection opened at `start`. Each draws from a random stream of its own.
    pub fn new(activities: &[Activity], start: Time, seed: u64) -> Application {
        let running = (0..)
            .zip(activities)
            .map(|(index, activity)| Running::new(activity, start, stream_seed(seed, &[index])));
        Application { running: running.collect() }
    }

    /// When any of them does something by itself.
    pub fn next(&self) -> Option<Time> {
        self.running.iter().fold(None, |first, running| Time::earliest(first, running.next))
    }

    /// What is written now, or would be if there were a connection yet: the activity and the number of bytes.
    /// None when there is no more to do at `now`.
    pub fn act(&mut self, now: Time) -> Option<(usize, u64)> {
        (0..).zip(&mut self.running).find_map(|(activity, running)| {
            let due = running.next.filter(|next| *next <= now)?;
            Some((activity, running.act(due)?))
        })
    }

    /// The client's kernel has taken all that was written: the activity that writes a piece more, and the number
    /// of bytes. None where no file is left that has begun.
    pub fn more(&mut self) -> Option<(usize, u64)> {
        (0..)
            .zip(&mut self.running)
            .find_map(|(activity, running)| Some((activity, running.next_piece()?)))
    }

    /// Whether a file that has begun is not written as a whole.
    pub fn has_more(&self) -> bool {
        self.running.iter().any(|running| running.left > 0)
    }

    /// The end that an activity writes at by itself.
    pub fn writer(&self, activity: usize) -> End {
        self.running[activity].workload.writer()
    }

    /// A write of an activity has arrived whole; what is written now in answer, and by whom.
    pub fn arrived(&mut self, now: Time, from: End, activity: usize) -> Option<(End, u64)> {
        let running = &mut self.running[activity];
        match (&running.workload, from) {
            (Workload::Requests { response, .. }, End::Client) => {
                return Some((End::Server, *response));
            }
            (&Workload::Requests { think, count, .. }, End::Server) if running.made < count => {
                running.next = Some(now + running.draw(think));
            }
            (Workload::OneByOne(writes), End::Client) => {
                let next = writes.get(running.made as usize);
                running.next = next.map(|Write { at, .. }| now.max(running.begin + *at));
            }
            (Workload::Video(_), End::Client) => return Some((End::Server, REPORT)),
            (Workload::Video(_), End::Server) => running.encoder.reported(),
            _ => {}
        }
        None
    }
}

impl Running {
    fn new(activity: &Activity, start: Time, seed: u64) -> Running {
        let begin = start + activity.after;
        let mut running = Running {
            workload: activity.workload.clone(),
            begin,
            next: Some(begin),
            made: 0,
            left: 0,
            on_time: OnTime::until(begin),
            carry: 0,
            encoder: Encoder::new(begin),
            random: RandomStream::new(seed),
        };
        match &activity.workload {
            Workload::Writes(writes) | Workload::OneByOne(writes) => {
                running.next = writes.first().map(|write| begin + write.at);
            }
            Workload::OnOff { on, .. } => {
                running.on_time = OnTime::until(begin + running.draw(*on));
            }
            Workload::Bulk { .. }
            | Workload::File { .. }
            | Workload::Requests { .. }
            | Workload::Video(_)
            | Workload::Answer { .. } => {}
        }
        running
    }

    /// Makes the write that is due and says when the next one is; returns its bytes. None where a picture is
    /// left out.
    fn act(&mut self, due: Time) -> Option<u64> {
        self.made += 1;
        Some(match &self.workload {
            Workload::Writes(writes) => {
                let next = writes.get(self.made as usize);
                self.next = next.map(|Write { at, .. }| self.begin + *at);
                writes[self.made as usize - 1].bytes
            }
            Workload::OneByOne(writes) => {
                self.next = None;
                writes[self.made as usize - 1].bytes
            }
            Workload::Bulk { bytes } => {
                self.next = None;
                bytes.unwrap_or(WITHOUT_END)
            }
            Workload::File { bytes, .. } => {
                self.next = None;
                self.left = bytes.unwrap_or(WITHOUT_END);
                return self.next_piece();
            }
            Workload::Answer { bytes } => {
                self.next = None;
                *bytes
            }
            Workload::Requests { request, .. } => {
                self.next = None;
                *request
            }
            &Workload::OnOff { bytes, bits_per_second, on, off } => {
                let nanobits = u128::from(bytes) * 8 * 1_000_000_000 + u128::from(self.carry);
                let rate = u128::from(bits_per_second);
                self.carry = (nanobits % rate) as u64;
                let next = due + Span::from_nanos((nanobits / rate) as u64);
                let mut on_time = self.on_time;
                self.next = Some(on_time.after_pauses(next, || (self.draw(off), self.draw(on))));
                self.on_time = on_time;
                bytes
            }
            Workload::Video(video) => {
                let next = self.begin + video.interval * u64::from(self.made);
                self.next = (self.made < video.count).then_some(next);
                return self.encoder.picture(video, self.made - 1, due);
            }
        })
    }

    /// The next piece of a file that has begun and is not written as a whole.
    fn next_piece(&mut self) -> Option<u64> {
        let Workload::File { piece, .. } = self.workload else { return None };
        let bytes = piece.min(self.left);
        self.left -= bytes;
        (bytes > 0).then_some(bytes)
    }

    fn draw(&mut self, interval: Interval) -> Span {
        match interval {
            Interval::Fixed(span) => span,
            Interval::Exponential(mean) => {
                Span::from_nanos(self.random.exponential(mean.as_nanos() as f64) as u64)
            }
        }
    }
}

/// More than any simulation sends: sequence numbers do not wrap, and leave room above.
pub const WITHOUT_END: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What the client writes by itself within a second: milliseconds and bytes.
    fn writes(workload: Workload) -> Vec<(u64, u64)> {
        let activity = Activity { after: Span::from_millis(5), workload };
        let mut application = Application::new(&[activity], Time::ZERO, 1);
        let mut made = Vec::new();
        while let Some(now) = application.next().filter(|next| next.as_nanos() < 1_000 * MS) {
            while let Some((activity, bytes)) = application.act(now) {
                assert_eq!(activity, 0);
                made.push((now.as_nanos() / MS, bytes));
            }
        }
        made
    }

    #[test]
    fn listed_writes_are_made_at_their_times() {
        let listed = [(0, 7), (20, 8), (20, 9)];
        let write = |(at, bytes)| Write { at: Span::from_millis(at), bytes };
        let made = writes(Workload::Writes(listed.map(write).into()));
        assert_eq!(made, [(5, 7), (25, 8), (25, 9)]);
    }

    #[test]
    fn bulk_is_one_write() {
        assert_eq!(writes(Workload::Bulk { bytes: Some(100) }), [(5, 100)]);
        assert_eq!(writes(Workload::Bulk { bytes: None }), [(5, WITHOUT_END)]);
    }

    #[test]
    fn a_file_is_written_in_pieces_as_the_kernel_takes_them() {
        let workload = Workload::File { bytes: Some(25), piece: 10 };
        let activity = Activity { after: Span::from_millis(5), workload };
        let mut application = Application::new(&[activity], Time::ZERO, 1);
        assert_eq!(application.more(), None, "it has not begun");
        let begin = application.next().unwrap();
        assert_eq!((begin.as_nanos(), application.act(begin)), (5 * MS, Some((0, 10))));
        assert_eq!((application.act(begin), application.next()), (None, None));
        for (piece, has_more) in [(Some((0, 10)), true), (Some((0, 5)), false), (None, false)] {
            assert_eq!((application.more(), application.has_more()), (piece, has_more));
        }
    }

    #[test]
    fn on_and_off_alternate() {
        // 1000 bytes at 400 kbit/s every 20 ms, for 50 ms of every 350 ms: what is left of a gap when
        // a turn ends comes at the beginning of the next.
        let (on, off) = (Span::from_millis(50), Span::from_millis(300));
        let made = writes(Workload::OnOff {
            bytes: 1000,
            bits_per_second: 400_000,
            on: Interval::Fixed(on),
            off: Interval::Fixed(off),
        });
        let times: Vec<u64> = made.iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [5, 25, 45, 365, 385, 705, 725, 745]);
    }

    #[test]
    fn a_response_follows_its_request_and_a_request_the_thinking() {
        let workload = Workload::Requests {
            request: 100,
            response: 5000,
            think: Interval::Fixed(Span::from_millis(10)),
            count: 2,
        };
        let activity = Activity { after: Span::ZERO, workload };
        let mut application = Application::new(&[activity], Time::ZERO, 1);
        let at = |millis: u64| Time::from_nanos(millis * MS);
        for (asked, answered, next) in [(0, 40, Some(at(50))), (50, 90, None)] {
            assert_eq!(application.act(at(asked)), Some((0, 100)));
            assert_eq!((application.act(at(asked)), application.next()), (None, None));
            let answer = application.arrived(at(asked + 20), End::Client, 0);
            assert_eq!(answer, Some((End::Server, 5000)));
            assert_eq!(application.arrived(at(answered), End::Server, 0), None);
            assert_eq!(application.next(), next);
        }
    }

    #[test]
    fn one_by_one_a_write_waits_for_the_one_before_it() {
        let write = |at| Write { at: Span::from_millis(at), bytes: 7 };
        let workload = Workload::OneByOne([write(0), write(20), write(40)].into());
        let activity = Activity { after: Span::ZERO, workload };
        let mut application = Application::new(&[activity], Time::ZERO, 1);
        let at = |millis: u64| Time::from_nanos(millis * MS);
        // The first is there early, the second late.
        for (written, arrived, next) in
            [(0, 5, Some(at(20))), (20, 50, Some(at(50))), (50, 60, None)]
        {
            assert_eq!(application.next(), Some(at(written)));
            assert_eq!(application.act(at(written)), Some((0, 7)));
            assert_eq!((application.act(at(written)), application.next()), (None, None));
            assert_eq!(application.arrived(at(arrived), End::Client, 0), None);
            assert_eq!(application.next(), next);
        }
    }

    #[test]
    fn exponential_pauses_have_their_mean() {
        // 4000 requests with 10 ms in the mean: standard error 0.16 ms; 4 of them either way.
        let workload = Workload::Requests {
            request: 1,
            response: 1,
            think: Interval::Exponential(Span::from_millis(10)),
            count: 4001,
        };
        let activity = Activity { after: Span::ZERO, workload };
        let mut application = Application::new(&[activity], Time::ZERO, 1);
        let mut now = Time::ZERO;
        while let Some(next) = application.next() {
            now = next;
            application.act(now);
            application.arrived(now, End::Server, 0);
        }
        let mean_ms = now.as_nanos() as f64 / 4000.0 / MS as f64;
        assert!((mean_ms - 10.0).abs() < 0.64, "{mean_ms} ms");
    }
}
