//! The names of the cgroups by which connections are judged (`bpf/interface/span_sums.h`).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use kirikae_interface::SPAN_GROUP_LEVEL;

use crate::host::confinement;

/// Cgroups by their ids, down to the level of groups.
#[derive(Clone, Debug)]
pub struct CgroupNames {
    root: PathBuf,
    /// Whether all cgroups of the host are below it.
    is_whole: bool,
    names: BTreeMap<u64, String>,
}

impl CgroupNames {
    /// Of the hierarchy that is mounted there.
    pub fn below(root: PathBuf) -> CgroupNames {
        CgroupNames { is_whole: confinement(&root).is_none(), root, names: BTreeMap::new() }
    }

    /// The name of a cgroup of such a level: its path below the root, or "/" for the root itself; its number where it
    /// cannot be seen from here. None if it is gone.
    pub fn name(&mut self, id: u64) -> Option<String> {
        if self.names.get(&id).is_none_or(|name| self.id(name) != Some(id)) {
            self.names.clear();
            if let Some(root) = inode(&self.root) {
                self.names.insert(root, "/".into());
            }
            self.read(&PathBuf::new(), SPAN_GROUP_LEVEL);
        }
        let unseen = || (!self.is_whole).then(|| format!("number {id}"));
        self.names.get(&id).cloned().or_else(unseen)
    }

    /// The id of the cgroup that has this name now.
    pub fn id(&self, name: &str) -> Option<u64> {
        inode(&self.root.join(name.trim_start_matches('/')))
    }

    /// Reads so many levels. A cgroup that goes meanwhile is not missed.
    fn read(&mut self, below: &Path, levels: u32) {
        let Ok(entries) = fs::read_dir(self.root.join(below)) else { return };
        for entry in entries.flatten() {
            if !entry.file_type().is_ok_and(|it| it.is_dir()) {
                continue;
            }
            let path = below.join(entry.file_name());
            self.names.insert(entry.ino(), path.to_string_lossy().into_owned());
            if levels > 1 {
                self.read(&path, levels - 1);
            }
        }
    }
}

fn inode(directory: &Path) -> Option<u64> {
    fs::metadata(directory).ok().filter(|it| it.is_dir()).map(|it| it.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroups_are_named_down_to_the_level_of_groups() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("system.slice/web.service/below")).unwrap();
        fs::write(at("system.slice/cgroup.procs"), "").unwrap();
        let id = |name: &str| inode(&at(name)).unwrap();
        let part = CgroupNames::below(root.path().into());
        assert_eq!(part.clone().name(7).as_deref(), Some("number 7"));
        let mut names = CgroupNames { is_whole: true, ..part };
        assert_eq!(names.name(id("")).as_deref(), Some("/"));
        assert_eq!(names.id("/"), Some(id("")));
        let web = id("system.slice/web.service");
        assert_eq!(names.name(web).as_deref(), Some("system.slice/web.service"));
        assert_eq!(names.id("system.slice/web.service"), Some(web));
        assert_eq!(names.name(id("system.slice/web.service/below")), None);
        fs::rename(at("system.slice/web.service"), at("system.slice/x.service")).unwrap();
        assert_eq!(names.name(web).as_deref(), Some("system.slice/x.service"));
        fs::remove_dir_all(at("system.slice")).unwrap();
        assert_eq!((names.name(web), names.id("system.slice/x.service")), (None, None));
    }
}
