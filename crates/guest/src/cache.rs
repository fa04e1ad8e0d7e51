//! What was downloaded stays with the user, so that a clean clone finds what another has brought.

use std::env;
use std::path::PathBuf;

use anyhow::Context;

/// Where it is kept; it need not exist.
pub fn directory() -> anyhow::Result<PathBuf> {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    let caches = caches.context("neither XDG_CACHE_HOME nor HOME says where the cache is")?;
    Ok(caches.join("kirikae"))
}
