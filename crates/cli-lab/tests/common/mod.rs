//! What the tests of the laboratory's command line share.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use kirikae_checks::{Need, can_run, has};
use nix::sys::signal::Signal;

/// The program under test.
#[allow(dead_code)]
pub fn lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kirikae-lab"))
}

/// Whether the host has what live switching needs, and what paths are emulated with.
#[allow(dead_code)]
pub fn privileged_with_paths() -> bool {
    has(Need::Bpf, kirikae_agent::requirements()) && can_run(&[Need::Tun])
}

/// Waits until a process handles a signal, which would end it before.
#[allow(dead_code)]
pub fn wait_for_handler(process: u32, signal: Signal) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
        if caught & (1 << (signal as u64 - 1)) != 0 {
            return;
        }
        assert!(Instant::now() < deadline, "{signal} is not handled");
        thread::sleep(Duration::from_millis(5));
    }
}
