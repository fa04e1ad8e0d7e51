//! The path memory in the kernel, as its entries are (`bpf/interface/path_memory.h`).

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;

use kirikae_interface::{PATH_WAYS, path_entry, path_key, path_set};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ProgramInput};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::error::{Doing, Error};
use crate::namespaces::own_namespace;
use crate::object::{self, Unloaded};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/paths.bpf.o"));

/// The map of the sets.
pub(crate) const SETS: &str = "path_sets";

/// How many entries the memory may have: 64 MiB of them at most.
pub const PATHS: RangeInclusive<u32> = PATH_WAYS..=1_000_000;

/// How many entries the memory has if nothing is said: a MiB of them.
pub const DEFAULT_PATHS: u32 = 16_384;

/// How many sets are read at once.
const AT_ONCE: u32 = 4096;

/// How keys are spread over the sets. All programs that use the memory have to know the same.
pub(crate) struct PathSets {
    count: u32,
    secret: [u8; size_of::<u64>()],
    own_namespace: u32,
}

impl PathSets {
    /// Sets with room for that many entries, half of them for our own network namespace alone, and a new secret.
    pub fn new(entries: u32) -> Result<PathSets, Error> {
        let mut secret = [0; size_of::<u64>()];
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut secret));
        read.doing(|| "making up the path memory's secret".to_owned())?;
        let own_namespace =
            own_namespace().doing(|| "asking for our network namespace".to_owned())?;
        Ok(PathSets { count: entries.div_ceil(PATH_WAYS), secret, own_namespace })
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    /// Tells an object's programs.
    pub fn set_in(&self, object: &mut Unloaded) -> Result<(), Error> {
        object.set("path_sets_count", self.count)?;
        object.set("path_own_namespace", self.own_namespace)?;
        object.set("path_secret", self.secret)
    }
}

/// The entries, and the programs that change them.
pub(crate) struct PathMemory {
    sets: MapHandle,
    count: u32,
    object: Object,
}

impl PathMemory {
    /// Loads the programs that change these sets.
    pub fn load(sets: MapHandle, spread: &PathSets) -> Result<PathMemory, Error> {
        let object = object::load(OBJECT, "loading the path memory's programs", |object| {
            spread.set_in(object)?;
            object.share(SETS, &sets)?;
            object.keep_only(&[SETS])
        })?;
        Ok(PathMemory { sets, count: spread.count, object })
    }

    /// How many entries there may be.
    pub fn room(&self) -> u32 {
        self.count * PATH_WAYS
    }

    /// Every entry that there is. Each is whole, and no two need to be of the same moment.
    pub fn entries(&self) -> Result<Vec<path_entry>, Error> {
        let doing = || "reading the path memory".to_owned();
        let batches =
            self.sets.lookup_batch(AT_ONCE, MapFlags::LOCK, MapFlags::ANY).doing(doing)?;
        let mut entries = Vec::new();
        let mut sets = 0;
        for (_, bytes) in batches {
            let set = path_set::ref_from_bytes(&bytes).map_err(|error| error.to_string());
            let ways = set.doing(doing)?.way.iter();
            entries.extend(ways.filter(|entry| entry.key.network != 0).cloned());
            sets += 1;
        }
        // The library ends the row where the kernel refuses.
        if sets < self.count {
            return Err(format!("{sets} of {} sets could be read", self.count)).doing(doing);
        }
        Ok(entries)
    }

    /// Remembers an entry, unless something newer is known in its place. Returns whether it did.
    pub fn remember(&self, entry: &path_entry) -> Result<bool, Error> {
        self.run("remember_path", entry)
    }

    /// Forgets what is known of a path. Returns whether there was anything.
    pub fn forget(&self, key: &path_key) -> Result<bool, Error> {
        self.run("forget_path", key)
    }

    fn run(&self, name: &str, packet: &(impl IntoBytes + Immutable)) -> Result<bool, Error> {
        let doing = || "changing the path memory".to_owned();
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let program = program.unwrap_or_else(|| panic!("paths.bpf.c has the program {name}"));
        let input = ProgramInput { data_in: Some(packet.as_bytes()), ..ProgramInput::default() };
        Ok(program.test_run(input).doing(doing)?.return_value == 1)
    }
}
