//! How what is remembered of a connection lies in memory. Another version may have the same members in other places,
//! and a map tells in its type information how they are in it.

use std::os::fd::AsRawFd;

use libbpf_rs::btf::types::{Array, Composite, Enum, Int, Struct};
use libbpf_rs::btf::{Btf, BtfType, HasSize, TypeId};
use libbpf_rs::query::BtfInfoIter;
use libbpf_rs::{MapCore, MapHandle};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd;

use crate::error::{Doing, Error};

/// What is remembered of a connection (`bpf/connection/connection.h`).
const REMEMBERED: &str = "connection";

/// Whether the values of a map are laid out as this object knows what is remembered of a connection: the same members,
/// of the same sizes, in the same places.
pub(crate) fn is_known(map: &MapHandle, object: &[u8]) -> Result<bool, Error> {
    let doing = || "looking how what is remembered of connections is laid out".to_owned();
    let types = Btf::from_raw("layout", object).doing(doing)?;
    let types = types.expect("an object of ours has type information");
    let known: Struct = types.type_by_name(REMEMBERED).expect("it remembers connections");
    let info = map.info().doing(doing)?.info;
    let Some(theirs) = BtfInfoIter::default().find(|it| it.id == info.btf_id) else {
        return Ok(false);
    };
    let theirs = parse(&theirs.btf).doing(doing)?;
    let values: Option<BtfType> = theirs.type_by_id(TypeId::from(info.btf_value_type_id));
    Ok(values.is_some_and(|values| layout(&theirs, values) == layout(&types, *known)))
}

/// The library reads types that are in no object from a file alone.
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
    if let Ok(names) = Enum::try_from(of) {
        return format!("names {}", names.size());
    }
    if let Ok(row) = Array::try_from(of) {
        return format!("{} of {}", row.capacity(), layout(types, row.contained_type()));
    }
    let Ok(whole) = Composite::try_from(of) else { return format!("{:?}", of.kind()) };
    let mut members = format!("{} in all", whole.size());
    for member in (0..whole.len()).filter_map(|number| whole.get(number)) {
        let inside = types.type_by_id(member.ty).map(|inside| layout(types, inside));
        members += &format!(", {:?} {:?} ({inside:?})", member.name, member.attr);
    }
    members
}
