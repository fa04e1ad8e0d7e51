//! A few cells of the studies that `kirikae-lab reproduce` rebuilds.

use std::path::Path;

use kirikae_scenario::Contender;
use kirikae_studies::{Cell, Findings, Material, Published, Run, Study, Table, page, render};
use kirikae_testing::{Figure, moved};

/// What short runs come to, by study.
const LARGE_BDP: [Figure; 3] =
    [("Mbit/s at 10 ms", 14.523), ("round trips of 100 ms", 10.782), ("packets at 0.0024", 25.286)];
const THESIS_WIFI: [Figure; 1] = [("R-TCP below cubic, %", 60.558)];
const THESIS_LTE: [Figure; 2] = [("R-TCP below cubic, %", 42.329), ("round trips of cubic", 3.942)];
/// How far they may be from that, as a share.
const ROOM: f64 = 0.02;

#[track_caller]
fn have_not_moved(figures: &[Figure], now: &[f64]) {
    let moved = moved(figures, now, ROOM);
    assert!(moved.is_empty(), "by more than {ROOM}:\n{}", moved.join("\n"));
}

/// A short run of a study's scenarios whose titles end so.
fn some(study: &Study, titles: &[&str]) -> Material {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut material = study.material(&from, Run { short: true, ..Run::default() }).unwrap();
    material
        .scenarios
        .retain(|scenario| titles.iter().any(|title| scenario.title.ends_with(title)));
    material
}

/// The same of R-TCP's tables with a few contenders.
fn tables(titles: &[&str]) -> Result<Findings, kirikae_results::Error> {
    let study = Study::named("thesis-tables").unwrap();
    let mut material = some(study, titles);
    for scenario in &mut material.scenarios {
        let few = ["kk_hybla", "kk_reno", "kk_scalable"];
        scenario.contenders.retain(|contender| few.contains(&contender.name()));
        scenario.repetitions = 20;
    }
    study.compare(&material)
}

fn cell<'a>(table: &'a Table, row: &str, column: &str) -> &'a Cell {
    table.cell(row, column).unwrap_or_else(|| panic!("{row} / {column} in {table:?}"))
}

#[test]
fn isolated_losses_are_as_printed() {
    let findings =
        tables(&["100 ms, isolated loss 0.0002", "delay 50 ms, isolated loss 0.004"]).unwrap();
    let titles: Vec<&str> = findings.tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Isolated loss: latency by loss rate, RTT 100 ms (Fig. 4-9): latency, s",
            "Isolated loss: latency by loss rate, RTT 200 ms (Fig. 4-10): latency, s",
            "Isolated loss with other reference RTTs of hybla",
        ]
    );
    let reno = cell(&findings.tables[1], "0.0002", "reno");
    assert_eq!((reno.published, reno.n), (Some(0.259741), 20 * 200));
    assert!(reno.agrees == Some(true) && reno.ours.unwrap().half_width.is_some(), "{reno:?}");
    let lowest = "lowest of ours, printed value above the lowest";
    let first = cell(&findings.tables[1], "0.0002", lowest);
    assert_eq!(first.word.as_deref(), Some("hybla, +0 %"));
    let median = &findings.criteria[0];
    assert_eq!((median.of, median.met), (6, Some(true)), "{median:?}");
    let text = render(&findings).replace('\n', " ");
    assert!(text.contains("0.260") && text.contains("at most 0.150 asked: met"), "{text}");
}

#[test]
fn burst_losses_are_paired_against_the_print() {
    let findings = tables(&["150 ms, bottleneck 1000 kbit/s"]).unwrap();
    let [rate, latency] = &findings.tables[..] else { panic!("{:?}", findings.tables) };
    // Printed beside 3000, the counterpart of 1000 when it is read in reverse.
    let (rate, latency) = (cell(rate, "1000", "reno"), cell(latency, "1000", "reno"));
    assert_eq!((rate.published, latency.published), (Some(0.54358), Some(1.2043)));
    assert!(rate.ours.unwrap().value > 0.0, "the queue overflows");
    assert_eq!((rate.agrees, latency.agrees), (None, None));
}

#[test]
fn what_was_not_published_is_refused() {
    let study = Study::named("thesis-tables").unwrap();
    let mut material = some(study, &["delay 50 ms, isolated loss 0.001"]);
    material.scenarios[0].contenders = vec![Contender::BASELINE, Contender::Stock("bbr")];
    let error = study.compare(&material).unwrap_err();
    assert!(error.to_string().contains("nothing was published of bbr at 0.001"), "{error}");
    assert_eq!(error.exit_status(), 2);
}

#[test]
fn longer_round_trips_share_better_with_rtt_fair_cubic() {
    let study = Study::named("rtt-fairness").unwrap();
    let mut material = some(study, &["server 64 ms away, queue 250 packets"]);
    material.scenarios[0].contenders =
        [Contender::BASELINE, Contender::Fixed("kk_cubic_fair")].into();
    let findings = study.compare(&material).unwrap();
    let index = |name: &str| {
        let column = format!("{name}: Jain's index");
        cell(&findings.tables[0], "128", &column).ours.unwrap().value
    };
    let (milliseconds, standard) = (index("kk_cubic_fair, RTT in ms"), index("cubic"));
    assert!(milliseconds > standard, "{:?}", findings.tables);
    assert!(milliseconds > index("kk_cubic_fair, RTT in s"), "{:?}", findings.tables);
    // Two repetitions cannot tell.
    assert_eq!(findings.criteria[0].met, None);
    assert!(findings.figures.iter().all(|figure| figure.panels.len() == 1));
}

#[test]
fn windows_and_delays_limit_as_printed() {
    let study = Study::named("large-bdp").unwrap();
    let titles = [
        "window 8760 bytes, delay 10 ms",
        "Window 65535 B, window scaling off, delay 1 ms",
        "Slow start over 100 Mbit/s, one way 50 ms",
        "Loss rate 0.0024",
        "MTU 9000 B",
    ];
    let findings = study.compare(&some(study, &titles)).unwrap();
    let [throughput, rounds, loss, efficiency] = &findings.tables[..] else { panic!() };
    let found = |table, row, column| cell(table, row, column).ours.unwrap().value;
    let link = "throughput of the link, Mbit/s";
    let misprinted = cell(throughput, "4, 10 ms, 8760 B, off", link);
    assert_eq!((misprinted.published, misprinted.agrees), (Some(25.0), None));
    assert_eq!(cell(throughput, "1, 1 ms, 65535 B, off", link).agrees, Some(true));
    // The formulas: 14.6, log2 833 + 1 = 10.7, and (1.5 / 0.0024)^0.5 = 25.
    let trips = found(rounds, "100 Mbit/s, 100 ms", "round trips");
    let window = found(loss, "0.0024", "mean window, packets");
    have_not_moved(&LARGE_BDP, &[misprinted.ours.unwrap().value, trips, window]);
    assert_eq!(cell(efficiency, "9000", "efficiency, %").agrees, Some(true));
    assert!(findings.agrees(), "{:?}", findings.criteria);
}

#[test]
fn the_page_needs_nothing_else() {
    let mut findings = tables(&["delay 50 ms, isolated loss 0.004"]).unwrap();
    findings.tables[0].rows[0].why = Some("a < b & c".into());
    let page = page(&[findings], &[]);
    // The only address is a name: SVG's.
    assert!(page.replace("http://www.w3.org/2000/svg", "").find("http").is_none());
    assert!(page.contains("a &lt; b &amp; c") && !page.contains("a < b"));
    // Three panels and a key of two entries.
    assert_eq!(page.matches("<svg").count(), 3 + 2);
}

#[test]
fn reordering_slows_what_counts_duplicates() {
    let study = Study::named("reordering").unwrap();
    let titles = ["interval 15, ", "interval 100, ", "interval 1000, "];
    let mut material = some(study, &[""]);
    material.scenarios.retain(|it| titles.iter().any(|title| it.title.contains(title)));
    let findings = study.compare(&material).unwrap();
    let cubic = cell(&findings.tables[0], "Cubic, lowest normalised throughput", "value");
    assert!(cubic.ours.unwrap().value < 0.5, "{cubic:?}");
    let linux = "Linux 6 as it is, cubic: lowest normalised throughput";
    let linux = findings.criteria.iter().find(|it| it.what == linux).unwrap();
    assert_eq!((linux.of, linux.met), (2, Some(true)), "{linux:?}");
}

#[test]
fn each_claim_is_known_and_there() {
    let study = Study::named("reordering").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("claims.csv");
    let refused = |claims: &str| {
        std::fs::write(&file, claims).unwrap();
        let mut material = some(study, &["none of them"]);
        material.published = vec![Published::load(&file).unwrap()];
        study.compare(&material).unwrap_err().to_string()
    };
    let unknown = refused("claim,value\nworst_normalised_throughput_tahoe,0.5\n");
    assert!(
        unknown.contains("claims.csv:2") && unknown.contains("allowed: throughput_"),
        "{unknown}"
    );
    let missing = refused("claim,value\nworst_normalised_throughput_cubic_about,0.4\n");
    assert!(missing.contains("claims.csv has no line throughput_without_"), "{missing}");
}

#[test]
fn a_miss_that_is_explained_is_a_miss() {
    let study = Study::named("handover").unwrap();
    let mut material = some(study, &[""]);
    material
        .scenarios
        .retain(|it| it.title.starts_with("Repeated, ") && it.title.ends_with("ns-2"));
    let findings = study.compare(&material).unwrap();
    let [within, order, ..] = &findings.criteria[..] else { panic!("{:?}", findings.criteria) };
    assert_eq!((within.value, within.of, within.verdict()), (2.0, 3, "MISSED, explained"));
    assert_eq!((order.value, order.of, order.verdict()), (3.0, 3, "met"));
    assert!(!findings.agrees());
    // Lines end where the terminal does.
    let text = render(&findings).replace('\n', " ");
    assert!(text.contains("MISSED, explained (In the paper the losses"), "{text}");
}

#[test]
fn a_link_that_comes_back_is_used_at_once() {
    let study = Study::named("handover").unwrap();
    let mut material = some(study, &[""]);
    material.scenarios.retain(|it| it.title.starts_with("Same, ") && it.title.ends_with("ns-2"));
    let findings = study.compare(&material).unwrap();
    let table = &findings.tables[0];
    let schemes = ["MIT", "Immediate Expiration", "BW Aware ssthresh"];
    let ours = schemes.map(|scheme| cell(table, "Same", scheme).ours.unwrap().value);
    assert!(ours.is_sorted(), "{ours:?}");
    let [within, order, ..] = &findings.criteria[..] else { panic!("{:?}", findings.criteria) };
    // They were fitted to it, which does not count as met.
    assert_eq!((within.value, within.of, within.verdict()), (3.0, 3, "set so"));
    assert_eq!((order.value, order.of, order.verdict()), (3.0, 3, "met"));
    // Bars, what hangs on what is not told, and the windows.
    assert_eq!(findings.figures.len(), 3);
}

#[test]
fn longer_round_trips_cost_cubic_more_than_who_switches() {
    let study = Study::named("thesis-fairness").unwrap();
    let mut material = some(
        study,
        &["delay 50 ms, 5 % lost", "delay 150 ms, 5 % lost", "2.6.33, bulk, loss 0.05"],
    );
    for scenario in &mut material.scenarios {
        let few = ["kk_cubic", "kk_reno", "kk_hybla", "kk_htcp", "r-tcp", "cubic", "kirikae"];
        scenario.contenders.retain(|contender| few.contains(&contender.name()));
    }
    let findings = study.compare(&material).unwrap();
    let [latency, response, today] = &findings.tables[..] else { panic!("{:?}", findings.tables) };
    let ours = |table, row, column| cell(table, row, column).ours.unwrap().value;
    let r_tcp = cell(latency, "300", "r-tcp, Linux 2.6.33");
    assert_eq!(r_tcp.published, Some(1.767224), "hybla's, the lowest printed");
    for (switched, cubic) in
        [("r-tcp, Linux 2.6.33", "kk_cubic, Linux 2.6.33"), ("kirikae, Linux 6", "cubic, Linux 6")]
    {
        let growth = |name| ours(latency, "300", name) / ours(latency, "100", name);
        assert!(growth(switched) < growth(cubic) / 10.0, "{latency:?}");
    }
    let beside_reno = |name| ours(response, "0.05", name) / ours(response, "0.05", "kk_reno");
    assert!((0.8..1.25).contains(&beside_reno("kk_cubic")), "{response:?}");
    assert!(beside_reno("kk_hybla") > 2.0, "{response:?}");
    // Among those like reno R-TCP is like reno, and among all it is not.
    assert!(beside_reno("r-tcp") > 1.5 && beside_reno("r-tcp, restricted") < 1.5, "{response:?}");
    assert!(today.rows.is_empty());
}

#[test]
fn r_tcp_among_all_leaves_reno_less_than_among_those_like_it() {
    let study = Study::named("thesis-fairness").unwrap();
    let titles = ["2.6.33, bulk, loss 0.05", "Beside Reno, linux-2.6.33"];
    let findings = study.compare(&some(study, &titles)).unwrap();
    let beside = findings.tables.last().unwrap();
    let kept = |name: &str| {
        let row = format!("linux-2.6.33, {name}");
        cell(beside, &row, "reno over reno beside reno").ours.unwrap().value
    };
    assert_eq!(kept("kk_reno"), 1.0);
    assert!(kept("r-tcp") < 0.5 && kept("r-tcp, restricted") > kept("r-tcp"), "{beside:?}");
}

#[test]
fn r_tcp_answers_sooner_behind_a_wireless_lan() {
    let study = Study::named("thesis-wifi").unwrap();
    let findings = study.compare(&some(study, &["LAN, linux-2.6.33", "most 5 retries"])).unwrap();
    let latency = &findings.tables[0];
    assert_eq!(cell(latency, "mean", "cubic").published, Some(0.589));
    let below = cell(latency, "mean", "R-TCP below cubic, %").ours.unwrap().value;
    have_not_moved(&THESIS_WIFI, &[below]);
    let limits = findings.tables.iter().find(|it| it.by == "retries").unwrap();
    assert_eq!(limits.rows.len(), 1);
    // What was measured is on a curve; the printed parameters' is another.
    let curves = findings.tables.iter().find(|it| it.by == "packets").unwrap();
    let off = |column| cell(curves, "1000", column).difference.unwrap().abs();
    assert!(off("fitted here") < 0.05 && off("printed parameters, losses counted") > 1.0);
    assert!(findings.agrees(), "{:?}", findings.criteria);
}

#[test]
fn kirikae_answers_a_mobile_nearly_as_soon_as_can_be() {
    let study = Study::named("thesis-wimax").unwrap();
    let findings = study.compare(&some(study, &["WiMAX, linux-6"])).unwrap();
    let [bound, bbr] = &findings.criteria[..] else { panic!("{:?}", findings.criteria) };
    assert!(bound.what.contains("lower bound") && bbr.what.contains("bbr"));
    assert!(findings.agrees(), "{:?}", findings.criteria);
}

#[test]
fn r_tcp_answers_sooner_beside_cubic_over_lte() {
    let study = Study::named("thesis-lte").unwrap();
    let titles =
        ["Indoors, low use, beside cubic, linux-2.6.33", "Indoors, low use, alone, linux-6"];
    let findings = study.compare(&some(study, &titles)).unwrap();
    let [statistics, improvement, equivalent, _, everyone] = &findings.tables[..] else { panic!() };
    assert_eq!(statistics.rows.len(), 7);
    let below = cell(improvement, "Indoors, low use", "R-TCP below cubic beside it, %");
    assert_eq!(below.published, Some(34.1));
    let trips = cell(equivalent, "Indoors, low use", "round trips of cubic").ours.unwrap().value;
    // Printed: 34.1 and 3.78; with all repetitions 40.6 and 3.82.
    have_not_moved(&THESIS_LTE, &[below.ours.unwrap().value, trips]);
    assert_eq!(everyone.rows.len(), 3);
    let asked = |text: &str| findings.criteria.iter().find(|it| it.what.contains(text)).unwrap();
    // R-TCP is hybla here: switching does not pay.
    assert!(asked("below hybla's alone").value < 0.1, "{:?}", findings.criteria);
    // What came of it, the algorithm in use, and hybla's reference RTT.
    assert_eq!(findings.figures.len(), 3);
    assert!(findings.agrees(), "{:?}", findings.criteria);
}

#[test]
fn criteria_are_judged_with_other_seeds() {
    let study = Study::named("thesis-wimax").unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let run = |run| study.compare(&study.material(&from, run).unwrap()).unwrap();
    let short = Run { short: true, ..Run::default() };
    let beside = run(Run { blocks: 2, ..short });
    let alone = run(Run { seed: Some(20_000), ..short });
    for (criterion, alone) in beside.criteria.iter().zip(&alone.criteria) {
        let blocks = criterion.blocks.as_ref().unwrap();
        assert_eq!(blocks.values.len(), 2, "{}", criterion.key);
        assert_eq!(blocks.values[1], alone.value, "{}", criterion.key);
        assert_eq!(blocks.met.is_some(), criterion.met.is_some());
    }
    assert!(render(&beside).contains("; other seeds: "));
    assert!(run(short).criteria.iter().all(|criterion| criterion.blocks.is_none()));
}

#[test]
fn rules_are_judged_by_what_was_lost() {
    let study = Study::named("loss-differentiation").unwrap();
    let material = some(study, &["Bulk, loss 0.001", "Bulk, loss 0"]);
    let findings = study.compare(&material).unwrap();
    let share = |kind: usize, path: &str, who: &str| {
        cell(&findings.tables[kind], path, who).ours.map(|ours| ours.value)
    };
    // Where the queue alone drops there is nothing of the channel's to tell, and Reno's windows are halved.
    for rule in ["bias", "spike", "zigzag"] {
        assert_eq!(share(0, "bulk, overflows", rule), None);
        assert_eq!(share(1, "bulk, overflows", rule), Some(1.0));
    }
    let path = "bulk, 0.1 % lost and overflows";
    assert!(share(0, path, "spike").unwrap() > 0.6);
    assert!(share(0, path, "zigzag").unwrap() < 0.6);
}
