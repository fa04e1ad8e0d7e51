//! Generates Rust from the C that both sides share.

use std::env;
use std::path::{Path, PathBuf};

use bindgen::callbacks::{DeriveInfo, ParseCallbacks};

/// Headers of structs that are written for the kernel.
const WRITTEN: &[&str] = &[
    "policy",
    "rule",
    "scope",
    "hysteresis",
    "address",
    "latency_table",
    "expectation",
    "axis",
    "thesis_table",
    "thesis_points",
    "thesis_columns",
    "path_entry",
    "path_key",
    "path_outcome",
    "local_address",
    "stranded",
    "span_sums",
    "span_group",
    "span_group_key",
];

/// Headers of structs that are read, from the kernel or from what was written.
const READ: &[&str] = &[
    "listed",
    "stalled",
    "open_namespace",
    "waiting",
    "switch_event",
    "burst_latencies",
    "measured",
    "columns",
    "ends",
    "match_key",
    "warm_start",
    "path_set",
    "bpf_spin_lock",
];

const CONSTANTS: &str = "POLICY_.*|NO_SCOPE|CGROUP_LEVELS|TABLE_.*|SHARE_ONE|THESIS_.*|TCP_CA_NAME_MAX|OCTAVE\
                         |PROBABILITY_SHIFT|BURST_SIZES|LATENCY_.*|SMALLEST_BURST_LOG2\
                         |SHORTEST_LATENCY_LOG2|BURST_SIZE_LOG2|TREATMENTS|USUAL_.*|SCOPE_.*\
                         |REASON_.*|CONNECTION_.*|SPAN_.*|PATH_.*|RESUME_.*";

#[derive(Debug)]
struct Bytes;

impl ParseCallbacks for Bytes {
    fn add_derives(&self, info: &DeriveInfo) -> Vec<String> {
        let is_written = WRITTEN.contains(&info.name);
        let derives = ["FromBytes", "Immutable", "KnownLayout"].into_iter();
        let derives = derives.chain(is_written.then_some("IntoBytes"));
        let is_struct = is_written || READ.contains(&info.name);
        derives.filter(|_| is_struct).map(|name| format!("zerocopy::{name}")).collect()
    }
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bpf = root.join("../../bpf");
    for path in [&bpf, &root.join("interface.h")] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let mut builder = bindgen::Builder::default()
        .header(root.join("interface.h").display().to_string())
        .clang_arg(format!("-I{}", bpf.display()))
        // Comments are kept: they document the generated structs.
        .clang_arg("-fparse-all-comments")
        .allowlist_type(
            "scope_flags|switch_reason|connection_flags|resume_phase|path_count|refusal",
        )
        .allowlist_var(CONSTANTS)
        // A name consists of bytes, whatever the sign of a char is on this processor.
        .ctypes_prefix("crate::ctypes")
        .prepend_enum_name(false)
        .derive_default(true)
        .derive_partialeq(true)
        .derive_eq(true)
        .parse_callbacks(Box::new(Bytes));
    for name in WRITTEN.iter().chain(READ) {
        builder = builder.allowlist_type(name);
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    builder
        .generate()
        .expect("the headers of bpf/ are C")
        .write_to_file(out.join("interface.rs"))
        .expect("OUT_DIR is writable");
}
