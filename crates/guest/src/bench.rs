//! `kirikae-lab bench` in a guest: the real kernel, with a clock that no other load on the host disturbs.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use crate::architecture::HERE;
use crate::guest::Guest;
use crate::kernel::Kernel;

/// Play scenarios on the real kernel in guests, whose time is virtual
///
/// Each file in a guest of its own, as `kirikae-lab bench` plays it. A guest's clock advances with its
/// instructions and jumps where it waits, so that a busy or shared machine changes no figure; full links
/// take longer than they do. What is recorded is read by `kirikae-lab validate --recorded`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Scenario files that name no other files
    #[arg(required = true, value_name = "SCENARIO.toml")]
    scenarios: Vec<PathBuf>,
    /// Kernel series, as Debian packages them
    #[arg(long, value_name = "SERIES", default_value = "6.18")]
    kernel: String,
    /// A new directory for the records, one below it for each file
    #[arg(long, value_name = "DIRECTORY")]
    output: PathBuf,
    /// The program that plays
    #[arg(long, value_name = "FILE", default_value = "target/release/kirikae-lab")]
    program: PathBuf,
    /// How many guests there are at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    at_once: usize,
}

const TIMEOUT: Duration = Duration::from_secs(12 * 3600);
/// Most networks at the same time in a guest: it has one processor, and waiting costs it nothing.
const NETWORKS: &str = "4";
/// Where the guest has the scenario, with its directory, by which it is named in the records.
const SCENARIO: &str = "/scenario";
const RESULTS: &str = "/results";
/// How the guest's lines begin: what follows is of this file, a line of it, or progress.
const FILE: char = '>';
const LINE: char = '=';
const PROGRESS: char = '~';

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let kernel = Kernel::newest(&arguments.kernel.as_str().into(), HERE)?;
    fs::create_dir(&arguments.output)
        .with_context(|| format!("creating {}", arguments.output.display()))?;
    let waiting = Mutex::new(arguments.scenarios.iter());
    let next = || waiting.lock().expect("no panic while it is held").next();
    thread::scope(|scope| {
        let player = || -> anyhow::Result<()> {
            while let Some(scenario) = next() {
                play(&kernel, scenario, arguments)
                    .with_context(|| scenario.display().to_string())?;
            }
            Ok(())
        };
        let players: Vec<_> = (0..arguments.at_once.max(1)).map(|_| scope.spawn(player)).collect();
        players.into_iter().try_for_each(|player| player.join().expect("no guest panics"))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn play(kernel: &Kernel, scenario: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    let name = scenario.file_stem().context("a scenario is a file")?.to_string_lossy();
    let directory = arguments.output.join(&*name);
    fs::create_dir(&directory).with_context(|| format!("creating {}", directory.display()))?;
    let stock = ["bbr", "hybla", "scalable", "vegas", "westwood"];
    let modules: Vec<String> = ["drivers/net/tun".to_owned()]
        .into_iter()
        .chain(stock.map(|name| format!("net/ipv4/tcp_{name}")))
        .collect();
    let content = fs::read(scenario).with_context(|| format!("reading {}", scenario.display()))?;
    let guest = Guest {
        kernel,
        modules: &modules,
        programs: &[("/usr/sbin/kirikae-lab".into(), arguments.program.clone())],
        files: &[(Path::new(SCENARIO).join(scenario), content)],
        arguments: &["bench-inside".into(), scenario.display().to_string()],
        timeout: TIMEOUT,
    };
    let mut file: Option<File> = None;
    guest.run(&mut |line| {
        let mut characters = line.chars();
        let (kind, rest) = (characters.next(), characters.as_str());
        match (kind, &mut file) {
            (Some(FILE), file) => {
                let place = Path::new(rest).file_name().context("the name of a file")?;
                *file = Some(File::create_new(directory.join(place))?);
            }
            (Some(LINE), Some(file)) => writeln!(file, "{rest}")?,
            (Some(PROGRESS), _) => eprintln!("{name}: {rest}"),
            _ => bail!("the guest said {line}"),
        }
        Ok(())
    })
}

/// In the guest: plays, and prints what was recorded.
pub fn inside(scenario: &Path) -> anyhow::Result<()> {
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
    ensure!(up.success(), "ip link set lo up failed");
    let mut playing = Command::new("kirikae-lab")
        .args(["bench", "--at-once", NETWORKS, "--output", RESULTS])
        .arg(scenario)
        // One that was named from the root is there.
        .current_dir(if scenario.is_absolute() { "/" } else { SCENARIO })
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting kirikae-lab bench")?;
    let said = BufReader::new(playing.stderr.take().expect("it is a pipe"));
    let mut last = String::new();
    for line in said.lines() {
        last = line?;
        println!("{PROGRESS}{last}");
    }
    let status = playing.wait()?;
    ensure!(status.success(), "kirikae-lab bench ended with {status}: {last}");
    for run in fs::read_dir(RESULTS)? {
        for file in fs::read_dir(run?.path())? {
            let file = file?;
            println!("{FILE}{}", file.file_name().display());
            for line in BufReader::new(File::open(file.path())?).lines() {
                println!("{LINE}{}", line?);
            }
        }
    }
    Ok(())
}
