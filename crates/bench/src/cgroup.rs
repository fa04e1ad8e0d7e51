//! A cgroup of ours, to which the switcher is attached. Its senders join it.

use std::path::{Path, PathBuf};

use kirikae_emu::own_name;
use kirikae_results::While;

use crate::error::Error;

/// The role in the name of the cgroup. A process runs one comparison at a time.
const ROLE: &str = "bench";

/// A cgroup that is removed when this value is dropped; it must be empty by then.
pub struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Makes a cgroup named after this process, right below the root of the hierarchy.
    pub fn create() -> Result<Cgroup, Error> {
        let path = kirikae_agent::cgroup_root()?.join(own_name(0, ROLE));
        std::fs::create_dir(&path).during(|| format!("making cgroup {}", path.display()))?;
        Ok(Cgroup { path })
    }

    /// The directory of the cgroup.
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
