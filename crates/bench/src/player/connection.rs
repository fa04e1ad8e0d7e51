//! A flow as it happens on the real kernel: both its ends and what is said on it.

use std::borrow::Cow;
use std::net::SocketAddrV4;

use kirikae_path::Time;
use kirikae_results::play::FlowCourse;
use kirikae_sim::{Arrived, Conversation, End, Traffic};
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
    /// When the client opens it; None once it is open.
    opens: Option<Time>,
    conversation: Conversation,
    client: Endpoint,
    /// The server's end; None until it is accepted.
    server: Option<Endpoint>,
    /// The client's writes.
    writes: Vec<Write>,
    /// Number of these writes that the kernel has taken as a whole.
    returned: usize,
}

/// A write of the client.
struct Write {
    /// The number of the stream's bytes until its end.
    end: u64,
    /// The congestion control in use just before it, and when the kernel had taken it.
    algorithms: [Cow<'static, str>; 2],
}

impl Connection {
    /// A connection that `client` opens at `opens`, from and to these addresses.
    pub fn new(
        client: Socket,
        opens: Time,
        (client_end, server_end): (SocketAddrV4, SocketAddrV4),
        conversation: Conversation,
    ) -> Connection {
        Connection {
            client_end,
            server_end,
            opens: Some(opens),
            conversation,
            client: Endpoint::new(client),
            server: None,
            writes: Vec::new(),
            returned: 0,
        }
    }

    /// When it has something to do without an event from the kernel.
    pub fn due(&self) -> Option<Time> {
        self.opens.or_else(|| self.conversation.next())
    }

    /// Opens it if it is time; returns whether it was.
    pub fn open(&mut self, now: Time) -> Result<bool, Failure> {
        if self.opens.take_if(|opens| *opens <= now).is_none() {
            return Ok(false);
        }
        match self.client.socket.connect(&self.server_end.into()) {
            Err(error) if error.raw_os_error() != Some(nix::libc::EINPROGRESS) => Err(error.into()),
            _ => Ok(true),
        }
    }

    /// Has the client write what is due.
    pub fn act(&mut self, now: Time, pattern: &Pattern) -> Result<(), Failure> {
        loop {
            // The algorithm is looked up before the write, because a switch may follow the write.
            let due = self.conversation.next().is_some_and(|next| next <= now);
            let before = if due { self.algorithm()? } else { return Ok(()) };
            let Some(bytes) = self.conversation.act(now) else { return Ok(()) };
            self.client.written += bytes;
            let end = self.client.written;
            self.writes.push(Write { end, algorithms: [before.clone(), before] });
            self.flush(End::Client, pattern)?;
        }
    }

    /// Takes in the server's end.
    pub fn accepted(&mut self, server: Socket) {
        self.server = Some(Endpoint::new(server));
    }

    /// The socket of an end, which must exist.
    pub fn socket(&self, end: End) -> &Socket {
        match end {
            End::Client => &self.client.socket,
            End::Server => &self.server.as_ref().expect("it was accepted").socket,
        }
    }

    /// Reads from an end and writes to it, as far as the kernel lets it. `now` is called when something was
    /// read, and `note` is then called with the number of bytes of the other end's that have arrived.
    pub fn serve(
        &mut self,
        end: End,
        (pattern, buffer): (&Pattern, &mut [u8]),
        now: impl Fn() -> Time,
        mut note: impl FnMut(Time, u64),
    ) -> Result<(), Failure> {
        // If the buffer was not filled, everything has been read; the kernel tells when there is more.
        let mut length = buffer.len();
        while length == buffer.len() {
            length = self.end(end).read(pattern, buffer)?;
            let (now, read) = (now(), self.end(end).read);
            note(now, read);
            while let Some(Arrived { answer }) = self.conversation.arrived(now, end.other(), read) {
                if let Some((end, bytes)) = answer {
                    self.end(end).written += bytes;
                    self.flush(end, pattern)?;
                }
            }
        }
        self.flush(end, pattern)
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
            && write.end <= self.client.taken
        {
            let after = self.algorithm()?;
            self.writes[self.returned].algorithms[1] = after;
            self.returned += 1;
        }
        Ok(())
    }

    /// The congestion control in use.
    pub fn algorithm(&self) -> Result<Cow<'static, str>, Failure> {
        Ok(congestion_control(&self.client.socket)?.into())
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
