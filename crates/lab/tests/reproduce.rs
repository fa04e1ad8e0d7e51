//! A few cells of the studies that `kirikae reproduce` rebuilds.

use std::path::Path;

use kirikae_lab::reproduce::{Findings, Study};
use kirikae_lab::scenario::{Contender, Scenario};

/// Those of a study's scenarios whose titles end so, with a few contenders and repetitions.
fn some(study: &Study, titles: &[&str]) -> Vec<Scenario> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut scenarios = study.scenarios(&from).unwrap();
    scenarios.retain(|scenario| titles.iter().any(|title| scenario.title.ends_with(title)));
    for scenario in &mut scenarios {
        let few = ["kk_hybla", "kk_reno", "kk_scalable"];
        scenario.contenders.retain(|contender| few.contains(&contender.name()));
        scenario.repetitions = 20;
    }
    scenarios
}

fn rtcp_tables() -> Study {
    Study::named("rtcp-tables").unwrap()
}

#[test]
fn isolated_losses_are_as_printed() {
    let study = rtcp_tables();
    let scenarios =
        some(&study, &["100 ms, isolated loss 0.0002", "delay 50 ms, isolated loss 0.004"]);
    let findings = study.compare(&scenarios).unwrap();
    let titles: Vec<&str> = findings.tables.iter().map(|table| table.title.as_str()).collect();
    let expected =
        ["RTT 100 ms", "RTT 200 ms"].map(|rtt| format!("Isolated loss: latency in seconds, {rtt}"));
    assert_eq!(titles, expected);
    let row = &findings.tables[1].rows[0];
    assert_eq!((row.at, row.first.as_str(), row.first_over_lowest), (0.0002, "hybla", 1.0));
    let reno = row.cells.iter().find(|cell| cell.algorithm == "reno").unwrap();
    assert_eq!((reno.published, reno.n), (0.259741, 20 * 200));
    assert!(reno.agrees == Some(true) && reno.ours.half_width.is_some(), "{reno:?}");
    let median = &findings.criteria[0];
    assert_eq!((median.of, median.met), (6, Some(true)), "{median:?}");
    assert!(findings.agrees());
    let text = findings.render();
    assert!(text.contains("0.260") && text.contains("at most 0.150 asked: met"), "{text}");
}

#[test]
fn burst_losses_are_paired_against_the_print() {
    let study = rtcp_tables();
    let findings = study.compare(&some(&study, &["150 ms, bottleneck 1000 kbit/s"])).unwrap();
    let [rate, latency] = &findings.tables[..] else { panic!("{:?}", findings.tables) };
    // Printed beside 3000, the counterpart of 1000 when it is read in reverse.
    let reno = |row: &kirikae_lab::reproduce::Row| {
        row.cells.iter().find(|cell| cell.algorithm == "reno").unwrap().clone()
    };
    let (rate, latency) = (reno(&rate.rows[0]), reno(&latency.rows[0]));
    assert_eq!((rate.published, latency.published), (0.54358, 1.2043));
    assert!(rate.ours.value > 0.0, "the queue overflows");
    assert_eq!((rate.agrees, latency.agrees), (None, None));
}

#[test]
fn what_was_not_published_is_refused() {
    let study = rtcp_tables();
    let mut scenarios = some(&study, &["delay 50 ms, isolated loss 0.001"]);
    scenarios[0].contenders = vec![Contender::BASELINE, Contender::Stock("bbr")];
    scenarios[0].repetitions = 1;
    let error = study.compare(&scenarios).map(|findings: Findings| findings.render()).unwrap_err();
    assert!(error.to_string().contains("nothing was published of bbr at 0.001"), "{error}");
    assert_eq!(error.exit_status(), 2);
}
