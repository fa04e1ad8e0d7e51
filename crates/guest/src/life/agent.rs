//! `kirikae run` as a process of its own.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const PROGRAM: &str = "kirikae";
const POLICY: &str = "/run/policy.toml";
const SAID: &str = "/run/said";
/// Verifying every program takes a minute of a guest's time on the slowest kernel.
const PATIENCE: Duration = Duration::from_secs(300);

/// A running agent; killed when dropped.
pub struct Agent(Child);

impl Agent {
    /// With a policy file, `scope` being what its one scope says beside that it is for everything.
    pub fn start(scope: &str) -> anyhow::Result<Agent> {
        write_policy(scope)?;
        let child = Command::new(PROGRAM)
            .args(["run", "--config", POLICY])
            .stdin(Stdio::null())
            .stdout(File::create("/run/switches")?)
            .stderr(File::create(SAID)?)
            .spawn()
            .context("starting kirikae run")?;
        let mut agent = Agent(child);
        let deadline = Instant::now() + PATIENCE;
        while !kirikae(&["status"]).is_ok_and(|(is_done, _)| is_done) {
            let said = || fs::read_to_string(SAID).unwrap_or_default();
            if let Some(status) = agent.0.try_wait()? {
                bail!("kirikae run ended with {status}: {}", said().trim());
            }
            ensure!(Instant::now() < deadline, "kirikae run does not answer: {}", said().trim());
            thread::sleep(Duration::from_millis(100));
        }
        Ok(agent)
    }

    /// Has it read another policy.
    pub fn reload(&self, scope: &str) -> anyhow::Result<()> {
        write_policy(scope)?;
        succeed(&["reload"]).map(drop)
    }

    /// Ctrl-C: it restores everything.
    pub fn stop(mut self) -> anyhow::Result<()> {
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGINT)?;
        let status = self.0.wait()?;
        let said = fs::read_to_string(SAID).unwrap_or_default();
        ensure!(status.success(), "kirikae run ended with {status}: {}", said.trim());
        Ok(())
    }

    /// SIGKILL: it can do nothing any more.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Fails where it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn write_policy(scope: &str) -> anyhow::Result<()> {
    // Over loopback, too.
    fs::write(POLICY, format!("[[scope]]\nleast-rtt = \"0 s\"\n{scope}\n"))?;
    Ok(())
}

/// Whether a call of the program succeeded, and what it printed.
fn kirikae(arguments: &[&str]) -> anyhow::Result<(bool, String)> {
    let output = Command::new(PROGRAM).args(arguments).output().context("calling kirikae")?;
    let printed = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&printed).into_owned()))
}

/// What a call of the program printed; an error where it failed.
pub fn succeed(arguments: &[&str]) -> anyhow::Result<String> {
    let (is_done, printed) = kirikae(arguments)?;
    ensure!(is_done, "kirikae {}: {}", arguments.join(" "), printed.trim());
    Ok(printed)
}

/// Fails where anything of an agent is left.
pub fn nothing_is_left() -> anyhow::Result<()> {
    let available = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = fs::read_to_string(available)?;
    let ours = available.split_whitespace().filter(|name| name.starts_with("kk_"));
    let ours: Vec<_> = ours.collect();
    ensure!(ours.is_empty(), "still registered: {}", ours.join(", "));
    for directory in ["/sys/fs/bpf/kirikae", "/run/kirikae"] {
        ensure!(!Path::new(directory).exists(), "{directory} is left");
    }
    Ok(())
}
