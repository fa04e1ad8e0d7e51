//! Compiles what only the laboratory brings into the kernel: the switcher with the thesis' choice.

#[path = "../../bpf/compile.rs"]
mod compile;

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed={}", bpf.display());
    compile::compile(&bpf, &bpf.join("thesis/switcher.bpf.c"), &out);
}
