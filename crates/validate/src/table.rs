//! Writes cells for people: a table for each scenario.

use std::fmt::Write;

use kirikae_results::report::estimate;
use kirikae_results::statistics::Estimate;
use kirikae_terminal::{Cell as Field, figures};

use super::{Cell, Goodput, LATENCIES, Latencies, MEAN_WITHIN, P95_WITHIN, SHARE_WITHIN, SHARES};

const LATENCY_COLUMNS: [&str; 7] =
    ["n", "mean, kernel", "simulated", "ratio", "p95, kernel", "simulated", "ratio"];
const GOODPUT_COLUMNS: [&str; 4] = ["Mbit/s, kernel", "simulated", "share, kernel", "simulated"];

/// The tables, and how many cells agree.
pub fn render(cells: &[Cell]) -> String {
    let mut text = String::new();
    for of_scenario in cells.chunk_by(|a, b| a.scenario == b.scenario) {
        writeln!(text, "{}\n{}", of_scenario[0].scenario, table(of_scenario))
            .expect("writing to a string");
    }
    let (mean, p95) = (MEAN_WITHIN * 100.0, P95_WITHIN * 100.0);
    for (tally, within) in [
        (LATENCIES, format!("latency: mean within {mean:.0} %, 95th percentile within {p95:.0} %")),
        (SHARES, format!("goodput: share of the narrowest rate within {SHARE_WITHIN}")),
    ] {
        let (agreeing, of) = tally.count(cells);
        let wanted = tally.wanted * 100.0;
        if of > 0 {
            writeln!(
                text,
                "{agreeing} of {of} cells agree ({wanted:.0} % are wanted) in {within}."
            )
            .expect("writing to a string");
        }
    }
    text + "Latency in seconds, from the start of a write to its last byte in order, of a request until the \
            end of its\nresponse. The ratio is the simulator's to the kernel's, of the means paired by write, \
            with Student's 95 %\ninterval. Goodput and share of a group of flows together; with repetitions \
            their mean with its interval.\n"
}

fn table(cells: &[Cell]) -> String {
    let flows = cells.iter().any(|cell| cell.flow.is_some());
    let names: &[&str] = if flows { &["contender", "flow"] } else { &["contender"] };
    let goodput: &[&str] = if flows { &GOODPUT_COLUMNS } else { &[] };
    let columns = [names, &LATENCY_COLUMNS, goodput, &[""]].concat();
    let rows = cells.iter().map(|cell| {
        let mut row = vec![cell.contender.clone()];
        row.extend(cell.flow.clone());
        row.extend(latencies(cell.n, cell.latencies.as_ref()));
        if flows {
            row.extend(goodputs(cell.goodput.as_ref()));
        }
        row.push(cell.reservations().join(", "));
        row.into_iter().map(Field::new).collect()
    });
    figures(&columns, rows, names.len(), false)
}

fn latencies(n: usize, latencies: Option<&Latencies>) -> [String; LATENCY_COLUMNS.len()] {
    let seconds = |of: fn(&Latencies) -> f64| {
        latencies.map_or("-".into(), |latencies| format!("{:.3}", of(latencies)))
    };
    [
        n.to_string(),
        seconds(|latencies| latencies.kernel_mean_s.value),
        seconds(|latencies| latencies.simulated_mean_s.value),
        estimate(latencies.map(|latencies| latencies.mean_ratio), 3),
        seconds(|latencies| latencies.kernel_p95_s),
        seconds(|latencies| latencies.simulated_p95_s),
        seconds(Latencies::p95_ratio),
    ]
}

fn goodputs(goodput: Option<&Goodput>) -> [String; GOODPUT_COLUMNS.len()] {
    let of = |of: fn(&Goodput) -> Option<Estimate>, digits| estimate(goodput.and_then(of), digits);
    [
        of(|goodput| Some(goodput.kernel_mbit), 2),
        of(|goodput| Some(goodput.simulated_mbit), 2),
        of(|goodput| goodput.kernel_share, 3),
        of(|goodput| goodput.simulated_share, 3),
    ]
}
