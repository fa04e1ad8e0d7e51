//! The structs and numbers that the kernel's side and the agent exchange. They are generated from the C of
//! `bpf/interface/`, with its names and its comments, so that they are changed there alone.

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unsafe_code,
    clippy::all,
    rustdoc::all
)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/interface.rs"));
}

/// The names of the C types in the generated code.
mod ctypes {
    #![allow(non_camel_case_types, dead_code)]
    pub type c_char = u8;
    pub type c_uchar = u8;
    pub type c_ushort = u16;
    pub type c_uint = u32;
    pub type c_short = i16;
    pub type c_int = i32;
    pub type c_longlong = i64;
    pub type c_ulonglong = u64;
}

pub use generated::*;

use std::net::Ipv6Addr;

use zerocopy::FromZeros;

/// Bytes of an algorithm's in-kernel name, padded with zeros.
pub const NAME_BYTES: usize = TCP_CA_NAME_MAX as usize;

/// A name in the kernel's form.
///
/// # Panics
/// Panics if the name has more than 15 bytes. The kernel has no algorithm of such a name.
pub fn name_to_bytes(name: &str) -> [u8; NAME_BYTES] {
    assert!(name.len() < NAME_BYTES, "an algorithm's name of {} bytes", name.len());
    let mut padded = [0; NAME_BYTES];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    padded
}

/// A name as text. Characters that a terminal could take for a command are replaced, since it is printed and
/// served.
pub fn name_from_bytes(bytes: &[u8; NAME_BYTES]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|c| !c.is_control()).collect()
}

/// A rate in bit/s, from the switcher's bytes per millisecond; None for 0.
pub fn rate_bit_s(bytes_per_ms: u32) -> Option<u64> {
    (bytes_per_ms > 0).then(|| u64::from(bytes_per_ms) * 8000)
}

/// What a stream asks for as a share of the rate (0 to 1), from the switcher's number; None for 0.
pub fn stream_share(share: u32) -> Option<f64> {
    (share > 0).then(|| f64::from(share) / f64::from(SHARE_ONE))
}

impl latency_table {
    /// In-kernel names of the candidates, in the order of the columns.
    pub fn names(&self) -> Vec<String> {
        self.name[..self.algorithms as usize].iter().map(name_from_bytes).collect()
    }

    /// The column that describes an algorithm: one of ours, or one of the kernel's of which it is a copy. For
    /// other algorithms of the kernel it is the column that stands for what a connection came with.
    pub fn column_of(&self, algorithm: &str) -> Option<usize> {
        let wanted = name_to_bytes(algorithm);
        let mut columns = self.name.iter().zip(&self.also).take(self.algorithms as usize);
        let stock = Some(self.stock as usize);
        columns.position(|(name, also)| *name == wanted || *also == wanted).or_else(|| {
            stock.filter(|column| {
                *column < TABLE_ALGORITHMS as usize && !algorithm.starts_with("kk_")
            })
        })
    }

    /// The expectation at the given indices of round-trip time, rate, burst, condition and algorithm.
    ///
    /// # Panics
    /// Panics if an index is beyond its axis.
    pub fn expectation(&mut self, place: [usize; 5]) -> &mut expectation {
        let axes = [TABLE_RTTS, TABLE_RATES, TABLE_LOADS, TABLE_CONDITIONS, TABLE_ALGORITHMS];
        let index = place.into_iter().zip(axes).fold(0, |index, (at, axis)| {
            assert!(at < axis as usize, "place {place:?}");
            index * axis as usize + at
        });
        &mut self.by_place[index]
    }
}

/// Converts to the kernel's form, in which an IPv4 address is ::ffff:a.b.c.d.
impl From<Ipv6Addr> for address {
    fn from(ipv6: Ipv6Addr) -> address {
        zerocopy::transmute!(ipv6.octets())
    }
}

impl From<address> for Ipv6Addr {
    fn from(address: address) -> Ipv6Addr {
        let octets: [u8; 16] = zerocopy::transmute!(address);
        Ipv6Addr::from(octets)
    }
}

impl scope {
    /// The settings that hold if an operator says nothing, with the first of the tables.
    pub fn usual() -> scope {
        scope {
            least_rtt_us: USUAL_LEAST_RTT_US,
            hysteresis: hysteresis {
                margin: USUAL_MARGIN,
                agreeing: USUAL_AGREEING,
                dwell: USUAL_DWELL,
            },
            ..Default::default()
        }
    }
}

impl policy {
    /// A policy with all connections in one scope.
    pub fn one(scope: scope) -> Box<policy> {
        let mut policy = policy::new_box_zeroed().expect("12 KB of memory");
        policy.generation = 1;
        policy.scopes_since = 1;
        policy.least_rtt_us = scope.least_rtt_us;
        policy.scope[0] = scope;
        policy.rules = 1;
        policy.rule[0].last_port = u16::MAX;
        policy
    }
}

impl thesis_table {
    /// In-kernel names of the candidates, in the order of the columns.
    pub fn names(&self) -> Vec<String> {
        self.name[..self.algorithms as usize].iter().map(name_from_bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for name in ["", "bbr", "kk_cubic_fair00"] {
            assert_eq!(name_from_bytes(&name_to_bytes(name)), name);
        }
        let mut hostile = name_to_bytes("a\u{1b}[2J");
        hostile[10] = 0xff;
        assert!(!name_from_bytes(&hostile).contains('\u{1b}'));
    }

    #[test]
    #[should_panic(expected = "16 bytes")]
    fn a_longer_name_is_none() {
        name_to_bytes("kk_cubic_fair000");
    }
}
