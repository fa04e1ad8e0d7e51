//! Large answers are answers, and a file that follows answers is a file: what `scenarios/answers/` plays.

use std::path::Path;

use kirikae_results::summary::{ScenarioSummary, Summary};
use kirikae_scenario::{Contender, Controls, Scenario};
use kirikae_simlab::sim::{self, Files, Options};

fn played(file: &str) -> Vec<ScenarioSummary> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/answers").join(file);
    let options = Options { output: None, files: Files::default(), controls: Controls::default() };
    Summary::of(&sim::run(&Scenario::load_all(&[file]).unwrap(), &options).unwrap()).scenarios
}

/// However large, as long as the best algorithm delivers it in the time that an answer may have.
#[test]
fn a_large_answer_takes_no_longer_than_with_the_best_algorithm() {
    for scenario in played("large.toml") {
        let own = scenario.contenders.iter().find(|it| it.contender == Contender::Kirikae);
        let over = own.unwrap().over_best_fixed.unwrap().value;
        assert!(over < 1.03, "{}: {over:.3} of the best", scenario.title);
    }
}

/// What a flow beside the contender gets over what it gets beside the host's own, in the mean of the repetitions, by
/// scenario.
fn kept(scenarios: &[ScenarioSummary], own: Contender, stock: Contender) -> Vec<(String, f64)> {
    let beside = |scenario: &ScenarioSummary, contender| {
        let mut flows = scenario.flows.iter();
        let flow = flows.find(|it| it.flow == "beside it" && it.contender == contender);
        flow.unwrap().goodput_mbit.unwrap().value
    };
    let kept = |it: &ScenarioSummary| (it.title.clone(), beside(it, own) / beside(it, stock));
    scenarios.iter().map(kept).collect()
}

fn mean(kept: &[(String, f64)]) -> f64 {
    kept.iter().map(|(_, kept)| kept).sum::<f64>() / kept.len() as f64
}

/// Wanted is 0.93 of each; where the queue holds less than half of what the path does, it is not reached.
#[test]
fn bulk_beside_a_file_after_answers_keeps_its_share() {
    let kept = kept(&played("files.toml"), Contender::Kirikae, Contender::BASELINE);
    assert!(mean(&kept) > 0.9, "{:.2} in the mean of {kept:.2?}", mean(&kept));
    assert!(kept.iter().all(|(_, kept)| *kept > 0.75), "{kept:.2?}");
}

/// What is written first is a file for as long as the network limits it. On a host with bbr it is not yet: wanted is
/// 0.95 there, too (docs/promises.md).
#[test]
fn bulk_beside_a_file_keeps_its_share() {
    let kept = kept(&played("bulk.toml"), Contender::Kirikae, Contender::BASELINE);
    assert!(kept.iter().all(|(_, kept)| *kept > 0.95), "{kept:.2?}");
}
