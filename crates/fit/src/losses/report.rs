//! The fit as people read it, and as a scenario takes it.

use std::fmt::Write;
use std::path::Path;

use kirikae_scenario::Scenario;
use kirikae_terminal::{Cell, CellAlignment, Color, figures};

use super::Report;
use super::estimate::{Fit, Fitted, Interval, Model};

/// Most lengths of runs that are listed one by one.
const LISTED: u64 = 8;

/// The element to paste into a scenario's `[[path.forward]]`, which its reader has read.
///
/// # Panics
/// Panics if the reader refuses it: a bug.
pub fn element(fit: &Fit) -> String {
    let Fitted { model, channel, .. } = &fit.chosen;
    let element = match model {
        Model::Independent => {
            format!("element = \"loss\"\nprobability = {}\n", digits(1.0 - channel.k))
        }
        _ => format!(
            "element = \"gilbert-elliott\"\np = {}\nr = {}\nk = {}\nh = {}\n",
            digits(channel.p),
            digits(channel.r),
            digits(channel.k),
            digits(channel.h),
        ),
    };
    let element = format!("[[path.forward]]\n{element}");
    let scenario = format!(
        "title = \"a fit\"\nseed = 1\n\n[workload]\nburst = \"64 KiB\"\ninterval = \"2 s\"\ncount = 1\n\n\
         {element}\n[[path.backward]]\nelement = \"delay\"\ndelay = \"1 ms\"\n"
    );
    Scenario::parse(Path::new("the fit"), scenario).expect("what is fitted is an element");
    element
}

/// Five digits that count: more than any capture tells. Without an exponent, as a scenario has it.
fn digits(probability: f64) -> String {
    let places =
        if probability > 0.0 { (4 - probability.log10().floor() as i32).clamp(0, 12) } else { 0 };
    let text = format!("{probability:.*}", places as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The report as text.
pub fn render(report: &Report, colour: bool) -> String {
    let Report { file, flow, evidence, fit, .. } = report;
    let mut text = format!("{}: {flow}\n", file.display());
    for note in evidence {
        writeln!(text, "  {note}").expect("writing to a string");
    }
    let Interval { value, low, high } = fit.loss_rate;
    writeln!(
        text,
        "{} of {} packets lost in {} runs: {:.3} %; by the chosen model {:.3} % ({:.3} to {:.3})",
        fit.lost,
        fit.packets,
        fit.runs,
        100.0 * fit.lost as f64 / fit.packets as f64,
        100.0 * value,
        100.0 * low,
        100.0 * high,
    )
    .expect("writing to a string");
    text += &bursts(fit);
    text += &models(fit, colour);
    text += &lengths(report, colour);
    text += "Intervals are of 95 %, from the curvature of the likelihood on a logit scale. The model is the one \
             with the lowest BIC.\n\n";
    text + &element(fit)
}

fn bursts(fit: &Fit) -> String {
    let bursts = &fit.bursts;
    let behind = bursts.lost_behind_lost as f64 / bursts.behind_lost.max(1) as f64;
    let verdict = match bursts.evident {
        true => "Bursts are evident",
        false => "Bursts are not evident",
    };
    // Below that the number tells nothing more.
    let p_value = match bursts.p_value {
        p if p < 1e-12 => "p < 1e-12".to_owned(),
        p => format!("p = {p:.2e}"),
    };
    format!(
        "{verdict}: of {} packets behind a lost one {} were lost, {:.1} %; if losses were independent, \
         {p_value} (likelihood ratio {:.1})\n",
        bursts.behind_lost,
        bursts.lost_behind_lost,
        100.0 * behind,
        bursts.likelihood_ratio,
    )
}

fn models(fit: &Fit, colour: bool) -> String {
    let mut all: Vec<&Fitted> = fit.others.iter().chain([&fit.chosen]).collect();
    all.sort_by_key(|fitted| fitted.parameters.len());
    let row = |fitted: &&Fitted| {
        let chosen = fitted.model == fit.chosen.model;
        let cell = |text: String| {
            let cell = Cell::new(text);
            if chosen { cell.fg(Color::Green) } else { cell }
        };
        let parameter = |(name, it): &(&str, Interval)| {
            format!("{name} {} ({} to {})", digits(it.value), digits(it.low), digits(it.high))
        };
        let parameters: Vec<String> = fitted.parameters.iter().map(parameter).collect();
        vec![
            cell(fitted.model.name().to_owned()),
            cell(parameters.join("\n")).set_alignment(CellAlignment::Left),
            cell(format!("{:.1}", fitted.log_likelihood)),
            cell(format!("{:.1}", fitted.bic)),
            cell(if chosen { "chosen".to_owned() } else { String::new() }),
        ]
    };
    let columns = ["model", "parameters (95 % interval)", "log likelihood", "BIC", ""];
    figures(&columns, all.iter().map(row), 1, colour)
}

/// Runs by their length: as they are, and as the chosen model and independent losses would have them.
fn lengths(report: &Report, colour: bool) -> String {
    let fit = &report.fit;
    let losses: Vec<u64> = report.fates.losses().collect();
    let independent = super::channel::Channel::independent(fit.lost as f64 / fit.packets as f64);
    let expected: [Vec<f64>; 2] = [&fit.chosen.channel, &independent].map(|channel| {
        channel.loss_runs(LISTED + 1).map(|share| share * fit.runs as f64).collect()
    });
    let row = |length: u64| {
        let last = length == LISTED;
        let these = |it: &&u64| if last { **it >= length } else { **it == length };
        let at = length as usize - 1;
        let of = |all: &Vec<f64>| if last { all[at] } else { all[at] - all[at + 1] };
        vec![
            Cell::new(if last { format!("{length} and more") } else { length.to_string() }),
            Cell::new(losses.iter().filter(these).count()),
            Cell::new(format!("{:.1}", of(&expected[0]))),
            Cell::new(format!("{:.1}", of(&expected[1]))),
        ]
    };
    let columns = ["lost in a row", "runs", "by the chosen model", "if independent"];
    figures(&columns, (1..=LISTED).map(row), 1, colour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_five_digits_that_count() {
        assert_eq!(digits(0.002_500_004), "0.0025");
        assert_eq!(digits(0.000_012_345_67), "0.000012346");
        assert_eq!(digits(1.0), "1");
        assert_eq!(digits(0.0), "0");
        assert_eq!(digits(0.79558), "0.79558");
    }
}
