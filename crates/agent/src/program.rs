//! The switcher's program.

use zerocopy::{Immutable, IntoBytes};

/// What servers run.
const SHIPPED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/switcher.bpf.o"));

/// The switcher's program: what servers run, or one that has this in it and more beside.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) object: &'static [u8],
    /// Constants by their names, as bytes.
    pub(crate) constants: Vec<(&'static str, Vec<u8>)>,
}

impl Program {
    /// What servers run.
    pub fn shipped() -> Program {
        Program::of(SHIPPED)
    }

    /// The program of an object that has everything `bpf/switcher/programs/switcher.bpf.c` has.
    pub fn of(object: &'static [u8]) -> Program {
        Program { object, constants: Vec::new() }
    }

    /// Sets a constant of the same type as the value. Loading the program panics if it has no constant of
    /// this name.
    #[must_use]
    pub fn with(mut self, constant: &'static str, value: &(impl IntoBytes + Immutable)) -> Program {
        self.constants.push((constant, value.as_bytes().to_vec()));
        self
    }
}
