//! What the fuzzer found worth keeping, and what once broke something.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use kirikae_fuzzed::TARGETS;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = directory.read_dir().unwrap_or_else(|it| panic!("{}: {it}", directory.display()));
    let name = |entry: Result<fs::DirEntry, _>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn each_target_has_a_program_and_a_corpus() {
    let targets = TARGETS.map(|target| target.name);
    assert!(targets.is_sorted(), "{targets:?}");
    assert_eq!(names(&fuzz().join("corpus")), targets, "folders of fuzz/corpus/");
    let programs = targets.map(|name| format!("{name}.rs"));
    assert_eq!(names(&fuzz().join("fuzz_targets")), programs, "files of fuzz/fuzz_targets/");
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    let makefile = fs::read_to_string(fuzz().join("../Makefile")).unwrap();
    for name in targets {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} in fuzz/Cargo.toml");
        assert!(makefile.contains(&format!("fuzz-{name}")), "{name} in `make fuzz`");
    }
}

#[test]
fn no_corpus_breaks_anything() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let corpus = fuzz().join("corpus").join(target.name);
        let files = names(&corpus);
        assert!(!files.is_empty(), "nothing in {}", corpus.display());
        for file in files {
            let bytes = fs::read(corpus.join(&file)).unwrap();
            // The others are played all the same; libtest shows what each says.
            if catch_unwind(|| (target.play)(&bytes)).is_err() {
                broken.push(format!("{}/{file}", target.name));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}
