//! The guest's file system: a cpio archive ("newc") that the kernel unpacks into memory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use goblin::elf::Elf;

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;

/// An archive being written.
#[derive(Default)]
pub struct Initramfs {
    archive: Vec<u8>,
    names: BTreeSet<PathBuf>,
}

impl Initramfs {
    /// A directory and those above it, unless they are there.
    pub fn directory(&mut self, path: &Path) {
        let mut above: Vec<_> = path.ancestors().collect();
        above.reverse();
        for directory in above {
            if directory.parent().is_some() && self.names.insert(directory.to_owned()) {
                self.entry(directory, DIRECTORY, &[]);
            }
        }
    }

    /// A file with the directories above it, unless it is there.
    pub fn file(&mut self, path: &Path, content: &[u8]) {
        self.place(path, PROGRAM, content);
    }

    pub fn link(&mut self, path: &Path, target: &str) {
        self.place(path, LINK, target.as_bytes());
    }

    /// A program as `path`, with its loader and the libraries that it is linked to, where they are below
    /// `root`.
    pub fn program(&mut self, path: &Path, program: &Path, root: &Path) -> anyhow::Result<()> {
        let content = read(program)?;
        let elf = Elf::parse(&content).with_context(|| program.display().to_string())?;
        let mut wanted: Vec<PathBuf> = elf.interpreter.map(PathBuf::from).into_iter().collect();
        let mut linked: Vec<String> = elf.libraries.iter().map(|&name| name.to_owned()).collect();
        self.file(path, &content);
        while let Some(library) = linked.pop() {
            let place = library_directories()
                .map(|directory| directory.join(&library))
                .find(|place| below(root, place).exists())
                .with_context(|| format!("{} needs {library}", program.display()))?;
            if !wanted.contains(&place) {
                let content = read(&below(root, &place))?;
                let elf = Elf::parse(&content).with_context(|| place.display().to_string())?;
                linked.extend(elf.libraries.iter().map(|&name| name.to_owned()));
                wanted.push(place);
            }
        }
        for place in &wanted {
            self.file(place, &read(&below(root, place))?);
        }
        Ok(())
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(Path::new("/TRAILER!!!"), 0, &[]);
        self.archive
    }

    fn place(&mut self, path: &Path, mode: u32, content: &[u8]) {
        self.directory(path.parent().expect("below the root"));
        if self.names.insert(path.to_owned()) {
            self.entry(path, mode, content);
        }
    }

    fn entry(&mut self, path: &Path, mode: u32, content: &[u8]) {
        let name = path.strip_prefix("/").expect("from the root").to_str().expect("plain names");
        let inode = self.names.len() as u32;
        let size = u32::try_from(content.len()).expect("files below 4 GB");
        let (links, name_size) = (1, name.len() as u32 + 1);
        let header = [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0]
            .map(|n| format!("{n:08x}"));
        self.archive.extend(b"070701");
        self.archive.extend(header.concat().bytes());
        self.archive.extend(name.bytes());
        self.archive.push(0);
        self.pad();
        self.archive.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.archive.resize(self.archive.len().next_multiple_of(4), 0);
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("reading {}", file.display()))
}

/// The path here of a file below another root.
pub fn below(root: &Path, file: &Path) -> PathBuf {
    root.join(file.strip_prefix("/").unwrap_or(file))
}

/// The directories in which loaders look by default, with Debian's names of architectures and without.
fn library_directories() -> impl Iterator<Item = PathBuf> {
    let plain = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from);
    let named = ["aarch64-linux-gnu", "x86_64-linux-gnu"]
        .into_iter()
        .flat_map(|name| ["/lib", "/usr/lib"].map(|lib| Path::new(lib).join(name)));
    named.chain(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_is_there_once_after_its_directory() {
        let mut initramfs = Initramfs::default();
        initramfs.file(Path::new("/a/b/c"), b"hello");
        initramfs.file(Path::new("/a/b/c"), b"again");
        initramfs.link(Path::new("/a/l"), "b");
        let archive = initramfs.finish();
        assert_eq!(archive.len() % 4, 0);
        let text = String::from_utf8(archive).unwrap();
        let places = ["a/b\0", "a/b/c\0", "hello", "a/l\0", "TRAILER!!!\0"];
        let places = places.map(|piece| text.find(piece));
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?}");
        assert_eq!(text.matches("070701").count(), 5);
        assert!(!text.contains("again"));
    }
}
