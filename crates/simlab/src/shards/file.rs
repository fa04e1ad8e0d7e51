//! The file of a shard that is finished: a line of which sweep it is, one for each of its places, and a
//! last one by which a file that is cut off or was changed is known.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kirikae_provenance::digest_of;
use kirikae_results::Error;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::{Header, Sweep, line, replace, results};

const ALLOWED: &str = "a whole file that --shard wrote";

/// The last line.
#[derive(PartialEq, Serialize, Deserialize)]
struct End {
    /// Digest of all lines before it.
    end: String,
}

/// Writes a shard's results.
pub(super) fn write<S: Serialize, T: Serialize>(
    output: &Path,
    header: &Header<S>,
    results: &BTreeMap<usize, T>,
) -> Result<(), Error> {
    let mut text = line(header);
    text.extend(results.iter().map(|result| line(&result)));
    let end = End { end: digest_of(&text) };
    replace(output, &(text + &line(&end)))
}

/// The results of all shards of a sweep of which this program computes the same, in the order of their places.
///
/// # Errors
/// A file that is no whole shard, one of other code or of another sweep than the first, one twice, one missing.
pub(crate) fn read<S: Sweep, T: DeserializeOwned>(files: &[PathBuf]) -> Result<(S, Vec<T>), Error> {
    let mut first: Option<(&Path, Header<S>)> = None;
    let mut read: BTreeMap<u32, &Path> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for file in files {
        let refuse = |problem: String| Error::Shard(format!("{}: {problem}", file.display()));
        let (header, results) = shard(file).map_err(refuse)?;
        if let Some(other) = header.other_code() {
            return Err(refuse(format!(
                "other code computed it: {other}; allowed: shards that were computed by the code of \
                 this program"
            )));
        }
        if let Some((path, first)) = &first
            && let Some(other) = header.other_sweep(first)
        {
            return Err(refuse(format!(
                "it is of another sweep than {}: {other}; allowed: the shards of one sweep",
                path.display()
            )));
        }
        if let Some(before) = read.insert(header.shard.index(), file) {
            return Err(refuse(format!(
                "it is shard {}, as is {}; allowed: each shard once",
                header.shard,
                before.display()
            )));
        }
        all.extend(results);
        first.get_or_insert((file, header));
    }
    let Some((file, header)) = first else {
        return Err(Error::Shard("there is no shard; allowed: all shards of a sweep".into()));
    };
    let of = header.shard.of();
    let missing: Vec<String> =
        (1..=of).filter(|index| !read.contains_key(index)).map(|it| it.to_string()).collect();
    if !missing.is_empty() {
        const LISTED: usize = 10;
        let more = if missing.len() > LISTED { ", ..." } else { "" };
        return Err(Error::Shard(format!(
            "{}: it is one of {of} shards, of which {} are not there: {}{more}; allowed: all shards of \
             a sweep",
            file.display(),
            missing.len(),
            missing[..missing.len().min(LISTED)].join(", "),
        )));
    }
    Ok((header.sweep, all.into_values().collect()))
}

/// What a whole file says, or what is wrong with it.
fn shard<S: Sweep, T: DeserializeOwned>(
    file: &Path,
) -> Result<(Header<S>, BTreeMap<usize, T>), String> {
    let text = fs::read_to_string(file)
        .map_err(|error| format!("cannot be read ({error}); allowed: {ALLOWED}"))?;
    let first = text.lines().next().unwrap_or_default();
    let header: Header<S> =
        serde_json::from_str(first).map_err(|_| {
            match serde_json::from_str::<Header<IgnoredAny>>(first) {
                Ok(_) => {
                    "it is of something else than the others; allowed: the shards of one sweep"
                        .into()
                }
                Err(_) => format!("it is no file of a shard; allowed: {ALLOWED}"),
            }
        })?;
    let cut = || format!("shard {} is cut off; allowed: {ALLOWED}", header.shard);
    let whole = text.strip_suffix('\n').ok_or_else(cut)?;
    let last = whole.rfind('\n').map_or(0, |before| before + 1);
    let end: End = serde_json::from_str(&whole[last..]).map_err(|_| cut())?;
    let before = &text[..last];
    if end.end != digest_of(before) {
        return Err(format!(
            "shard {} was changed since it was written; allowed: {ALLOWED}",
            header.shard
        ));
    }
    let results = results(before.lines().skip(1), 2, &header)?;
    if results.len() != header.shard.places(header.places).count() {
        return Err(cut());
    }
    Ok((header, results))
}
