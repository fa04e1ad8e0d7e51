//! The list of figures: what is refused in one, and the list that ships.

use std::path::{Path, PathBuf};

use kirikae_figures::list::{self, Half};
use kirikae_settings::section::Source;

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/figures/figures.toml")
}

const GOOD: &str = r#"[[figures]]
name = "streams"
scenario = "streams.toml"
where = "simulated"
contenders = ["kirikae"]
measure = "latency"
over = "best fixed"
at-most = 1.15
by = ["share.of"]
of = "worst"
repetitions = 4
"#;

/// What is said of a list that stands beside the one that ships.
fn refusal(text: &str) -> String {
    let source = Source::new(shipped(), text);
    let said = list::parse(&source).expect_err(text).to_string();
    said.split_once("figures.toml").expect("the file").1.to_owned()
}

#[test]
fn what_is_wrong_is_said_with_line_key_and_what_is_allowed() {
    assert_eq!(list::parse(&Source::new(shipped(), GOOD)).unwrap().len(), 1);
    let goodput = r#"measure = "goodput"
flow = "nobody""#;
    for (good, bad, said) in [
        (r#"name = "streams""#, "", ":1: figures[0].name: missing required key; allowed: a line"),
        (r#""streams""#, r#""a;b""#, r#":2: figures[0].name: found "a;b"; allowed: a line"#),
        (
            "streams.toml",
            "none.toml",
            r#":3: figures[0].scenario: found "none.toml"; allowed: a scenario"#,
        ),
        (
            r#""simulated""#,
            r#""kernal""#,
            r#":4: figures[0].where: found "kernal"; allowed: simulated, kernel (did you mean kernel?)"#,
        ),
        (
            r#"["kirikae"]"#,
            r#"["kirikea"]"#,
            r#":5: figures[0].contenders[0]: found "kirikea"; allowed: cubic, "#,
        ),
        (
            r#""latency""#,
            r#""speed""#,
            r#":6: figures[0].measure: found "speed"; allowed: latency, recovery, goodput, switches"#,
        ),
        (
            r#"measure = "latency""#,
            goodput,
            r#":7: figures[0].flow: found "nobody"; allowed: a flow of the scenario: "#,
        ),
        (r#"measure = "latency""#, r#"measure = "switches""#, ":7: figures[0].over: found "),
        (
            r#""best fixed""#,
            r#""best""#,
            r#":7: figures[0].over: found "best"; allowed: best fixed, own, cubic, "#,
        ),
        (
            "at-most = 1.15",
            "",
            ":1: figures[0].at-most: missing required key; allowed: at-most or at-least",
        ),
        (
            "at-most = 1.15",
            "at-most = 1\nat-least = 1",
            ":9: figures[0].at-least: found 1; allowed: at-most or at-least, one",
        ),
        ("1.15", "-1", ":8: figures[0].at-most: found -1; allowed: a number from 0 to 1000"),
        (r#""share.of""#, r#""share.off""#, ":9: figures[0].by[0]: found \"share.off\"; allowed: "),
        (
            "repetitions = 4",
            "repetitions = 0",
            ":11: figures[0].repetitions: found 0; allowed: a whole number from 1 to 100",
        ),
        ("repetitions", "repetition", ":11: figures[0].repetition: unknown key; allowed: "),
    ] {
        assert!(GOOD.contains(good), "{good}");
        let found = refusal(&GOOD.replacen(good, bad, 1));
        assert!(found.starts_with(said), "{bad}: {found}");
    }
    let twice = refusal(&format!("{GOOD}{GOOD}"));
    assert!(
        twice.contains("figures[1].name: found \"streams\"; allowed: a name that no other has"),
        "{twice}"
    );
    assert!(refusal("").contains("figures: missing required key"));
}

#[test]
fn what_ships_has_both_halves_and_both_hosts() {
    let entries = list::read(&shipped()).unwrap();
    for half in [Half::Simulated, Half::Kernel] {
        let contenders = entries.iter().filter(|it| it.half == half).flat_map(|it| &it.contenders);
        let names: Vec<&str> = contenders.map(|it| it.name()).collect();
        for name in ["kirikae", "kirikae-on-bbr"] {
            assert!(names.contains(&name), "{half:?} has no {name}");
        }
    }
}
