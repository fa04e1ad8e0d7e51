//! One number for the content of many files.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::normalise::normalised;

/// Hex digits of a digest: with so few two differ by chance alone once in 2^48.
const DIGITS: usize = 12;

/// The digest of what counts in files, and in all files of directories, by their names and in the order
/// of these. Paths begin at `root`; what is in `without` (a path, or the ending of a name behind a `*`) or below it
/// does not count, nor does prose (`.md`).
///
/// # Errors
/// A path of which there is nothing, or that cannot be read: what is wrong with it.
pub fn digest(root: &Path, of: &[&str], without: &[&str]) -> Result<String, String> {
    let mut files = Vec::new();
    for path in of {
        let before = files.len();
        collect(root, path.into(), without, &mut files)?;
        if files.len() == before {
            return Err(format!("{path}: found no file"));
        }
    }
    files.sort();
    files.dedup();
    let mut all = String::new();
    for file in files {
        let name = file.display().to_string();
        let text =
            fs::read_to_string(root.join(&file)).map_err(|error| format!("{name}: {error}"))?;
        let text = normalised(&name, &text)?;
        // With lengths, so that no two sets of files are alike.
        write!(all, "{} {name} {} {text}", name.len(), text.len()).expect("writing to a string");
    }
    Ok(digest_of(all))
}

/// The digest of a text or of bytes.
pub fn digest_of(content: impl AsRef<[u8]>) -> String {
    let mut digits = String::new();
    for byte in &Sha256::digest(content)[..DIGITS / 2] {
        write!(digits, "{byte:02x}").expect("writing to a string");
    }
    digits
}

fn collect(
    root: &Path,
    path: PathBuf,
    without: &[&str],
    files: &mut Vec<PathBuf>,
) -> Result<(), String> {
    let name = path.display().to_string();
    let is_left_out = |it: &&str| match it.strip_prefix('*') {
        Some(ending) => name.ends_with(ending),
        None => name == **it,
    };
    if without.iter().any(is_left_out) {
        return Ok(());
    }
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    if root.join(&path).is_dir() {
        for entry in fs::read_dir(root.join(&path)).map_err(told)? {
            let entry = path.join(entry.map_err(told)?.file_name());
            collect(root, entry, without, files)?;
        }
    } else if path.extension().is_none_or(|ending| ending != "md") {
        fs::metadata(root.join(&path)).map_err(told)?;
        files.push(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_counts_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
        fs::create_dir(root.path().join("a")).unwrap();
        for name in ["a/x.h", "a/x_bpf.h", "a/y.h", "a/z.md", "b.h"] {
            write(name, "int x;");
        }
        let now = |without: &[&str]| digest(root.path(), &["a", "b.h"], without).unwrap();
        let (all, some) = (now(&[]), now(&["*_bpf.h", "a/y.h", "gone"]));
        assert_ne!(all, some);
        for (name, counts) in
            [("a/x_bpf.h", false), ("a/y.h", false), ("a/x.h", true), ("b.h", true)]
        {
            write(name, "int y;");
            assert_eq!(now(&["*_bpf.h", "a/y.h"]) != some, counts, "{name}");
            write(name, "int x; /* as before */");
        }
        write("a/z.md", "prose");
        assert_eq!(now(&[]), all);
        let missing = digest(root.path(), &["a", "c"], &[]).unwrap_err();
        assert!(missing.starts_with("c: "), "{missing}");
    }
}
