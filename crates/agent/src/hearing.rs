//! Connections of which the kernel does not tell the switcher any more, because another sock_ops program
//! has taken its callbacks (`bpf/switcher/core/hearing.h`).

use std::ops::AddAssign;
use std::os::fd::AsFd;
use std::time::Instant;

use libbpf_rs::{IterOpts, Link, MapHandle, MapIterOpts, Object};

use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};
use crate::iterator::read_lines;
use crate::namespaces::Namespaces;
use crate::object;
use crate::walks::{IteratorFile, LONGEST, Sum, Walker};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hearing.bpf.o"));

/// Connections whose callbacks another program had taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Connections for which the kernel was asked again for callbacks.
    pub asked_again: usize,
    /// Connections for which the kernel refused that. They stay as they are until they end.
    pub refused: usize,
}

impl Taken {
    /// Counts the lines, one for each connection, by the kernel's answer.
    fn printed(lines: &[u8]) -> Taken {
        let tally = |printed| lines.iter().filter(|&&byte| byte == printed).count();
        Taken { asked_again: tally(b'1'), refused: tally(b'0') }
    }
}

impl AddAssign for Taken {
    fn add_assign(&mut self, other: Taken) {
        self.asked_again += other.asked_again;
        self.refused += other.refused;
    }
}

/// The loaded iterators.
pub(crate) struct Hearing {
    unheard: Link,
    heard_again: IteratorFile,
    _object: Object,
}

impl Hearing {
    pub fn load(connections: &MapHandle) -> Result<Hearing, Error> {
        const DOING: &str = "loading what looks for callbacks that were taken";
        let object = object::load(OBJECT, DOING, |object| {
            object.keep_only(&[CONNECTIONS])?;
            object.share(CONNECTIONS, connections)
        })?;
        let attached = |name: &str, options| {
            let mut programs = object.progs_mut();
            let program = programs.find(|program| program.name() == name);
            let program = program.unwrap_or_else(|| panic!("hearing.bpf.c has the program {name}"));
            program.attach_iter_with_opts(options).doing(|| DOING.to_owned())
        };
        let of_map = IterOpts::Map(MapIterOpts::from_fd(connections.as_fd()));
        let unheard = attached("unheard", of_map)?;
        let heard_again = IteratorFile::hidden(&mut attached("heard_again", IterOpts::None)?)?;
        Ok(Hearing { unheard, heard_again, _object: object })
    }

    /// Asks again for callbacks that were taken, and says where that fails. If none were, this only walks through the
    /// remembered connections.
    pub fn ask_again(&self, walker: &mut Walker) -> Result<Sum<Taken>, Error> {
        if read_lines(&self.unheard).doing(|| "asking again for callbacks".to_owned())? == 0 {
            return Ok(Sum::default());
        }
        let until = Instant::now() + LONGEST;
        Ok(walker.sum(&self.heard_again, &Namespaces::Every, until, Taken::printed))
    }
}
