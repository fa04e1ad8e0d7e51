//! What the Makefile asks.

use std::path::Path;
use std::process::{Command, Output};

/// A host that has nothing in its PATH.
fn ask(arguments: &[&str], require: &str, note_in: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kirikae-checks"));
    command.env("PATH", "/nonexistent").env("KIRIKAE_REQUIRE", require);
    command.env("KIRIKAE_SKIPPED", note_in).args(arguments).output().unwrap()
}

fn text(output: &Output, status: i32) -> String {
    let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{text}");
    text
}

#[test]
fn a_skip_is_counted_where_it_is_allowed() {
    let noted = std::env::temp_dir().join(format!("kirikae-skipped-{}", std::process::id()));
    let summary = ["summary", noted.to_str().unwrap()];
    assert_eq!(text(&ask(&summary, "", &noted), 0), "Nothing was skipped.\n");
    for what in ["the page", "the other page"] {
        let told = text(&ask(&["can-run", "npm", what], "chromium", &noted), 3);
        assert_eq!(
            told,
            format!("skipped: npm: {what}: there is no npm (Debian: npm; Node.js 18 or later)\n")
        );
    }
    let counted = text(&ask(&summary, "", &noted), 0);
    std::fs::remove_file(&noted).unwrap();
    assert!(
        counted.starts_with("Skipped: 2, ") && counted.contains("npm: the other page: "),
        "{counted}"
    );
}

#[test]
fn what_is_required_must_be_there() {
    let nowhere = Path::new("/nonexistent/skipped");
    let told = text(&ask(&["require"], "qemu, chromium", nowhere), 1);
    assert_eq!(told.lines().count(), 2, "{told}");
    assert!(told.contains("chromium is required (KIRIKAE_REQUIRE), but there is no"), "{told}");
    let told = text(&ask(&["can-run", "npm", "the page"], "npm", nowhere), 1);
    assert!(told.contains("npm is required (KIRIKAE_REQUIRE)"), "{told}");
    assert_eq!(text(&ask(&["require"], "", nowhere), 0), "");
}

#[test]
fn names_that_are_none_are_refused() {
    let told = text(&ask(&["require"], "root,bfp", Path::new("/nonexistent")), 1);
    assert!(told.contains("nothing is called bfp; allowed: root, bpf, tun, "), "{told}");
}
