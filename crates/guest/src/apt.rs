//! Debian's packages, of other releases than the host's: apt with folders of its own, which asks the mirrors
//! that the host asks, checks their signatures, and leaves the host's package sources and lists alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};

use crate::architecture::Architecture;
use crate::output::output;

/// The suites with the kernels that people run; `experimental` has the next release candidate.
const SUITES: [&str; 5] = ["bookworm", "trixie", "trixie-backports", "sid", "experimental"];
const SECURITY_SUITES: [&str; 2] = ["bookworm-security", "trixie-security"];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// How long what the mirrors offer is taken to stay the same.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// apt with folders of its own.
pub struct Apt {
    directory: PathBuf,
    /// The packages', whatever the host's is.
    architecture: Architecture,
}

/// A package that is offered.
pub struct Offered {
    pub name: String,
    /// One line about it.
    pub what: String,
}

impl Apt {
    /// Asks the mirrors what they offer, unless that is known from the day before.
    ///
    /// # Errors
    /// Fails if the host has no package sources of Debian, or no mirror answers.
    pub fn new(cache: &Path, architecture: Architecture) -> anyhow::Result<Apt> {
        let directory = cache.join(format!("apt-{}", architecture.name()));
        let apt = Apt { directory, architecture };
        let asked = apt.directory.join("asked");
        let age = fs::metadata(&asked).and_then(|it| it.modified()).map(|it| {
            SystemTime::now().duration_since(it).unwrap_or_default() // written in the future: now
        });
        if age.is_ok_and(|age| age < FRESH) {
            return Ok(apt);
        }
        for directory in ["lists/partial", "cache/archives/partial"] {
            let directory = apt.directory.join(directory);
            fs::create_dir_all(&directory)
                .with_context(|| format!("creating {}", directory.display()))?;
        }
        fs::write(apt.directory.join("status"), "")?;
        fs::write(apt.directory.join("sources.list"), sources(&apt.mirrors()?)?)?;
        eprintln!("Asking Debian's mirrors what kernels they offer");
        output(apt.command("apt-get").arg("update"))?;
        fs::write(asked, "")?;
        Ok(apt)
    }

    /// The packages whose names match a regular expression.
    pub fn search(&self, names: &str) -> anyhow::Result<Vec<Offered>> {
        let found = output(self.command("apt-cache").args(["search", "--names-only", names]))?;
        let offered = |line: &str| {
            let (name, what) = line.split_once(" - ")?;
            Some(Offered { name: name.to_owned(), what: what.to_owned() })
        };
        Ok(String::from_utf8(found)?.lines().filter_map(offered).collect())
    }

    /// Unpacks packages into a directory; nothing of them is installed.
    pub fn unpack(&self, packages: &[&str], to: &Path) -> anyhow::Result<()> {
        let work = tempfile::tempdir_in(&self.directory)?;
        output(self.command("apt-get").arg("download").args(packages).current_dir(&work))?;
        for archive in fs::read_dir(&work)? {
            output(Command::new("dpkg-deb").arg("-x").arg(archive?.path()).arg(to))?;
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let place = |name: &str| self.directory.join(name).display().to_string();
        for (option, value) in [
            ("APT::Architecture", self.architecture.name().to_owned()),
            ("APT::Architectures", self.architecture.name().to_owned()),
            ("Dir::Etc::sourcelist", place("sources.list")),
            ("Dir::Etc::sourceparts", "-".into()),
            ("Dir::State::lists", place("lists")),
            ("Dir::State::status", place("status")),
            ("Dir::Cache", place("cache")),
            // Packages alone: no translations, no contents.
            ("Acquire::Languages", "none".into()),
            ("Acquire::IndexTargets::deb::DEP-11::DefaultEnabled", "false".into()),
            ("APT::Sandbox::User", "root".into()),
        ] {
            command.arg("-o").arg(format!("{option}={value}"));
        }
        command
    }

    /// Those of the host.
    fn mirrors(&self) -> anyhow::Result<Vec<String>> {
        let arguments = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"];
        let uris = String::from_utf8(output(Command::new("apt-get").args(arguments))?)?;
        Ok(uris.lines().map(str::to_owned).collect())
    }
}

/// Lines of a sources.list for all suites, with the mirrors that the host has.
fn sources(mirrors: &[String]) -> anyhow::Result<String> {
    let mirror =
        |ending: &str| mirrors.iter().find(|uri| uri.trim_end_matches('/').ends_with(ending));
    let Some(main) = mirror("/debian") else {
        bail!(
            "apt has no mirror of Debian to ask: `apt-get update` as root, on a Debian host, tells \
             why"
        );
    };
    let line = |uri: &str, suite: &str| format!("deb [signed-by={KEYRING}] {uri} {suite} main\n");
    let mut lines: String = SUITES.iter().map(|suite| line(main, suite)).collect();
    if let Some(security) = mirror("/debian-security") {
        lines.extend(SECURITY_SUITES.iter().map(|suite| line(security, suite)));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_asked_of_the_hosts_mirrors() {
        let mirrors = ["http://deb.example/debian/", "http://deb.example/debian-security/"];
        let sources = sources(&mirrors.map(String::from)).unwrap();
        let signed = format!("[signed-by={KEYRING}]");
        for line in [
            format!("deb {signed} http://deb.example/debian/ trixie-backports main\n"),
            format!("deb {signed} http://deb.example/debian-security/ bookworm-security main\n"),
        ] {
            assert!(sources.contains(&line), "{sources}");
        }
    }

    #[test]
    fn a_host_without_mirrors_is_told() {
        let error = sources(&["http://node.example/x".into()]).unwrap_err().to_string();
        assert!(error.contains("apt-get update"), "{error}");
    }
}
