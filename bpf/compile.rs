//! Compiles a program of `bpf/` for the kernel.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

/// The clang that compiles them, which `KIRIKAE_CLANG` may name.
pub fn clang() -> OsString {
    println!("cargo::rerun-if-env-changed=KIRIKAE_CLANG");
    env::var_os("KIRIKAE_CLANG").unwrap_or_else(|| "clang".into())
}

/// Compiles a source to an object of the same name in `out`.
pub fn compile(bpf: &Path, source: &Path, out: &Path) -> PathBuf {
    let object = out.join(source.file_stem().expect("a file")).with_extension("bpf.o");
    SkeletonBuilder::new()
        .clang(clang())
        .source(source)
        .obj(&object)
        .clang_args([
            // 32-bit arithmetic and jumps, in the kernel since 5.1: a seventh fewer instructions.
            "-mcpu=v3".as_ref(),
            "-I".as_ref(),
            bpf.as_os_str(),
            "-Wall".as_ref(),
            "-Wextra".as_ref(),
            "-Wno-unused-parameter".as_ref(),
            "-Werror".as_ref(),
        ])
        .build()
        .unwrap_or_else(|error| panic!("{}: {error:?}", source.display()));
    object
}
