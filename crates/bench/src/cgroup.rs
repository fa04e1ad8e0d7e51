//! A cgroup of ours, to which the switcher is attached, with one inside it for each scope. Senders join the
//! one of their scope.

use std::io;
use std::path::{Path, PathBuf};

use kirikae_emu::own_name;
use kirikae_results::While;

use crate::error::Error;
use crate::progress::tell;

/// The role in the name of the cgroup. A process runs one comparison at a time.
const ROLE: &str = "bench";

/// Cgroups that are removed when this value is dropped; they must be empty by then.
pub struct Cgroup {
    path: PathBuf,
    scopes: Vec<PathBuf>,
}

impl Cgroup {
    /// Makes a cgroup named after this process, right below the root of the hierarchy, with one inside for
    /// each of so many scopes.
    pub fn create(scopes: usize) -> Result<Cgroup, Error> {
        let path = kirikae_agent::cgroup_root()?.join(own_name(0, ROLE));
        let make = |path: &Path| {
            std::fs::create_dir(path).during(|| format!("making cgroup {}", path.display()))
        };
        make(&path)?;
        let mut cgroup = Cgroup { path, scopes: Vec::new() };
        for number in 0..scopes {
            let scope = cgroup.path.join(format!("scope-{number}"));
            make(&scope)?;
            cgroup.scopes.push(scope);
        }
        Ok(cgroup)
    }

    /// The directory of the cgroup that holds the others.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directories of those of the scopes.
    pub fn scopes(&self) -> &[PathBuf] {
        &self.scopes
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tell(format_args!("cannot remove cgroup {}: {error}", self.path.display()));
        }
    }
}

/// Removes a cgroup of ours with those inside it.
///
/// # Errors
/// Fails if a process is in one of them.
pub fn remove(path: &Path) -> io::Result<()> {
    for inside in std::fs::read_dir(path)? {
        let inside = inside?;
        if inside.file_type()?.is_dir() {
            std::fs::remove_dir(inside.path())?;
        }
    }
    std::fs::remove_dir(path)
}
