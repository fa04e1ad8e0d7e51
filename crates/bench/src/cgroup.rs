//! A cgroup of ours, which the switcher is attached to and its senders join.

use std::path::{Path, PathBuf};

use kirikae_emu::own_name;
use kirikae_results::While;

use crate::error::Error;

/// The role in the name of the cgroup; a process runs one comparison at a time.
const ROLE: &str = "bench";

/// A cgroup that is removed with this value, by when it must be empty.
pub struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Makes one, named after this process, right below the root of the hierarchy.
    pub fn create() -> Result<Cgroup, Error> {
        let path = kirikae_agent::cgroup_root()?.join(own_name(0, ROLE));
        std::fs::create_dir(&path).during(|| format!("making cgroup {}", path.display()))?;
        Ok(Cgroup { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir(&self.path) {
            eprintln!("cannot remove cgroup {}: {error}", self.path.display());
        }
    }
}
