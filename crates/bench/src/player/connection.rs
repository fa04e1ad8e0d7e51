//! A flow as it happens on the real kernel: both its ends and what is said on it.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::mem;
use std::net::{Shutdown, SocketAddrV4};

use kirikae_path::Time;
use kirikae_results::play::FlowCourse;
use kirikae_sim::{Arrived, Conversation, End, Opening, Traffic};
use socket2::Socket;

use super::endpoint::{Endpoint, Failure};
use super::sockets::congestion_control;
use super::tcp_info;
use crate::player::pattern::Pattern;

/// A connection with both its ends.
pub(super) struct Connection {
    /// The address and port of the client.
    pub client_end: SocketAddrV4,
    server_end: SocketAddrV4,
    opening: Opening,
    conversation: Conversation,
    client: Endpoint,
    /// The server's end; None until it is accepted.
    server: Option<Endpoint>,
    /// Bytes that the server writes once it is.
    asked: u64,
    /// The end that writes by itself. A server that does writes once, and closes the connection.
    sender: End,
    /// What that writes by itself.
    writes: Vec<Write>,
    /// Number of these writes that the kernel has taken as a whole.
    returned: usize,
}

/// A write of the one that sends.
struct Write {
    /// The number of the stream's bytes until its end.
    end: u64,
    /// The congestion control in use just before it, and when the kernel had taken it.
    algorithms: [Cow<'static, str>; 2],
}

impl Connection {
    /// One that `client` opens from the first of these addresses to the second.
    pub fn new(
        client: Socket,
        opening: Opening,
        (client_end, server_end): (SocketAddrV4, SocketAddrV4),
        sender: End,
        conversation: Conversation,
    ) -> Connection {
        Connection {
            client_end,
            server_end,
            opening,
            conversation,
            client: Endpoint::new(client),
            server: None,
            asked: 0,
            sender,
            writes: Vec::new(),
            returned: 0,
        }
    }

    /// When it has something to do without an event from the kernel.
    pub fn due(&self) -> Option<Time> {
        match self.opening {
            Opening::Waits => None,
            Opening::At(at) => Some(at),
            Opening::Done => self.conversation.next(),
        }
    }

    /// The one that it waited for is done: it is opened at `at`, and this is said on it.
    pub fn release(&mut self, at: Time, conversation: Conversation) {
        self.opening = Opening::At(at);
        self.conversation = conversation;
    }

    /// Opens it if it is time; returns whether it was.
    pub fn open(&mut self, now: Time) -> Result<bool, Failure> {
        if !self.opening.open(now) {
            return Ok(false);
        }
        match self.client.socket.connect(&self.server_end.into()) {
            Err(error) if error.raw_os_error() != Some(nix::libc::EINPROGRESS) => Err(error.into()),
            _ => Ok(true),
        }
    }

    /// Writes what is due.
    pub fn act(&mut self, now: Time, pattern: &Pattern) -> Result<(), Failure> {
        while let Some((end, bytes)) = self.conversation.act(now) {
            match end {
                End::Client => self.write(bytes, pattern)?,
                // With its opening.
                End::Server => self.asked += bytes,
            }
        }
        self.write_more(now, pattern)
    }

    /// The client writes more as long as the kernel takes it.
    fn write_more(&mut self, now: Time, pattern: &Pattern) -> Result<(), Failure> {
        while self.client.taken == self.client.written
            && let Some(bytes) = self.conversation.more(now)
        {
            self.write(bytes, pattern)?;
        }
        Ok(())
    }

    /// The other end of it, which writes what it was asked for.
    pub fn accepted(&mut self, server: Socket, pattern: &Pattern) -> Result<(), Failure> {
        self.server = Some(Endpoint::new(server));
        match mem::take(&mut self.asked) {
            0 => Ok(()),
            bytes => self.write(bytes, pattern),
        }
    }

    /// The one that sends writes so many bytes.
    fn write(&mut self, bytes: u64, pattern: &Pattern) -> Result<(), Failure> {
        // Before the write, which may be what a switch follows.
        let before = self.algorithm(self.sender)?;
        let sender = self.end(self.sender);
        sender.written += bytes;
        let end = sender.written;
        self.writes.push(Write { end, algorithms: [before.clone(), before] });
        self.flush(self.sender, pattern)
    }

    /// The socket of an end, which must exist.
    pub fn socket(&self, end: End) -> &Socket {
        match end {
            End::Client => &self.client.socket,
            End::Server => &self.server.as_ref().expect("it was accepted").socket,
        }
    }

    /// Reads from an end and writes to it, as far as the kernel lets it. `time` is called when something was
    /// read, and `note` is then called with the number of bytes of the other end's that have arrived.
    pub fn serve(
        &mut self,
        end: End,
        (pattern, buffer): (&Pattern, &mut [u8]),
        time: impl Fn() -> Time,
        mut note: impl FnMut(Time, u64),
    ) -> Result<(), Failure> {
        let mut is_more = !self.end(end).is_ended;
        while is_more {
            let length = self.end(end).read(pattern, buffer)?;
            if self.end(end).is_ended {
                return self.ended(end);
            }
            let (now, read) = (time(), self.end(end).read);
            note(now, read);
            while let Some(Arrived { answer }) = self.conversation.arrived(now, end.other(), read) {
                if let Some((end, bytes)) = answer {
                    self.end(end).written += bytes;
                    self.flush(end, pattern)?;
                }
            }
            // What did not fill the buffer was all, but for the end; the kernel tells when there is more.
            let ends = self.sender == End::Server && length > 0 && self.conversation.is_done();
            is_more = length == buffer.len() || ends;
        }
        self.flush(end, pattern)?;
        if end == End::Client { self.write_more(time(), pattern) } else { Ok(()) }
    }

    /// The other end has closed it: a server that has answered does, whereupon the client does.
    fn ended(&mut self, end: End) -> Result<(), Failure> {
        if self.sender == End::Client || !self.conversation.is_done() {
            return Err(Failure::Broken(ErrorKind::ConnectionReset.into()));
        }
        match end {
            End::Client => Ok(self.client.socket.shutdown(Shutdown::Write)?),
            End::Server => Ok(()),
        }
    }

    fn end(&mut self, end: End) -> &mut Endpoint {
        match end {
            End::Client => &mut self.client,
            End::Server => self.server.as_mut().expect("it was accepted"),
        }
    }

    fn flush(&mut self, end: End, pattern: &Pattern) -> Result<(), Failure> {
        self.end(end).flush(pattern)?;
        while let Some(write) = self.writes.get(self.returned)
            && write.end <= self.end(self.sender).taken
        {
            let after = self.algorithm(self.sender)?;
            self.writes[self.returned].algorithms[1] = after;
            self.returned += 1;
            if self.sender == End::Server {
                self.socket(End::Server).shutdown(Shutdown::Write)?;
            }
        }
        Ok(())
    }

    /// The congestion control in use at an end that is there.
    pub fn algorithm(&self, end: End) -> Result<Cow<'static, str>, Failure> {
        Ok(congestion_control(self.socket(end))?.into())
    }

    /// Whether everything was written and has arrived.
    pub fn is_done(&self) -> bool {
        self.conversation.is_done()
    }

    /// The course of the flow; `place` is its index among all flows.
    pub fn course(self, place: usize, measured: Option<[u64; 2]>) -> Result<FlowCourse, Failure> {
        let Connection { conversation, client, server, .. } = self;
        let arrived = |end| conversation.arrived_bytes(end);
        let nothing = Traffic { arrived: 0, segments: 0, retransmissions: 0, srtt: None };
        let client = tcp_info::traffic(&client.socket, arrived(End::Client))?;
        let server = server.map(|it| tcp_info::traffic(&it.socket, arrived(End::Server)));
        Ok(FlowCourse {
            traffic: [client, server.transpose()?.unwrap_or(nothing)],
            left: conversation.left(place),
            written: conversation.into_written(),
            measured,
            algorithms: self.writes.into_iter().map(|write| write.algorithms).collect(),
            switches: Vec::new(),
            port: self.client_end.port(),
        })
    }
}
