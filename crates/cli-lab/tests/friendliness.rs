//! `--friendliness` where it leaves no candidate: one error, and nothing is played.

mod common;

use common::lab;

#[test]
fn a_friendliness_that_leaves_nothing_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("table.csv");
    let table = "# kirikae latency table, version 1\n\
                 rtt_ms,rate_mbit,burst_bytes,loss,burst_loss,queue,\
                 kk_scalable,kk_scalable.isolated,kk_scalable.bursts\n\
                 100,10,65536,0.00001,0,100,0.1,0,0\n# end\n";
    std::fs::write(&file, table).unwrap();
    let choice = ["--friendliness", "friendly", "--table", file.to_str().unwrap()];
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/shallow.toml");
    for command in ["sim", "bench"] {
        let output = lab().args([command, scenario]).args(choice).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        let begin = format!(
            "kirikae-lab: {}: friendliness friendly: found only kk_scalable; allowed: ",
            file.display()
        );
        assert!(message.starts_with(&begin) && message.lines().count() == 1, "{message}");
        assert!(message.contains("kk_reno") && output.stdout.is_empty(), "{message}");
    }
}
