//! Captures as tcpdump and Wireshark write them: pcap and pcapng.

use std::io::Read;

use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

use super::flows::Flows;
use super::headers::Packet;

/// How much of a file is held at a time, at first and at most, bytes: a block has to fit.
const AT_FIRST: usize = 1 << 16;
const AT_MOST: usize = 1 << 26;

/// An interface, as its packets are written.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Units of time in a second.
    units: u64,
}

/// Reads the flows of a capture. If it ends in the middle of a packet, as when tcpdump was killed, it is read
/// up to there.
///
/// # Errors
/// Fails if it is no capture; the error is a sentence.
pub(super) fn read(bytes: impl Read + Send) -> Result<Flows, String> {
    const ALLOWED: &str = "allowed: a capture as tcpdump or Wireshark writes it, pcap or pcapng";
    let mut reader = create_reader(AT_FIRST, bytes).map_err(|error| match error {
        PcapError::Eof => format!("an empty file; {ALLOWED}"),
        PcapError::ReadError => "it is not to be read".to_owned(),
        _ => format!("no capture; {ALLOWED}"),
    })?;
    let mut flows = Flows::default();
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut room = AT_FIRST;
    loop {
        match reader.next() {
            Ok((length, block)) => {
                take(block, &mut interfaces, &mut flows);
                reader.consume(length);
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_)) => {
                let before = reader.data().len();
                if reader.refill().is_err() {
                    return Err("it is not to be read to its end".to_owned());
                }
                if reader.data().len() == before {
                    if reader.reader_exhausted() {
                        flows.cut = before > 0;
                        break;
                    }
                    room *= 2;
                    if room > AT_MOST || !reader.grow(room) {
                        return Err(format!("a block of more than {AT_MOST} bytes; {ALLOWED}"));
                    }
                }
            }
            Err(PcapError::BufferTooSmall) => {
                room *= 2;
                if room > AT_MOST || !reader.grow(room) {
                    return Err(format!("a block of more than {AT_MOST} bytes; {ALLOWED}"));
                }
            }
            Err(_) if flows.packets > 0 => {
                flows.cut = true;
                break;
            }
            Err(_) => return Err(format!("no capture; {ALLOWED}")),
        }
    }
    Ok(flows)
}

fn take(block: PcapBlockOwned, interfaces: &mut Vec<Interface>, flows: &mut Flows) {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let units = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
            interfaces.push(Interface { link: header.network, units });
        }
        PcapBlockOwned::Legacy(packet) => {
            let Some(interface) = interfaces.first() else { return };
            let ticks = u64::from(packet.ts_sec) * interface.units + u64::from(packet.ts_usec);
            taken(*interface, ticks, packet.data, flows);
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
        PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
            let units = block.ts_resolution().filter(|units| *units > 0).unwrap_or(1_000_000);
            interfaces.push(Interface { link: block.linktype, units });
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let Some(interface) = interfaces.get(packet.if_id as usize) else { return };
            let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            let length = packet.data.len().min(packet.caplen as usize);
            taken(*interface, ticks, &packet.data[..length], flows);
        }
        PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
            let Some(interface) = interfaces.first() else { return };
            let length = packet.data.len().min(packet.origlen as usize);
            taken(*interface, 0, &packet.data[..length], flows);
        }
        PcapBlockOwned::NG(Block::InterfaceStatistics(block)) => {
            flows.missed += block.isb_ifdrop().and_then(Result::ok).unwrap_or(0);
        }
        PcapBlockOwned::NG(_) => {}
    }
}

fn taken(interface: Interface, ticks: u64, data: &[u8], flows: &mut Flows) {
    let at_ns = u128::from(ticks) * 1_000_000_000 / u128::from(interface.units);
    flows.add(Packet::parse(interface.link, data), u64::try_from(at_ns).unwrap_or(u64::MAX));
}
