//! Names the program that has a cgroup for itself.
//!
//! Beside a sock_ops program that was attached to a cgroup, or to one above it, without BPF_F_ALLOW_MULTI the kernel
//! attaches no other, and says EPERM. What is attached by a link always allows others.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use libbpf_rs::ProgramType;
use libbpf_rs::query::{LinkInfoIter, ProgInfoIter, ProgramInfo};

use crate::error::Error;

/// Why the kernel has refused to attach the switcher, which has the number `own`. None if no program is found that can
/// be in its way.
pub(crate) fn refusal(cgroup: &Path, own: u32) -> Option<Error> {
    let linked: HashSet<u32> = LinkInfoIter::default().map(|link| link.prog_id).collect();
    let is_in_the_way = |program: &ProgramInfo| {
        program.ty == ProgramType::SockOps && program.id != own && !linked.contains(&program.id)
    };
    let programs: Vec<String> =
        ProgInfoIter::default().filter(is_in_the_way).map(|program| describe(&program)).collect();
    (!programs.is_empty()).then(|| {
        Error::Missing(format!(
            "another sock_ops program has cgroup {}, or one above it, for itself (it was attached without \
             BPF_F_ALLOW_MULTI), so that the kernel lets no other in: {}. End it, have it attached so that it \
             allows others, or name a cgroup beside its own with --cgroup; `bpftool cgroup tree` tells where it is",
            cgroup.display(),
            programs.join("; or ")
        ))
    })
}

fn describe(program: &ProgramInfo) -> String {
    let holders = holders(program.id);
    let held = match holders.as_slice() {
        [] => "held by no process".to_owned(),
        some => format!("held by process {}", some.join(", ")),
    };
    let (id, name, user) = (program.id, program.name.to_string_lossy(), program.created_by_uid);
    format!("program {id}, {name:?}, loaded by user {user} and {held}")
}

/// The processes that have a descriptor of a program, each with its name.
fn holders(program: u32) -> Vec<String> {
    let line = format!("prog_id:\t{program}");
    let entries = |directory: &Path| {
        fs::read_dir(directory).into_iter().flatten().filter_map(|it| Some(it.ok()?.path()))
    };
    let holds = |process: &Path| {
        let mut descriptors = entries(&process.join("fdinfo"));
        descriptors
            .any(|it| fs::read_to_string(it).is_ok_and(|text| text.lines().any(|it| it == line)))
    };
    let named = |process: &Path| {
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        format!("{} ({})", process.file_name().unwrap_or_default().display(), name.trim_end())
    };
    entries(Path::new("/proc")).filter(|it| holds(it)).map(|it| named(&it)).collect()
}
