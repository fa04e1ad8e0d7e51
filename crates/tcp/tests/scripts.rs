//! Tests what RFCs require of TCP, and what Linux was seen to do, by scripts of segments in and segments
//! expected out: tests/scripts/.

mod script;

use std::fs;
use std::path::{Path, PathBuf};

use script::Script;

/// Every file below `directory`, in order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(directory)
        .expect("the directory of scripts")
        .map(|entry| entry.expect("an entry").path())
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect();
    found.sort();
    found
}

fn play(text: &str) -> Result<(), (usize, String)> {
    Script::parse(text)?.run()
}

#[test]
fn every_script_plays() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = files(&root.join("tests/scripts"));
    let failures: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let text = fs::read_to_string(file).expect("a text");
            let (line, problem) = play(&text).err()?;
            let name = file.strip_prefix(root).expect("below the root").display();
            Some(format!("{name}:{line}: {problem}"))
        })
        .collect();
    assert!(failures.is_empty(), "{} scripts fail:\n{}", failures.len(), failures.join("\n"));
    assert!(files.len() >= 40, "only {} scripts were found", files.len());
}

#[test]
fn every_script_says_what_it_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    for file in files(&root) {
        let text = fs::read_to_string(&file).expect("a text");
        let folder = file.parent().and_then(Path::file_name).expect("a folder").to_string_lossy();
        let title = match folder.strip_prefix("rfc") {
            Some(number) => format!("# RFC {number}, section "),
            None => format!("# {}, ", folder.replace("linux-", "Linux ")),
        };
        assert!(text.starts_with(&title), "{} begins otherwise than {title}", file.display());
    }
}

/// Plays a script that must fail, and checks the line and a part of the message.
#[track_caller]
fn refuse(text: &str, line: usize, said: &str) {
    let (found, problem) = play(text).expect_err("it must fail");
    assert!(problem.contains(said), "{problem}");
    assert_eq!(found, line, "{problem}");
}

#[test]
fn what_does_not_leave_as_told_is_found() {
    let start = "set timestamps false\n0 write 2920\n> 1:2921\n";
    play(start).expect("it plays");
    refuse(&format!("{start}+1 quiet"), 4, "got unexpected 0.208000 > 1461:2921");
    refuse("set timestamps false\n0 write 2920\n> 1:1461", 3, "got unexpected 0.000000 > psh 1461");
    refuse("0 write 100\n> 1:102", 2, "expected 0.000000 > 1:102, got 0.000000 > psh 1:101");
    refuse("0 write 100\n+0.01 > 1:101", 2, "expected 0.010000 > 1:101, got 0.000000");
    refuse("0 write 100\n> 1:101\n> 1:101", 3, "got nothing");
    refuse("0 write 100\n> 1:101 ack 2", 2, "expected 0.000000 > 1:101 ack 2, got");
    refuse("0 write 100\n> ece 1:101", 2, "expected 0.000000 > ece 1:101, got");
    refuse("0 write 100\n> 1:101\n+0.1 < ack 101\n% cwnd == 9", 4, "cwnd is 10");
    refuse("0 < 1:1449\n> ack 1449 sack 5:6", 2, "expected 0.000000 > ack 1449 sack 5:6, got");
}

#[test]
fn what_cannot_be_read_is_refused() {
    refuse("profile windows", 1, "no profile windows");
    refuse("\nset colour red", 2, "no feature colour");
    refuse("set sack maybe", 1, "cannot read the value `maybe`");
    refuse("algorithm reno", 1, "no algorithm reno");
    refuse("kk_cubic.beta 1", 1, "the algorithm is kk_reno");
    refuse("0 < ack", 1, "a value after `ack` expected");
    refuse("0 < sack 5:3", 1, "5:3 goes backwards");
    refuse("0 % cwnd = 3", 1, "no operator =");
    refuse("0 write 1\n> 1:2\n% colour == 3", 3, "nothing is known of colour");
    refuse("0 sing", 1, "cannot read `sing`");
    refuse("1 quiet\n0 quiet", 2, "time goes back");
}
