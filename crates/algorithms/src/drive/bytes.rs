//! A sequence of operations as a sequence of bytes, so that a fuzzer can write one.

use super::{Beginning, Broken, Connection, Operation, RTT_MAX_US, SSTHRESH_INFINITE};
use crate::Algorithm;

/// Bytes of an operation.
pub const RECORD: usize = 8;

/// What the bytes mean: how the connection begins, and the operations. An incomplete record at the
/// end means nothing; without a first one the beginning is the first algorithm's usual one.
pub fn decode(bytes: &[u8]) -> (Beginning, Vec<Operation>) {
    let records = bytes.as_chunks::<RECORD>().0;
    let (first, rest) = records.split_first().unwrap_or((&[0; RECORD], &[]));
    (beginning(first), rest.iter().map(operation).collect())
}

/// Plays what the bytes mean.
///
/// # Errors
/// At the first operation that breaks what must hold.
pub fn play(bytes: &[u8]) -> Result<(), Broken> {
    let (beginning, operations) = decode(bytes);
    play_decoded(&beginning, &operations)
}

/// The same for a check on quiet ACKs ([`Algorithm::checked`]): the connection begins with an
/// algorithm that has some.
pub fn decode_quiet(bytes: &[u8]) -> (Beginning, Vec<Operation>) {
    let (mut beginning, mut operations) = decode(bytes);
    let bbr = ["kk_bbr", "kk_bbr3"][usize::from(bytes.first().is_some_and(|which| which & 1 == 1))];
    beginning.algorithm = Algorithm::named(bbr).expect("one of ours").checked();
    for operation in &mut operations {
        if let Operation::Switch { to } = operation {
            *to = to.checked();
        }
    }
    (beginning, operations)
}

/// Plays the operations that the bytes stand for, and checks quiet ACKs.
///
/// # Errors
/// Fails as [`play`] does.
///
/// # Panics
/// Panics if a quiet ACK leaves something else than one for which everything is looked at.
pub fn play_quiet(bytes: &[u8]) -> Result<(), Broken> {
    let (beginning, operations) = decode_quiet(bytes);
    play_decoded(&beginning, &operations)
}

/// Plays operations.
///
/// # Errors
/// Fails as [`play`] does.
pub fn play_decoded(beginning: &Beginning, operations: &[Operation]) -> Result<(), Broken> {
    let switch = Operation::Switch { to: beginning.algorithm };
    let mut connection =
        Connection::begin(beginning).map_err(|what| Broken { at: 0, operation: switch, what })?;
    for (at, operation) in operations.iter().enumerate() {
        connection.play(operation).map_err(|what| Broken { at, operation: *operation, what })?;
    }
    Ok(())
}

fn beginning(record: &[u8; RECORD]) -> Beginning {
    let [which, values, mss_low, mss_high, cwnd, clamp, ..] = *record;
    Beginning {
        algorithm: algorithm(which, values),
        mss: mss(u16::from_le_bytes([mss_low, mss_high])),
        cwnd: 1 << (cwnd % 21),
        ssthresh: SSTHRESH_INFINITE,
        // Mostly none, as on most hosts.
        clamp: if clamp < 128 { u32::MAX } else { u32::from(clamp - 126) },
    }
}

fn operation(record: &[u8; RECORD]) -> Operation {
    let [kind, small, low, high, a, b, c, d] = *record;
    let medium = u16::from_le_bytes([low, high]);
    let large = u32::from_le_bytes([a, b, c, d]);
    match kind % 24 {
        0..=9 => Operation::Ack {
            segments: u32::from(small >> 4) << (small & 7),
            sacked: if kind % 24 < 3 { u32::from(small & 7) } else { 0 },
            rtt_us: (small & 8 == 0).then(|| magnitude(medium, RTT_MAX_US)),
            after_us: magnitude(u16::from_le_bytes([a, b]), RTT_MAX_US) - 1,
            limited: c >= 32,
        },
        10 => Operation::FastRetransmit,
        11 => Operation::Timeout { left: u32::from(medium) },
        12 => Operation::CongestionMark,
        13 => Operation::Disorder,
        14 | 15 => Operation::Recover,
        16 => Operation::Undo,
        17 | 18 => Operation::Idle {
            gap_us: u64::from(magnitude(medium, u32::MAX)),
            writes: 1 + small % 3,
        },
        19 => Operation::ApplicationLimited { used: u32::from(medium) },
        20 => Operation::Mss { bytes: mss(medium) },
        21 => Operation::ForgetRtt,
        22 => Operation::Flights {
            count: 1 + small % 4,
            acks: 1 + (small >> 3),
            rtt_us: magnitude(medium, RTT_MAX_US),
            limited: c >= 32,
        },
        23 if d & 1 == 1 => Operation::PacingLimit { most: magnitude(medium, u32::MAX) },
        _ => Operation::Switch { to: algorithm(small, (large & 0xff) as u8) },
    }
}

/// Numbers of every order of magnitude up to `most`, none of them 0.
fn magnitude(of: u16, most: u32) -> u32 {
    let (mantissa, exponent) = (u64::from(of & 0x3ff), u32::from(of >> 10) % 23);
    ((mantissa << exponent) >> 1).clamp(1, u64::from(most)) as u32
}

/// From the smallest that the kernel takes (TCP_MIN_SND_MSS) on.
fn mss(of: u16) -> u32 {
    if of == 0 { 1448 } else { u32::from(of).max(48) }
}

/// Each parameter as preset, at its lowest or its highest.
fn algorithm(which: u8, values: u8) -> Algorithm {
    let count = Algorithm::all().count();
    let mut algorithm = Algorithm::all().nth(usize::from(which) % count).expect("there are some");
    let mut values = u32::from(values);
    for parameter in algorithm.parameters() {
        let value = match values % 4 {
            1 => parameter.lowest,
            2 => parameter.highest,
            _ => parameter.preset,
        };
        values = values / 4 + (values << 6) % 0x1_0000;
        algorithm = algorithm.with(parameter.name, value).expect("in its range");
    }
    algorithm
}
