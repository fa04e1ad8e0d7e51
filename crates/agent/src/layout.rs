//! The memory layout of `struct connection`. Another version may have its members in other places; the BTF of a map
//! says where they are.

use std::os::fd::AsRawFd;

use libbpf_rs::btf::types::{Array, Composite, Enum, Int, Struct};
use libbpf_rs::btf::{Btf, BtfType, HasSize, TypeId};
use libbpf_rs::query::BtfInfoIter;
use libbpf_rs::{MapCore, MapHandle};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd;

use crate::error::{Doing, Error};

/// `struct connection` of bpf/connection/connection.h.
const CONNECTION: &str = "connection";

/// Whether the values of a map have the layout of `struct connection` in this object: the same members, of the same
/// sizes, in the same places.
pub(crate) fn is_same(map: &MapHandle, object: &[u8]) -> Result<bool, Error> {
    let doing = || "comparing the layout of a map of connections".to_owned();
    let types = Btf::from_raw("layout", object).doing(doing)?;
    let types = types.expect("an object of ours has type information");
    let ours: Struct = types.type_by_name(CONNECTION).expect("it has a map of connections");
    let info = map.info().doing(doing)?.info;
    let Some(theirs) = BtfInfoIter::default().find(|it| it.id == info.btf_id) else {
        return Ok(false);
    };
    let theirs = parse(&theirs.btf).doing(doing)?;
    let values: Option<BtfType> = theirs.type_by_id(TypeId::from(info.btf_value_type_id));
    Ok(values.is_some_and(|values| layout(&theirs, values) == layout(&types, *ours)))
}

/// libbpf-rs reads BTF that is in no object from a file only.
fn parse(bytes: &[u8]) -> Result<Btf<'static>, Box<dyn std::error::Error>> {
    let file = memfd_create(c"kirikae-types", MFdFlags::MFD_CLOEXEC)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = &rest[unistd::write(&file, rest)?..];
    }
    Ok(Btf::from_path(format!("/proc/self/fd/{}", file.as_raw_fd()))?)
}

/// The members of a type with their sizes and places, whatever the types are called.
fn layout(types: &Btf, of: BtfType) -> String {
    let of = of.skip_mods_and_typedefs();
    if let Ok(number) = Int::try_from(of) {
        return format!("{:?} {}", number.encoding, number.bits);
    }
    if let Ok(values) = Enum::try_from(of) {
        return format!("enum {}", values.size());
    }
    if let Ok(array) = Array::try_from(of) {
        return format!("{} of {}", array.capacity(), layout(types, array.contained_type()));
    }
    let Ok(whole) = Composite::try_from(of) else { return format!("{:?}", of.kind()) };
    let mut members = format!("{} in all", whole.size());
    for member in (0..whole.len()).filter_map(|number| whole.get(number)) {
        let inside = types.type_by_id(member.ty).map(|inside| layout(types, inside));
        members += &format!(", {:?} {:?} ({inside:?})", member.name, member.attr);
    }
    members
}
