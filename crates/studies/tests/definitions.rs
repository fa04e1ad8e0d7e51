//! What study.toml says: refusals, and the README that follows from it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kirikae_studies::{STUDIES, Study, papers, readme};

fn studies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

/// What is said of a study's study.toml in which a text is replaced.
#[track_caller]
fn refused(name: &str, good: &str, bad: &str) -> String {
    let text = fs::read_to_string(studies().join(name).join("study.toml")).unwrap();
    assert!(text.contains(good), "{good}");
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(name)).unwrap();
    let file = directory.path().join(name).join("study.toml");
    fs::write(&file, text.replacen(good, bad, 1)).unwrap();
    let refusal = Study::named(name).unwrap().definition(directory.path()).unwrap_err();
    assert_eq!(refusal.file, file);
    assert!(refusal.line.is_some(), "{refusal}");
    refusal.to_string()
}

#[test]
fn each_directory_has_a_module() {
    let entries = fs::read_dir(studies()).unwrap().map(|entry| entry.unwrap());
    let directories = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let directories: BTreeSet<String> =
        directories.map(|entry| entry.file_name().into_string().unwrap()).collect();
    let modules: BTreeSet<String> = STUDIES.iter().map(|study| study.name.to_owned()).collect();
    assert_eq!(directories, modules, "left: studies/, right: STUDIES in crates/studies/src/lib.rs");
}

#[test]
fn readmes_say_what_study_toml_asks() {
    for study in STUDIES {
        let file = studies().join(study.name).join("README.md");
        let text = fs::read_to_string(&file).unwrap();
        let now = readme(&text, &study.definition(&studies()).unwrap());
        assert!(
            now.as_ref() == Some(&text),
            "{} is out of date; write it with: cargo run -p kirikae-studies --example readmes",
            file.display()
        );
    }
}

#[test]
fn criteria_are_those_that_the_module_computes() {
    let unknown = refused("handover", "key = \"order\"", "key = \"oder\"");
    let wanted = "criterion[1].key: found \"oder\"; allowed: throughputs, order, ";
    assert!(unknown.contains(wanted) && unknown.ends_with("(did you mean order?)"), "{unknown}");
    let twice = refused("handover", "key = \"order\"", "key = \"throughputs\"");
    assert!(twice.contains("criterion[1].key") && twice.contains("no other"), "{twice}");
    let missing = refused("reordering", "[[criterion]]\nkey = \"without-shortcut\"\nwhat = ", "# ");
    assert!(missing.contains("criterion: none has the key without-shortcut"), "{missing}");
}

#[test]
fn bounds_are_numbers_or_shares() {
    let share = refused("rtt-fairness", "16 of 18", "16 of 0");
    assert!(share.contains("].at-least") && share.contains("40 of 45"), "{share}");
    let both = refused("rtt-fairness", "at-least = 0", "at-least = 0\nbetween = [0, 1]");
    let turned = refused("rtt-fairness", "at-least = 0", "between = [1, 0]");
    assert!(turned.contains("criterion[0].between") && turned.contains("[0.9, 1.1]"), "{turned}");
    assert!(both.contains("criterion[0].between") && both.contains("one of them"), "{both}");
}

#[test]
fn names_are_those_that_the_module_uses() {
    let word = refused("rtt-fairness", "{queue}", "{queues}");
    assert!(word.contains("{queues}") && word.contains("allowed: a text, in braces: queue, gain"));
    let threshold = refused("handover", "within = 0.15", "witin = 0.15");
    assert!(threshold.contains("thresholds.witin") && threshold.contains("mean within?"));
    let none = refused("rtt-fairness", "scenarios", "thresholds = { x = 1 }\nscenarios");
    assert!(none.contains("thresholds"), "{none}");
    let file = refused("large-bdp", "\"efficiency.csv\"", "\"jumbo.csv\"");
    assert!(file.contains("published: efficiency.csv is missing"), "{file}");
    let gone = refused("large-bdp", "[explanations]\nmisprint = ", "# ");
    assert!(gone.contains("explanations: missing required key"), "{gone}");
    let cell = refused("handover", "[\"Repeated\", \"Immediate", "[\"Immediate");
    assert!(cell.contains("criterion[0].why-of") && cell.contains("a row and a column"), "{cell}");
}

/// What is said of a paper's file with this claim in it.
fn refused_claim(claim: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    for study in STUDIES {
        std::os::unix::fs::symlink(studies().join(study.name), directory.path().join(study.name))
            .unwrap();
    }
    let file = directory.path().join("oguchi-2016.toml");
    fs::write(
        &file,
        format!("title = \"A paper\"\n[[claim]]\nplace = \"1\"\nwhat = \"x\"\n{claim}\n"),
    )
    .unwrap();
    let refusal = papers(directory.path()).unwrap_err();
    assert_eq!(refusal.file, file);
    refusal.to_string()
}

#[test]
fn claims_are_judged_by_criteria_that_ask_something() {
    let unknown = refused_claim("criteria = [\"handover/oder\"]");
    assert!(unknown.contains(":5: claim[0].criteria[0]"), "{unknown}");
    let told = refused_claim("criteria = [\"thesis-tables/near\"]");
    assert!(told.contains("that asks something"), "{told}");
    let set = refused_claim("criteria = [\"thesis-wifi/cubic-mean\"]");
    assert!(set.contains("not set"), "{set}");
    let none = refused_claim("note = \"y\"");
    assert!(none.contains("one of criteria, shown-by and untested"), "{none}");
    let verdict = refused_claim("shown-by = \"README.md\"\nverdict = \"untested\"");
    assert!(verdict.contains("claim[0].verdict"), "{verdict}");
}

#[test]
fn what_shows_a_claim_is_in_the_repository() {
    let root = studies().join("..");
    for paper in papers(&studies()).unwrap() {
        for file in paper.shown_by() {
            let file = file.split_once('#').map_or(file, |(file, _)| file);
            assert!(root.join(file).exists(), "{file}");
        }
    }
}
