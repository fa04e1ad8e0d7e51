//! What the agent does on each kernel that people run: `kirikae run` itself in a guest, with connections over
//! loopback and an emulated path.

mod agent;
mod algorithms;
mod capability;
mod connection;
mod inside;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::Context;

use crate::architecture::{Architecture, HERE};
use crate::guest::Guest;
use crate::kernel::{Kernel, Series};
use capability::Line;
pub use inside::inside;

/// Check what works on the kernels that people run
///
/// In a guest for each: every algorithm carries data; `kirikae run` keeps windows over idle time,
/// switches under loss, shortens the retransmission timer, takes in open connections, observes, reads
/// its policy anew, and is killed and undone. Exit status 1 where something fails that the kernel has
/// all it takes for.
#[derive(clap::Args)]
pub struct Arguments {
    /// Kernel series, as Debian packages them; `next` is the newest release candidate, which may fail
    #[arg(default_values = ["6.1", "6.12", "6.16", "6.17", "6.18", "6.19", "7.0", "7.1", "7.2", "7.3", "next"])]
    kernels: Vec<String>,
    /// The guests' processor; for another than the host's, `make deb ARCH=` builds first
    #[arg(long, value_enum, value_name = "ARCHITECTURE", default_value_t = HERE)]
    arch: Architecture,
    /// The program that is tried; `kirikae` as cargo built it for that processor by default
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// How many guests there are at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    at_once: usize,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

const TIMEOUT: Duration = Duration::from_secs(900);

/// What was found on a kernel.
#[derive(serde::Serialize)]
struct Found {
    series: String,
    /// The kernel's release; None if no kernel of the series is offered.
    release: Option<String>,
    lines: Vec<Line>,
    /// Why there are no more lines.
    error: Option<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut found = Vec::new();
    // One after the other, because they share the cache.
    let kernels: Vec<_> = arguments
        .kernels
        .iter()
        .map(|series| (series, Kernel::newest(&series.as_str().into(), arguments.arch)))
        .collect();
    for together in kernels.chunks(arguments.at_once.max(1)) {
        thread::scope(|scope| {
            let guests: Vec<_> = together
                .iter()
                .map(|(series, kernel)| scope.spawn(move || on(series, kernel, arguments)))
                .collect();
            found.extend(guests.into_iter().map(|guest| guest.join().expect("no guest panics")));
        });
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print!("{}", report::render(&found));
    }
    let works = |it: &Found| it.series == Series::Next.to_string() || report::works(it);
    Ok(if found.iter().all(works) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn on(series: &str, kernel: &anyhow::Result<Kernel>, arguments: &Arguments) -> Found {
    let mut found = Found { series: series.to_owned(), release: None, lines: vec![], error: None };
    let said = match kernel {
        Ok(kernel) => {
            found.release = Some(kernel.release().to_owned());
            live(kernel, arguments, &mut found.lines)
        }
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    found.error = said.err().map(|error| format!("{error:#}"));
    found
}

fn live(kernel: &Kernel, arguments: &Arguments, lines: &mut Vec<Line>) -> anyhow::Result<()> {
    let modules = ["drivers/net/tun".to_owned()];
    let built = || arguments.arch.programs().join("kirikae");
    let program = arguments.program.clone().unwrap_or_else(built);
    let guest = Guest {
        kernel,
        modules: &modules,
        programs: &[("/usr/sbin/kirikae".into(), program)],
        files: &[],
        arguments: &["life-inside".into()],
        timeout: TIMEOUT,
    };
    guest.run(&mut |line| {
        let line: Line = serde_json::from_str(line).with_context(|| line.to_owned())?;
        eprintln!("Linux {}: {}", kernel.release(), line);
        lines.push(line);
        Ok(())
    })
}
