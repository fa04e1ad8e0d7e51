//! Tests every way in which a scenario file can be wrong, and the one message that says so.

use std::fs;
use std::path::Path;

use kirikae_scenario::{Contender, Scenario};
use kirikae_testing::{GOOD, TIMES, assert_refused, refusal};

const SIZES: &str = r#"a size from "1 B" to "1024 MiB" in B, kB, MB, KiB or MiB, such as "64 KiB""#;
const RATES: &str = r#"a rate from "1 bit/s" to "100 Gbit/s" in bit/s, kbit/s, Mbit/s or Gbit/s, such as "10 Mbit/s""#;
const QUEUES: &str = r#"a number of packets or a size, at least 1, such as "100 packets" or "64 KiB" (B, kB, MB, KiB, MiB)"#;

const ELEMENTS: &str = "delay, jitter, recorded-delay, rate, adaptive-modulation, link-change, \
                        loss, gilbert-elliott, run-loss, listed-loss, arq, outage, mtu";

fn contenders() -> String {
    let names: Vec<&str> = Contender::all().iter().map(|contender| contender.name()).collect();
    names.join(", ")
}

#[test]
fn unknown_keys() {
    assert_refused(
        "burst = ",
        "bust = ",
        "x.toml:4: workload.bust: unknown key; allowed: kind, burst, sizes, key-every, \
         key-times, interval, spacing, overlap, count, warmup, connection (did you mean burst?)",
    );
    assert_refused(
        "seed = 1",
        "seed = 1\ncolour = 3",
        "x.toml:3: colour: unknown key; allowed: title, seed, workload, path, link, flow, \
         stack, bench, scope, sim, sweep",
    );
    assert_refused(
        "probability = 0.01",
        "probability = 0.01\nrate = \"1 Mbit/s\"",
        "x.toml:10: path.forward[0].rate: unknown key; allowed: element, probability, during, every",
    );
    assert_refused(
        "[[path.backward]]",
        "[[path.backwards]]",
        "x.toml:14: path.backwards: unknown key; allowed: forward, backward (did you mean backward?)",
    );
}

#[test]
fn missing_keys() {
    assert_refused(
        "count = 60\n",
        "",
        "x.toml:3: workload.count: missing required key; allowed: a whole number, such as 60",
    );
    assert_refused(
        "queue = \"100 packets\"\n",
        "",
        &format!("x.toml:10: path.forward[1].queue: missing required key; allowed: {QUEUES}"),
    );
    assert_refused(
        "seed = 1\n",
        "",
        "x.toml:1: seed: missing required key; allowed: a whole number, such as 1",
    );
    assert_refused(
        "element = \"loss\"\n",
        "",
        &format!("x.toml:7: path.forward[0].element: missing required key; allowed: {ELEMENTS}"),
    );
}

#[test]
fn wrong_and_missing_units() {
    for bad in [r#""64""#, r#""64 kiB""#, r#""64KiB""#, "64"] {
        let message = format!("x.toml:4: workload.burst: found {bad}; allowed: {SIZES}");
        assert_refused(r#""64 KiB""#, bad, &message);
    }
    let message = |bad| format!("x.toml:12: path.forward[1].rate: found {bad}; allowed: {RATES}");
    for bad in [r#""10 MB/s""#, r#""10 ms""#, "10"] {
        assert_refused(r#""10 Mbit/s""#, bad, &message(bad));
    }
    assert_refused(
        r#""100 packets""#,
        r#""100""#,
        &format!(r#"x.toml:13: path.forward[1].queue: found "100"; allowed: {QUEUES}"#),
    );
}

#[test]
fn impossible_values() {
    for bad in ["1.5", "-0.1", "nan", "true", r#""1 %""#] {
        let message = format!(
            "x.toml:9: path.forward[0].probability: found {bad}; allowed: a number from 0 to 1"
        );
        assert_refused("0.01", bad, &message);
    }
    for bad in ["0", "-1", "1.5", r#""60""#] {
        let message = format!(
            "x.toml:6: workload.count: found {bad}; allowed: a whole number from 1 to 1000000"
        );
        assert_refused("60", bad, &message);
    }
    assert_refused(
        r#""10 Mbit/s""#,
        r#""0 Mbit/s""#,
        &format!(r#"x.toml:12: path.forward[1].rate: found "0 Mbit/s"; allowed: {RATES}"#),
    );
    assert_refused(
        r#""100 ms""#,
        r#""-100 ms""#,
        &format!(r#"x.toml:16: path.backward[0].delay: found "-100 ms"; allowed: {TIMES}"#),
    );
    assert_refused(
        "count = 60",
        "count = 60\nspacing = \"poisson\"",
        r#"x.toml:7: workload.spacing: found "poisson"; allowed: fixed, exponential"#,
    );
    assert_refused(
        r#""A path""#,
        r#""""#,
        r#"x.toml:1: title: found ""; allowed: a line of text that is not empty"#,
    );
    assert_refused(
        "count = 60",
        "count = 100000",
        "x.toml:6: workload.count: found 100000; allowed: so many bursts, warm-up included, that \
         they have less than 4 GiB together",
    );
}

#[test]
fn numbers_of_any_radix() {
    for one in ["0x1", "0o1", "0b1", "1", "+1", "1.0", "1e0"] {
        assert_refused(
            "0.01",
            one,
            "x.toml:9: path.forward[0].probability: found 1; allowed: below 1, so that something is \
             delivered",
        );
    }
}

#[test]
fn unknown_elements_and_contenders() {
    assert_refused(
        r#""loss""#,
        r#""los""#,
        &format!(
            r#"x.toml:8: path.forward[0].element: found "los"; allowed: {ELEMENTS} (did you mean loss?)"#
        ),
    );
    let names = contenders();
    assert_refused(
        r#"["cubic", "#,
        r#"["cubik", "#,
        &format!(
            r#"x.toml:18: bench.contenders[0]: found "cubik"; allowed: {names} (did you mean cubic?)"#
        ),
    );
    assert_refused(
        r#"["cubic", "#,
        r#"["kirikae", "#,
        r#"x.toml:18: bench.contenders[1]: found "kirikae"; allowed: each contender once"#,
    );
    assert_refused(
        r#"["cubic", "kirikae"]"#,
        "[]",
        &format!("x.toml:18: bench.contenders: found []; allowed: {names}"),
    );
    assert_refused(
        r#"["cubic", "kirikae"]"#,
        "[\"cubic\"]\nperiod = \"200\"",
        "x.toml:19: bench.period: found \"200\"; allowed: this key as scope.period, in [scope]",
    );
}

#[test]
fn scopes() {
    let with = |scope: &str| format!("[scope]\n{scope}\n[bench]");
    let refused = |scope: &str| refusal(GOOD, "[bench]", &with(scope), &[]);
    assert_eq!(
        refused("period = \"200\""),
        "x.toml:18: scope.period: found \"200\"; allowed: \"round-trip\", or a time from \"1 ms\" to \
         \"60 s\" such as \"200 ms\"",
    );
    assert_eq!(
        refused("local-port = 22"),
        "x.toml:18: scope.local-port: found 22; allowed: no cgroup, local-port or remote: the scope \
         is that of every connection here",
    );
    assert_eq!(
        refused("friendliness = \"friendly\"\nalgorithms = [\"kk_bbr\"]"),
        "x.toml:18: scope.friendliness: friendliness friendly: found only kk_bbr; allowed: \
         kk_compound, kk_cubic, kk_highspeed, kk_reno, kk_vegas, kk_westwood; allowed: one that allows some \
         of them",
    );
    assert_eq!(
        refused("holdback = 2"),
        "x.toml:18: scope.holdback: found 2; allowed: a share of the time, from 0 to 1",
    );
    assert!(refused("holdbak = 0.5").contains("did you mean holdback?"));
}

/// Only one of the scenario and the command line may say what can be chosen.
#[test]
fn a_second_choice() {
    let text = GOOD.replace("[bench]", "[scope]\nalgorithms = [\"kk_cubic\"]\n[bench]");
    let scenarios = Scenario::parse(Path::new("x.toml"), text).unwrap();
    assert_eq!(scenarios[0].scope.table.names(), ["kk_cubic"]);
    assert_eq!(
        kirikae_scenario::refuse_second_choice(&scenarios).unwrap_err().to_string(),
        "x.toml:18: scope.algorithms: found [\"kk_cubic\"]; allowed: none beside --table or \
         --friendliness, which say what may be chosen, too",
    );
}

/// The message for a scenario whose first element has these lines instead, which begin at line 8. The file
/// `recording` beside it has this text.
fn element_refusal(element: &str, recording: &str) -> String {
    let good = "element = \"loss\"\nprobability = 0.01\n";
    refusal(GOOD, good, element, &[("recording", recording)])
}

#[test]
fn paths_that_deliver_nothing() {
    for (element, message) in [
        (
            "element = \"loss\"\nprobability = 1\n",
            "x.toml:9: path.forward[0].probability: found 1; allowed: below 1, so that something is \
             delivered",
        ),
        (
            "element = \"gilbert-elliott\"\np = 0.1\nr = 0\nk = 1\nh = 0\n",
            "x.toml:11: path.forward[0].k: found 1; allowed: with the others such that something is \
             delivered in the long run",
        ),
        (
            "element = \"outage\"\nintervals = [{ from = \"0 s\", to = \"9 s\" }]\nevery = \"9 s\"\n",
            "x.toml:10: path.forward[0].every: found 9.000000000 s; allowed: longer than the \
             intervals, so that they end",
        ),
        (
            "element = \"loss\"\nprobability = 0.1\nduring = [{ from = \"2 s\", to = \"1 s\" }]\n",
            "x.toml:10: path.forward[0].during: found 2.000000000 s to 1.000000000 s; allowed: an end \
             after the start",
        ),
        (
            "element = \"loss\"\nprobability = 0.1\nevery = \"1 s\"\n",
            "x.toml:10: path.forward[0].every: found \"1 s\"; allowed: beside during, which then comes \
             again and again",
        ),
        (
            "element = \"rate\"\nqueue = \"9 packets\"\nsteps = [{ at = \"0 s\", rate = \"none\" }]\n",
            "x.toml:10: path.forward[0].steps: found 0 bit/s; allowed: at least 1 bit/s",
        ),
        (
            "element = \"rate\"\nrate = \"1 Mbit/s\"\nqueue = \"9 packets\"\noverhead = \"1001 B\"\n",
            "x.toml:11: path.forward[0].overhead: found \"1001 B\"; allowed: at most 1000 B",
        ),
        (
            "element = \"mtu\"\nmtu = \"67 B\"\n",
            "x.toml:9: path.forward[0].mtu: found 67 B; allowed: a size from 68 B to 65535 B",
        ),
        (
            "element = \"arq\"\nloss = 1\nretries = 3\nretry-delay = \"1 ms\"\n",
            "x.toml:9: path.forward[0].loss: found 1; allowed: below 1, so that something is \
             delivered",
        ),
        (
            "element = \"rate\"\nrate = \"1 Mbit/s\"\nqueue = \"9 packets\"\n\
             retries = { limit = 7, p = 0, r = 1, k = 0, h = 1 }\n",
            "x.toml:11: path.forward[0].retries.k: found 0; allowed: with the others such that \
             something is delivered in the long run",
        ),
    ] {
        assert_eq!(element_refusal(element, ""), message);
    }
}

#[test]
fn recordings_that_are_none() {
    const RATE: &str = "element = \"rate\"\nqueue = \"9 packets\"\nfile = \"recording\"\n";
    const DELAY: &str = "element = \"recorded-delay\"\nfile = \"recording\"\n";
    for (element, recording, message) in [
        (
            RATE,
            "1\n5\n4\n",
            "recording:3: found 4; allowed: whole milliseconds from the start, not before the line \
             above",
        ),
        (
            RATE,
            "",
            "recording:1: found no opportunity after 0 ms; allowed: at least one line above 0",
        ),
        (
            DELAY,
            "0 5\n1 x\n",
            "recording:2: found 1 x; allowed: a time after that of the line above, and a delay of at \
             most a day, both in ms",
        ),
    ] {
        assert_eq!(element_refusal(element, recording), message);
    }
    let missing = element_refusal("element = \"recorded-delay\"\nfile = \"no\"\n", "");
    assert_eq!(
        missing,
        "x.toml:9: path.forward[0].file: cannot read no (No such file or directory (os error 2)); \
         allowed: a text file, named as seen from the file that names it"
    );
}

#[test]
fn parts_of_elements() {
    for (element, message) in [
        (
            "element = \"rate\"\nrate = \"1 Mbit/s\"\nfile = \"recording\"\nqueue = \"9 packets\"\n",
            r#"x.toml:10: path.forward[0].file: found "recording"; allowed: one of rate, steps and file"#,
        ),
        (
            "element = \"rate\"\nqueue = \"9 packets\"\n",
            &format!(
                "x.toml:7: path.forward[0].rate: missing required key; allowed: {RATES}; or steps, or file"
            ),
        ),
        (
            "element = \"rate\"\nrate = \"1 Mbit/s\"\nqueue = \"9 packets\"\ncodel = { targt = \"5 ms\" }\n",
            "x.toml:11: path.forward[0].codel.targt: unknown key; allowed: target, interval, mark (did you mean target?)",
        ),
        (
            "element = \"rate\"\nrate = \"1 Mbit/s\"\nqueue = \"9 packets\"\n\
             cross = { rate = \"1 Mbit/s\", packet = \"1 MB\" }\n",
            r#"x.toml:11: path.forward[0].cross.packet: found 1000000; allowed: 20 to 65535 bytes"#,
        ),
        (
            "element = \"rate\"\nrate = \"1 Mbit/s\"\nqueue = \"9 packets\"\n\
             cross = { rate = \"1 Mbit/s\", on = \"1 s\" }\n",
            &format!(
                "x.toml:11: path.forward[0].cross.off: missing required key; allowed: {TIMES}"
            ),
        ),
        (
            "element = \"rate\"\nrate = \"1 Mbit/s\"\nqueue = \"9 packets\"\ncodel = { mark = 1 }\n",
            "x.toml:11: path.forward[0].codel.mark: found 1; allowed: true or false",
        ),
        (
            "element = \"run-loss\"\nbegin = 0.1\nlengths = [{ packets = 0, weight = 1 }]\n",
            "x.toml:10: path.forward[0].lengths[0].packets: found 0; allowed: a whole number from 1 to 1000000",
        ),
        (
            "element = \"jitter\"\ndelay = \"1 ms\"\njitter = \"1 ms\"\norder = \"fre\"\n",
            r#"x.toml:11: path.forward[0].order: found "fre"; allowed: kept, free (did you mean free?)"#,
        ),
        (
            "element = \"link-change\"\nqueue = \"9 packets\"\n\
             links = [{ at = \"1 s\", rate = \"1 Mbit/s\", delay = \"1 ms\" }]\n",
            "x.toml:10: path.forward[0].links: found no such link; allowed: a first link at 0 s, without silence",
        ),
    ] {
        assert_eq!(element_refusal(element, ""), message);
    }
}

#[test]
fn videos() {
    const LADDER: &str =
        r#"sizes of a picture, the smallest first, such as ["4 kB", "8 kB", "16 kB"]"#;
    let video = |keys: &str| {
        let all = format!("kind = \"video\"\nlate = \"300 ms\"\ncount = 9\n{keys}");
        let bursts = "burst = \"64 KiB\"\ninterval = \"2 s\"\ncount = 60";
        refusal(GOOD, bursts, &all, &[])
    };
    let interval = "interval = \"33 ms\"\n";
    let ladder = "ladder = [\"4 kB\"]\n";
    assert_eq!(
        video(interval),
        format!("x.toml:3: workload.ladder: missing required key; allowed: {LADDER}")
    );
    for found in ["[]", r#"["8 kB", "4 kB"]"#] {
        let refused = video(&format!("{interval}ladder = {found}"));
        assert_eq!(refused, format!("x.toml:8: workload.ladder: found {found}; allowed: {LADDER}"));
    }
    assert_eq!(
        video(&format!("{ladder}interval = \"0 s\"\n")),
        format!(r#"x.toml:8: workload.interval: found "0 s"; allowed: {TIMES}"#)
    );
    assert_eq!(
        video(&format!("{interval}{ladder}key-every = 60")),
        "x.toml:3: workload.key-times: missing required key; allowed: a whole number from 1 to 10000"
    );
}

#[test]
fn wrong_kinds() {
    assert_refused(
        "[bench]",
        "[[bench]]",
        "x.toml:17: bench: found [[bench]]; allowed: [bench] with contenders",
    );
    assert_refused(
        r#""A path""#,
        "[3]",
        "x.toml:1: title: found [3]; allowed: a line of text that is not empty",
    );
    assert_refused(
        r#"["cubic", "kirikae"]"#,
        r#""cubic""#,
        &format!(r#"x.toml:18: bench.contenders: found "cubic"; allowed: {}"#, contenders()),
    );
}

#[test]
fn files_that_are_not_scenarios() {
    assert_refused(
        "seed = 1",
        "seed = ",
        "x.toml:2: not TOML (string values must be quoted, expected literal string): seed =; \
         allowed: TOML 1.1, see https://toml.io",
    );
    assert_refused(
        "[bench]",
        "[workload]",
        "x.toml:17: not TOML (duplicate key): [workload]; allowed: TOML 1.1, see https://toml.io",
    );
    let refusal = Scenario::load(Path::new("no/such.toml")).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "no/such.toml: cannot be read (No such file or directory (os error 2)); allowed: a \
         scenario file, such as scenarios/shallow.toml"
    );
}

#[test]
fn scenarios_that_ship_are_good_and_name_what_they_are() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut titles = Vec::new();
    let files = |directory| fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let directories = ["", "agreement", "friendliness", "friendliness/kirikae"];
    let all = directories.into_iter().flat_map(|directory| files(scenarios.join(directory)));
    for file in all.filter(|file| file.is_file()) {
        let scenarios = Scenario::load(&file).unwrap_or_else(|bad| panic!("{bad}"));
        titles.extend(scenarios.into_iter().map(|scenario| scenario.title));
    }
    titles.sort();
    titles.dedup();
    let agreement = 3 * 12 + 3 * 2 + 4 * 2 + 4 + 2;
    assert_eq!(titles.len(), 14 + 4 + agreement + 3 * (24 + 18) + 3 + 3 + 12 + 18);
}
