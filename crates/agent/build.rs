//! Compiles everything in `bpf/` for the kernel: a new file in `bpf/algorithms/` is found here.

#[path = "../../bpf/algorithms.rs"]
mod algorithms;
#[path = "../../bpf/compile.rs"]
mod compile;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use compile::{clang, compile};

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

    println!("cargo::rustc-env=KIRIKAE_BPF_COMPILER={}", compiler(&clang()));
    let rustc = env::var_os("RUSTC").expect("cargo sets RUSTC");
    println!("cargo::rustc-env=KIRIKAE_COMPILER={}", compiler(&rustc));
}

/// Name and version, as a compiler says them.
fn compiler(program: &OsStr) -> String {
    let said = Command::new(program).arg("--version").output();
    let said = said.unwrap_or_else(|error| panic!("{} --version: {error}", program.display()));
    String::from_utf8_lossy(&said.stdout).lines().next().unwrap_or_default().to_owned()
}
