//! `kirikae check`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_daemon::{Host, PolicyFile};

/// Check a policy file
///
/// Reads it with all that it names (latency table, cgroups), and changes nothing. Exit status 2 where
/// something is wrong: file, line and key, what stands there, and what is allowed. Warns of cgroups that
/// are not there.
#[derive(clap::Args)]
pub struct Arguments {
    /// The policy file
    #[arg(value_name = "FILE", default_value = super::run::POLICY_FILE)]
    file: PathBuf,
}

/// Checks the file.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let cgroup_root = kirikae_agent::cgroup_root()?;
    let host = Host { cgroup_root: &cgroup_root, can_destroy: kirikae_agent::can_destroy() };
    let read = PolicyFile::read(&arguments.file, host)?;
    let mut text = format!("{}: right\n", arguments.file.display());
    for scope in &read.policy.scopes {
        let (matches, settings) = (scope.matching.to_string(), scope.unusual());
        super::status::write_scope(&mut text, &scope.name, &matches, &settings)?;
    }
    io::stdout().write_all(text.as_bytes())?;
    super::run::tell_missing_cgroups(&read.policy);
    Ok(ExitCode::SUCCESS)
}
