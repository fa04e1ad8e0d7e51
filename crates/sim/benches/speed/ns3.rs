//! The same cases in ns-3, where it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARIES: [&str; 7] =
    ["core", "network", "internet", "point-to-point", "applications", "traffic-control", "stats"];

/// What ns-3 says of a run.
pub struct Run {
    pub cpu_s: f64,
    pub packets: f64,
    pub events: f64,
}

/// The program of `benches/ns3/`, built.
pub struct Ns3 {
    program: PathBuf,
    /// Which ns-3 it is.
    pub version: String,
}

impl Ns3 {
    /// Builds the program against the ns-3 of the system; where there is none, or it does not
    /// compile, says so.
    pub fn build() -> Result<Ns3, String> {
        let version = output(Command::new("pkg-config").args(["--modversion", "ns3-internet"]))
            .map_err(|_| "ns-3 is not installed (Debian: apt-get install libns3-dev)")?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/ns3/tcp.cc");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ns3-tcp");
        output(
            Command::new("c++")
                .args(["-std=c++17", "-O3", "-march=native", "-o"])
                .args([&program, &source])
                .args(LIBRARIES.map(|library| format!("-lns3-{library}"))),
        )?;
        Ok(Ns3 { program, version: version.trim().into() })
    }

    /// Runs a case, on the core that the calling thread is pinned to.
    pub fn run(&self, arguments: &str) -> Run {
        let line = output(Command::new(&self.program).args(arguments.split(' ')))
            .expect("ns-3 runs the cases");
        let figures: serde_json::Value = serde_json::from_str(&line).expect("a line of JSON");
        let figure = |name: &str| figures[name].as_f64().expect("a number");
        Run { cpu_s: figure("cpu_s"), packets: figure("packets"), events: figure("events") }
    }
}

/// What a command prints, or what it complains of.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
