//! `kirikae check`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_command::tell;
use kirikae_daemon::{Host, PolicyFile};

/// Check a policy file
///
/// Reads it with all that it names (latency table, cgroups, network namespaces, group), and changes nothing.
/// Exit status 2 where something is wrong that `kirikae run` would refuse, too: file, line and key, what stands
/// there, and what is allowed. Exit status 0 also where it only warns, as `kirikae run` does: of cgroups that
/// are not there yet, scopes that no connection reaches, and an address on which the page cannot be served.
#[derive(clap::Args)]
pub struct Arguments {
    /// The policy file
    #[arg(value_name = "FILE", default_value = super::run::POLICY_FILE)]
    file: PathBuf,
}

/// Checks the file.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let cgroup_root = kirikae_agent::cgroup_root()?;
    let read = PolicyFile::read(&arguments.file, Host::own(&cgroup_root))?;
    let mut text = format!("{}: right\n", arguments.file.display());
    for scope in &read.policy.scopes {
        let (matches, settings) = (scope.matching.to_string(), scope.unusual());
        super::status::write_scope(&mut text, &scope.name, &matches, &settings)?;
    }
    io::stdout().write_all(text.as_bytes())?;
    super::run::tell_warnings(&read.policy);
    if let Some(warning) = read.status.page.and_then(kirikae_daemon::page_warning) {
        tell!("kirikae: {warning}");
    }
    Ok(ExitCode::SUCCESS)
}
