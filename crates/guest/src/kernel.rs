//! Debian's kernels, taken from its packages; nothing of them is installed on the host.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::apt::{Apt, Offered};
use crate::architecture::Architecture;
use crate::cache;
use crate::output::output;

/// Which kernel is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Series {
    /// The newest of it, for instance `6.12`.
    Released(String),
    /// The newest release candidate of the kernel to come, `next`.
    Next,
}

impl From<&str> for Series {
    fn from(text: &str) -> Series {
        if text == "next" { Series::Next } else { Series::Released(text.to_owned()) }
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Series::Released(series) => f.write_str(series),
            Series::Next => f.write_str("next"),
        }
    }
}

/// An unpacked kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Where its packages were unpacked.
    root: PathBuf,
    /// For instance `6.12.117+deb12-cloud-amd64`.
    release: String,
    architecture: Architecture,
}

impl Kernel {
    /// The newest kernel of a series that Debian offers; where nobody can be asked, the newest that is
    /// here.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn newest(series: &Series, architecture: Architecture) -> anyhow::Result<Kernel> {
        let cache = cache()?;
        let unpacked = directories(&cache)?;
        let flavour = flavour(architecture);
        let here = newest(series, &flavour, &unpacked);
        let offered = Apt::new(&cache, architecture).and_then(|apt| {
            let offered = apt.search(&format!("^{PREFIX}.*{flavour}$"))?;
            Ok((apt, offered))
        });
        let release = match (offered, here) {
            (Ok((apt, offered)), here) => match newest(series, &flavour, &offered).or(here) {
                Some(release) if unpacked.iter().any(|it| is_of(it, &release)) => release,
                Some(release) => download(&apt, release, &cache)?,
                None => bail!(
                    "Debian offers no Linux {series} for virtual machines ({}): the series that it \
                     has are in `apt-cache search {PREFIX}` of bookworm to experimental",
                    architecture.name()
                ),
            },
            (Err(_), Some(here)) => here,
            (Err(error), None) => return Err(error.context(format!("looking for Linux {series}"))),
        };
        Ok(Kernel { root: cache.join(format!("{PREFIX}{release}")), release, architecture })
    }

    pub fn release(&self) -> &str {
        &self.release
    }

    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// From Linux 7.2 on it is beside the modules.
    pub fn image(&self) -> PathBuf {
        let image = self.modules().join("vmlinuz");
        if image.exists() {
            return image;
        }
        self.root.join("boot").join(format!("vmlinuz-{}", self.release))
    }

    /// A module without what it depends on, uncompressed; none where the kernel has it built in or
    /// does not have it. `path` is below `kernel/`, without the ending.
    pub fn module(&self, path: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let plain = self.modules().join("kernel").join(format!("{path}.ko"));
        let compressed = plain.with_extension("ko.xz");
        if plain.exists() {
            return Ok(Some(fs::read(plain)?));
        }
        if compressed.exists() {
            return output(Command::new("xz").arg("-dc").arg(compressed)).map(Some);
        }
        Ok(None)
    }

    /// Some packages have them below /usr.
    fn modules(&self) -> PathBuf {
        let places = ["usr/lib/modules", "lib/modules"].map(|it| self.root.join(it));
        let [usr, root] = places.map(|it| it.join(&self.release));
        if usr.exists() { usr } else { root }
    }
}

const PREFIX: &str = "linux-image-";
/// The flavour for virtual machines: the smallest that has BTF and all congestion controls.
fn flavour(architecture: Architecture) -> String {
    format!("-cloud-{}", architecture.name())
}

/// What of a kernel is in which package differs from release to release.
const PACKAGES: [&str; 3] = [PREFIX, "linux-binary-", "linux-modules-"];

fn cache() -> anyhow::Result<PathBuf> {
    let cache = cache::directory()?.join("kernels");
    fs::create_dir_all(&cache).with_context(|| format!("creating {}", cache.display()))?;
    Ok(cache)
}

/// The unpacked kernels.
fn directories(cache: &Path) -> anyhow::Result<Vec<Offered>> {
    let described = |entry: fs::DirEntry| {
        let what = fs::read_to_string(entry.path().join(WHAT)).ok()?;
        Some(Offered { name: entry.file_name().into_string().ok()?, what })
    };
    let entries = fs::read_dir(cache)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.into_iter().filter_map(described).collect())
}

/// In an unpacked kernel: what its package said of itself.
const WHAT: &str = "what";

fn is_of(package: &Offered, release: &str) -> bool {
    package.name.strip_prefix(PREFIX) == Some(release)
}

/// The release with the highest version.
fn newest(series: &Series, flavour: &str, packages: &[Offered]) -> Option<String> {
    let is_wanted = |package: &&Offered| {
        let release = package.name.strip_prefix(PREFIX)?;
        let version = release.strip_suffix(flavour)?;
        let is_wanted = match series {
            Series::Released(series) => version.starts_with(&format!("{series}.")),
            Series::Next => package.what.contains("-rc"),
        };
        is_wanted.then_some(())
    };
    let of_series = packages.iter().filter(|package| is_wanted(package).is_some());
    let newest = of_series.max_by_key(|package| numbers(&package.name))?;
    newest.name.strip_prefix(PREFIX).map(str::to_owned)
}

fn numbers(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

fn download(apt: &Apt, release: String, cache: &Path) -> anyhow::Result<String> {
    let names = PACKAGES.map(|prefix| format!("{prefix}{release}"));
    let mut packages = Vec::new();
    for name in &names {
        let offered = apt.search(&format!("^{}$", name.replace('.', "\\.").replace('+', "\\+")))?;
        packages.extend(offered.into_iter().map(|it| (it.name, it.what)));
    }
    eprintln!("Downloading Linux {release}");
    let work = tempfile::tempdir_in(cache)?;
    let unpacked = work.path().join("unpacked");
    let wanted: Vec<&str> = packages.iter().map(|(name, _)| name.as_str()).collect();
    apt.unpack(&wanted, &unpacked)?;
    let what = packages.first().map(|(_, what)| what.as_str());
    fs::write(unpacked.join(WHAT), what.unwrap_or_default())?;
    // In one step, so that the cache never holds half a kernel.
    let root = cache.join(format!("{PREFIX}{release}"));
    fs::rename(unpacked, &root).with_context(|| format!("creating {}", root.display()))?;
    Ok(release)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered() -> Vec<Offered> {
        let names = [
            "linux-image-6.1.0-9-cloud-amd64",
            "linux-image-6.1.0-56-cloud-amd64",
            "linux-image-6.1.0-57-cloud-amd64-dbg",
            "linux-image-6.12.117+deb12-cloud-amd64",
            "linux-image-6.12.118+deb12-cloud-arm64",
            "linux-image-6.12-cloud-amd64",
        ];
        let mut offered: Vec<_> =
            names.map(|name| Offered { name: name.into(), what: "Linux".into() }).into();
        offered.push(Offered {
            name: "linux-image-7.4-cloud-amd64".into(),
            what: "Linux 7.4-rc7 for x86-64 cloud".into(),
        });
        offered
    }

    #[test]
    fn the_newest_of_a_series_is_taken_by_number() {
        let newest = |series: &str| newest(&series.into(), "-cloud-amd64", &offered());
        assert_eq!(newest("6.1").as_deref(), Some("6.1.0-56-cloud-amd64"));
        assert_eq!(newest("6.12").as_deref(), Some("6.12.117+deb12-cloud-amd64"));
        assert_eq!(newest("6.6"), None);
        assert_eq!(newest("next").as_deref(), Some("7.4-cloud-amd64"));
    }
}
