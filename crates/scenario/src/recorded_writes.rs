//! Writes of an application that were recorded.

use std::sync::Arc;

use kirikae_path::Span;
use kirikae_path::recording::{BadLine, lines, millis};
use kirikae_sim::Write;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// Writes with their times, in order; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedWrites {
    name: String,
    /// The writes, with times from the beginning of the recording.
    pub writes: Arc<[Write]>,
}

/// The last write of a recording must come before this time.
const LONGEST: Span = Span::from_secs(24 * 3600);

/// The largest size of a write, bytes; the same as that of a size in a scenario file.
const MOST: u64 = 1 << 30;

impl RecordedWrites {
    /// Parses a recording. Each line has a time in milliseconds, with or without decimals, and a number of
    /// bytes; no time is before that of the line above. `name` is for reports.
    ///
    /// # Errors
    /// Fails with the first line that is not such a pair, or at the end if there are no lines.
    pub fn parse(name: &str, text: &str) -> Result<RecordedWrites, BadLine> {
        const ALLOWED: &str = "a time in ms, up to a day and not before that of the line above, \
                               and 1 to 1073741824 bytes";
        const TOGETHER: &str = "writes that have less than 4 GiB together";
        let mut writes: Vec<Write> = Vec::new();
        let mut bytes = 0;
        for (line, written) in lines(text) {
            let not_before = |write: &Write| writes.last().is_none_or(|last| write.at >= last.at);
            let bad = |allowed| BadLine { line, found: written.into(), allowed };
            let write = write(written).filter(not_before).ok_or_else(|| bad(ALLOWED))?;
            bytes += write.bytes;
            // With more bytes TCP's sequence numbers would wrap.
            if bytes > u64::from(u32::MAX) {
                return Err(bad(TOGETHER));
            }
            writes.push(write);
        }
        if writes.is_empty() {
            return Err(BadLine { line: 1, found: "nothing".into(), allowed: ALLOWED });
        }
        Ok(RecordedWrites { name: name.into(), writes: writes.into() })
    }
}

fn write(line: &str) -> Option<Write> {
    let (at, bytes) = line.split_once(char::is_whitespace)?;
    let bytes = bytes.trim_start().parse().ok().filter(|bytes| (1..=MOST).contains(bytes))?;
    Some(Write { at: millis(at, LONGEST)?, bytes })
}

/// Writes a summary: a run's record names the recording instead of repeating it.
impl Serialize for RecordedWrites {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut summary = serializer.serialize_struct("RecordedWrites", 2)?;
        summary.serialize_field("name", &self.name)?;
        summary.serialize_field("writes", &self.writes.len())?;
        summary.end()
    }
}
