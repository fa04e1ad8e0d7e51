//! Scenarios through the simulator, the answers to which can be told beforehand.

use kirikae_results::report;
use kirikae_results::summary::{GroupSummary, Summary};
use kirikae_scenario::Contender;
use kirikae_testing::simulate;

/// The numbers of the flows.
fn flows(text: &str, files: &[(&str, &str)]) -> Vec<GroupSummary> {
    let outcome = simulate(text, files);
    println!("{}", report::render(&outcome, false));
    Summary::of(&outcome).scenarios.into_iter().flat_map(|scenario| scenario.flows).collect()
}

/// One flow of cubic over 20 Mbit/s and a round trip of 100 ms.
fn one(workload: &str) -> String {
    format!(
        r#"title = "One flow"
seed = 1
{workload}
[[path.forward]]
element = "rate"
rate = "20 Mbit/s"
queue = "170 packets"
[[path.forward]]
element = "delay"
delay = "50 ms"
[[path.backward]]
element = "delay"
delay = "50 ms"
[bench]
contenders = ["cubic"]
"#
    )
}

fn value(estimate: Option<kirikae_results::statistics::Estimate>) -> f64 {
    estimate.expect("there is one").value
}

#[test]
fn bulk_takes_the_link() {
    let text =
        one("[workload]\nkind = \"bulk\"\nbytes = \"unlimited\"\n[sim]\nduration = \"60 s\"");
    let [flow] = &flows(&text, &[])[..] else { panic!("one group") };
    // 1448 of 1500 bytes; a start of a second or so and what a queue of a BDP does not bridge.
    let most = 20.0 * 1448.0 / 1500.0;
    let goodput = value(flow.goodput_mbit);
    assert!((0.93 * most..most).contains(&goodput), "{goodput} Mbit/s");
    assert!((value(flow.total_mbit) - goodput).abs() < 1e-9);
    assert!((value(flow.share) - goodput / 20.0).abs() < 1e-9);
    assert_eq!((flow.fairness, flow.mean_s), (None, None));
    assert_eq!((flow.left_flows, flow.left_bytes), (1, 0));
    // The queue holds at most another round trip.
    assert!((0.1..0.21).contains(&value(flow.srtt_s)));
}

#[test]
fn requests_take_their_round_trips() {
    let text = one("[workload]\nkind = \"requests\"\nrequest = \"1 kB\"\nresponse = \"1 kB\"\n\
                    think = \"1 s\"\ncount = 10\n[sim]\nduration = \"60 s\"");
    let outcome = simulate(&text, &[]);
    let flow = &outcome.comparisons[0].plays[0].flows[0];
    assert_eq!((flow.writes, flow.left), (10, None));
    // The first waits for the handshake, another round trip. 1052 bytes take 0.42 ms.
    for (place, latency) in flow.latencies_s.iter().enumerate() {
        let round_trips = if place == 0 { 0.2 } else { 0.1 };
        assert!((latency - round_trips - 0.000_42).abs() < 1e-4, "request {place}: {latency} s");
    }
    // From the first request to the last response.
    let seconds = 0.2 + 9.0 * 1.1;
    assert!((flow.end_s - seconds).abs() < 0.01, "{} s", flow.end_s);
    assert!((flow.goodput.unwrap() - 20.0 * 8000.0 / seconds).abs() < 100.0);
    assert_eq!(flow.arrived, [10_000, 10_000]);
}

#[test]
fn on_and_off_carries_what_is_offered() {
    // Half the time at 4 Mbit/s.
    let text = one("[workload]\nkind = \"on-off\"\nwrite = \"1000 B\"\nrate = \"4 Mbit/s\"\n\
                    on = \"500 ms\"\noff = \"500 ms\"\n[sim]\nduration = \"100 s\"");
    let [flow] = &flows(&text, &[])[..] else { panic!("one group") };
    assert!((value(flow.goodput_mbit) - 2.0).abs() < 0.02, "{:?}", flow.goodput_mbit);
    // 250 writes a second; the window of 10 is not enough for the first ones after each pause.
    assert!((24_900..=25_001).contains(&flow.writes), "{}", flow.writes);
    assert!(value(flow.mean_s) > 0.05 && value(flow.retransmitted) == 0.0);
}

#[test]
fn recorded_writes_are_compared_write_by_write() {
    let list = "# ms, bytes\n0 1448\n250 1448\n1000.5 14480\n";
    let text = one("[workload]\nkind = \"writes\"\nfile = \"list\"");
    let outcome = simulate(&text, &[("list", list)]);
    let [cubic] = &outcome.comparisons[0].performances[..] else { panic!("one contender") };
    let starts: Vec<u64> = cubic.bursts.iter().map(|burst| burst.start_ns / 100_000).collect();
    // Two seconds after the connection was opened.
    assert_eq!(starts, [20_000, 22_500, 30_005]);
    // 50 ms, and 0.6 ms for each of the segments, all of which the first window holds.
    let latencies: Vec<f64> = cubic.counted().map(|(_, burst)| burst.latency_s).collect();
    for (latency, expected) in latencies.iter().zip([0.0506, 0.0506, 0.056]) {
        assert!((latency - expected).abs() < 1e-6, "{latencies:?}");
    }
    assert!(report::render(&outcome, false).contains("; 3 writes as recorded; seed 1"));
}

#[test]
fn a_mix_keeps_its_parts_apart() {
    let text = one(
        "[[workload]]\nkind = \"requests\"\nrequest = \"100 B\"\nresponse = \"100 B\"\n\
         think = \"100 ms\"\ncount = 20\n\
         [[workload]]\nafter = \"1 s\"\nburst = \"10 kB\"\ninterval = \"1 s\"\ncount = 3\nwarmup = 2\n\
         [[workload]]\nkind = \"bulk\"\nbytes = \"1 MB\"\nafter = \"8 s\"\n\
         [sim]\nduration = \"60 s\"",
    );
    let outcome = simulate(&text, &[]);
    let flow = &outcome.comparisons[0].plays[0].flows[0];
    // 20 requests and 3 bursts; neither warm-up nor bulk.
    assert_eq!((flow.writes, flow.latencies_s.len(), flow.left), (23, 23, None));
    assert_eq!(flow.arrived, [2000 + 50_000 + 1_000_000, 2000]);
    assert!(outcome.comparisons[0].performances.is_empty());
}

/// Two groups over one bottleneck.
fn dumbbell(count: u32, duration: &str, contenders: &str) -> String {
    format!(
        r#"title = "Dumbbell"
seed = 3
[workload]
kind = "bulk"
bytes = "unlimited"
[sim]
duration = "{duration}"
[[link]]
name = "shared"
forward = [
    {{ element = "rate", rate = "10 Mbit/s", queue = "50 packets" }},
    {{ element = "delay", delay = "10 ms" }},
]
backward = [{{ element = "delay", delay = "10 ms" }}]
[[link]]
name = "left"
forward = [{{ element = "delay", delay = "10 ms" }}]
backward = [{{ element = "delay", delay = "10 ms" }}]
[[link]]
name = "right"
forward = [{{ element = "delay", delay = "10 ms" }}]
backward = [{{ element = "delay", delay = "10 ms" }}]
[[flow]]
name = "left"
count = {count}
route = ["left", "shared"]
stagger = "1 s"
[[flow]]
name = "right"
count = {count}
route = ["right", "shared"]
stagger = "1 s"
[bench]
contenders = {contenders}
"#
    )
}

#[test]
fn equals_share_equally() {
    let groups = flows(&dumbbell(1, "30 min", r#"["kk_reno"]"#), &[]);
    let [left, right] = &groups[..] else { panic!("two groups") };
    let ratio = value(left.total_mbit) / value(right.total_mbit);
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    let share = value(left.share) + value(right.share);
    assert!((0.92..0.97).contains(&share), "{share} of the link");
    assert!(value(left.fairness_of_all) > 0.995);
    assert_eq!(left.fairness_of_all, right.fairness_of_all);
}

#[test]
fn a_group_may_play_its_own() {
    let text = dumbbell(2, "60 s", r#"["kk_reno", "cubic"]"#)
        .replace("name = \"right\"\ncount", "name = \"right\"\ncontender = \"kk_scalable\"\ncount");
    let outcome = simulate(&text, &[]);
    let played: Vec<Vec<Contender>> = outcome.comparisons[0]
        .plays
        .iter()
        .map(|play| play.flows.iter().map(|flow| flow.played).collect())
        .collect();
    let reno = Contender::Fixed("kk_reno");
    let cubic = Contender::BASELINE;
    let scalable = Contender::Fixed("kk_scalable");
    assert_eq!(played, [[reno, reno, scalable, scalable], [cubic, cubic, scalable, scalable]]);
    // Scalable takes from those who yield more.
    let groups = &Summary::of(&outcome).scenarios[0].flows;
    assert!(value(groups[1].total_mbit) > 1.5 * value(groups[0].total_mbit), "{groups:#?}");
}

#[test]
fn repetitions_have_seeds_of_their_own_and_give_intervals() {
    let text = dumbbell(2, "20 s", r#"["cubic"]"#).replace("[sim]", "[sim]\nrepetitions = 4");
    let outcome = simulate(&text, &[]);
    let plays = &outcome.comparisons[0].plays;
    assert_eq!(plays.iter().map(|play| play.seed).collect::<Vec<_>>(), [3, 4, 5, 6]);
    let starts = |place: usize| plays[place].flows[0].start_s.unwrap();
    assert!(starts(0) != starts(1) && (0.0..1.0).contains(&starts(0)));
    assert_ne!(plays[0].flows[0].start_s, plays[0].flows[2].start_s);
    let groups = &Summary::of(&outcome).scenarios[0].flows;
    assert!(groups[0].goodput_mbit.unwrap().half_width.is_some());
    let all: Vec<f64> = (0..4).map(|play| plays[play].flows[0].goodput.unwrap()).collect();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");

    // In the table of latencies the repetitions are what the interval is of.
    let bursts =
        one("[workload]\nburst = \"64 KiB\"\ninterval = \"2 s\"\nspacing = \"exponential\"\n\
                      count = 10\n[sim]\nrepetitions = 3");
    let outcome = simulate(&bursts, &[]);
    let cubic = &Summary::of(&outcome).scenarios[0].contenders[0];
    assert_eq!((cubic.n, cubic.unfinished), (30, 0));
    let means: Vec<f64> = outcome.comparisons[0]
        .performances
        .iter()
        .map(|it| it.counted().map(|(_, burst)| burst.latency_s).sum::<f64>() / 10.0)
        .collect();
    assert_eq!(cubic.mean_s, kirikae_results::statistics::mean(&means));
    assert_eq!(value(cubic.over_cubic), 1.0);
}

#[test]
fn one_sentence_tells_what_was_chosen_in_all_repetitions() {
    let bursts = "[workload]\nburst = \"64 KiB\"\ninterval = \"2 s\"\ncount = 10\n\
                  [sim]\nrepetitions = 3";
    let text = one(bursts).replace("[\"cubic\"]", "[\"cubic\", \"kirikae\"]");
    let text = report::render(&simulate(&text, &[]), false);
    assert_eq!(text.matches("kirikae began").count(), 1, "{text}");
    assert!(text.contains(" of 30 bursts with "), "{text}");
}

#[test]
fn what_does_not_end_says_what_was_left() {
    let text = one("[workload]\nkind = \"bulk\"\nbytes = \"100 MB\"\n[sim]\nduration = \"5 s\"");
    let outcome = simulate(&text, &[]);
    let [flow] = &Summary::of(&outcome).scenarios[0].flows[..] else { panic!("one group") };
    let arrived = outcome.comparisons[0].plays[0].flows[0].arrived[0];
    assert_eq!((flow.left_flows, flow.left_bytes), (1, 100_000_000 - arrived));
    // Lines end where the terminal does.
    let text = report::render(&outcome, false).replace('\n', " ");
    let left = format!(
        "cubic ended with something left to do in 1 of 1 flows; {} bytes had been written and not arrived ",
        flow.left_bytes
    );
    assert!(text.contains(&left), "{text}");
}

#[test]
fn two_thousand_flows_take_their_turns() {
    // 160 Mbit over 40 s, of 10 Mbit/s.
    let text = dumbbell(1000, "60 s", r#"["cubic"]"#)
        .replace("bytes = \"unlimited\"", "bytes = \"10 kB\"")
        .replace("stagger = \"1 s\"", "stagger = \"40 s\"");
    for group in flows(&text, &[]) {
        assert_eq!((group.flows, group.left_flows), (1000, 0));
        assert!((1.98..2.0).contains(&value(group.total_mbit)), "{:?}", group.total_mbit);
        // 10 kB fit the first window: a handshake of 40 ms, 20 ms and 8 ms, and some waiting.
        let each = value(group.goodput_mbit);
        assert!((0.9..0.08 / 0.068).contains(&each), "{each} Mbit/s");
    }
}

#[test]
fn the_shapes_that_ship_are_played() {
    let scenarios = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for (file, groups) in [("dumbbell.toml", 2), ("parking-lot.toml", 4)] {
        let text = std::fs::read_to_string(scenarios.join(file)).unwrap();
        let text = text
            .replace("duration = \"60 s\"", "duration = \"10 s\"")
            .replace("repetitions = 5", "repetitions = 2");
        assert_eq!(flows(&text, &[]).len(), 4 * groups);
    }
}
