//! Compiles the C of `bpf/` natively: a new file in `bpf/algorithms/`, `bpf/stock/` or
//! `bpf/thesis/loss_differentiation/` is found here.

#[path = "../../bpf/algorithms.rs"]
mod algorithms;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use bindgen::callbacks::{DeriveTrait, ImplementsTrait, ParseCallbacks};

/// What is in the crate of its own consists of numbers, too.
#[derive(Debug)]
struct PlainData;

impl ParseCallbacks for PlainData {
    fn blocklisted_type_implements_trait(
        &self,
        _name: &str,
        _trait: DeriveTrait,
    ) -> Option<ImplementsTrait> {
        Some(ImplementsTrait::Yes)
    }
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bpf = root.join("../../bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let own = ["native.c", "native.h", "native_host.h", "twins"].map(|file| root.join(file));
    for path in own.iter().chain([&bpf]) {
        println!("cargo::rerun-if-changed={}", path.display());
    }

    let algorithms = algorithms::names(&bpf.join("algorithms"), ".bpf.c");
    let stock = algorithms::names(&bpf.join("stock"), ".c");
    let thesis = algorithms::names(&bpf.join("thesis/loss_differentiation"), ".c");

    let mut build = cc::Build::new();
    // What C leaves undefined ends a test at once; there is no run-time library to link.
    if env::var_os("CARGO_CFG_FUZZING").is_some() {
        // The fuzzer sees which branches of the C are taken; gcc cannot tell it.
        build.compiler("clang").flag("-fsanitize=fuzzer-no-link,undefined");
        build.flag("-fsanitize-trap=all");
    } else if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        build.flag("-fsanitize=undefined").flag("-fsanitize-undefined-trap-on-error");
    }
    build
        .file(root.join("native.c"))
        .files(algorithms.iter().map(|name| bpf.join(format!("algorithms/{name}.bpf.c"))))
        .files(stock.iter().map(|name| bpf.join(format!("stock/{name}.c"))))
        .files(thesis.iter().map(|name| bpf.join(format!("thesis/loss_differentiation/{name}.c"))))
        .files(["bbr", "bbr3"].map(|name| root.join(format!("twins/{name}.c"))))
        .include(&bpf)
        .include(root)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .flag("-Wno-unused-parameter")
        .compile("kirikae_bpf_native");

    let mut declarations = String::from("#include \"native.h\"\n");
    let mut list = String::from("&[\n");
    for name in &algorithms {
        declarations += &declaration(name);
        let source = bpf.join(format!("algorithms/{name}.bpf.c"));
        let source = fs::read_to_string(source).expect("a text");
        // Said by a map to the kernel, and by nothing natively; every such file drops it at its release.
        let large_state = source.contains("large_state_drop(");
        writeln!(list, "registration!(\"kk_{name}\", kk_{name}, kk_{name}_about, {large_state}),")
            .unwrap();
    }
    declarations.extend(stock.iter().map(|name| declaration(&format!("stock_{name}"))));
    list.push(']');
    fs::write(out.join("algorithms.rs"), list).expect("OUT_DIR is writable");

    let mut list = String::from("&[\n");
    for name in &thesis {
        declarations += &declaration(&format!("thesis_{name}"));
        writeln!(
            list,
            "registration!(\"{name}\", kk_thesis_{name}, kk_thesis_{name}_about, false),"
        )
        .unwrap();
    }
    list.push(']');
    fs::write(out.join("thesis.rs"), list).expect("OUT_DIR is writable");

    fs::write(out.join("headers.rs"), headers(&bpf)).expect("OUT_DIR is writable");

    bindgen::Builder::default()
        .header_contents("all.h", &declarations)
        .clang_args([format!("-I{}", root.display()), format!("-I{}", bpf.display())])
        .allowlist_item("kk_.*|tcp_ca_.*|TCP_.*|SK_PACING_.*|sk_pacing|tcp_sock|CA_EVENT_.*")
        .allowlist_item("ack_sample|rate_sample|connection|about|parameter|PARAMETERS_MAX")
        .allowlist_item(
            "LARGE_STATE_.*|TWINS_ALIKE|BOUNDED_RTO_MS|BPF_SOCK_OPS_.*|CALL_.*|call_record",
        )
        // What the agent exchanges with the kernel's side is in a crate of its own.
        .blocklist_type("latency_table|expectation|axis|thesis_table|thesis_points|thesis_columns")
        .blocklist_type("policy|rule|scope|hysteresis|address|match_key|ends|measured|columns")
        .blocklist_type("switch_event|burst_latencies|.*_flags|switch_reason")
        .blocklist_type("path_key|path_outcome|path_entry|path_set|bpf_spin_lock|warm_start")
        .blocklist_item("TCP_CA_NAME_MAX")
        .parse_callbacks(Box::new(PlainData))
        .derive_partialeq(true)
        .no_partialeq("tcp_congestion_ops")
        .derive_default(true)
        .generate_comments(false)
        .layout_tests(false)
        .generate()
        .expect("the headers of bpf/ are C")
        .write_to_file(out.join("c.rs"))
        .expect("OUT_DIR is writable");
}

/// The headers of `bpf/`, by their paths in it, for algorithms from outside.
fn headers(bpf: &Path) -> String {
    let mut folders = vec![bpf.to_owned()];
    let mut headers = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folders of bpf/ are there") {
            let path = entry.expect("readable entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "h") {
                headers.push(path);
            }
        }
    }
    headers.sort();
    let mut list = String::from("&[\n");
    for path in headers {
        let name = path.strip_prefix(bpf).expect("it is in there");
        writeln!(list, "({name:?}, include_str!({path:?})),").unwrap();
    }
    list + "]"
}

/// What ALGORITHM and ABOUT define.
fn declaration(variable: &str) -> String {
    format!(
        "extern const struct tcp_congestion_ops kk_{variable};
         extern const struct about kk_{variable}_about;\n"
    )
}
