//! The algorithm that a network namespace gives to new connections (the sysctl
//! net.ipv4.tcp_congestion_control).

use std::fs;
use std::io;

use crate::namespaces::{describe, every_other, within};

const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Which network namespaces give one of these algorithms to new connections: the name of each, and the algorithm. One
/// that cannot be entered is left out.
pub fn given_by_default(names: &[&str]) -> Vec<(String, String)> {
    let read = || Ok(fs::read_to_string(DEFAULT)?.trim_end().to_owned());
    let own = read().map(|algorithm| ("the own network namespace".to_owned(), algorithm));
    let others = every_other().map(|it| Ok((describe(it.inode), within(&it.file, read)?)));
    let all = std::iter::once(own).chain(others);
    let found = all.filter_map(|it: io::Result<(String, String)>| it.ok());
    found.filter(|(_, algorithm)| names.contains(&algorithm.as_str())).collect()
}
