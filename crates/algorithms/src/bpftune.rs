//! bpftune's rule for one connection, as something to compare with.
//!
//! Source: the sock_ops program of its TCP connection tuner (github.com/oracle/bpftune,
//! `src/tcp_conn_tuner.bpf.c`, and the page bpftune-tcp-conn(8)). Deliberate differences:
//!
//! 1. What it learns over several connections to a remote host (which of cubic, bbr, htcp and dctcp a
//!    new one starts with) is not here: a scenario's connection is the first.
//! 2. Of the segments without data only the handshake's are counted, two of the client. A sender that
//!    hears nothing but ACKs sends no others.
//! 3. What was sent again before the connection was established is not counted.

use crate::{Algorithm, Socket, Switch};

/// More than one segment in 2^6 sent again: bbr from now on.
const DROP_SHIFT: u32 = 6;
/// The SYN and the ACK that answers the server's.
const HANDSHAKE: u32 = 2;

/// The rule and what it has counted of a connection.
#[derive(Clone, Debug)]
pub struct Bpftune {
    bbr: Algorithm,
    /// `total_retrans`, segments.
    retransmitted: u32,
    switched: bool,
}

impl Bpftune {
    /// For a new connection, which would be switched to `bbr`.
    pub fn new(bbr: Algorithm) -> Bpftune {
        Bpftune { bbr, retransmitted: 0, switched: false }
    }

    /// BPF_SOCK_OPS_RETRANS_CB: `segments` were sent again, and are in `data_segs_out`. The switch is
    /// made there and then, whatever the state of congestion control, and once.
    pub fn retransmitted(&mut self, socket: &mut Socket, segments: u32) -> Option<Switch> {
        self.retransmitted += segments;
        let sent = socket.fields.data_segs_out + HANDSHAKE;
        if self.switched || self.retransmitted <= sent >> DROP_SHIFT {
            return None;
        }
        self.switched = true;
        let from = socket.algorithm();
        socket.switch_to(self.bbr);
        Some(Switch {
            from,
            to: self.bbr,
            observed: false,
            rtt_us: socket.fields.srtt_us >> 3,
            rate: 0,
            burst: 0,
            share: 0,
            isolated_ppb: 0,
            burst_ppb: 0,
            predicted_us: Vec::new(),
            start: None,
            is_outage: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a connection that has sent `sent` segments with data is switched: the number of the
    /// segment sent again.
    fn switched_at(sent: u32) -> u32 {
        let stock = |name| Algorithm::stock(name).unwrap();
        let mut socket = Socket::new(stock("cubic"), 1448);
        let mut rule = Bpftune::new(stock("bbr"));
        socket.fields.data_segs_out = sent;
        let again = |socket: &mut Socket, rule: &mut Bpftune| {
            socket.fields.data_segs_out += 1;
            rule.retransmitted(socket, 1)
        };
        let at = (1..).find(|_| again(&mut socket, &mut rule).is_some()).unwrap();
        assert_eq!(socket.algorithm(), stock("bbr"));
        assert!((0..100).all(|_| again(&mut socket, &mut rule).is_none()), "for good");
        at
    }

    #[test]
    fn more_than_one_in_64_sent_again_is_too_much() {
        // The first segment that is sent again is too much among fewer than 64.
        assert_eq!(switched_at(10), 1);
        assert_eq!(switched_at(64 - 2 - 2), 1);
        assert_eq!(switched_at(64 - 2 - 1), 2);
        // 10 of 640 would be enough, but with the retransmissions 650 are sent.
        assert_eq!(switched_at(640 - 2), 11);
    }
}
