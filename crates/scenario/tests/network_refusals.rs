//! Tests every way in which workloads, links and flows can be wrong, and the one message that says so.

use kirikae_scenario::{Contender, Split};

/// One path, and an example of each kind of workload.
const PATH: &str = r#"title = "A path"
seed = 1
[sim]
duration = "60 s"
[[path.forward]]
element = "delay"
delay = "10 ms"
[[path.backward]]
element = "delay"
delay = "10 ms"
[workload]
"#;

const TIMES: &str = r#"a time from "1 ns" to "60 min" in ns, us, ms, s or min, such as "200 ms""#;
const LONG_TIMES: &str =
    r#"a time from "1 ns" to "10000 min" in ns, us, ms, s or min, such as "60 s""#;
const SIZES: &str = r#"a size from "1 B" to "1024 MiB" in B, kB, MB, KiB or MiB, such as "64 KiB""#;

/// The message for this workload, which begins at line 12.
fn workload(text: &str, files: &[(&str, &str)]) -> String {
    kirikae_testing::refusal(PATH, "[workload]\n", &format!("[workload]\n{text}"), files)
}

#[test]
fn workloads_of_zero_bytes() {
    let requests = "kind = \"requests\"\nthink = \"0 s\"\ncount = 1\n";
    for (text, key, zero) in [
        ("kind = \"bulk\"\nbytes = \"0 B\"\n", "13: workload.bytes", "or \"unlimited\""),
        (&format!("{requests}request = \"0 B\"\nresponse = \"1 B\""), "15: workload.request", ""),
        (&format!("{requests}request = \"1 B\"\nresponse = \"0 B\""), "16: workload.response", ""),
        ("kind = \"on-off\"\nwrite = \"0 B\"\n", "13: workload.write", ""),
        ("burst = \"0 B\"\n", "12: workload.burst", ""),
    ] {
        let or = if zero.is_empty() { String::new() } else { format!("; {zero}") };
        let expected = format!("x.toml:{key}: found \"0 B\"; allowed: {SIZES}{or}");
        assert_eq!(workload(text, &[]), expected);
    }
}

#[test]
fn workloads_that_are_none() {
    for (text, message) in [
        (
            "kind = \"bulky\"\n",
            "x.toml:12: workload.kind: found \"bulky\"; allowed: bursts, writes, bulk, file, requests, \
             on-off, video (did you mean bulk?)",
        ),
        (
            "kind = \"bulk\"\nafter = \"1 s\"\n",
            "x.toml:13: workload.after: unknown key; allowed: kind, bytes",
        ),
        (
            "kind = \"bulk\"\n",
            &format!(
                "x.toml:11: workload.bytes: missing required key; allowed: {SIZES}; or \"unlimited\""
            ),
        ),
        (
            "kind = \"requests\"\nrequest = \"1 B\"\nresponse = \"1 B\"\nthink = \"1 s\"\ncount = 0\n",
            "x.toml:16: workload.count: found 0; allowed: a whole number from 1 to 1000000",
        ),
        (
            "kind = \"on-off\"\nwrite = \"1 B\"\nrate = \"1 bit/s\"\non = \"0 s\"\n",
            &format!("x.toml:15: workload.on: found \"0 s\"; allowed: {TIMES}"),
        ),
        (
            "kind = \"on-off\"\nwrite = \"1 B\"\nrate = \"1 bit/s\"\non = \"1 s\"\noff = \"1 s\"\n\
             turns = \"random\"\n",
            "x.toml:17: workload.turns: found \"random\"; allowed: fixed, exponential",
        ),
    ] {
        assert_eq!(workload(text, &[]), message);
    }
}

#[test]
fn nothing_follows_what_has_no_end() {
    let mix = "[[workload]]\nkind = \"bulk\"\nbytes = \"1 MB\"\n\
               [[workload]]\nkind = \"bulk\"\nbytes = \"unlimited\"\n";
    assert_eq!(
        kirikae_testing::refusal(PATH, "[workload]\n", mix, &[]),
        "x.toml:16: workload[1].bytes: found \"unlimited\"; allowed: a size where several share a \
         connection: nothing would follow"
    );
}

#[test]
fn recorded_writes_that_are_none() {
    const ALLOWED: &str = "a time in ms, up to a day and not before that of the line above, and 1 to \
                           1073741824 bytes";
    for (recording, line, found) in [
        ("# nothing\n\n", 1, "nothing"),
        ("0 100\n5 0\n", 2, "5 0"),
        ("0 100\n# later\n5 100\n4.9 100\n", 4, "4.9 100"),
        ("-1 100\n", 1, "-1 100"),
        ("0 1.5\n", 1, "0 1.5"),
        ("0\n", 1, "0"),
        ("0 2000000000\n", 1, "0 2000000000"),
    ] {
        let message = workload("kind = \"writes\"\nfile = \"list\"\n", &[("list", recording)]);
        assert_eq!(message, format!("list:{line}: found {found}; allowed: {ALLOWED}"));
    }
    let writes = "kind = \"writes\"\nfile = \"list\"\n";
    assert_eq!(
        workload(writes, &[("list", &"0 1073741824\n".repeat(5))]),
        "list:4: found 0 1073741824; allowed: writes that have less than 4 GiB together"
    );
    assert!(
        workload(writes, &[])
            .starts_with("x.toml:13: workload.file: cannot read list (No such file")
    );
}

#[test]
fn runs_without_an_end() {
    let endless = |sim: &str| {
        let good = "[sim]\nduration = \"60 s\"\n";
        let text = format!("{PATH}kind = \"bulk\"\nbytes = \"unlimited\"\n");
        kirikae_testing::refusal(&text, good, sim, &[])
    };
    let allowed = format!(
        "missing required key; allowed: {LONG_TIMES}, at which what may go on for ever ends; only \
         bursts and writes go without"
    );
    assert_eq!(endless(""), format!("x.toml:1: sim.duration: {allowed}"));
    assert_eq!(endless("[sim]\nrepetitions = 2\n"), format!("x.toml:3: sim.duration: {allowed}"));
    assert_eq!(
        endless("[sim]\nrepetitions = 0\n"),
        "x.toml:4: sim.repetitions: found 0; allowed: a whole number from 1 to 10000"
    );
    assert_eq!(
        endless("[sim]\nduration = \"10001 min\"\n"),
        format!("x.toml:4: sim.duration: found \"10001 min\"; allowed: {LONG_TIMES}")
    );
    let window = "{ from = \"1 s\", to = \"3 s\" }";
    assert_eq!(
        endless(&format!("[sim]\nduration = \"2 s\"\nmeasured = {window}\n")),
        format!(
            "x.toml:5: sim.measured: found {window}; allowed: a time that is over when the simulation \
             is, at sim.duration"
        )
    );
    assert_eq!(
        endless("[sim]\nrepetition = 2\n"),
        "x.toml:4: sim.repetition: unknown key; allowed: duration, measured, repetitions (did you mean \
         repetitions?)"
    );
}

const NETWORK: &str = r#"title = "A network"
seed = 1
[workload]
kind = "bulk"
bytes = "1 MB"
[sim]
duration = "60 s"
[[link]]
name = "near"
forward = [{ element = "delay", delay = "10 ms" }]
backward = [{ element = "delay", delay = "10 ms" }]
[[link]]
name = "shared"
forward = [{ element = "rate", rate = "1 Mbit/s", queue = "9 packets" }]
backward = [{ element = "loss", probability = 0.1 }]
[[flow]]
name = "one"
route = ["near", "shared"]
[[flow]]
name = "other"
route = ["shared"]
"#;

#[track_caller]
fn assert_refused(good: &str, bad: &str, message: &str) {
    assert_eq!(kirikae_testing::refusal(NETWORK, good, bad, &[]), message);
}

#[test]
fn the_network_is_good() {
    let scenarios = kirikae_testing::load(NETWORK, &[]).unwrap();
    assert_eq!(scenarios[0].flows[0].backward, [1, 0]);
}

#[test]
fn routes() {
    assert_refused(
        "route = [\"shared\"]\n",
        "",
        "x.toml:19: flow[1].route: missing required key; allowed: the links on the way, such as \
         [\"near\"]",
    );
    assert_refused(
        "route = [\"shared\"]",
        "route = []",
        "x.toml:21: flow[1].route: found []; allowed: a list of links: near, shared",
    );
    assert_refused(
        "route = [\"shared\"]",
        "route = [\"shred\"]",
        "x.toml:21: flow[1].route[0]: found \"shred\"; allowed: near, shared (did you mean shared?)",
    );
    assert_refused(
        "route = [\"near\", \"shared\"]",
        "route = [\"shared\"]\nbackward = [\"elsewhere\"]",
        "x.toml:19: flow[0].backward[0]: found \"elsewhere\"; allowed: near, shared",
    );
    assert_refused(
        "route = [\"near\", \"shared\"]",
        "route = [\"shared\"]",
        "x.toml:9: link[0].name: found \"near\"; allowed: a link that a flow's route takes",
    );
    assert_refused(
        "element = \"rate\", rate = \"1 Mbit/s\", queue = \"9 packets\"",
        "element = \"loss\", probability = 0.1",
        "x.toml:21: flow[1].route: found [\"shared\"]; allowed: a delay or a rate on the way, so that \
         a round trip takes time",
    );
}

#[test]
fn links() {
    assert_refused(
        "name = \"shared\"",
        "name = \"near\"",
        "x.toml:13: link[1].name: found \"near\"; allowed: a name that no other has",
    );
    assert_refused(
        "backward = [{ element = \"loss\", probability = 0.1 }]\n",
        "",
        "x.toml:12: link[1].backward: missing required key; allowed: [[link.backward]] with an \
         element",
    );
    assert_refused(
        "probability = 0.1",
        "probability = 1",
        "x.toml:15: link[1].backward[0].probability: found 1; allowed: below 1, so that something is \
         delivered",
    );
    assert_refused(
        "seed = 1",
        "seed = 1\npath = { forward = [], backward = [] }",
        "x.toml:3: path: found { forward = [], backward = [] }; allowed: one of [path] and [[link]]",
    );
}

#[test]
fn flows() {
    for bad in ["0", "10001", "\"many\""] {
        assert_refused(
            "name = \"other\"",
            &format!("name = \"other\"\ncount = {bad}"),
            &format!(
                "x.toml:21: flow[1].count: found {bad}; allowed: a whole number from 1 to 10000"
            ),
        );
    }
    assert_refused(
        "name = \"other\"",
        "name = \"one\"",
        "x.toml:20: flow[1].name: found \"one\"; allowed: a name that no other has",
    );
    assert_refused(
        "name = \"other\"",
        "name = \"other\"\nstart = \"1\"",
        "x.toml:21: flow[1].start: found \"1\"; allowed: a time from \"0 s\" to \"10000 min\" in ns, \
         us, ms, s or min, such as \"10 s\"",
    );
    assert_refused(
        "name = \"other\"",
        "name = \"other\"\nstager = \"1 s\"",
        "x.toml:21: flow[1].stager: unknown key; allowed: name, count, route, backward, start, \
         stagger, contender, mobile, snoop, split, relay, workload (did you mean stagger?)",
    );
    assert_refused(
        "name = \"other\"",
        "name = \"other\"\nmobile = \"server\"",
        "x.toml:21: flow[1].mobile: found \"server\"; allowed: none, or an end of a route with \
         link-change, alike in both directions",
    );
    let all = Contender::all();
    let names: Vec<&str> = all.iter().map(|contender| contender.name()).collect();
    assert_refused(
        "name = \"other\"",
        "name = \"other\"\ncontender = \"kk_ren\"",
        &format!(
            "x.toml:21: flow[1].contender: found \"kk_ren\"; allowed: {}, contender (did you mean \
             kk_reno?)",
            names.join(", ")
        ),
    );
    let fixed = NETWORK.replace("[[flow]]", "[[flow]]\ncontender = \"cubic\"");
    assert_eq!(
        kirikae_testing::load(&fixed, &[]).unwrap_err().to_string(),
        "x.toml:17: flow[0].contender: found \"cubic\"; allowed: \"contender\" for one of the flows, \
         as what is compared"
    );
}

/// The first flow goes over both links.
#[test]
fn relays() {
    let refused = |keys: &str, message: &str| {
        let keys = format!("name = \"one\"\n{keys}");
        assert_refused("name = \"one\"", &keys, message);
    };
    refused(
        "split = \"shred\"",
        "x.toml:18: flow[0].split: found \"shred\"; allowed: none, shared (did you mean shared?)",
    );
    refused("split = \"near\"", "x.toml:18: flow[0].split: found \"near\"; allowed: none, shared");
    refused(
        "split = \"shared\"\nbackward = [\"near\"]",
        "x.toml:18: flow[0].split: found \"shared\"; allowed: none, or a link that backward takes \
         before another",
    );
    refused(
        "split = \"shared\"\nbackward = [\"near\", \"shared\"]",
        "x.toml:18: flow[0].split: found \"shared\"; allowed: none, or a link that backward takes \
         before another",
    );
    refused(
        "split = \"shared\"\nsnoop = \"shared\"",
        "x.toml:18: flow[0].split: found \"shared\"; allowed: none beside a Snoop agent",
    );
    refused(
        "relay = \"bbr\"",
        "x.toml:18: flow[0].relay: found \"bbr\"; allowed: none without split, which says where the \
         relay stands",
    );
    // Only the other flow goes over one link.
    assert_refused(
        "name = \"other\"",
        "name = \"other\"\nsplit = \"shared\"",
        "x.toml:21: flow[1].split: found \"shared\"; allowed: none",
    );
}

#[test]
fn a_relay_has_time_on_either_side() {
    let at_once = NETWORK
        .replace("element = \"delay\", delay = \"10 ms\"", "element = \"loss\", probability = 0.1");
    kirikae_testing::load(&at_once, &[]).unwrap();
    assert_eq!(
        kirikae_testing::refusal(&at_once, "\"one\"", "\"one\"\nsplit = \"shared\"", &[]),
        "x.toml:18: flow[0].split: found \"shared\"; allowed: none, or a link with a delay or a rate \
         on either side"
    );
}

#[test]
fn who_plays_on_a_relay() {
    let split = |keys: &str| {
        let text = NETWORK.replace("name = \"one\"", &format!("name = \"one\"\n{keys}"));
        let scenario = kirikae_testing::load(&text, &[]).unwrap().remove(0);
        (scenario.flows[0].split, scenario.on_real_kernel().map_err(|refusal| refusal.allowed))
    };
    let allowed = "none on the real kernel; kirikae-lab sim has relays";
    let played = |relay| (Some(Split { link: 1, relay }), Err(allowed.to_owned()));
    assert_eq!(split("split = \"none\"\nrelay = \"bbr\""), (None, Ok(())));
    assert_eq!(split("split = \"shared\""), played(Contender::BASELINE));
    assert_eq!(split("split = \"shared\"\nrelay = \"kirikae\""), played(Contender::Kirikae));
}

#[test]
fn what_begins_when_all_is_over() {
    const ALLOWED: &str = "so early that it begins before sim.duration, when all ends";
    assert_refused(
        "name = \"other\"",
        "name = \"other\"\nstart = \"60 s\"",
        &format!("x.toml:21: flow[1].start: found \"60 s\"; allowed: {ALLOWED}"),
    );
    // Together they take a minute.
    let late = NETWORK
        .replace("[workload]", "[[workload]]\nafter = \"30 s\"")
        .replace("name = \"other\"", "name = \"other\"\nstart = \"30 s\"");
    assert_eq!(
        kirikae_testing::load(&late, &[]).unwrap_err().to_string(),
        format!("x.toml:4: workload[0].after: found \"30 s\"; allowed: {ALLOWED}")
    );
    let longer = late.replace("duration = \"60 s\"", "duration = \"10000 min\"");
    assert!(kirikae_testing::load(&longer, &[]).is_ok());
    let own = "workload = [{ kind = \"bulk\", bytes = \"1 B\", after = \"2 min\" }]";
    assert_refused(
        "name = \"other\"",
        &format!("name = \"other\"\n{own}"),
        &format!("x.toml:21: flow[1].workload[0].after: found \"2 min\"; allowed: {ALLOWED}"),
    );
}

#[test]
fn workloads_of_flows() {
    assert_refused(
        "[workload]\nkind = \"bulk\"\nbytes = \"1 MB\"\n",
        "",
        "x.toml:13: flow[0].workload: missing required key; allowed: [workload] with burst, interval, \
         count",
    );
    let own =
        NETWORK.replace("route =", "workload = { kind = \"bulk\", bytes = \"1 B\" }\nroute =");
    assert_eq!(
        kirikae_testing::load(&own, &[]).unwrap_err().to_string(),
        "x.toml:3: workload: found [workload]; allowed: none where every flow has a workload of its \
         own"
    );
}

#[test]
fn new_connections() {
    let bursts = "burst = \"1 kB\"\ninterval = \"1 s\"\nconnection = \"new\"\n";
    assert_eq!(
        workload(&format!("count = 1\n{}", bursts.replace("new", "own")), &[]),
        "x.toml:15: workload.connection: found \"own\"; allowed: kept, new"
    );
    assert_eq!(
        workload(&format!("{bursts}count = 10000\n"), &[]),
        "x.toml:15: workload.count: found 10000; allowed: so many bursts, warm-up included, that they \
         have at most 10000 new connections"
    );
    assert_eq!(
        workload("kind = \"bulk\"\nbytes = \"1 kB\"\nconnection = \"new\"\n", &[]),
        "x.toml:14: workload.connection: unknown key; allowed: kind, bytes"
    );
    let mixed = format!("[[workload]]\n{bursts}count = 1\n");
    assert_eq!(
        kirikae_testing::refusal(PATH, "[workload]\n", &mixed, &[]),
        "x.toml:14: workload[0].connection: found \"new\"; allowed: kept in [[workload]], whose \
         workloads are on one connection"
    );
    let network = NETWORK
        .replace("kind = \"bulk\"\nbytes = \"1 MB\"\n", &format!("{bursts}count = 99\n"))
        .replace("name = \"one\"", "name = \"one\"\ncount = 100");
    kirikae_testing::load(&network, &[]).unwrap();
    assert_eq!(
        kirikae_testing::refusal(&network, "count = 100", "count = 101", &[]),
        "x.toml:20: flow[0].count: found 101; allowed: so few that all their bursts have at most \
         10000 new connections"
    );
}
