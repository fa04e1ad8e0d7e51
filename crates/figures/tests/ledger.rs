//! Figures beside what they were: worse, better, new, and without a value; and how they are kept.

use std::fs;
use std::path::Path;
use std::process::Command;

use kirikae_figures::bound::Bound;
use kirikae_figures::commit;
use kirikae_figures::kept::Kept;
use kirikae_figures::measured::{Figure, Value};
use kirikae_figures::report::Report;
use kirikae_figures::verdict::Verdict;

fn figure(name: &str, bound: Bound, value: f64) -> Figure {
    let value = Ok(Value { value, half_width: 0.02 });
    Figure { name: name.into(), bound, value, scenario: "A path".into() }
}

fn kept(text: &str) -> anyhow::Result<Kept> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), format!("commit;date;figure;value;half_width\n{text}")).unwrap();
    Kept::read(file.path())
}

#[test]
fn worse_is_more_than_the_noise_of_both() {
    let kept = kept("aaa;2026-01-01;a;1.5;0.1\nbbb;2026-01-02;a;1;0.03\n").unwrap();
    let verdict = |bound, value| Verdict::of(&figure("a", bound, value), &kept);
    // The last row counts; its noise and ours are 0.05.
    for (value, most, least) in [
        (1.04, Verdict::Same, Verdict::Same),
        (0.96, Verdict::Same, Verdict::Same),
        (1.06, Verdict::Worse, Verdict::Better),
        (0.94, Verdict::Better, Verdict::Worse),
    ] {
        // What is wanted does not matter.
        assert_eq!(verdict(Bound::AtMost(2.0), value), most, "{value}");
        assert_eq!(verdict(Bound::AtMost(0.5), value), most, "{value}");
        assert_eq!(verdict(Bound::AtLeast(1.0), value), least, "{value}");
    }
    assert_eq!(Verdict::of(&figure("b", Bound::AtMost(1.0), 9.0), &kept), Verdict::New);
}

#[test]
fn what_agrees_by_chance_has_some_noise() {
    let kept = kept("aaa;2026-01-01;a;1;0\n").unwrap();
    let verdict = |value| {
        let value = Ok(Value { value, half_width: 0.0 });
        Verdict::of(&Figure { value, ..figure("a", Bound::AtMost(1.0), 0.0) }, &kept)
    };
    assert_eq!((verdict(1.004), verdict(1.006)), (Verdict::Same, Verdict::Worse));
}

#[test]
fn a_fall_that_brings_its_own_noise_is_a_fall() {
    let kept = kept("aaa;2026-01-01;a;1.1;0.01\n").unwrap();
    let verdict = |value| {
        let value = Ok(Value { value, half_width: 12.0 });
        Verdict::of(&Figure { value, ..figure("a", Bound::AtMost(1.0), 0.0) }, &kept)
    };
    assert_eq!((verdict(10.0), verdict(1.2)), (Verdict::Worse, Verdict::Same));
}

#[test]
fn a_fall_fails_and_is_named_and_a_shortfall_is_only_counted() {
    let kept = kept("abc123;2026-01-01;falls;1;0\nabc123;2026-01-01;short;2;0\n").unwrap();
    let most = Bound::AtMost(1.15);
    let short = figure("short", most, 2.0);
    let report = Report::of(&[short.clone(), figure("new", most, 1.0)], &kept);
    assert_eq!((report.failing, report.short), (0, 1));
    assert!(report.text().contains("2 figures: 0 worse, 0 better, 1 the same, 1 new, 0 without"));

    let late = Figure { value: Err("late"), ..figure("late", most, 0.0) };
    let report = Report::of(&[short, figure("falls", most, 1.1), late], &kept);
    assert_eq!((report.failing, report.short), (2, 1));
    let text = report.text();
    let told = "Worse: falls: 1.100±0.020; it was 1.000±0.000 at abc123; wanted ≤1.15 (A path)\n";
    assert!(text.contains(told), "{text}");
    assert!(text.contains("No value: late: late (A path)\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn values_are_kept_by_commit() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kept.csv");
    let mut kept = Kept::read(&file).unwrap();
    let most = Bound::AtMost(1.0);
    let late = Figure { value: Err("late"), ..figure("c", most, 0.0) };
    kept.keep("aaa", "2026-01-01", &[figure("a", most, 1.0), figure("b", most, 2.0)]).unwrap();
    kept.keep("bbb", "2026-01-02", &[figure("a", most, 3.0), late]).unwrap();
    // Again at the same commit: in place of what was measured then, and no other.
    kept.keep("bbb", "2026-01-03", &[figure("a", most, 4.0)]).unwrap();
    let read = Kept::read(&file).unwrap();
    let value = |name: &str| read.last(name).map(|(commit, it)| (commit.to_owned(), it.value));
    assert_eq!(value("a"), Some(("bbb".into(), 4.0)));
    assert_eq!(value("b"), Some(("aaa".into(), 2.0)));
    assert_eq!(value("c"), None);
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 4);
}

#[test]
fn a_row_that_is_none_is_refused() {
    for bad in ["aaa;2026-01-01;a;1", "aaa;2026-01-01;a;x;0", "aaa;2026-01-01;a;1;NaN"] {
        let said = kept(&format!("aaa;2026-01-01;a;1;0\n{bad}\n")).unwrap_err().to_string();
        let told = format!(":3: found {bad:?}; allowed: commit;date;figure;value;half_width");
        assert!(said.ends_with(&told), "{said}");
    }
}

#[test]
fn nothing_is_kept_for_sources_that_are_not_committed() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
        let mut git = Command::new("git");
        git.current_dir(root).args(identity).args(arguments);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    };
    let write = |name: &str, text: &str| {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap_or(Path::new(""))).unwrap();
        fs::write(file, text).unwrap();
    };
    git(&["init", "--quiet"]);
    write("bpf/a.h", "1");
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "one"]);
    // Documents make no values.
    write("notes/a", "1");
    assert_eq!(commit::present(root).unwrap().len(), 10);
    for (changed, was) in [("bpf/a.h", Some("1")), ("crates/b.rs", None)] {
        write(changed, "2");
        let said = commit::present(root).unwrap_err().to_string();
        assert!(said.contains("these files are not committed:\n"), "{said}");
        match was {
            Some(text) => write(changed, text),
            None => fs::remove_file(root.join(changed)).unwrap(),
        }
        commit::present(root).unwrap();
    }
}
