//! Debian's kernels, taken from its packages; nothing of them is installed on the host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// An unpacked kernel package.
#[derive(Debug)]
pub struct Kernel {
    /// Where the package was unpacked.
    root: PathBuf,
    /// For instance `6.12.117+deb12-cloud-amd64`.
    release: String,
}

impl Kernel {
    /// The kernel of a series, for instance `6.12`: from the cache, or the newest that apt offers.
    pub fn of_series(series: &str) -> anyhow::Result<Kernel> {
        let cache = cache()?;
        let root = match newest(series, directories(&cache)?) {
            Some(package) => cache.join(package),
            None => download(series, &cache)?,
        };
        let package = root.file_name().expect("a package's name").to_string_lossy();
        let release = package.trim_start_matches(PREFIX).to_owned();
        Ok(Kernel { root, release })
    }

    pub fn release(&self) -> &str {
        &self.release
    }

    pub fn image(&self) -> PathBuf {
        self.root.join("boot").join(format!("vmlinuz-{}", self.release))
    }

    /// A module without what it depends on, uncompressed; none where the kernel has it built in or
    /// does not have it. `path` is below `kernel/`, without the ending.
    pub fn module(&self, path: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let kernel = self.root.join("lib/modules").join(&self.release).join("kernel");
        let plain = kernel.join(format!("{path}.ko"));
        let compressed = kernel.join(format!("{path}.ko.xz"));
        if plain.exists() {
            return Ok(Some(fs::read(plain)?));
        }
        if compressed.exists() {
            return output(Command::new("xz").arg("-dc").arg(compressed)).map(Some);
        }
        Ok(None)
    }
}

const PREFIX: &str = "linux-image-";
/// The flavour for virtual machines: the smallest that has BTF and all congestion controls.
const FLAVOUR: &str = "-cloud-amd64";

/// Below the directory cargo builds in, which holds this program two levels down.
fn cache() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("finding this program's file")?;
    let target = program.ancestors().nth(2).context("this program is not where cargo builds")?;
    let cache = target.join("guest");
    fs::create_dir_all(&cache).with_context(|| format!("creating {}", cache.display()))?;
    Ok(cache)
}

fn directories(cache: &Path) -> anyhow::Result<Vec<String>> {
    let names = fs::read_dir(cache)?.map(|entry| Ok(entry?.file_name().into_string()));
    let names = names.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(names.into_iter().flatten().collect())
}

/// The package of the series with the highest version.
fn newest(series: &str, packages: Vec<String>) -> Option<String> {
    let start = format!("{PREFIX}{series}.");
    let of_series = |name: &String| name.starts_with(&start) && name.ends_with(FLAVOUR);
    packages.into_iter().filter(of_series).max_by_key(|name| numbers(name))
}

fn numbers(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

fn download(series: &str, cache: &Path) -> anyhow::Result<PathBuf> {
    let offered = output(Command::new("apt-cache").args(["search", "--names-only", PREFIX]))?;
    let offered = String::from_utf8(offered)?;
    let names = offered.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned()));
    let Some(package) = newest(series, names.collect()) else {
        bail!(
            "apt offers no {PREFIX}{series}.*{FLAVOUR}: run `apt-get update` as root; Debian 12 \
             with its security updates has 6.1 and 6.12"
        );
    };
    eprintln!("Downloading {package}");
    let work = tempfile::tempdir_in(cache)?;
    output(Command::new("apt-get").args(["download", &package]).current_dir(&work))?;
    let archive = fs::read_dir(&work)?.next().context("apt-get downloaded nothing")??.path();
    let unpacked = work.path().join("unpacked");
    output(Command::new("dpkg-deb").arg("-x").arg(archive).arg(&unpacked))?;
    // In one step, so that the cache never holds half a kernel.
    let root = cache.join(package);
    fs::rename(unpacked, &root).with_context(|| format!("creating {}", root.display()))?;
    Ok(root)
}

/// What a command prints; an error where it fails.
pub fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| {
        format!("running {program} (`scripts/install-missing guest` installs what is missing)")
    })?;
    if !output.status.success() {
        bail!("{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_a_series_is_taken_by_number() {
        let offered = [
            "linux-image-6.1.0-9-cloud-amd64",
            "linux-image-6.1.0-56-cloud-amd64",
            "linux-image-6.1.0-57-cloud-amd64-dbg",
            "linux-image-6.12.117+deb12-cloud-amd64",
            "linux-image-6.12-cloud-amd64",
        ];
        let newest = |series| newest(series, offered.map(String::from).to_vec());
        assert_eq!(newest("6.1").as_deref(), Some("linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(newest("6.12").as_deref(), Some("linux-image-6.12.117+deb12-cloud-amd64"));
        assert_eq!(newest("6.6"), None);
    }
}
