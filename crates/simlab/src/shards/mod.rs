//! A sweep in parts, for schedulers that start processes: each computes one shard into a file, and the
//! files together make what one process would have made. A process alone computes one shard of one.

mod compute;
mod file;
mod header;
mod journal;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use kirikae_results::{Error, While};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use compute::ShardReport;
pub(crate) use compute::{Computed, compute, compute_file, progress};
pub(crate) use file::read;
use file::write;
pub(crate) use header::{Header, Sweep};
pub(crate) use journal::Journal;

/// A part of a sweep: of its places, which are numbered from 0, every so many-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Shard {
    index: u32,
    of: u32,
}

impl Shard {
    /// The one shard of a sweep that is not divided.
    pub const WHOLE: Shard = Shard { index: 1, of: 1 };
    /// Into how many a sweep is divided at most.
    pub const MOST: u32 = 100_000;

    /// The shard with this index, from 1, of so many, up to [`Shard::MOST`]; None where there is no such one.
    pub fn new(index: u32, of: u32) -> Option<Shard> {
        (of <= Shard::MOST && (1..=of).contains(&index)).then_some(Shard { index, of })
    }

    /// From 1.
    pub fn index(self) -> u32 {
        self.index
    }

    /// How many there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Its places among so many, ascending. Neighbours are in different shards: they take about the same
    /// time, and so do the shards then.
    pub fn places(self, all: usize) -> impl Iterator<Item = usize> {
        (self.index as usize - 1..all).step_by(self.of as usize)
    }
}

/// As `2/4`.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Reads what `Display` writes; the error says what is allowed.
    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/').and_then(|(index, of)| {
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let are_numbers = is_number(index) && is_number(of);
            are_numbers.then(|| Some((index.parse().ok()?, of.parse().ok()?))).flatten()
        });
        numbers.and_then(|(index, of)| Shard::new(index, of)).ok_or_else(|| {
            let most = Shard::MOST;
            format!("allowed: i/n, n from 1 to {most} and i from 1 to n, such as 2/4")
        })
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Shard, String> {
        text.parse()
    }
}

/// Writes a file as a whole: whoever reads it meanwhile finds the one that was there, or the new one.
pub(crate) fn replace(output: &Path, text: &str) -> Result<(), Error> {
    let new = beside(output, ".new");
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, output)
    };
    write().during(|| format!("writing {}", output.display()))
}

/// A file's path with something behind it.
fn beside(output: &Path, ending: &str) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data") + "\n"
}

/// The results of places, in lines from this number on, or what is wrong with them.
fn results<'a, S: Sweep, T: DeserializeOwned>(
    lines: impl Iterator<Item = &'a str>,
    first: usize,
    header: &Header<S>,
) -> Result<BTreeMap<usize, T>, String> {
    let result = |(number, line)| {
        let read: Option<(usize, T)> = serde_json::from_str(line).ok();
        let (place, result) = read
            .filter(|(place, _)| header.has(*place))
            .ok_or_else(|| format!("found something else in line {number}"))?;
        Ok((place, result))
    };
    (first..).zip(lines).map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_in_one_shard() {
        for (of, all) in [(1, 5), (3, 40), (4, 41), (4, 2), (3, 0)] {
            let shards = (1..=of).map(|index| Shard::new(index, of).unwrap());
            let parts: Vec<Vec<usize>> = shards.map(|shard| shard.places(all).collect()).collect();
            let mut places: Vec<usize> = parts.concat();
            places.sort_unstable();
            assert_eq!(places, (0..all).collect::<Vec<_>>(), "{of} shards of {all}");
            let lengths = || parts.iter().map(Vec::len);
            assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1, "{of} of {all}");
        }
        assert_eq!(Shard::WHOLE.places(3).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn what_is_written_is_read() {
        let shard: Shard = "3/12".parse().unwrap();
        assert_eq!((shard.index(), shard.of(), shard.to_string()), (3, 12, "3/12".into()));
        for none in
            ["", "3", "/", "0/4", "5/4", "1/0", "+1/4", "1/100001", "1/4/4", "1 / 4", "-1/4"]
        {
            let refused = none.parse::<Shard>().unwrap_err();
            assert_eq!(refused, "allowed: i/n, n from 1 to 100000 and i from 1 to n, such as 2/4");
        }
    }
}
