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

/// Stock cubic beside it keeps what it keeps beside stock cubic that does the same. Wanted is 0.93 of each;
/// where the queue holds less than half of what the path does, it is not reached.
#[test]
fn bulk_beside_a_file_after_answers_keeps_its_share() {
    let kept: Vec<(String, f64)> = played("files.toml")
        .iter()
        .map(|scenario| {
            let beside = |contender| {
                let flow = scenario
                    .flows
                    .iter()
                    .find(|it| it.flow == "beside it" && it.contender == contender);
                flow.unwrap().goodput_mbit.unwrap().value
            };
            let kept = beside(Contender::Kirikae) / beside(Contender::BASELINE);
            (scenario.title.clone(), kept)
        })
        .collect();
    let mean = kept.iter().map(|(_, kept)| kept).sum::<f64>() / kept.len() as f64;
    assert!(mean > 0.9, "{mean:.2} in the mean of {kept:.2?}");
    assert!(kept.iter().all(|(_, kept)| *kept > 0.75), "{kept:.2?}");
}
