//! A process that does nothing but read iterators. It may wait for ever for the lock of a socket, and nobody waits for it.
//!
//! It holds no file but its socket and the iterator that it reads, so that what it waits for keeps no lock of the agent's.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::Printed;
use crate::namespaces::processor_time;

/// The argument with which a program that has the agent in it is started again as a worker.
const ARGUMENT: &str = "read-iterators";
/// The program that this process runs.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Whether this process's program, started again, is a worker.
static CAN_BE_WORKER: AtomicBool = AtomicBool::new(false);

/// What comes before what an iterator has printed.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Header {
    /// The kernel's number of the error; 0: none.
    errno: u64,
    /// The processor time that it took, nanoseconds.
    processor_ns: u64,
    /// Of what was printed, bytes.
    length: u64,
}

/// Is a worker where this process was started as one, and returns its exit status at its end. Otherwise workers are
/// processes of this program from now on: whatever `main` embeds the agent calls this first. Where none does, as in tests, iterators are
/// read in the process itself, which may wait for ever.
pub fn be_worker() -> Option<ExitCode> {
    if std::env::args_os().nth(1).is_some_and(|it| it == ARGUMENT) {
        let socket = rustix::io::dup(std::io::stdin()).map(UnixStream::from);
        return Some(match socket.map_err(io::Error::from).and_then(|it| serve(&it)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        });
    }
    CAN_BE_WORKER.store(true, Ordering::Relaxed);
    None
}

/// Whether there can be workers.
pub(super) fn can_be() -> bool {
    CAN_BE_WORKER.load(Ordering::Relaxed)
}

/// Reads iterators for the other end of the socket, until that is closed.
fn serve(mut socket: &UnixStream) -> io::Result<()> {
    while let Some(iterator) = receive(socket.as_fd())? {
        let before = processor_time();
        let mut printed = Vec::new();
        let done = File::from(iterator).read_to_end(&mut printed);
        let errno = done.err().map_or(0, |error| error.raw_os_error().unwrap_or(nix::libc::EIO));
        let header = Header {
            errno: errno as u64,
            processor_ns: processor_time().saturating_sub(before).as_nanos() as u64,
            length: printed.len() as u64,
        };
        socket.write_all(header.as_bytes())?;
        socket.write_all(&printed)?;
    }
    Ok(())
}

/// Receives a file. None: the other end is closed.
fn receive(socket: BorrowedFd) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    recvmsg(socket, &mut bytes, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let files = ancillary.drain().filter_map(|it| match it {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    Ok(files.flatten().next())
}

/// The agent's end.
pub(super) struct Worker {
    process: Child,
    socket: UnixStream,
    /// What has come of the answer.
    received: Vec<u8>,
}

impl Worker {
    pub fn start() -> io::Result<Worker> {
        let (socket, its) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        // It keeps nobody waiting who reads what the agent prints.
        let process = Command::new(THIS_PROGRAM)
            .arg(ARGUMENT)
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Worker { process, socket, received: Vec::new() })
    }

    /// Has it read an iterator.
    pub fn ask(&mut self, iterator: &File) -> io::Result<()> {
        self.received.clear();
        let files = [iterator.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(&self.socket, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// The answer; None: it is not there yet.
    pub fn answer(&mut self) -> Option<io::Result<Printed>> {
        match self.socket.read_to_end(&mut self.received) {
            Ok(_) => return Some(Err(io::ErrorKind::BrokenPipe.into())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Some(Err(error)),
        }
        let (header, printed) = Header::read_from_prefix(&self.received).ok()?;
        if (printed.len() as u64) < header.length {
            return None;
        }
        Some(match header.errno {
            0 => Ok(Printed {
                bytes: printed.to_vec(),
                processor: Duration::from_nanos(header.processor_ns),
            }),
            errno => Err(io::Error::from_raw_os_error(errno as i32)),
        })
    }

    /// Has it end as soon as it can. Returns whether it has.
    pub fn is_gone(&mut self) -> bool {
        let _ = self.process.kill();
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Ends one that waits for nothing.
    pub fn end(mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl AsFd for Worker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
