//! A check on quiet ACKs: beside a socket a twin of it, which gets the same calls but looks at
//! everything with each ACK. After each call both must have come to the same.
//!
//! A BBR notes up to when an ACK can change nothing, and is quiet until then
//! (`bpf/algorithms/bbr/quiet.h`, `bpf/algorithms/bbr3/quiet.h`). The kernel's call for a state of recovery
//! ends that, so the twin gets one before each ACK. What may differ nonetheless is numbered in these
//! files. Another segment size, SO_MAX_PACING_RATE or pacing shift may count late, so both look at
//! everything where one of them has changed; `tests/quiet.rs` bounds how late.

use std::fmt::Debug;

use crate::{Algorithm, CaState, Socket, c};

/// The difference between the states of two sockets, and whether one has samples only noted.
#[derive(Clone, Copy)]
struct Comparison {
    difference: unsafe extern "C" fn(*const c::tcp_sock, *const c::tcp_sock) -> i32,
    has_notes: unsafe extern "C" fn(*const c::tcp_sock) -> bool,
}

/// How two algorithms with quiet ACKs are compared.
fn comparison(algorithm: Algorithm) -> Option<Comparison> {
    match algorithm.name() {
        "bbr" | "kk_bbr" => {
            Some(Comparison { difference: c::kk_bbr_difference, has_notes: c::kk_bbr_has_notes })
        }
        "kk_bbr3" => {
            Some(Comparison { difference: c::kk_bbr3_difference, has_notes: c::kk_bbr3_has_notes })
        }
        _ => None,
    }
}

/// How many ACKs two twins have had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// How many ACKs both had.
    pub acks: u64,
    /// ACKs after which the one that may be quiet had samples that were only noted.
    pub noted: u64,
}

/// The twin of a socket.
pub(crate) struct Twin {
    comparison: Comparison,
    socket: Socket,
    /// What a quiet ACK does not look at, as it was after the latest call.
    unwatched: Unwatched,
    /// It is otherwise since the latest ACK.
    is_late: bool,
    compared: Compared,
}

impl Twin {
    /// The twin of a socket whose algorithm is about to take it up, where that has quiet ACKs.
    pub(crate) fn of(socket: &Socket) -> Option<Box<Twin>> {
        Some(Box::new(Twin {
            comparison: comparison(socket.algorithm())?,
            socket: Socket {
                fields: socket.fields,
                connection: None,
                large_state: socket.large_state.clone(),
                algorithm: socket.algorithm(),
                twin: None,
            },
            unwatched: unwatched(&socket.fields),
            is_late: false,
            compared: Compared::default(),
        }))
    }

    pub(crate) fn compared(&self) -> Compared {
        self.compared
    }

    fn compare(&self, quiet: &Socket) {
        let (quiet, full) = (&quiet.fields, &self.socket.fields);
        let at_us = quiet.tcp_mstamp;
        assert_eq!(
            written(quiet),
            written(full),
            "after quiet ACKs, and where all are looked at, at {at_us} us"
        );
        // SAFETY: both sockets live, with what their pointers were set to in the call before.
        let place = unsafe { (self.comparison.difference)(quiet, full) };
        assert!(
            place == c::TWINS_ALIKE,
            "at {at_us} us quiet ACKs leave another state, from byte {place} on"
        );
    }
}

/// The segment size, SO_MAX_PACING_RATE with the pacing rate that follows it, the pacing shift.
type Unwatched = (u32, [u64; 2], u8);

fn unwatched(fields: &c::tcp_sock) -> Unwatched {
    let sock = &fields.inet_conn.icsk_inet.sk;
    (fields.mss_cache, [sock.sk_max_pacing_rate, sock.sk_pacing_rate], sock.sk_pacing_shift)
}

/// What an algorithm may write of a socket, beside its private area.
fn written(fields: &c::tcp_sock) -> impl PartialEq + Debug + use<> {
    let sock = &fields.inet_conn.icsk_inet.sk;
    (
        ("cwnd", fields.snd_cwnd),
        ("pacing rate", sock.sk_pacing_rate),
        ("pacing status", sock.sk_pacing_status),
        ("ssthresh", fields.snd_ssthresh),
        ("cwnd_cnt", fields.snd_cwnd_cnt),
        ("app_limited", fields.app_limited),
        ("random", fields.random),
    )
}

impl Socket {
    /// `cong_control` of both twins.
    #[cold]
    pub(crate) fn ack_of_twins(&mut self, cong_control: impl Fn(*mut c::sock)) {
        let Some(mut twin) = self.twin.take() else { return };
        twin.socket.look_at_everything();
        if twin.is_late || twin.unwatched != unwatched(&self.fields) {
            self.look_at_everything();
        }
        self.twin = Some(twin);
        self.call_twins(cong_control);
        if let Some(twin) = &mut self.twin {
            twin.is_late = false;
            twin.compared.acks += 1;
            // SAFETY: the socket lives, with what its pointers were set to in the call before.
            let noted = unsafe { (twin.comparison.has_notes)(&self.fields) };
            twin.compared.noted += u64::from(noted);
        }
    }

    /// Ends what quiet ACKs rely on, as the kernel does with each new state.
    fn look_at_everything(&mut self) {
        if let Some(set_state) = self.algorithm().ops().set_state {
            self.call_alone(|sk| unsafe { set_state(sk, CaState::Open as u8) });
        }
    }

    /// Calls both twins.
    ///
    /// # Panics
    /// Panics if they differ thereafter.
    #[cold]
    pub(crate) fn call_twins<T>(&mut self, callback: impl Fn(*mut c::sock) -> T) -> T
    where
        T: PartialEq + Debug,
    {
        let mut twin = self.twin.take().expect("one that has a twin");
        twin.is_late |= twin.unwatched != unwatched(&self.fields);
        let full = &mut twin.socket;
        let private_area = full.fields.inet_conn.icsk_ca_priv;
        full.fields = self.fields;
        full.fields.inet_conn.icsk_ca_priv = private_area;
        full.connection.clone_from(&self.connection);
        // Memory is as short for both.
        let kept = full.large_state.take_if(|_| self.large_state.is_none());

        let by_full = full.call_alone(&callback);
        let by_quiet = self.call_alone(&callback);
        assert_eq!(by_quiet, by_full, "the answer after quiet ACKs, and where all are looked at");
        twin.compare(self);

        if kept.is_some() {
            twin.socket.large_state = kept;
        }
        twin.unwatched = unwatched(&self.fields);
        self.twin = Some(twin);
        by_quiet
    }
}
