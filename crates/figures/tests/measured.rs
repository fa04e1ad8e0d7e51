//! Figures of small simulations, beside what they are by hand.

use std::path::Path;

use kirikae_figures::bound::Bound;
use kirikae_figures::list::{self, Entry, Half};
use kirikae_figures::measured::Figure;
use kirikae_figures::play::play;

const PATH: &str = r#"
[[link]]
name = "link"
[[link.forward]]
element = "rate"
rate = "10 Mbit/s"
queue = "50 packets"
[[link.forward]]
element = "delay"
delay = "20 ms"
[[link.backward]]
element = "delay"
delay = "20 ms"
"#;

/// The figures of a list whose scenario is `scenario.toml`, with this text.
fn measured(list: &str, scenario: &str) -> Vec<Figure> {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("scenario.toml", &format!("title = \"S $size\"\nseed = 1\n{scenario}{PATH}"));
    write("list.toml", list);
    let entries = list::read(&directory.path().join("list.toml")).unwrap();
    let entries: Vec<&Entry> = entries.iter().collect();
    play(Half::Simulated, &entries, Path::new("/nonexistent")).unwrap()
}

const BURSTS: &str = r#"
[sweep]
size = ["4 KiB", "60 KiB"]
[workload]
burst = "$size"
interval = "2 s"
count = 6
[bench]
contenders = ["cubic", "kk_cubic"]
[[flow]]
name = "flow"
route = ["link"]
"#;

fn entry(name: &str, rest: &str) -> String {
    format!(
        "[[figures]]\nname = \"{name}\"\nscenario = \"scenario.toml\"\nwhere = \"simulated\"\n\
         repetitions = 2\n{rest}\n"
    )
}

#[test]
fn latencies_are_over_another_and_split_by_the_sweep() {
    let fixed = "contenders = [\"cubic\"]\nmeasure = \"latency\"\nat-most = 1";
    let list = [
        entry("by", &format!("{fixed}\nover = \"best fixed\"\nby = [\"size\"]")),
        entry("worst", &format!("{fixed}\nover = \"best fixed\"")),
        entry("mean", &format!("{fixed}\nover = \"best fixed\"\nof = \"mean\"")),
        entry("own", &format!("{fixed}\nover = \"own\"")),
        entry("least", &format!("{fixed}\nover = \"kk_cubic\"").replace("most", "least")),
    ];
    let figures = measured(&list.concat(), BURSTS);
    let names: Vec<&str> = figures.iter().map(|it| it.name.as_str()).collect();
    let by = ["by, 4 KiB, cubic", "by, 60 KiB, cubic"];
    assert_eq!(
        names,
        [&by[..], &["worst, cubic", "mean, cubic", "own, cubic", "least, cubic"]].concat()
    );
    let value = |place: usize| figures[place].value.unwrap().value;
    // What fits into the initial window takes as long whoever sends it; and of the rest stock cubic forgets its window.
    assert!((value(0) - 1.0).abs() < 1e-6, "{}", value(0));
    assert!(value(1) > 1.2, "{}", value(1));
    assert_eq!(value(2), value(1));
    assert_eq!(figures[2].scenario, "S 60 KiB");
    assert!((value(3) - (value(0) + value(1)) / 2.0).abs() < 1e-9);
    assert_eq!((value(4), figures[4].bound), (1.0, Bound::AtMost(1.0)));
    // Less is worse.
    assert_eq!((figures[5].scenario.as_str(), figures[5].bound), ("S 4 KiB", Bound::AtLeast(1.0)));
}

#[test]
fn one_algorithm_throughout_is_never_switched() {
    let switches = "contenders = [\"kk_cubic\"]\nmeasure = \"switches\"\nat-most = 1";
    let figures =
        measured(&entry("switches", switches), &BURSTS.replace("count = 6", "count = 30"));
    let value = figures[0].value.unwrap();
    assert_eq!((value.value, value.half_width), (0.0, 0.0));
    // Of fewer writes than it has to learn by there are none to count.
    let figures = measured(&entry("switches", switches), BURSTS);
    assert_eq!(figures[0].value, Err("too little arrived"));
}

#[test]
fn what_a_neighbour_keeps_is_over_what_it_has_beside_the_hosts_own() {
    let scenario = r#"
[sweep]
size = ["unlimited"]
[sim]
duration = "20 s"
[[flow]]
name = "ours"
route = ["link"]
[flow.workload]
kind = "bulk"
bytes = "$size"
[[flow]]
name = "theirs"
route = ["link"]
stagger = "1 s"
contender = "cubic"
[flow.workload]
kind = "bulk"
bytes = "$size"
"#;
    let goodput = "contenders = [\"cubic\", \"kk_vegas\"]\nmeasure = \"goodput\"\nflow = \"theirs\"\nover = \"own\"\nat-least = 1";
    let figures = measured(&entry("kept", goodput), scenario);
    assert_eq!(figures[0].value.unwrap().value, 1.0);
    // Who avoids queues leaves the path to who fills them.
    assert!(figures[1].value.unwrap().value > 1.3, "{:?}", figures[1]);
}
