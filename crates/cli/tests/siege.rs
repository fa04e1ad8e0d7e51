//! `scripts/siege`, for some rounds: the agent starts, stops and restores beside tenants that attack it.
//!
//! It needs root.

mod common;

use std::path::Path;
use std::process::Command;

use common::privileged;

#[test]
fn the_agent_lives_beside_tenants_that_attack_it() {
    if !privileged() {
        return;
    }
    let siege = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/siege");
    let mut command = Command::new(siege);
    let command = command.args(["--rounds", "6", "--seed", "1", "--kirikae"]);
    let done = command.arg(env!("CARGO_BIN_EXE_kirikae")).output().unwrap();
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{}{}", told(&done.stdout), told(&done.stderr));
}
