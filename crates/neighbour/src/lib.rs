//! Other sock_ops programs, for tests to attach beside the switcher: some take its callbacks, some choose
//! algorithms themselves, one does nothing.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use libbpf_rs::libbpf_sys::{BPF_CGROUP_SOCK_OPS, bpf_prog_attach, bpf_prog_detach2};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, Result};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/neighbour.bpf.o"));

/// What a neighbour does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// When a connection is established, sets the callback for changes of state in place of all others.
    TakesCallbacksOnce,
    /// When a connection is established, and with each round trip, sets that for round trips in place of all others.
    TakesCallbacks,
    /// Chooses reno when a connection is established.
    ChoosesOnce,
    /// Chooses reno with each round trip.
    Chooses,
    /// Nothing.
    Idles,
}

impl Habit {
    fn program(self) -> &'static str {
        match self {
            Habit::TakesCallbacksOnce => "takes_callbacks_once",
            Habit::TakesCallbacks => "takes_callbacks",
            Habit::ChoosesOnce => "chooses_once",
            Habit::Chooses => "chooses",
            Habit::Idles => "idles",
        }
    }
}

/// A program on a cgroup, until it is dropped.
pub struct Neighbour {
    object: Object,
    _link: Link,
}

impl Neighbour {
    /// On one cgroup programs run in the order in which they were attached, before those of a cgroup above.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn attach(habit: Habit, cgroup: &Path) -> Result<Neighbour> {
        let object = ObjectBuilder::default().open_memory(OBJECT)?.load()?;
        let directory = File::open(cgroup)?;
        let mut programs = object.progs_mut();
        let program = programs.find(|program| program.name() == habit.program());
        let program = program.expect("neighbour.bpf.c has a program for each habit");
        let link = program.attach_cgroup(directory.as_raw_fd())?;
        drop(programs);
        Ok(Neighbour { object, _link: link })
    }

    /// How often the kernel called it for what it has asked for.
    ///
    /// # Errors
    /// Fails if the kernel does not tell.
    pub fn calls(&self) -> Result<u64> {
        let mut maps = self.object.maps();
        let counts = maps.find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let counts = counts.expect("what is counted is in a map");
        let bytes = counts.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?.expect("it has one value");
        Ok(u64::from_ne_bytes(bytes[..8].try_into().expect("a u64")))
    }
}

/// A program that does nothing and has a cgroup for itself, as those that were attached without a link and without
/// BPF_F_ALLOW_MULTI do; until it is dropped.
pub struct Exclusive {
    object: Object,
    directory: File,
}

impl Exclusive {
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn attach(cgroup: &Path) -> Result<Exclusive> {
        let object = ObjectBuilder::default().open_memory(OBJECT)?.load()?;
        let exclusive = Exclusive { object, directory: File::open(cgroup)? };
        let (program, directory) = exclusive.descriptors();
        // SAFETY: it takes numbers alone.
        let attached = unsafe { bpf_prog_attach(program, directory, BPF_CGROUP_SOCK_OPS, 0) };
        if attached == 0 {
            Ok(exclusive)
        } else {
            Err(io::Error::from_raw_os_error(-attached).into())
        }
    }

    fn descriptors(&self) -> (i32, i32) {
        let mut programs = self.object.progs_mut();
        let program = programs.find(|program| program.name() == Habit::Idles.program());
        let program = program.expect("neighbour.bpf.c has it");
        (program.as_fd().as_raw_fd(), self.directory.as_raw_fd())
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        let (program, directory) = self.descriptors();
        // SAFETY: as above. A cgroup that is gone has no program.
        unsafe { bpf_prog_detach2(program, directory, BPF_CGROUP_SOCK_OPS) };
    }
}
