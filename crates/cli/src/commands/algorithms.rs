//! `kirikae algorithms`

use std::io::{self, Write};
use std::process::ExitCode;

use comfy_table::{ContentArrangement, LineStyle, Table, presets};
use kirikae_agent::KernelAlgorithms;
use kirikae_algorithms::{Algorithm, Parameter};
use serde::Serialize;

/// List the congestion controls, what they are good at and what can be set of them
///
/// Shows for each whether it is loaded now, whether the running kernel has one of that name itself,
/// what it has been held against, and what can be set of it, with the range: by `kirikae bench
/// --set`, and by `kirikae run --set` for those that the switcher chooses among.
#[derive(clap::Args)]
pub struct Arguments {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    good_at: &'static str,
    source: &'static str,
    state: &'static str,
    /// Registered in the running kernel.
    loaded: bool,
    /// How the running kernel has the algorithm itself.
    kernel: Option<KernelHas>,
    parameters: Vec<Listing>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
enum KernelHas {
    Loaded,
    Module,
}

/// A parameter as listed.
#[derive(Serialize)]
struct Listing {
    name: &'static str,
    preset: u32,
    lowest: u32,
    highest: u32,
    what: &'static str,
}

impl From<Parameter> for Listing {
    fn from(parameter: Parameter) -> Listing {
        let Parameter { name, preset, lowest, highest, what } = parameter;
        Listing { name, preset, lowest, highest, what }
    }
}

/// Lists.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let kernel = KernelAlgorithms::read()?;
    let listed: Vec<_> = Algorithm::all().map(|algorithm| list(algorithm, &kernel)).collect();
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &listed)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", render(&listed))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(algorithm: Algorithm, kernel: &KernelAlgorithms) -> Listed {
    let own = algorithm.name().trim_start_matches("kk_");
    let kernel_has = if kernel.registered.contains(own) {
        Some(KernelHas::Loaded)
    } else {
        kernel.modules.contains(own).then_some(KernelHas::Module)
    };
    Listed {
        name: algorithm.name(),
        good_at: algorithm.good_at(),
        source: algorithm.source(),
        state: algorithm.state(),
        loaded: kernel.registered.contains(algorithm.name()),
        kernel: kernel_has,
        parameters: algorithm.parameters().map(Listing::from).collect(),
    }
}

fn render(listed: &[Listed]) -> String {
    let mut algorithms =
        table(["algorithm", "loaded", "kernel's own", "state", "good at", "source"]);
    let mut parameters = table(["parameter", "preset", "allowed", "what it is"]);
    for algorithm in listed {
        let kernel = match algorithm.kernel {
            Some(KernelHas::Loaded) => "yes",
            Some(KernelHas::Module) => "module",
            None => "no",
        };
        let loaded = if algorithm.loaded { "yes" } else { "no" };
        let Listed { name, state, good_at, source, .. } = *algorithm;
        algorithms.add_row([name, loaded, kernel, state, good_at, source]);
        for parameter in &algorithm.parameters {
            parameters.add_row([
                format!("{}.{}", algorithm.name, parameter.name),
                parameter.preset.to_string(),
                format!("{} to {}", parameter.lowest, parameter.highest),
                parameter.what.to_owned(),
            ]);
        }
    }
    format!("{algorithms}\n\n{parameters}\n")
}

fn table<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    table
}
