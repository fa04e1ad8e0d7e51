//! Connections as the kernel sees them: sock_diag, with struct tcp_info (linux/tcp.h) in it.

use std::io;
use std::net::{IpAddr, SocketAddr};

use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags,
};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use serde::Serialize;

use crate::netlink::list;

/// What the kernel knows of an established connection. A value that older kernels do not tell is None there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connection {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
    /// Its congestion control.
    pub congestion_control: Option<String>,
    /// Smoothed round-trip time, s; 0 before the first sample.
    pub rtt_s: f64,
    /// Least round-trip time of the last minutes, s; 0 if unknown.
    pub min_rtt_s: f64,
    /// Retransmission timeout, s.
    pub rto_s: f64,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; None before the first loss.
    pub ssthresh: Option<u32>,
    /// Data in a segment sent, bytes.
    pub mss: u32,
    /// Largest IP packet the path is known to take, bytes.
    pub path_mtu: u32,
    /// Whether SACK is in use.
    pub sack: bool,
    /// Whether timestamps are in use.
    pub timestamps: bool,
    /// The powers of 2 by which the peer's and our windows are scaled; None without scaling.
    pub window_scales: Option<[u8; 2]>,
    /// The window that the peer offers now, bytes.
    pub peer_window: Option<u32>,
    /// Number of segments that were retransmitted since the connection began.
    pub retransmitted: u32,
    /// Number of segments with data that were sent since the connection began.
    pub data_segments_sent: Option<u32>,
    /// Bytes of data that the peer has acknowledged.
    pub acknowledged: u64,
    /// Rate of the last delivery, bit/s, and whether the application limited it by sending less than it
    /// could.
    pub delivery_rate: Option<(f64, bool)>,
    /// What it waited for while it had something to send.
    pub busy: Option<Busy>,
}

/// What a connection with something to send waited for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Busy {
    /// How long it had something to send, s.
    pub time_s: f64,
    /// Share of it in which the peer's window was the limit.
    pub peer_window: f64,
    /// Share of it in which our send buffer was the limit.
    pub send_buffer: f64,
}

// Option bits of struct tcp_info.
const TIMESTAMPS: u8 = 1;
const SACK: u8 = 2;
const WINDOW_SCALE: u8 = 4;
/// The kernel's value for no slow start threshold.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

impl Connection {
    /// The established connections to an address, with this peer's port if one is given, the busiest
    /// first.
    pub(crate) fn to(peer: IpAddr, port: Option<u16>) -> io::Result<Vec<Connection>> {
        let mut found = of_family(AF_INET)?;
        // IPv6 sockets may have connections over IPv4. A kernel without IPv6 has none.
        found.extend(of_family(AF_INET6).unwrap_or_default());
        found.retain(|it| it.peer.ip() == peer && port.is_none_or(|port| port == it.peer.port()));
        found.sort_by_key(|it| std::cmp::Reverse(it.acknowledged));
        Ok(found)
    }

    fn parse(response: &InetResponse) -> Option<Connection> {
        let info = response.nlas.iter().find_map(|nla| match nla {
            Nla::TcpInfo(bytes) => Some(TcpInfo(bytes)),
            _ => None,
        })?;
        let congestion_control = response.nlas.iter().find_map(|nla| match nla {
            Nla::Congestion(name) => Some(name.clone()),
            _ => None,
        });
        let id = &response.header.socket_id;
        let seconds = |us: u32| f64::from(us) / 1e6;
        let options = info.byte(5)?;
        let scales = info.byte(6)?;
        let busy = info.long(168).zip(info.long(176)).zip(info.long(184));
        Some(Connection {
            local: SocketAddr::new(id.source_address.to_canonical(), id.source_port),
            peer: SocketAddr::new(id.destination_address.to_canonical(), id.destination_port),
            congestion_control,
            rtt_s: seconds(info.word(68)?),
            // All bits are set before the first sample.
            min_rtt_s: info.word(148).filter(|us| *us < u32::MAX).map_or(0.0, seconds),
            rto_s: seconds(info.word(8)?),
            cwnd: info.word(80)?,
            ssthresh: info.word(76).filter(|it| *it < INFINITE_SSTHRESH),
            mss: info.word(16)?,
            path_mtu: info.word(60)?,
            sack: options & SACK != 0,
            timestamps: options & TIMESTAMPS != 0,
            window_scales: (options & WINDOW_SCALE != 0).then_some([scales & 15, scales >> 4]),
            peer_window: info.word(228),
            retransmitted: info.word(100)?,
            data_segments_sent: info.word(156),
            acknowledged: info.long(120).unwrap_or(0),
            delivery_rate: info
                .long(160)
                .filter(|rate| *rate > 0)
                .map(|rate| (rate as f64 * 8.0, info.byte(7).is_some_and(|bits| bits & 1 != 0))),
            busy: busy.filter(|((time, _), _)| *time > 0).map(|((time, peer), buffer)| Busy {
                time_s: time as f64 / 1e6,
                peer_window: peer as f64 / time as f64,
                send_buffer: buffer as f64 / time as f64,
            }),
        })
    }
}

fn of_family(family: u8) -> io::Result<Vec<Connection>> {
    let socket_id = if family == AF_INET { SocketId::new_v4() } else { SocketId::new_v6() };
    let question = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::INFO | ExtensionFlags::CONG,
        states: StateFlags::ESTABLISHED,
        socket_id,
    };
    let answers = list(NETLINK_SOCK_DIAG, SockDiagMessage::InetRequest(question))?;
    let connection = |answer: &SockDiagMessage| match answer {
        SockDiagMessage::InetResponse(response) => Connection::parse(response),
        _ => None,
    };
    Ok(answers.iter().filter_map(connection).collect())
}

/// The bytes of struct tcp_info, as many as the kernel fills in.
struct TcpInfo<'a>(&'a [u8]);

impl TcpInfo<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }

    fn long(&self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.0.get(at..at + 8)?.try_into().ok()?))
    }
}
