//! An object of `bpf/switcher/` before it is loaded: here its constants are set by their names, and its maps
//! are shared or left out.

use std::os::fd::AsFd;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Var};
use libbpf_rs::{MapHandle, Object, ObjectBuilder, OpenObject};
use zerocopy::{Immutable, IntoBytes};

use crate::error::{Doing, Error};
use crate::libbpf;

/// The section of constants. The verifier takes them to have the values that they are set to.
const CONSTANTS: &str = ".rodata";

pub(crate) struct Unloaded {
    bytes: &'static [u8],
    object: OpenObject,
    doing: &'static str,
}

/// Loads an object with what `prepare` sets. `doing` says in errors what the object is for.
pub(crate) fn load(
    bytes: &'static [u8],
    doing: &'static str,
    prepare: impl Fn(&mut Unloaded) -> Result<(), Error>,
) -> Result<Object, Error> {
    let open = || {
        let mut object = Unloaded::open(bytes, doing)?;
        prepare(&mut object)?;
        Ok(object.object)
    };
    libbpf::load(open, || doing.into())
}

impl Unloaded {
    fn open(bytes: &'static [u8], doing: &'static str) -> Result<Unloaded, Error> {
        let object = ObjectBuilder::default().open_memory(bytes).doing(|| doing.into())?;
        Ok(Unloaded { bytes, object, doing })
    }

    /// Sets a constant of the same type as the value.
    ///
    /// # Panics
    /// Panics if the object has no constant of this name.
    pub fn set(&mut self, constant: &str, value: impl IntoBytes + Immutable) -> Result<(), Error> {
        self.set_bytes(constant, value.as_bytes())
    }

    /// Sets a constant to a value of its type, as bytes.
    ///
    /// # Panics
    /// Panics if the object has no constant of this name.
    pub fn set_bytes(&mut self, constant: &str, value: &[u8]) -> Result<(), Error> {
        let offset = self.offset(constant)?;
        let mut maps = self.object.maps_mut();
        let map = maps.find(|map| map.name().to_string_lossy().ends_with(CONSTANTS));
        let mut map = map.expect("an object with a constant has the section of them");
        let section = map.initial_value_mut().expect("the section has a value");
        section[offset..][..value.len()].copy_from_slice(value);
        Ok(())
    }

    /// Makes room for so many entries in a map.
    pub fn resize(&mut self, name: &str, entries: u32) -> Result<(), Error> {
        let doing = self.doing;
        let mut own = self.object.maps_mut().filter(|own| own.name() == name);
        own.try_for_each(|mut own| own.set_max_entries(entries)).doing(|| doing.into())
    }

    /// The offset of a constant in its section, as the compiler describes it.
    fn offset(&self, constant: &str) -> Result<usize, Error> {
        let types = Btf::from_raw("constants", self.bytes).doing(|| self.doing.into())?;
        let types = types.expect("an object of ours has type information");
        let section: DataSec = types.type_by_name(CONSTANTS).expect("and constants");
        let named = |ty| {
            let variable: Option<Var> = types.type_by_id(ty);
            variable.and_then(|it| it.name().map(|name| name == constant)).unwrap_or(false)
        };
        let found = section.iter().find(|variable| named(variable.ty));
        Ok(found.unwrap_or_else(|| panic!("no constant {constant}")).offset as usize)
    }

    /// Uses an existing map in place of the object's own of that name.
    pub fn share(&mut self, name: &str, map: &MapHandle) -> Result<(), Error> {
        let doing = self.doing;
        for mut own in self.object.maps_mut().filter(|own| own.name() == name) {
            own.reuse_fd(map.as_fd()).doing(|| doing.into())?;
        }
        Ok(())
    }

    /// Creates no maps except these and that of the constants: no program that is loaded uses any other.
    pub fn keep_only(&mut self, names: &[&str]) -> Result<(), Error> {
        self.leave_out(|name| !names.contains(&name))
    }

    /// Does not create the maps that `is_needless` names: no program that is loaded uses them.
    pub fn leave_out(&mut self, is_needless: impl Fn(&str) -> bool) -> Result<(), Error> {
        let doing = self.doing;
        for mut map in self.object.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            if is_needless(&name) && !name.contains(CONSTANTS) {
                map.set_autocreate(false).doing(|| doing.into())?;
            }
        }
        Ok(())
    }
}
