//! Compiles a program of `bpf/` for the kernel.

use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

/// Compiles a source to an object of the same name in `out`.
pub fn compile(bpf: &Path, source: &Path, out: &Path) -> PathBuf {
    let object = out.join(source.file_stem().expect("a file")).with_extension("bpf.o");
    SkeletonBuilder::new()
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
