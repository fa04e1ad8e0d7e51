//! Tests that the examples of docs/path.md mean what the page says: each is read, and every element has one.

use std::fs;
use std::path::Path;

use kirikae_path::ElementSpec;
use kirikae_scenario::Scenario;

const HEAD: &str = r#"title = "An example"
seed = 1
[workload]
burst = "64 KiB"
interval = "2 s"
count = 60
[[path.backward]]
element = "delay"
delay = "100 ms"
"#;

/// The elements of all examples, in order.
fn elements() -> Vec<ElementSpec> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/path.md");
    let page = fs::read_to_string(page).unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("delays.txt"), "# ms ms\n0 50\n1000 60.5\n").unwrap();
    fs::write(directory.path().join("lte.down"), "0\n1\n1\n5\n").unwrap();
    let file = directory.path().join("example.toml");
    let examples = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let read = |example: &str| {
        fs::write(&file, format!("{HEAD}{example}")).unwrap();
        let scenarios = Scenario::load(&file).unwrap_or_else(|bad| panic!("{bad}:\n{example}"));
        let [scenario] = &scenarios[..] else { panic!("one scenario") };
        scenario.links[0].path.build::<()>(scenario.seed).unwrap();
        scenario.links[0].path.forward.clone()
    };
    examples.flat_map(read).collect()
}

#[test]
fn examples_are_read_and_every_element_has_one() {
    let written: Vec<String> = elements()
        .iter()
        .map(|element| serde_json::to_value(element).unwrap()["element"].as_str().unwrap().into())
        .collect();
    let expected = [
        "delay",
        "limited_delay",
        "jitter",
        "recorded_delay",
        "rate",
        "link",
        "link",
        "link",
        "link",
        "link",
        "link",
        "link",
        "link_change",
        "adaptive_modulation",
        "loss",
        "gilbert_elliott",
        "run_loss",
        "listed_loss",
        "during",
        "arq",
        "outage",
        "outage",
        "mtu",
    ];
    assert_eq!(written, expected);
}

#[test]
fn records_name_recordings_and_do_not_repeat_them() {
    let elements = elements();
    let json = |n: usize| serde_json::to_string(&elements[n]).unwrap();
    assert_eq!(
        json(3),
        r#"{"element":"recorded_delay","delays":{"name":"delays.txt","delays":2},"order":"kept"}"#
    );
    let recorded = r#""rate":{"recorded":{"name":"lte.down","opportunities":4,"round":5000000}}"#;
    assert!(json(6).contains(recorded), "{}", json(6));
}
