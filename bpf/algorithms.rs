//! What both builds of `bpf/` begin with: the algorithms that are there.

use std::fs;
use std::path::Path;

/// Names of the files `bpf/algorithms/NAME.bpf.c`, in alphabetical order.
pub fn names(bpf: &Path) -> Vec<String> {
    let mut names = fs::read_dir(bpf.join("algorithms"))
        .expect("bpf/algorithms/ is there")
        .map(|entry| entry.expect("readable entry").path())
        .filter_map(|path| Some(path.file_name()?.to_str()?.strip_suffix(".bpf.c")?.to_owned()))
        .collect::<Vec<_>>();
    names.sort();
    names
}
