//! What is known of paths as text: a line that says the version, a line for each path, and a checksum.

use std::fmt::Write;
use std::str::{FromStr, SplitWhitespace};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kirikae_agent::{KnownOutcome, KnownPath};

use super::Interfaces;

/// The first line.
pub const VERSION: &str = "kirikae paths 1";
const CHECKSUM: &str = "checksum ";
/// What stands in place of what is not known.
const UNKNOWN: &str = "-";

/// Writes down paths. Those over an interface that is not there any more are left out.
pub fn write(paths: &[KnownPath], interfaces: &Interfaces, now: SystemTime) -> String {
    let now_s = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut text = format!("{VERSION}\n");
    for path in paths {
        let Some(interface) = interfaces.name(path.interface) else { continue };
        write_path(&mut text, path, interface, now_s).expect("writing to a string");
    }
    with_checksum(text)
}

/// Adds the last line, with the checksum of the lines before.
pub fn with_checksum(mut contents: String) -> String {
    let sum = checksum(&contents);
    writeln!(contents, "{CHECKSUM}{sum:016x}").expect("writing to a string");
    contents
}

fn write_path(
    text: &mut String,
    path: &KnownPath,
    interface: &str,
    now_s: u64,
) -> std::fmt::Result {
    let written_s = now_s.saturating_sub(path.age_s.into());
    let rate = path.rate_bit_s.unwrap_or(0);
    write!(text, "{} {interface} {written_s}", path.remote)?;
    write!(text, " {} {} {rate}", path.rtt_us, path.usual_rtt_us)?;
    write!(text, " {} {} {}", path.round_bytes, path.burst_bytes, path.delivered_kib)?;
    write!(text, " {} {} {} {}", path.sent, path.isolated_losses, path.burst_losses, path.uses)?;
    for KnownOutcome { algorithm, excess_octaves } in &path.outcomes {
        match excess_octaves {
            Some(octaves) => write!(text, " {algorithm} {octaves}")?,
            None => write!(text, " {algorithm} {UNKNOWN}")?,
        }
    }
    writeln!(text)
}

/// Reads paths of a network namespace: those over interfaces that are there, and no older than `lifetime`.
///
/// # Errors
/// Fails with what is wrong if it is not exactly what [`write()`] has written.
pub fn read(
    text: &str,
    namespace: u32,
    interfaces: &Interfaces,
    lifetime: Duration,
    now: SystemTime,
) -> Result<Vec<KnownPath>, String> {
    let (contents, sum) = text
        .strip_suffix('\n')
        .and_then(|text| text.rsplit_once(CHECKSUM))
        .filter(|(contents, _)| contents.ends_with('\n'))
        .ok_or("it does not end with a checksum")?;
    if sum != format!("{:016x}", checksum(contents)) {
        return Err("its checksum is not that of what it says".into());
    }
    let mut lines = (1..).zip(contents.lines());
    if lines.next().is_none_or(|(_, first)| first != VERSION) {
        return Err(format!("its first line is not \"{VERSION}\""));
    }
    let mut paths = Vec::new();
    for (number, line) in lines {
        let (path, interface, written) =
            read_path(line).ok_or_else(|| format!("line {number} is not one of a path"))?;
        // What is from a time to come has no age: the clock was set.
        let age = now.duration_since(UNIX_EPOCH + Duration::from_secs(written));
        let (Ok(age), Some(interface)) = (age, interfaces.index(&interface)) else { continue };
        if age <= lifetime {
            paths.push(KnownPath { namespace, interface, age_s: age.as_secs() as u32, ..path });
        }
    }
    Ok(paths)
}

/// A path, the name of its interface, and when it was written, in seconds of the wall clock.
fn read_path(line: &str) -> Option<(KnownPath, String, u64)> {
    let mut words = line.split_whitespace();
    let (remote, interface) = (next(&mut words)?, next(&mut words)?);
    let written = next::<u32>(&mut words)?;
    let path = KnownPath {
        remote,
        namespace: 0,
        interface: 0,
        age_s: 0,
        rtt_us: next(&mut words)?,
        usual_rtt_us: next(&mut words)?,
        rate_bit_s: Some(next(&mut words)?).filter(|rate| *rate > 0),
        round_bytes: next(&mut words)?,
        burst_bytes: next(&mut words)?,
        delivered_kib: next(&mut words)?,
        sent: next(&mut words)?,
        isolated_losses: next(&mut words)?,
        burst_losses: next(&mut words)?,
        uses: next(&mut words)?,
        outcomes: read_outcomes(words)?,
    };
    Some((path, interface, written.into()))
}

fn read_outcomes(mut words: SplitWhitespace) -> Option<Vec<KnownOutcome>> {
    let mut outcomes = Vec::new();
    while let Some(algorithm) = words.next() {
        let excess_octaves = match words.next()? {
            UNKNOWN => None,
            octaves => Some(octaves.parse().ok().filter(|it: &f64| it.is_finite())?),
        };
        outcomes.push(KnownOutcome { algorithm: algorithm.into(), excess_octaves });
    }
    Some(outcomes)
}

fn next<T: FromStr>(words: &mut SplitWhitespace) -> Option<T> {
    words.next()?.parse().ok()
}

/// FNV-1a, 64 bits: it finds what is torn or edited by hand, not what is forged.
fn checksum(text: &str) -> u64 {
    let add = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Duration = Duration::from_secs(600);

    fn interfaces() -> Interfaces {
        Interfaces::from_iter([(2, "eth0".to_owned()), (3, "wlan0".to_owned())])
    }

    fn path(interface: u32, age_s: u32) -> KnownPath {
        let line = "2001:db8::/64 eth0 0 20000 25000 8000000 14000 6000 900 1200 3 1 5 kk_bbr -0.5 cubic -";
        let (path, ..) = read_path(line).unwrap();
        KnownPath { namespace: 7, interface, age_s, ..path }
    }

    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_800_000_000)
    }

    fn read_now(text: &str) -> Result<Vec<KnownPath>, String> {
        read(text, 7, &interfaces(), LIFETIME, now())
    }

    #[test]
    fn paths_come_back_by_the_names_of_their_interfaces() {
        let paths = [path(2, 0), path(3, 600), path(0, 5)];
        let text = write(&paths, &interfaces(), now());
        assert_eq!(read_now(&text).unwrap(), paths);
        let renumbered = Interfaces::from_iter([(9, "eth0".to_owned())]);
        let read = read(&text, 8, &renumbered, LIFETIME, now()).unwrap();
        let expected = [(9, 0), (0, 5)].map(|(interface, age_s)| path(interface, age_s));
        assert_eq!(read, expected.map(|path| KnownPath { namespace: 8, ..path }));
    }

    #[test]
    fn what_is_too_old_or_of_no_interface_is_left_out() {
        let text = write(&[path(2, 601), path(4, 0)], &interfaces(), now());
        assert_eq!(read_now(&text).unwrap(), []);
        let text = write(&[path(2, 0)], &interfaces(), now() + Duration::from_secs(1));
        assert_eq!(read_now(&text).unwrap(), [], "of a time to come");
    }

    #[test]
    fn what_is_torn_edited_or_foreign_is_refused() {
        let text = write(&[path(2, 0), path(3, 0)], &interfaces(), now());
        for end in 0..text.len() {
            assert!(read_now(&text[..end]).is_err(), "{end} bytes of it");
        }
        for at in 0..text.len() {
            let mut edited = text.clone().into_bytes();
            edited[at] ^= 1;
            assert!(read_now(&String::from_utf8(edited).unwrap()).is_err(), "byte {at}");
        }
        let foreign = |contents: &str| read_now(&with_checksum(contents.into())).unwrap_err();
        assert!(foreign("kirikae paths 2\n").contains("first line"));
        assert!(foreign(&format!("{VERSION}\n192.0.2.1/32 eth0 x\n")).contains("line 2"));
        let numbers = "0 20000 25000 8000000 14000 6000 900 1200 3 1 5";
        let infinite = format!("{VERSION}\n2001:db8::/64 eth0 {numbers} kk_bbr inf\n");
        assert!(foreign(&infinite).contains("line 2"));
    }
}
