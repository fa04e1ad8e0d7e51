//! The table.

use std::fmt::Write;

use kirikae_terminal::{CellAlignment, table};

use super::compare::{Comparison, Measured, Verdict};

const COLUMNS: [&str; 7] =
    ["algorithm", "path", "recoveries", "rounds", "median", "max", "verdict"];

const LEGEND: &str = "\
Relative difference of cwnd at the end of each round trip from that of the kernel's module, rounds
counted from the same lost packet. Conforms: median at most 5 %, no round beyond 10 %.
Paths: RTT 100 ms, wide 50 Mb/s, narrow 10 Mb/s; packet 60, one in congestion avoidance, then four
in a row are lost. Recoveries: the module's, and ours where they differ.
";

/// The whole comparison as text.
pub fn render(release: &str, comparisons: &[Comparison]) -> String {
    let mut table = table(COLUMNS);
    for column in table.column_iter_mut().skip(2).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for comparison in comparisons {
        let mut row = vec![comparison.algorithm.clone(), comparison.route.to_string()];
        row.extend(match &comparison.measured {
            Some(measured) => cells(measured),
            None => ["-", "-", "-", "-", "no such module"].map(String::from),
        });
        table.add_row(row);
    }
    let differing = comparisons.iter().filter(|comparison| !comparison.passes());
    let mut text = format!("kk_ algorithms beside the modules of Linux {release}\n");
    writeln!(text, "{table}").expect("writing to a string");
    text.push_str(LEGEND);
    for Comparison { algorithm, route, .. } in differing {
        writeln!(text, "{algorithm} differs over the {route} path.").expect("writing to a string");
    }
    text
}

fn cells(measured: &Measured) -> [String; 5] {
    let (module, ours) = measured.recoveries;
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    [
        if module == ours { module.to_string() } else { format!("{module}/{ours}") },
        measured.rounds.to_string(),
        percent(measured.median),
        percent(measured.max),
        match measured.verdict {
            _ if measured.is_majority => "conforms, in 2 of 3".into(),
            Verdict::Conforms => "conforms".into(),
            Verdict::Meant(why) => format!("conforms, {why}"),
            Verdict::Differs => "DIFFERS".into(),
        },
    ]
}
