//! Tests a cgroup that another sock_ops program has for itself: the agent says whose it is, and systemd does not start
//! it again and again.

mod common;

use std::path::Path;
use std::process::Command;

use kirikae_neighbour::Exclusive;

use common::{OwnCgroup, privileged};

/// What `kirikae run` ends with on this cgroup. It would not end if it began.
fn refused(cgroup: &Path) -> String {
    let mut run = Command::new("timeout");
    run.args(["30", env!("CARGO_BIN_EXE_kirikae"), "run", "--cgroup"]).arg(cgroup);
    let output = run.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{told}");
    told
}

#[test]
fn who_has_the_cgroup_for_itself_is_told() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let below = cgroup.enter_below("below");
    let exclusive = Exclusive::attach(&cgroup.path).unwrap();
    let holder = format!("held by process {} (", std::process::id());
    for refused_at in [&cgroup.path, &below.path] {
        let told = refused(refused_at);
        for said in ["for itself", "\"idles\"", holder.as_str(), "bpftool cgroup tree"] {
            assert!(told.contains(said), "{said}: {told}");
        }
    }
    drop(exclusive);
}
