//! What an algorithm looks like: its window in each round trip of a few plain scenes.
//!
//! A fluid model, not a network: in each round trip all that is in flight is delivered, each segment
//! ACKed by itself; what is beyond the bandwidth-delay product waits in a queue without end. What
//! happens, happens at stated round trips.
//!
//! There is no pacing in it, so that a BBR is seen here by its window alone, which is the least of it.

use crate::drive::{Beginning, Connection, Operation, SSTHRESH_INFINITE};
use crate::{Algorithm, CaState};

/// Segments that the path delivers in a second; 11.6 Mbit/s.
pub const SEGMENTS_PER_S: u64 = 1000;

/// RTT of the path without a queue, in the beginning; the path then holds 100 segments.
pub const RTT_US: u32 = 100_000;

/// Time beyond the RTT after which the retransmission timer expires.
const TIMER_US: u64 = 200_000;

/// Something that happens at the beginning of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// One segment is lost, and repaired by fast retransmission.
    IsolatedLoss,
    /// All segments in flight are lost, and the retransmission timer expires.
    BurstLoss,
    /// Nothing is sent for so many microseconds.
    Idle(u64),
    /// The path has this RTT without a queue, microseconds.
    Rtt(u32),
}

/// A scene.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// What it is called on pages and in snapshots.
    pub name: &'static str,
    /// Window to begin with, and whether slow start is over by then.
    pub begin: (u32, bool),
    /// Its length, round trips.
    pub rounds: usize,
    /// What happens at the beginning of which round trip, counted from 0.
    pub events: &'static [(usize, Event)],
}

/// The scenes of every portrait.
pub const SCENES: [Scene; 5] = [
    Scene { name: "slow start", begin: (10, false), rounds: 6, events: &[] },
    Scene {
        name: "isolated loss",
        begin: (80, true),
        rounds: 30,
        events: &[(3, Event::IsolatedLoss)],
    },
    Scene { name: "burst loss", begin: (80, true), rounds: 30, events: &[(3, Event::BurstLoss)] },
    Scene {
        name: "idle gap",
        begin: (80, true),
        rounds: 12,
        events: &[(6, Event::Idle(2_000_000))],
    },
    Scene {
        name: "RTT change",
        begin: (80, true),
        rounds: 30,
        events: &[(3, Event::Rtt(200_000)), (18, Event::Rtt(50_000))],
    },
];

/// The end of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// When it was, microseconds since the scene began.
    pub at_us: u64,
    /// The window, segments.
    pub cwnd: u32,
}

/// Plays a scene.
///
/// # Errors
/// Fails if something does not hold that must hold for every algorithm (see [`crate::drive`]).
pub fn play(algorithm: Algorithm, scene: &Scene) -> Result<Vec<Round>, String> {
    let (cwnd, avoiding) = scene.begin;
    let ssthresh = if avoiding { cwnd / 2 } else { SSTHRESH_INFINITE };
    let beginning = Beginning { algorithm, mss: 1448, cwnd, ssthresh, clamp: u32::MAX };
    let mut connection = Connection::begin(&beginning)?;
    let begin_us = connection.socket.fields.tcp_mstamp;
    let mut path_rtt_us = RTT_US;
    let mut rounds = Vec::with_capacity(scene.rounds);
    for number in 0..scene.rounds {
        for (_, event) in scene.events.iter().filter(|(at, _)| *at == number) {
            match *event {
                Event::IsolatedLoss => connection.play(&Operation::FastRetransmit)?,
                Event::BurstLoss => {
                    connection.socket.fields.tcp_mstamp += u64::from(path_rtt_us) + TIMER_US;
                    connection.play(&Operation::Timeout { left: 0 })?;
                }
                Event::Idle(gap_us) => connection.play(&Operation::Idle { gap_us, writes: 1 })?,
                Event::Rtt(us) => path_rtt_us = us,
            }
        }
        round_trip(&mut connection, path_rtt_us)?;
        let at_us = connection.socket.fields.tcp_mstamp - begin_us;
        rounds.push(Round { at_us, cwnd: connection.cwnd() });
    }
    Ok(rounds)
}

fn round_trip(connection: &mut Connection, path_rtt_us: u32) -> Result<(), String> {
    // After a timeout what is in flight is lost, and sent again as far as the window goes.
    let segments = match connection.state() {
        CaState::Loss => connection.cwnd().min(connection.in_flight()),
        _ => connection.in_flight(),
    };
    let sent_us = u64::from(segments) * 1_000_000 / SEGMENTS_PER_S;
    let rtt_us = sent_us.max(u64::from(path_rtt_us)) as u32;
    for _ in 0..segments {
        connection.play(&Operation::Ack {
            segments: 1,
            sacked: 0,
            rtt_us: Some(rtt_us),
            after_us: rtt_us / segments,
            limited: true,
        })?;
    }
    Ok(())
}
