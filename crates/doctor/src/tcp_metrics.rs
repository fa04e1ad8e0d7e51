//! What the kernel itself remembers of destinations (ip-tcp_metrics(8)), over generic netlink.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use netlink_packet_core::{DecodeError, Emitable, NlasIterator, ParseableParametrized};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;

use crate::netlink::{ask, list};
use crate::route::interface_to;

/// The kernel's numbers (linux/tcp_metrics.h): the command, attributes, and attributes of the values.
const GET: u8 = 1;
const ADDRESS_IPV4: u16 = 1;
const ADDRESS_IPV6: u16 = 2;
const AGE_MS: u16 = 3;
const VALUES: u16 = 6;
const CWND: u16 = 4;
const RTT_8US: u16 = 6;

/// What the kernel remembers of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpMetrics {
    /// The destination.
    pub to: IpAddr,
    /// Index of the interface over which the route to it leads.
    pub interface: u32,
    /// How long ago a connection was closed that told of it.
    pub age: Duration,
    /// Smoothed round-trip time, microseconds.
    pub rtt_us: u32,
    /// The congestion window that connections end with, segments.
    pub cwnd: u32,
}

/// Reads those destinations of this network namespace of which round-trip time and window are known. Of one to
/// which no route leads there is nothing.
///
/// # Errors
/// Fails if the kernel does not answer, as one that keeps no metrics.
pub fn tcp_metrics() -> io::Result<Vec<TcpMetrics>> {
    let mut question = GenlMessage::from_payload(Entry::default());
    question.set_resolved_family_id(family()?);
    let answers = list(NETLINK_GENERIC, question)?;
    let known = answers.into_iter().filter_map(|answer| answer.payload.metrics());
    let routed = |metrics: TcpMetrics| {
        let interface = interface_to(metrics.to).ok()?;
        Some(TcpMetrics { interface, ..metrics })
    };
    Ok(known.filter_map(routed).collect())
}

/// The number that the kernel has given to the family of messages.
fn family() -> io::Result<u16> {
    let name = GenlCtrlAttrs::FamilyName(Entry::family_name().to_owned());
    let question = GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas: vec![name] };
    let answers = ask(NETLINK_GENERIC, GenlMessage::from_payload(question))?;
    let attributes = answers.iter().flat_map(|answer| &answer.payload.nlas);
    let mut numbers = attributes.filter_map(|attribute| match attribute {
        GenlCtrlAttrs::FamilyId(number) => Some(*number),
        _ => None,
    });
    numbers.next().ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// A message about a destination; a question for all of them has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    to: Option<IpAddr>,
    age: Duration,
    rtt_8us: Option<u32>,
    cwnd: Option<u32>,
}

impl Entry {
    /// Without its interface.
    fn metrics(self) -> Option<TcpMetrics> {
        let rtt_us = self.rtt_8us? >> 3;
        Some(TcpMetrics { to: self.to?, interface: 0, age: self.age, rtt_us, cwnd: self.cwnd? })
    }
}

impl GenlFamily for Entry {
    fn family_name() -> &'static str {
        "tcp_metrics"
    }

    fn command(&self) -> u8 {
        GET
    }

    fn version(&self) -> u8 {
        1
    }
}

/// A question says nothing.
impl Emitable for Entry {
    fn buffer_len(&self) -> usize {
        0
    }

    fn emit(&self, _: &mut [u8]) {}
}

impl ParseableParametrized<[u8], GenlHeader> for Entry {
    fn parse_with_param(bytes: &[u8], _: GenlHeader) -> Result<Entry, DecodeError> {
        let mut entry = Entry::default();
        for attribute in NlasIterator::new(bytes) {
            let attribute = attribute?;
            let value = attribute.value();
            match attribute.kind() {
                ADDRESS_IPV4 => entry.to = exactly(value).map(|it| Ipv4Addr::from(it).into()),
                ADDRESS_IPV6 => entry.to = exactly(value).map(|it| Ipv6Addr::from(it).into()),
                AGE_MS => {
                    let ms = exactly(value).map(u64::from_ne_bytes);
                    entry.age = ms.map_or(Duration::ZERO, Duration::from_millis);
                }
                VALUES => entry.take_values(value)?,
                _ => {}
            }
        }
        Ok(entry)
    }
}

impl Entry {
    fn take_values(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        for attribute in NlasIterator::new(bytes) {
            let attribute = attribute?;
            let number = exactly(attribute.value()).map(u32::from_ne_bytes);
            match attribute.kind() {
                CWND => self.cwnd = number,
                RTT_8US => self.rtt_8us = number,
                _ => {}
            }
        }
        Ok(())
    }
}

/// All of the bytes; None: there are more or fewer.
fn exactly<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An attribute, aligned to four bytes as the kernel does.
    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn parsed(bytes: &[u8]) -> Result<Entry, DecodeError> {
        Entry::parse_with_param(bytes, GenlHeader { cmd: GET, version: 1 })
    }

    /// Of this host, whatever it has connected to.
    #[test]
    fn the_kernel_answers() {
        match tcp_metrics() {
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
            Ok(all) => assert!(all.iter().all(|it| it.interface > 0), "{all:?}"),
        }
    }

    #[test]
    fn what_the_kernel_tells_of_a_destination_is_read() {
        let values = [
            attribute(1, &25u32.to_ne_bytes()), // the RTT in milliseconds
            attribute(CWND, &84u32.to_ne_bytes()),
            attribute(RTT_8US, &200_000u32.to_ne_bytes()),
        ];
        let message = [
            attribute(ADDRESS_IPV4, &[192, 0, 2, 1]),
            attribute(AGE_MS, &61_500u64.to_ne_bytes()),
            attribute(VALUES, &values.concat()),
        ];
        let expected = TcpMetrics {
            to: Ipv4Addr::new(192, 0, 2, 1).into(),
            interface: 0,
            age: Duration::from_millis(61_500),
            rtt_us: 25_000,
            cwnd: 84,
        };
        assert_eq!(parsed(&message.concat()).unwrap().metrics(), Some(expected));
    }

    #[test]
    fn without_a_window_there_is_nothing_to_begin_with() {
        let ipv6 = attribute(ADDRESS_IPV6, &Ipv6Addr::LOCALHOST.octets());
        let values = attribute(VALUES, &attribute(RTT_8US, &200_000u32.to_ne_bytes()));
        assert_eq!(parsed(&[ipv6, values].concat()).unwrap().metrics(), None);
    }

    #[test]
    fn a_message_that_was_cut_is_refused() {
        let whole = attribute(ADDRESS_IPV4, &[192, 0, 2, 1]);
        assert!(parsed(&whole[..6]).is_err());
        assert_eq!(parsed(&[]).unwrap(), Entry::default());
    }
}
