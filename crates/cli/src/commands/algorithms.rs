//! `kirikae algorithms`

use std::io::{self, Write};
use std::process::ExitCode;

use kirikae_agent::KernelAlgorithms;
use kirikae_algorithms::{Algorithm, Parameter};
use kirikae_command::setting::{self, Setting};
use kirikae_command::tell;
use kirikae_terminal::table;
use serde::Serialize;

/// List the congestion controls, what they are good at and what can be set of them
///
/// Shows for each whether it is loaded now, whether the running kernel has one of that name itself,
/// what it has been held against, and what can be set of it, with the range: by `kirikae-lab bench
/// --set`, and by `kirikae run --set` for those that the switcher chooses among.
///
/// With --register nothing is switched: the algorithms are there for programs' setsockopt and for the
/// sysctl net.ipv4.tcp_congestion_control, such as both BBRs on a stock kernel, until they are taken away
/// or the host is booted. As root.
#[derive(clap::Args)]
pub struct Arguments {
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Register algorithms in the running kernel, for programs and the sysctl
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = algorithm, conflicts_with_all = ["json", "unregister"])]
    register: Vec<Algorithm>,
    /// Set a parameter of one that is registered, such as kk_hybla.rtt0_us=50000. May be given several
    /// times
    #[arg(long, value_name = "ALGORITHM.PARAMETER=VALUE", value_parser = setting, requires = "register")]
    set: Vec<Setting>,
    /// Take away what was registered; without names, all of it
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', num_args = 0.., value_parser = algorithm, conflicts_with = "json")]
    unregister: Option<Vec<Algorithm>>,
}

fn algorithm(name: &str) -> Result<Algorithm, String> {
    Algorithm::named(name).ok_or_else(|| {
        let names: Vec<&str> = Algorithm::all().map(|algorithm| algorithm.name()).collect();
        format!("allowed: {}", names.join(", "))
    })
}

fn setting(text: &str) -> Result<Setting, String> {
    Setting::parse(text, Algorithm::all())
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    good_at: &'static str,
    source: &'static str,
    state: &'static str,
    /// Whether it is registered in the running kernel.
    loaded: bool,
    /// Whether it is registered for programs, until it is taken away (`--register`).
    registered_for_programs: bool,
    /// Whether the running kernel brings the algorithm itself, and how; None if it does not.
    kernel: Option<KernelHas>,
    parameters: Vec<Listing>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
enum KernelHas {
    Loaded,
    Module,
}

/// A parameter in the list.
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

/// Lists, registers, or takes away algorithms.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if !arguments.register.is_empty() {
        return register(arguments);
    }
    if let Some(names) = &arguments.unregister {
        let names: Vec<&str> = names.iter().map(|algorithm| algorithm.name()).collect();
        let gone = kirikae_agent::unregister(&names)?;
        match gone.as_slice() {
            [] => tell!("kirikae: nothing is registered for programs"),
            gone => tell!("kirikae: {} taken away", gone.join(", ")),
        }
        for (namespace, algorithm) in kirikae_agent::given_by_default(&gone) {
            tell!(
                "kirikae: {namespace} still gives {algorithm} to new connections, and the kernel keeps it for \
                 them: set another there (`sysctl net.ipv4.tcp_congestion_control=cubic`)"
            );
        }
        return Ok(ExitCode::SUCCESS);
    }
    let kernel = KernelAlgorithms::read()?;
    let for_programs = kirikae_agent::registered()?;
    let listed: Vec<_> =
        Algorithm::all().map(|algorithm| list(algorithm, &kernel, &for_programs)).collect();
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &listed)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", render(&listed))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn register(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let names: Vec<&str> = arguments.register.iter().map(|it| it.name()).collect();
    if let Some(other) = arguments.set.iter().find(|set| !names.contains(&set.algorithm())) {
        let name = other.algorithm();
        tell!("kirikae: --set {name}: allowed: those of --register, {}", names.join(", "));
        return Ok(ExitCode::from(2));
    }
    let wanted = setting::apply(&arguments.set, arguments.register.iter().copied())?;
    kirikae_agent::register(&wanted)?;
    tell!(
        "kirikae: {names} registered: `sysctl net.ipv4.tcp_congestion_control={first}` gives it to new \
         connections, `kirikae algorithms --unregister` takes it away",
        names = names.join(", "),
        first = names[0],
    );
    Ok(ExitCode::SUCCESS)
}

fn list(algorithm: Algorithm, kernel: &KernelAlgorithms, for_programs: &[&str]) -> Listed {
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
        registered_for_programs: for_programs.contains(&algorithm.name()),
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
        let loaded = match algorithm {
            Listed { registered_for_programs: true, .. } => "for programs",
            Listed { loaded: true, .. } => "yes",
            _ => "no",
        };
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
