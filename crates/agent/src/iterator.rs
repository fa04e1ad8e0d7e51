//! Reading BPF iterators.

use std::io::{self, Read};

use libbpf_rs::{Iter, Link};

/// Runs an iterator through, and returns what it printed.
pub(crate) fn read(link: &Link) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Iter::new(link).map_err(io::Error::other)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Runs an iterator through that prints a line for each thing it did, and counts these.
pub(crate) fn read_lines(link: &Link) -> io::Result<usize> {
    read(link).map(|printed| count_lines(&printed))
}

/// How many lines an iterator has printed.
pub(crate) fn count_lines(printed: &[u8]) -> usize {
    printed.iter().filter(|&&byte| byte == b'\n').count()
}
