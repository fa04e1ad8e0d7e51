//! Our algorithms beside the kernel's own modules, over the same path with the same packets lost.

mod compare;
mod report;
mod rounds;
mod run;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use kirikae_agent::Algorithms;
use kirikae_algorithms::Algorithm;

use crate::architecture::HERE;
use crate::guest::Guest;
use crate::kernel::Kernel;
use compare::{Comparison, Pair};
use rounds::Rounds;
use run::{Plan, Route};

/// Compare our algorithms with the kernel's own modules: cwnd, round trip by round trip
///
/// In guests with one of Debian's kernels: each kk_NAME and the module tcp_NAME send over the same
/// emulated paths, which lose the same packets. Exit status 1 where one differs by more than it may.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    runs: RunArguments,
    /// Kernel series, as Debian packages them
    #[arg(long, value_name = "SERIES", default_value = "6.12")]
    kernel: String,
    /// Write every round to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What the guest is told as well.
#[derive(clap::Args, Clone)]
struct RunArguments {
    /// Names without kk_ [default: all]
    algorithms: Vec<String>,
    /// Fewer round trips, for CI
    #[arg(long)]
    short: bool,
    /// Compare each module with itself instead: what the measurement itself adds
    #[arg(long)]
    control: bool,
    /// With HyStart of the module cubic, and no loss in slow start: what bpf/stock/ is held against
    #[arg(long, requires = "control")]
    hystart: bool,
}

/// What the guest is told.
#[derive(clap::Args)]
pub struct InsideArguments {
    #[arg(long)]
    route: Route,
    #[command(flatten)]
    runs: RunArguments,
}

const TIMEOUT: Duration = Duration::from_secs(900);

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut runs = arguments.runs.clone();
    if runs.algorithms.is_empty() {
        runs.algorithms = ours();
    }
    let unknown = runs.algorithms.iter().find(|name| !runs.control && !ours().contains(name));
    if let Some(unknown) = unknown {
        bail!("no algorithm {unknown}; there are {}", ours().join(", "));
    }
    let kernel = Kernel::newest(&arguments.kernel.as_str().into(), HERE)?;
    // A guest for each path, side by side.
    let pairs = thread::scope(|scope| {
        let (kernel, runs) = (&kernel, &runs);
        let boot = |&route| scope.spawn(move || pairs(kernel, route, runs));
        let guests: Vec<_> = Route::value_variants().iter().map(boot).collect();
        let join = |guest: ScopedJoinHandle<_>| guest.join().expect("no guest panics");
        guests.into_iter().map(join).collect::<anyhow::Result<Vec<_>>>()
    })?
    .concat();
    if let Some(file) = &arguments.json {
        fs::write(file, serde_json::to_string(&pairs)?)
            .with_context(|| format!("writing {}", file.display()))?;
    }
    let compare = |name: &String| Comparison::all_of(name, &pairs);
    let comparisons: Vec<_> = runs.algorithms.iter().flat_map(compare).collect();
    print!("{}", report::render(kernel.release(), &comparisons));
    let passed = comparisons.iter().all(Comparison::passes);
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What one guest measured.
fn pairs(kernel: &Kernel, route: Route, runs: &RunArguments) -> anyhow::Result<Vec<Pair>> {
    let modules: Vec<_> = std::iter::once("drivers/net/tun".to_owned())
        .chain(runs.algorithms.iter().map(|name| format!("net/ipv4/tcp_{name}")))
        .collect();
    let mut arguments = vec!["conformance-inside".to_owned(), format!("--route={route}")];
    arguments.extend(runs.short.then(|| "--short".into()));
    arguments.extend(runs.control.then(|| "--control".into()));
    arguments.extend(runs.hystart.then(|| "--hystart".into()));
    arguments.extend(runs.algorithms.iter().cloned());
    let guest = Guest {
        kernel,
        modules: &modules,
        programs: &[],
        files: &[],
        arguments: &arguments,
        timeout: TIMEOUT,
    };
    let mut pairs = Vec::new();
    guest.run(&mut |line| {
        let pair: Pair = serde_json::from_str(line).with_context(|| line.to_owned())?;
        eprintln!("{} over the {} path: done", pair.algorithm, pair.route);
        pairs.push(pair);
        Ok(())
    })?;
    Ok(pairs)
}

/// Our algorithms, without kk_.
fn ours() -> Vec<String> {
    let name = |algorithm: Algorithm| algorithm.name().trim_start_matches("kk_").to_owned();
    Algorithm::all().map(name).collect()
}

/// How many runs are made of an algorithm and of its module. Westwood's module bounds its samples
/// by jiffies, and which of them a burst of ACKs falls into is chance: its first window after slow
/// start is 13 to 25 from one run to the next.
fn runs_of(algorithm: &str) -> usize {
    if algorithm == "westwood" { 3 } else { 1 }
}

/// The median, round by round, of so many runs.
fn median(name: &str, runs: usize, plan: &Plan) -> anyhow::Result<Rounds> {
    let once = |_| run::run(name, plan).with_context(|| name.to_owned());
    let runs = (0..runs).map(once).collect::<anyhow::Result<Vec<_>>>()?;
    let differ = || format!("{name} did not recover equally often in each of its runs");
    Rounds::median(&runs).with_context(differ)
}

/// Runs the runs and prints each pair as a line of JSON.
pub fn inside(arguments: &InsideArguments) -> anyhow::Result<()> {
    let RunArguments { algorithms, short, control, hystart } = &arguments.runs;
    // Beside ours it is left out on purpose (cubic.bpf.c, difference 1); all else is compared.
    fs::write("/sys/module/tcp_cubic/parameters/hystart", if *hystart { "1" } else { "0" })
        .context("setting HyStart")?;
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    let plan = arguments.route.plan(*short, *hystart);
    // Without what the modules have not: what is remembered over idle time, and what is for transfers that go on.
    let as_module = |algorithm: Algorithm| {
        let plain = algorithm.with("idle_keep", 0).unwrap_or(algorithm);
        plain.with("hystart", u32::from(*hystart)).unwrap_or(plain)
    };
    let played: Vec<Algorithm> = Algorithm::all().map(as_module).collect();
    let _registered = Algorithms::register(&played)?;
    for algorithm in algorithms {
        // Without a module, no line: the host knows what it asked for.
        if available.split_whitespace().any(|module| module == algorithm) {
            let run = |name: &str| median(name, runs_of(algorithm), &plan);
            let ours = if *control { algorithm.clone() } else { format!("kk_{algorithm}") };
            let measure = || {
                let (module, ours) = (run(algorithm)?, run(&ours)?);
                let (algorithm, route) = (algorithm.clone(), arguments.route);
                Ok(Pair { algorithm, route, module, ours, is_majority: false })
            };
            println!("{}", serde_json::to_string(&Pair::confirmed(measure)?)?);
        }
    }
    Ok(())
}
