//! Plays all connections of a network in one thread, which waits for the kernel and for the clock.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use kirikae_path::Time;
use kirikae_results::{Error, While};
use kirikae_sim::{Conversation, End, Followers, Opening};
use kirikae_simlab::sim::Interval;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use socket2::Socket;

use super::assignment::{Assignment, FlowAssignment, PlayerReport};
use super::connection::Connection;
use super::endpoint::{BUFFER, Failure};
use super::sockets::{Sockets, prepare};
use crate::player::clock::{now_ns, sleep_until};
use crate::player::pattern::Pattern;

/// The source of an event.
#[derive(Clone, Copy)]
enum Source {
    /// An end of the connection with this index.
    Connection(usize, End),
    /// The listener of the group with this index.
    Listener(usize),
    /// The timer.
    Timer,
    /// The parent process has something to say, which can only be that the player is to end.
    Parent,
}

/// The connections and the events that they wait for.
pub(super) struct Stage<'a> {
    assignment: &'a Assignment,
    /// CLOCK_MONOTONIC when its time begins, in nanoseconds.
    start_ns: u64,
    epoll: Epoll,
    timer: TimerFd,
    /// When the timer goes off.
    timer_at: Option<Time>,
    listeners: Vec<Socket>,
    connections: Vec<Connection>,
    /// The group of each connection.
    groups: Vec<usize>,
    /// When each connection has something to do without an event, and its index.
    due: BTreeSet<(Time, usize)>,
    /// Connections that wait for others.
    followers: Followers,
    /// Connections with something left to do.
    unfinished: usize,
    interval: Option<Interval>,
    pattern: Pattern,
    buffer: Vec<u8>,
}

impl<'a> Stage<'a> {
    pub fn new(
        assignment: &'a Assignment,
        sockets: Sockets,
        start_ns: u64,
    ) -> Result<Stage<'a>, Error> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).during(waiting)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC);
        let mut connections = Vec::new();
        let mut groups = Vec::new();
        let flows = assignment.groups.iter().flat_map(|group| &group.flows);
        let followers = Followers::new(flows.map(|flow| flow.after));
        for (place, (group, clients)) in assignment.groups.iter().zip(sockets.clients).enumerate() {
            for (member, (flow, client)) in group.flows.iter().zip(clients).enumerate() {
                let ends = (group.client_end(member), group.server_end());
                let number = connections.len();
                let conversation =
                    Conversation::new(&flow.activities, flow.start, number, assignment.seed);
                let opening = Opening::new(flow.start, flow.after);
                let sender = group.sender;
                connections.push(Connection::new(client, opening, ends, sender, conversation));
                groups.push(place);
            }
        }
        let due = connections.iter().map(Connection::due).zip(0..);
        let measured = assignment.measured.clone();
        let stage = Stage {
            assignment,
            start_ns,
            epoll,
            timer: timer.during(waiting)?,
            timer_at: None,
            listeners: sockets.listeners,
            due: due.filter_map(|(due, place)| Some((due?, place))).collect(),
            followers,
            unfinished: connections.iter().filter(|connection| !connection.is_done()).count(),
            interval: measured.map(|time| Interval::new(time, connections.len())),
            connections,
            groups,
            pattern: Pattern::new(),
            buffer: vec![0; BUFFER],
        };
        for (place, listener) in stage.listeners.iter().enumerate() {
            stage.watch(listener.as_fd(), Source::Listener(place), EpollFlags::EPOLLIN)?;
        }
        stage.watch(stage.timer.as_fd(), Source::Timer, EpollFlags::EPOLLIN)?;
        stage.watch(io::stdin().as_fd(), Source::Parent, EpollFlags::EPOLLIN)?;
        Ok(stage)
    }

    /// Plays until nothing is left to do, time is up or the parent ends it.
    pub fn play(mut self) -> Result<PlayerReport, Error> {
        let end = Time::ZERO + self.assignment.duration;
        let mut events = [EpollEvent::empty(); 64];
        let mut stopped = false;
        sleep_until(self.start_ns);
        let end = loop {
            let now = now(self.start_ns);
            self.act(now)?;
            if self.unfinished == 0 || stopped || now >= end {
                break now.min(end);
            }
            let next = self.due.first().map_or(end, |(due, _)| end.min(*due));
            self.set_timer(next)?;
            let ready = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(Errno::EINTR) => 0,
                ready => ready.during(waiting)?,
            };
            for event in &events[..ready] {
                match Source::from_data(event.data()) {
                    Source::Connection(place, from) => self.serve(place, from)?,
                    Source::Listener(group) => self.accept(group)?,
                    Source::Timer => {}
                    Source::Parent => stopped = true,
                }
            }
        };
        let Stage { connections, interval, .. } = self;
        let flows = connections.into_iter().enumerate().map(|(place, connection)| {
            let measured = interval.as_ref().map(|interval| interval.arrived(place));
            let client = connection.client_end;
            connection.course(place, measured).map_err(|failure| failure.of(client))
        });
        Ok(PlayerReport { end, flows: flows.collect::<Result<_, Error>>()? })
    }

    /// Does what is due at this time.
    fn act(&mut self, now: Time) -> Result<(), Error> {
        while let Some((due, place)) = self.due.first().copied().filter(|(due, _)| *due <= now) {
            self.due.remove(&(due, place));
            let connection = &mut self.connections[place];
            let client = connection.client_end;
            let opened = connection.open(now).map_err(|failure| failure.of(client))?;
            if opened {
                self.opened(place)?;
            }
            self.connections[place]
                .act(now, &self.pattern)
                .map_err(|failure| failure.of(client))?;
            self.arm(place);
        }
        Ok(())
    }

    /// Checks the congestion control of a client that has sent its SYN: the kernel has chosen it by now, by
    /// socket or route.
    fn opened(&mut self, place: usize) -> Result<(), Error> {
        self.check(place, End::Client)?;
        let client = self.connections[place].socket(End::Client).as_fd();
        self.watch(client, Source::Connection(place, End::Client), BOTH_WAYS)
    }

    /// Better no measurement than one under another's name.
    fn check(&self, place: usize, end: End) -> Result<(), Error> {
        let client = self.connections[place].client_end;
        let used = self.connections[place].algorithm(end).map_err(|failure| failure.of(client))?;
        let wanted = self.assignment.groups[self.groups[place]].congestion_control_of(end);
        if used == wanted {
            return Ok(());
        }
        Err(Error::Failed(format!(
            "{client}, {end}: asked for {wanted} as congestion control, got {used}"
        )))
    }

    fn accept(&mut self, group: usize) -> Result<(), Error> {
        let accepting = || "accepting a connection".into();
        loop {
            let (server, client) = match self.listeners[group].accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).during(accepting),
            };
            prepare(&server).during(accepting)?;
            let client = client.as_socket_ipv4().expect("an IPv4 listener");
            // Ports are numbered over all flows.
            let first = self.assignment.groups[0].first_port;
            let place = usize::from(client.port().wrapping_sub(first));
            if self.connections.get(place).is_none_or(|it| it.client_end != client) {
                return Err(Error::Failed(format!(
                    "a connection from {client}, which is no client"
                )));
            }
            self.connections[place]
                .accepted(server, &self.pattern)
                .map_err(|failure| failure.of(client))?;
            // What is switched may be so already.
            if self.assignment.groups[group].cgroup_at(End::Server).is_none() {
                self.check(place, End::Server)?;
            }
            let server = self.connections[place].socket(End::Server).as_fd();
            self.watch(server, Source::Connection(place, End::Server), BOTH_WAYS)?;
        }
    }

    /// Reads from an end of a connection and writes to it.
    fn serve(&mut self, place: usize, end: End) -> Result<(), Error> {
        let Stage { connections, interval, pattern, buffer, start_ns, .. } = self;
        let connection = &mut connections[place];
        let (was_done, due, client) =
            (connection.is_done(), connection.due(), connection.client_end);
        let note = |at, bytes| {
            if let Some(interval) = interval {
                interval.note(at, place, end.other(), bytes);
            }
        };
        let served = connection.serve(end, (pattern, buffer), || now(*start_ns), note);
        served.map_err(|failure: Failure| failure.of(client))?;
        if let Some(due) = due {
            self.due.remove(&(due, place));
        }
        self.arm(place);
        if !was_done && self.connections[place].is_done() {
            self.unfinished -= 1;
            self.release(place);
        }
        Ok(())
    }

    /// A connection has nothing left to do: those that waited for it go on.
    fn release(&mut self, done: usize) {
        let now = now(self.start_ns);
        for place in self.followers.release(done) {
            let flow = self.flow(place);
            let start = flow.start.max(now);
            let conversation =
                Conversation::new(&flow.activities, start, place, self.assignment.seed);
            self.connections[place].release(start, conversation);
            self.arm(place);
        }
    }

    /// What is to be done on a connection.
    fn flow(&self, place: usize) -> &'a FlowAssignment {
        let mut flows = self.assignment.groups.iter().flat_map(|group| &group.flows);
        flows.nth(place).expect("each connection is one of the flows")
    }

    fn arm(&mut self, place: usize) {
        self.due.extend(self.connections[place].due().map(|due| (due, place)));
    }

    fn set_timer(&mut self, at: Time) -> Result<(), Error> {
        if self.timer_at.replace(at) == Some(at) {
            return Ok(());
        }
        let at = Duration::from_nanos(self.start_ns + at.as_nanos());
        let once = Expiration::OneShot(TimeSpec::from_duration(at));
        self.timer.set(once, TimerSetTimeFlags::TFD_TIMER_ABSTIME).during(waiting)
    }

    fn watch(&self, fd: BorrowedFd, source: Source, flags: EpollFlags) -> Result<(), Error> {
        self.epoll.add(fd, EpollEvent::new(flags, source.data())).during(waiting)
    }
}

/// One event when there is something to read, and one when there is room again.
const BOTH_WAYS: EpollFlags =
    EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT).union(EpollFlags::EPOLLET);

/// The time since the beginning.
fn now(start_ns: u64) -> Time {
    Time::from_nanos(now_ns().saturating_sub(start_ns))
}

fn waiting() -> String {
    "waiting for the kernel".into()
}

impl Source {
    /// The source as the number that epoll carries.
    fn data(self) -> u64 {
        match self {
            Source::Timer => 0,
            Source::Parent => 1,
            Source::Listener(place) => 3 * place as u64 + 2,
            Source::Connection(place, End::Client) => 3 * place as u64 + 3,
            Source::Connection(place, End::Server) => 3 * place as u64 + 4,
        }
    }

    fn from_data(data: u64) -> Source {
        let Some(rest) = data.checked_sub(2) else {
            return if data == 0 { Source::Timer } else { Source::Parent };
        };
        let place = (rest / 3) as usize;
        match rest % 3 {
            0 => Source::Listener(place),
            1 => Source::Connection(place, End::Client),
            _ => Source::Connection(place, End::Server),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart() {
        let connections = (0..3)
            .flat_map(|place| [End::Client, End::Server].map(|end| Source::Connection(place, end)));
        let listeners = (0..3).map(Source::Listener);
        let sources: Vec<Source> =
            connections.chain(listeners).chain([Source::Timer, Source::Parent]).collect();
        let data: BTreeSet<u64> = sources.iter().map(|source| source.data()).collect();
        assert_eq!(data.len(), sources.len());
        assert!(sources.iter().all(|it| Source::from_data(it.data()).data() == it.data()));
    }
}
