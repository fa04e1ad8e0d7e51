//! Finds losses of numbered datagrams: numbers that are missing while others arrived.

use std::str::FromStr;

use super::headers::{Datagram, HEAD};
use super::{Evidence, Fates};

/// The share of a flow's datagrams that have to count on for a field to be taken for a number.
const PLAUSIBLE: f64 = 0.95;
/// Most that a number moves on from one datagram to the next, forwards and backwards.
const STEP: i64 = 10_000;
/// Most numbers of a flow: its fates are held in memory.
const MOST: u64 = 1 << 32;

/// The place of the number in a datagram; it is big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// Bytes before it.
    offset: usize,
    /// Its bits: 16, 32 or 64.
    bits: u32,
    /// The program or protocol that has it there.
    name: &'static str,
}

/// The known places, in the order in which they are tried.
const KNOWN: [Numbering; 5] = [
    // RFC 3550, section 5.1.
    Numbering { offset: 2, bits: 16, name: "rtp" },
    // iperf 2, and the simplest there is.
    Numbering { offset: 0, bits: 32, name: "iperf2" },
    // It follows a time of two words.
    Numbering { offset: 8, bits: 32, name: "iperf3" },
    // This is iperf3 with --udp-counters-64bit.
    Numbering { offset: 8, bits: 64, name: "iperf3-64" },
    Numbering { offset: 0, bits: 64, name: "0:64" },
];

impl FromStr for Numbering {
    type Err = String;

    fn from_str(text: &str) -> Result<Numbering, String> {
        if let Some(known) = KNOWN.iter().find(|known| known.name == text) {
            return Ok(*known);
        }
        let number = text.split_once(':').and_then(|(offset, bits)| {
            let (offset, bits) = (offset.parse::<usize>().ok()?, bits.parse::<u32>().ok()?);
            let fits = offset.checked_add(bits as usize / 8)? <= HEAD;
            ([16, 32, 64].contains(&bits) && fits).then_some(Numbering {
                offset,
                bits,
                name: "given",
            })
        });
        number.ok_or_else(|| {
            format!(
                "allowed: {}, or OFFSET:BITS with 16, 32 or 64 bits that end by byte {HEAD}, such as 4:32",
                KNOWN.map(|known| known.name).join(", "),
            )
        })
    }
}

impl Numbering {
    fn read(self, datagram: &Datagram) -> Option<u64> {
        let end = self.offset + self.bits as usize / 8;
        let bytes = datagram.head[..datagram.length.into()].get(self.offset..end)?;
        // Version 2.
        if self.name == "rtp" && datagram.head[0] >> 6 != 2 {
            return None;
        }
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The step from one number to another, forwards or backwards.
    fn step(self, from: u64, to: u64) -> i64 {
        let unused = 64 - self.bits;
        (to.wrapping_sub(from) << unused).cast_signed() >> unused
    }

    /// Share of the datagrams whose number goes on from the one before.
    fn plausible(self, datagrams: &[Datagram]) -> f64 {
        let goes_on = |pair: &[Datagram]| {
            let step = self.read(&pair[0]).zip(self.read(&pair[1])).map(|(a, b)| self.step(a, b));
            step.is_some_and(|step| step != 0 && (-STEP..=STEP).contains(&step))
        };
        let going = datagrams.windows(2).filter(|pair| goes_on(pair)).count();
        going as f64 / datagrams.len().saturating_sub(1).max(1) as f64
    }
}

/// What the numbers of a flow's datagrams, in the order of arrival, show.
pub(super) fn evidence(
    datagrams: &[Datagram],
    given: Option<Numbering>,
) -> Result<Evidence, String> {
    let numbering = match given {
        Some(numbering) => Some(numbering),
        None => KNOWN.into_iter().find(|known| known.plausible(datagrams) >= PLAUSIBLE),
    };
    let share = numbering.map_or(0.0, |numbering| numbering.plausible(datagrams));
    let Some(numbering) = numbering.filter(|_| share >= PLAUSIBLE) else {
        return Err(format!(
            "no number that counts them{}; allowed: --number with its place, such as 0:32",
            given.map_or(String::new(), |given| {
                let (at, bits) = (given.offset, given.bits);
                format!(
                    " in the {bits} bits from byte {at} ({:.0} % go on from the one before)",
                    1e2 * share
                )
            }),
        ));
    };

    // Numbers as whole ones, from the first on.
    let (mut last, mut whole) = (None, 0i64);
    let mut numbers: Vec<i64> = Vec::with_capacity(datagrams.len());
    for number in datagrams.iter().filter_map(|datagram| numbering.read(datagram)) {
        let step = last.map_or(0, |last| numbering.step(last, number));
        // A jump is a number of something else, such as the last one of iperf 2, which is negative.
        if last.is_some() && !(-STEP..=STEP).contains(&step) {
            continue;
        }
        (last, whole) = (Some(number), whole + step);
        numbers.push(whole);
    }
    let arrived = numbers.len();
    let late = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
    numbers.sort_unstable();
    numbers.dedup();
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
        return Err("no number in any of them".to_owned());
    };
    if last.abs_diff(*first) >= MOST {
        return Err(format!("numbers from {first} to {last}: too many"));
    }
    let mut fates = Fates::default();
    let mut next = *first;
    for number in &numbers {
        (next..*number).for_each(|_| fates.push(true));
        fates.push(false);
        next = number + 1;
    }
    let Numbering { offset, bits, name } = numbering;
    let mut notes = vec![format!(
        "numbered datagrams: {bits} bits from byte {offset} ({name}); missing numbers are losses"
    )];
    let twice = arrived - numbers.len();
    for (count, what) in [
        (datagrams.len() - arrived, "without a number that goes on, left out"),
        (twice, "arrived twice"),
        (late, "overtaken by others: late, not lost"),
    ] {
        if count > 0 {
            notes.push(format!("{count} datagrams {what}"));
        }
    }
    Ok(Evidence { fates, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(number: u32, offset: usize) -> Datagram {
        let mut head = [0; HEAD];
        head[offset..offset + 4].copy_from_slice(&number.to_be_bytes());
        Datagram { head, length: HEAD as u8 }
    }

    #[test]
    fn missing_numbers_are_losses_and_late_ones_are_not() {
        let numbers = (0..300).filter(|number| ![7, 8, 100].contains(number));
        let mut datagrams: Vec<Datagram> = numbers.map(|number| datagram(number, 0)).collect();
        datagrams.swap(50, 51);
        let Evidence { fates, notes } = evidence(&datagrams, None).unwrap();
        assert_eq!(fates.packets(), 300);
        assert_eq!(fates.losses().collect::<Vec<_>>(), [2, 1]);
        assert!(notes.iter().any(|note| note.contains("1 datagrams overtaken")), "{notes:?}");
    }

    #[test]
    fn a_number_comes_round() {
        let numbers = (0..200u32).map(|number| number.wrapping_sub(100)).filter(|it| *it != 3);
        let datagrams: Vec<Datagram> = numbers.map(|number| datagram(number, 4)).collect();
        let Evidence { fates, .. } = evidence(&datagrams, Some("4:32".parse().unwrap())).unwrap();
        assert_eq!((fates.packets(), fates.lost()), (200, 1));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let datagrams: Vec<Datagram> =
            (0..200u32).map(|it| datagram(it.wrapping_mul(2_654_435_761), 0)).collect();
        assert!(evidence(&datagrams, None).err().unwrap().contains("no number that counts them"));
        let given = Some("0:32".parse().unwrap());
        assert!(evidence(&datagrams, given).err().unwrap().contains("32 bits from byte 0"));
        for text in ["0", "0:8", "61:32", "x:32", "rtsp"] {
            assert!(text.parse::<Numbering>().unwrap_err().contains("allowed: rtp"), "{text}");
        }
    }
}
