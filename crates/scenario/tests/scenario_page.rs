//! Tests that the examples of docs/scenarios.md are read, and that no key is missing there.

use std::fs;
use std::path::Path;

fn page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    fs::read_to_string(page).unwrap()
}

/// What an example may leave out because it is about something else: a text that shows that it is there, and
/// the text that is added otherwise.
const USUAL: [(&str, &str); 2] = [
    ("workload]", "[workload]\nburst = \"64 KiB\"\ninterval = \"2 s\"\ncount = 60\n"),
    (
        "name = \"", // of a link
        "[[path.forward]]\nelement = \"delay\"\ndelay = \"10 ms\"\n\
         [[path.backward]]\nelement = \"delay\"\ndelay = \"10 ms\"\n",
    ),
];

/// Completes an example to a whole scenario.
fn completed(example: &str) -> String {
    let mut text = String::new();
    if !example.contains("title = ") {
        text += "title = \"An example\"\nseed = 1\n";
    }
    text += example;
    let [(workload, usual_workload), (link, usual_path)] = USUAL;
    if !example.contains(workload) || example.contains("[flow.workload]") {
        text += usual_workload;
    }
    if !example.contains(link) && !example.contains("[[path.") {
        text += usual_path;
    }
    text
}

#[test]
fn examples_are_read() {
    let page = page();
    let examples = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut read = 0;
    for example in examples {
        let text = completed(example);
        let files = [("writes.txt", "0 100\n12.5 2000\n")];
        kirikae_testing::load(&text, &files).unwrap_or_else(|refusal| panic!("{refusal}:\n{text}"));
        read += 1;
    }
    assert_eq!(read, 18);
}

/// The keys that a table may have, as the refusal of another key lists them.
fn keys(text: &str) -> Vec<String> {
    let refusal = kirikae_testing::load(text, &[]).unwrap_err();
    assert_eq!(refusal.found, "unknown key", "{refusal}");
    refusal.allowed.split(", ").map(Into::into).collect()
}

#[test]
fn every_key_is_on_the_page() {
    let page = page();
    let scenario = completed("");
    let network = "title = \"A\"\nseed = 1\n";
    let mut tables = vec![
        "zzz = 1\n".to_owned(),
        format!("{scenario}[sim]\nzzz = 1\n"),
        format!("{scenario}[stack]\nzzz = 1\n"),
        format!("{scenario}[bench]\nzzz = 1\n"),
        format!("{scenario}[scope]\nzzz = 1\n"),
        format!("{network}[[link]]\nzzz = 1\n[[flow]]\n"),
        completed(
            "[[link]]\nname = \"a\"\nforward = [{ element = \"delay\", delay = \"1 s\" }]\n\
             backward = [{ element = \"delay\", delay = \"1 s\" }]\n[[flow]]\nname = \"a\"\nzzz = 1\n",
        ),
    ];
    tables.extend(
        ["bursts", "writes", "bulk", "file", "requests", "on-off", "video"]
            .map(|kind| format!("{network}[[workload]]\nkind = \"{kind}\"\nzzz = 1\n")),
    );
    let mut known = 0;
    for table in tables {
        for key in keys(&table) {
            assert!(page.contains(&format!("| `{key}` |")), "no row for {key}");
            known += 1;
        }
    }
    assert!(known > 70, "{known} keys");
}
