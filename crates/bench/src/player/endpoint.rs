//! One end of a connection: the bytes that the application wrote and the kernel has not taken yet, and those
//! that were read.

use std::io::{self, ErrorKind, Read, Write};

use kirikae_results::Error;
use socket2::Socket;

use crate::player::pattern::Pattern;

/// Size of the buffer, bytes: more than any receive queue here holds. So one read empties the queue, and all
/// bytes with the same time stamp were there at that moment.
pub(super) const BUFFER: usize = 1 << 20;

/// An end whose socket never blocks.
pub(super) struct Endpoint {
    pub socket: Socket,
    /// Bytes that the application wrote.
    pub written: u64,
    /// Bytes of them that the kernel took.
    pub taken: u64,
    /// Bytes read.
    pub read: u64,
    /// Whether the other end will not write any more.
    pub is_ended: bool,
}

impl Endpoint {
    pub fn new(socket: Socket) -> Endpoint {
        Endpoint { socket, written: 0, taken: 0, read: 0, is_ended: false }
    }

    /// Gives the kernel as much of what was written as it takes. The kernel tells when it takes more.
    pub fn flush(&mut self, pattern: &Pattern) -> io::Result<()> {
        while self.taken < self.written {
            // All pieces go in one call: the kernel would send those of two calls as separate segments.
            let pieces = pattern.pieces(self.taken..self.written);
            match self.socket.write_vectored(&pieces) {
                Ok(taken) => self.taken += taken as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads all that has arrived, and checks each byte; returns the number of bytes.
    pub fn read(&mut self, pattern: &Pattern, buffer: &mut [u8]) -> Result<usize, Failure> {
        let length = loop {
            match self.socket.read(buffer) {
                Ok(0) => {
                    self.is_ended = true;
                    return Ok(0);
                }
                Ok(length) => break length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::Broken(error)),
            }
        };
        if let Some(wrong) = pattern.first_wrong(self.read, &buffer[..length]) {
            return Err(Failure::Corrupted { offset: wrong });
        }
        self.read += length as u64;
        Ok(length)
    }
}

/// Failures of a connection.
pub(super) enum Failure {
    /// The kernel has given the connection up.
    Broken(io::Error),
    /// A byte arrived that differs from the one written.
    Corrupted { offset: u64 },
}

impl Failure {
    /// The error for the connection of this client.
    pub fn of(self, client: impl std::fmt::Display) -> Error {
        match self {
            Failure::Broken(cause) => {
                Error::Io { step: format!("the connection of {client}"), cause }
            }
            Failure::Corrupted { offset } => {
                Error::Failed(format!("byte {offset} of the stream arrived changed"))
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Broken(error)
    }
}
