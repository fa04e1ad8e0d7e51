//! Iterators as files.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libbpf_rs::Link;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::error::{Doing, Error};

/// A pinned iterator. Opened, it runs over the sockets of the network namespace of the thread that has opened it, in
/// whatever process reads it.
#[derive(Clone)]
pub(crate) struct IteratorFile {
    path: PathBuf,
    _directory: Option<Arc<Directory>>,
}

impl IteratorFile {
    /// One that is pinned there.
    pub fn at(path: PathBuf) -> IteratorFile {
        IteratorFile { path, _directory: None }
    }

    /// Pins an iterator where nobody else can see it, for as long as this lives.
    pub fn hidden(link: &mut Link) -> Result<IteratorFile, Error> {
        let directory = Directory::mount().doing(|| "mounting a BPF file system".into())?;
        let path = directory.path().join("iterator");
        link.pin(&path).doing(|| "pinning an iterator".into())?;
        Ok(IteratorFile { path, _directory: Some(Arc::new(directory)) })
    }

    /// Opens it in the network namespace of the calling thread.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// Runs it through in this thread, and returns what it printed. No lock of a socket may be waited for here.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut printed = Vec::new();
        self.open()?.read_to_end(&mut printed)?;
        Ok(printed)
    }
}

/// A BPF file system that is mounted nowhere. It ends with the process.
pub(crate) struct Directory(OwnedFd);

impl Directory {
    pub fn mount() -> io::Result<Directory> {
        let made = fsopen("bpf", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&made)?;
        let flags = FsMountFlags::FSMOUNT_CLOEXEC;
        Ok(Directory(fsmount(&made, flags, MountAttrFlags::empty())?))
    }

    pub fn path(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.0.as_raw_fd().to_string())
    }
}
