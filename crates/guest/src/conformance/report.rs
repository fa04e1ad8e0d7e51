//! The table.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::compare::{Comparison, Verdict};

const COLUMNS: [&str; 7] =
    ["algorithm", "path", "recoveries", "rounds", "median", "max", "verdict"];

const LEGEND: &str = "\
Relative difference of cwnd at the end of each round trip from that of the kernel's module, rounds
counted from the same lost packet. Conforms: median at most 5 %, no round beyond 15 %.
Paths: RTT 100 ms, wide 50 Mb/s, narrow 10 Mb/s; packet 60, one in congestion avoidance, then four
in a row are lost. Recoveries: the module's, and ours where they differ.
";

/// The whole comparison as text.
pub fn render(release: &str, comparisons: &[Comparison]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(COLUMNS);
    for column in table.column_iter_mut().skip(2).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for comparison in comparisons {
        let (module, ours) = comparison.recoveries;
        table.add_row([
            comparison.algorithm.clone(),
            comparison.route.to_string(),
            if module == ours { module.to_string() } else { format!("{module}/{ours}") },
            comparison.rounds().to_string(),
            percent(comparison.median()),
            percent(comparison.max()),
            match comparison.verdict() {
                Verdict::NoModule => "no such module".into(),
                Verdict::Conforms => "conforms".into(),
                Verdict::Meant(why) => format!("as meant: {why}"),
                Verdict::Differs => "DIFFERS".into(),
            },
        ]);
    }
    let mut text = format!("kk_ algorithms beside the modules of Linux {release}\n");
    writeln!(text, "{table}").expect("writing to a string");
    text + LEGEND
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.1} %", share * 100.0))
}
