//! Tests records as the kernel's side of a validation, and those that are refused.

use std::fs;
use std::path::Path;

use kirikae_results::Error;
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim::{self, Files, Options};
use kirikae_testing::GOOD;
use kirikae_validate as validate;

/// A scenario of a few bursts.
fn scenario() -> String {
    GOOD.replace("count = 60", "count = 5").replace("\"kirikae\"", "\"kk_hybla\"")
}

/// Writes records of these scenarios as the bench does; the figures are simulated.
fn record(directory: &Path, scenarios: &[Scenario], clock: Option<&str>) {
    let output = Some(directory.join(format!("records-{clock:?}")));
    let controls = Controls::default();
    let options = Options { output, files: Files::default(), controls };
    let records = sim::run(scenarios, &options).unwrap().records.unwrap();
    let run = fs::read_to_string(records.join("run.json")).unwrap();
    let mut run: serde_json::Value = serde_json::from_str(&run).unwrap();
    assert_eq!((&run["clock"], run.get("kernel")), (&"virtual".into(), None));
    let run = run.as_object_mut().unwrap();
    match clock {
        Some(clock) => run.insert("clock".into(), clock.into()),
        None => run.remove("clock"),
    };
    for name in ["run.json", "bursts.jsonl", "flows.jsonl"] {
        fs::copy(records.join(name), directory.join(name)).unwrap();
    }
    fs::write(directory.join("run.json"), serde_json::to_string(run).unwrap()).unwrap();
}

#[test]
fn what_is_not_of_the_kernel_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let scenarios = kirikae_testing::load(&scenario(), &[]).unwrap();
    let refused = |what: &str| {
        let error = validate::recorded(directory, &scenarios).unwrap_err();
        assert!(matches!(error, Error::Directory(_)) && error.exit_status() == 2, "{error}");
        assert!(error.to_string().contains(what), "{error}");
    };
    refused("run.json: No such file");
    fs::write(directory.join("run.json"), "[]").unwrap();
    refused("run.json: no run's record (");
    record(directory, &scenarios, Some("virtual"));
    refused("run.json: clock: found virtual; allowed: real");
    // Records without a clock are the bench's, from when the simulator wrote none.
    for clock in [Some("real"), None] {
        record(directory, &scenarios, clock);
        let side = validate::recorded(directory, &scenarios).unwrap();
        let seconds = side.values().map(|measured| measured.bursts.len());
        assert_eq!(seconds.collect::<Vec<_>>(), [5, 5]);
    }
    fs::write(directory.join("bursts.jsonl"), "{}\n").unwrap();
    refused("bursts.jsonl:1: no such record (");
}

#[test]
fn records_of_another_scenario_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let scenarios = kirikae_testing::load(&scenario(), &[]).unwrap();
    record(directory, &scenarios, None);
    for (good, bad, difference) in [
        ("seed = 1", "seed = 2", "seed was 1 and is 2"),
        ("0.01", "0.03", "links[0].path.forward[0].probability was 0.01 and is 0.03"),
        ("count = 5", "count = 6", "flows[0].activities[0].bursts.count was 5 and is 6"),
    ] {
        let asked = kirikae_testing::load(&scenario().replace(good, bad), &[]).unwrap();
        let error = validate::recorded(directory, &asked).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        let message = format!("\"A path\" was recorded of another scenario: {difference}");
        assert!(error.to_string().ends_with(&message), "{error}");
    }
    // Another scenario that is asked for does not matter.
    let asked = kirikae_testing::load(&scenario().replace("A path", "Another path"), &[]).unwrap();
    assert_eq!(validate::recorded(directory, &asked).unwrap().len(), 2);
}

#[test]
fn recorded_flows_are_read_back() {
    let scenario = scenario();
    let (begin, end) = (scenario.find("burst = "), scenario.find("[[path.forward]]"));
    let bulk =
        "kind = \"bulk\"\nbytes = \"unlimited\"\n[sim]\nduration = \"20 s\"\nrepetitions = 2\n";
    let text = scenario.replace(&scenario[begin.unwrap()..end.unwrap()], bulk);
    let scenarios = kirikae_testing::load(&text, &[]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    record(directory.path(), &scenarios, Some("real"));
    let kernel = || validate::recorded(directory.path(), &scenarios).unwrap();
    let plays = kernel().into_values().map(|measured| measured.plays.len());
    assert_eq!(plays.collect::<Vec<_>>(), [2, 2]);
    // The same on both sides agrees to the last digit.
    let cells = validate::cells(&scenarios, kernel(), kernel());
    assert_eq!(validate::SHARES.count(&cells), (2, 2));
    let [kernel, simulated] = cells[0].goodput.as_ref().unwrap().shares().unwrap();
    assert!(kernel == simulated && kernel > 0.1, "{kernel} {simulated}");
}
