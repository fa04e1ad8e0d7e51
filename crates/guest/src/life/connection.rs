//! A connection with both ends here, and what the kernel tells of it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use kirikae_emu::Emulated;
use nix::libc::tcp_info;
use socket2::{Domain, SockRef, Socket, Type};

use crate::system::tcp_info;

/// How often the socket is looked at while an answer is waited for.
const LOOK: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(120);
/// The state TCP_CLOSE (net/tcp_states.h).
const CLOSED: u32 = 7;

pub struct Connection {
    near: TcpStream,
    far: TcpStream,
}

impl Connection {
    /// Over loopback.
    pub fn open() -> anyhow::Result<Connection> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        Ok(Connection { near, far: listener.accept()?.0 })
    }

    /// Over an emulated path.
    pub fn open_over(path: &Emulated) -> anyhow::Result<Connection> {
        let address = SocketAddr::from((path.receiver().address(), 5000));
        let listener = path.receiver().run_in(|| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.set_reuse_address(true)?;
            socket.bind(&address.into())?;
            socket.listen(1)?;
            std::io::Result::Ok(TcpListener::from(socket))
        })??;
        let near = path.sender().run_in(|| TcpStream::connect(address))??;
        Ok(Connection { near, far: listener.accept()?.0 })
    }

    /// Writes so much and waits until all is ACKed; how long that took.
    pub fn send(&mut self, bytes: usize) -> anyhow::Result<Duration> {
        let before = self.info()?.tcpi_bytes_acked;
        let data = vec![7; bytes];
        let mut received = vec![0; bytes];
        let begun = Instant::now();
        thread::scope(|scope| {
            let writer = scope.spawn(|| (&self.near).write_all(&data));
            let reader = scope.spawn(|| (&self.far).read_exact(&mut received));
            loop {
                let info = tcp_info(&self.near)?;
                if info.tcpi_bytes_acked >= before + bytes as u64 {
                    break;
                }
                let is_given_up = u32::from(info.tcpi_state) == CLOSED;
                if is_given_up || begun.elapsed() >= PATIENCE {
                    // So ends who reads, too.
                    self.far.shutdown(Shutdown::Both)?;
                    let why = if is_given_up { "the kernel has given up" } else { "no ACK" };
                    bail!("{bytes} bytes after {} ms: {why}", begun.elapsed().as_millis());
                }
                thread::sleep(LOOK);
            }
            let took = begun.elapsed();
            writer.join().expect("writing does not panic")?;
            reader.join().expect("reading does not panic")?;
            Ok(took)
        })
    }

    /// Several round trips with RTT samples; the algorithm that the connection has then.
    pub fn talk(&mut self) -> anyhow::Result<String> {
        for _ in 0..20 {
            self.send(10_000)?;
            thread::sleep(Duration::from_millis(20));
        }
        self.algorithm()
    }

    pub fn algorithm(&self) -> anyhow::Result<String> {
        let name = SockRef::from(&self.near).tcp_congestion()?;
        Ok(String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned())
    }

    /// The retransmission timeout, milliseconds.
    pub fn rto_ms(&self) -> anyhow::Result<u32> {
        Ok(self.info()?.tcpi_rto / 1000)
    }

    /// TCP_USER_TIMEOUT; None: the kernel reckons.
    pub fn given_up_after(&self) -> anyhow::Result<Option<Duration>> {
        Ok(SockRef::from(&self.near).tcp_user_timeout()?.filter(|it| !it.is_zero()))
    }

    pub fn info(&self) -> anyhow::Result<tcp_info> {
        Ok(tcp_info(&self.near)?)
    }
}
