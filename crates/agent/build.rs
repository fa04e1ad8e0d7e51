//! Compiles everything in `bpf/` for the kernel: a new file in `bpf/algorithms/` is found here.

#[path = "../../bpf/algorithms.rs"]
mod algorithms;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use libbpf_cargo::SkeletonBuilder;

fn main() {
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed={}", bpf.display());

    let algorithms = algorithms::names(&bpf.join("algorithms"), ".bpf.c");

    let mut list = String::from("&[\n");
    for name in &algorithms {
        let object = compile(&bpf, &bpf.join(format!("algorithms/{name}.bpf.c")), &out);
        writeln!(
            list,
            "Source {{ name: \"kk_{name}\", object: include_bytes!({:?}) }},",
            object.display().to_string()
        )
        .expect("writing to a string");
    }
    list.push(']');
    fs::write(out.join("algorithms.rs"), list).expect("OUT_DIR is writable");

    let programs = bpf.join("switcher/programs");
    for program in algorithms::names(&programs, ".bpf.c") {
        compile(&bpf, &programs.join(format!("{program}.bpf.c")), &out);
    }
    let wrapper = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/reno_wrapper.bpf.c");
    println!("cargo::rerun-if-changed={}", wrapper.display());
    compile(&bpf, &wrapper, &out);
}

/// Compiles a source to an object of the same name in `out`.
fn compile(bpf: &Path, source: &Path, out: &Path) -> PathBuf {
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
