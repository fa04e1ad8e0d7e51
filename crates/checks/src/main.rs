//! Answers the Makefile's questions, before anything else is built.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use kirikae_checks::{Need, missing, pass_over, summary};

const USAGE: &str = "\
usage: kirikae-checks require            nothing that KIRIKAE_REQUIRE names is missing
       kirikae-checks can-run NAME WHAT  WHAT can run, or is noted as skipped (exit status 3)
       kirikae-checks summary FILE       what was noted in FILE";

/// Exit status if something was skipped.
const SKIPPED: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    answer(&arguments).unwrap_or_else(|why| {
        eprintln!("{why}");
        ExitCode::FAILURE
    })
}

fn answer(arguments: &[&str]) -> Result<ExitCode, String> {
    match arguments {
        ["require"] => {
            let missing = missing()?;
            if missing.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(missing.join("\n")) }
        }
        ["can-run", name, what] => {
            let need = Need::named(name).ok_or(USAGE)?;
            let can_run = need.missing().map_or(Ok(true), |why| pass_over(what, need, why))?;
            Ok(if can_run { ExitCode::SUCCESS } else { ExitCode::from(SKIPPED) })
        }
        ["summary", file] => {
            let summary = summary(Path::new(file)).map_err(|error| format!("{file}: {error}"))?;
            println!("{summary}");
            Ok(ExitCode::SUCCESS)
        }
        _ => Err(USAGE.to_owned()),
    }
}
