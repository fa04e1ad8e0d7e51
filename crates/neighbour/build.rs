//! Compiles the programs for the kernel.

use std::env;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (source, bpf) = (root.join("src/neighbour.bpf.c"), root.join("../../bpf"));
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-changed={}", bpf.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    SkeletonBuilder::new()
        .source(&source)
        .obj(out.join("neighbour.bpf.o"))
        .clang_args(["-I".as_ref(), bpf.as_os_str(), "-Wall".as_ref(), "-Werror".as_ref()])
        .build()
        .unwrap_or_else(|error| panic!("{}: {error:?}", source.display()));
}
