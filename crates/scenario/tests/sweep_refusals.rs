//! Tests sweeps that are wrong, and the values of a sweep's names.

use std::fs;

use kirikae_scenario::Scenario;
use kirikae_testing::{GOOD, assert_refused};

#[test]
fn sweeps() {
    let with = |sweep: &str| format!("seed = 1\n[sweep]\n{sweep}\n");
    let swept = |sweep: &str, probability: &str| {
        let text = GOOD.replace("seed = 1\n", &with(sweep)).replace("0.01", probability);
        kirikae_testing::load(&text, &[]).unwrap_err().to_string()
    };
    assert_eq!(
        swept("loss = [0, 0.1]\nrate = [1]", "\"$lss\""),
        "x.toml:12: path.forward[0].probability: found \"$lss\"; allowed: a value, or a name of \
         [sweep], which has no lss but loss, rate (did you mean loss?)"
    );
    assert_refused(
        "0.01",
        "\"$loss\"",
        "x.toml:9: path.forward[0].probability: found \"$loss\"; allowed: a value, or a name of \
         [sweep], which has no loss",
    );
    assert_eq!(
        swept("loss = [0, 0.1]\nrate = [1]", "\"$loss\""),
        "x.toml:5: sweep.rate: found [1]; allowed: names that stand for a value somewhere, as \
         \"$rate\""
    );
    assert_eq!(
        swept("at = [{ loss = 0, rate = 1 }, { loss = 0.1 }]", "\"$at.rate\""),
        "x.toml:4: sweep.at[1].rate: missing required key; allowed: a table with the key rate, as \
         \"$at.rate\" stands for it"
    );
    assert_eq!(
        swept("at = [{ loss = 0 }, 0.1]", "\"$at.loss\""),
        "x.toml:4: sweep.at[1]: found 0.1; allowed: a table with the key loss, as \"$at.loss\" stands \
         for it"
    );
    assert_eq!(
        swept("loss = 0.1", "\"$loss\""),
        "x.toml:4: sweep.loss: found 0.1; allowed: names, each with the list of its values, such as \
         loss = [0, 0.01]"
    );
}

#[test]
fn titles_that_are_not_their_own() {
    const OWN: &str = "a title that no other scenario has; that of a sweep names what tells its \
                       scenarios apart, such as \"Loss $loss\"";
    let swept = |title: &str| {
        let text = GOOD.replace("A path", title).replace("0.01", "\"$loss\"");
        kirikae_testing::load(&format!("{text}[sweep]\nloss = [0, 0.1]\n"), &[])
    };
    assert_eq!(
        swept("A path").unwrap_err().to_string(),
        format!("x.toml:1: title: found \"A path\"; allowed: {OWN}")
    );
    assert_eq!(swept("A path, loss $loss").unwrap().len(), 2);

    let directory = tempfile::tempdir().unwrap();
    let files = ["one.toml", "other.toml"].map(|name| directory.path().join(name));
    let write = |place: usize, text: &str| fs::write(&files[place], text).unwrap();
    write(0, GOOD);
    write(1, &format!("# The same\n{GOOD}"));
    let refusal = Scenario::load_all(&files).unwrap_err();
    let place = (refusal.file.clone(), refusal.line, refusal.key.as_deref());
    assert_eq!(place, (files[1].clone(), Some(2), Some("title")));
    write(1, &GOOD.replace("A path", "Another path"));
    assert_eq!(Scenario::load_all(&files).unwrap().len(), 2);
}

#[test]
fn the_longest_name_is_meant_in_titles() {
    let text = GOOD
        .replace("A path", "$loss, $loss-back, $5: $lossy")
        .replace("seed = 1\n", "seed = 1\n[sweep]\nloss = [0.1]\nloss-back = [\"$loss ms\"]\n")
        .replace("0.01", "\"$loss\"")
        .replace("\"100 ms\"", "\"$loss-back\"");
    let bad = kirikae_testing::load(&text, &[]).unwrap_err();
    assert_eq!(bad.key.as_deref(), Some("sweep.loss-back[0]"), "a value is no name: {bad}");
    let good = text.replace("$loss ms", "9 ms");
    assert_eq!(kirikae_testing::load(&good, &[]).unwrap()[0].title, "0.1, 9 ms, $5: 0.1y");
}

#[test]
fn a_table_of_a_sweep_stands_for_what_belongs_together() {
    let sweep = "seed = 1\n[sweep]\nat = [{ name = \"here\", loss = 0 }, { name = \"there\", loss = 0.5 }]\n";
    let text = GOOD
        .replace("A path", "Loss $at.loss, $at.name")
        .replace("seed = 1\n", sweep)
        .replace("0.01", "\"$at.loss\"");
    let scenarios = kirikae_testing::load(&text, &[]).unwrap();
    let titles: Vec<&str> = scenarios.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["Loss 0, here", "Loss 0.5, there"]);
    assert_eq!(scenarios[1].swept["at.name"], "there");
}
