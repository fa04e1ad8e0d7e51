//! What the builds of `bpf/` begin with: which algorithms and programs are there.

use std::fs;
use std::path::Path;

/// Names of the files `NAME` and `suffix` in a folder, in alphabetical order.
pub fn names(folder: &Path, suffix: &str) -> Vec<String> {
    let mut names = fs::read_dir(folder)
        .expect("the folders of bpf/ are there")
        .map(|entry| entry.expect("readable entry").path())
        .filter_map(|path| Some(path.file_name()?.to_str()?.strip_suffix(suffix)?.to_owned()))
        .collect::<Vec<_>>();
    names.sort();
    names
}
