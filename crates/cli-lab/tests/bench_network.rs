//! Networks on the real kernel: groups of flows that share links, each with its own contender and
//! workload. (A file of its own, since two runs at once would register the same algorithms.)

mod common;

use std::fs;

use serde_json::Value;

use common::{lab, privileged_with_paths};

/// Two groups of bulk share 10 Mbit/s, one of them further away; a third asks beside them and a fourth
/// opens a connection now and then. All of it goes through the kernel's own TCP.
const NETWORK: &str = r#"
title = "A dumbbell"
seed = 3
[workload]
kind = "bulk"
bytes = "unlimited"
[sim]
duration = "6 s"
measured = { from = "2 s", to = "6 s" }
repetitions = 2
[[link]]
name = "shared"
[[link.forward]]
element = "rate"
rate = "10 Mbit/s"
queue = "60 packets"
[[link.forward]]
element = "delay"
delay = "10 ms"
[[link.backward]]
element = "delay"
delay = "10 ms"
[[link]]
name = "far"
forward = [{ element = "delay", delay = "20 ms" }]
backward = [{ element = "delay", delay = "20 ms" }]
[[flow]]
name = "near"
count = 2
route = ["shared"]
stagger = "500 ms"
[[flow]]
name = "far"
route = ["far", "shared"]
contender = "reno"
[[flow]]
name = "asking"
route = ["far", "shared"]
contender = "cubic"
[flow.workload]
kind = "requests"
request = "500 B"
response = "20 kB"
think = "50 ms"
count = 10
[[flow]]
name = "fresh"
count = 5
route = ["shared"]
stagger = "2 s"
[[flow.workload]]
burst = "5 kB"
interval = "300 ms"
count = 1
warmup = 0
[[flow.workload]]
kind = "bulk"
bytes = "3 kB"
after = "100 ms"
[bench]
contenders = ["cubic", "kirikae"]
"#;

#[test]
fn a_network_is_played_flow_by_flow() {
    if !privileged_with_paths() {
        return;
    }
    let directory = std::env::temp_dir().join(format!("kirikae-network-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("scenario.toml");
    fs::write(&file, NETWORK).unwrap();
    let output =
        lab().args(["bench", "--json", "--output"]).args([&directory, &file]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");

    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let groups = summary["scenarios"][0]["flows"].as_array().unwrap();
    assert_eq!(groups.len(), 2 * 4);
    for contender in ["cubic", "kirikae"] {
        let of = |flow: &str| {
            let group = |group: &&Value| group["contender"] == contender && group["flow"] == flow;
            groups.iter().find(group).unwrap()
        };
        let total = |flow: &str| of(flow)["total_mbit"]["value"].as_f64().unwrap();
        // The link is full, and nobody has more than it carries.
        let sum = total("near") + total("far");
        assert!((7.0..10.0).contains(&sum), "{summary:#}");
        assert!(total("near") > 0.5 && total("far") > 0.1, "{summary:#}");
        // 60 ms of delay, and at most 60 packets before it.
        let asking = of("asking");
        assert_eq!((&asking["writes"], &asking["unfinished"]), (&20.into(), &0.into()));
        assert!(asking["mean_s"]["value"].as_f64().unwrap() > 0.06, "{asking:#}");
        let fresh = of("fresh");
        assert_eq!((&fresh["writes"], &fresh["unfinished"]), (&10.into(), &0.into()));
        assert_eq!((&fresh["left_flows"], &of("near")["left_flows"]), (&0.into(), &4.into()));
        assert!(of("near")["retransmitted"]["value"].as_f64().unwrap() < 0.2, "{summary:#}");
    }

    let run = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let run = run.into_iter().find(|path| path.is_dir()).unwrap();
    let flows = fs::read_to_string(run.join("flows.jsonl")).unwrap();
    let flows: Vec<Value> = flows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Contenders, seeds, flows.
    assert_eq!(flows.len(), 2 * 2 * 9);
    let switched: Vec<&Value> = flows.iter().filter(|flow| !flow["switches"].is_null()).collect();
    assert!(!switched.is_empty(), "bulk at a full queue is switched");
    for flow in switched {
        assert_eq!((&flow["contender"], &flow["played"]), (&"kirikae".into(), &"kirikae".into()));
    }
    let text = fs::read_to_string(run.join("run.json")).unwrap();
    let text: Value = serde_json::from_str(&text).unwrap();
    let plays = text["comparisons"][0]["plays"].as_array().unwrap();
    assert_eq!(plays.len(), 2 * 2);
    for play in plays {
        let links = play["links"].as_array().unwrap();
        assert_eq!(links.len(), 2 * 2);
        assert!(links.iter().all(|link| link["offered"].as_u64().unwrap() > 0), "{play:#}");
        assert!(links[0]["dropped"]["queue_full"].as_u64().unwrap() > 0, "{play:#}");
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_network_that_the_machine_does_not_hold_is_refused() {
    if !privileged_with_paths() {
        return;
    }
    let directory = std::env::temp_dir().join(format!("kirikae-too-fast-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("scenario.toml");
    fs::write(&file, NETWORK.replace("10 Mbit/s", "90 Gbit/s")).unwrap();
    let output = lab().args(["bench", "--output"]).args([&directory, &file]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    let expected = format!("kirikae-lab: {}: A dumbbell: 90000.0 Mb/s in packets", file.display());
    assert!(error.contains(&expected) && error.contains("lower the rate"), "{error}");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "no records");
    fs::remove_dir_all(directory).unwrap();
}
