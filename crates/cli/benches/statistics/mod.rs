//! The kernel's statistics of BPF programs (bpf_stats).
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd};

use libbpf_rs::libbpf_sys::{BPF_STATS_RUN_TIME, bpf_enable_stats};

/// The kernel counts for as long as the descriptor is open.
pub fn count_run_time() -> OwnedFd {
    // SAFETY: a system call without pointers.
    let descriptor = unsafe { bpf_enable_stats(BPF_STATS_RUN_TIME) };
    assert!(descriptor >= 0, "no statistics: {}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is new and ours.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}
