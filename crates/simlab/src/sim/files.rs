//! Which files a simulated run writes beside its records, how they are called, and who fills them
//! while it runs.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use kirikae_results::contest::Contest;
use kirikae_results::{Error, While};
use kirikae_scenario::Scenario;
use kirikae_sim::{End, Outcome, Simulation};

use super::packet_capture::PacketCapture;
use super::plot::Plot;
use super::trace::{Format, Trace};

/// Longest part of a file name that a scenario's title becomes, bytes: names end at 255, and some
/// tools earlier.
const SLUG_MOST: usize = 120;

/// Directories for the files that are wanted, made where they are not there.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The packets that each host sends and receives, as pcapng.
    pub packets: Option<PathBuf>,
    /// The sender's state after each ACK, as a table.
    pub trace: Option<(PathBuf, Format)>,
    /// What happened over time, as SVG.
    pub plot: Option<PathBuf>,
}

impl Files {
    /// Whether there are none to write.
    pub fn is_none(&self) -> bool {
        self.packets.is_none() && self.trace.is_none() && self.plot.is_none()
    }
}

/// Who fills the files of one contest.
pub(super) type Watchers = (Option<PacketCapture>, (Option<Trace>, Option<Plot>));

/// The files of every contest; none of them is there yet.
pub(super) struct Plan<'a> {
    files: &'a Files,
    contests: Vec<Named>,
}

/// A contest as people call it.
struct Named {
    title: String,
    /// The names of its files without what tells their kind.
    stem: String,
}

impl<'a> Plan<'a> {
    /// Makes the directories.
    ///
    /// # Errors
    /// A directory that cannot be made, or a file that is there already.
    pub fn new(files: &'a Files, scenarios: &[Scenario]) -> Result<Plan<'a>, Error> {
        let plan = Plan { files, contests: named(scenarios) };
        let trace = files.trace.as_ref().map(|(directory, _)| directory);
        let directories = [files.packets.as_ref(), trace, files.plot.as_ref()];
        for directory in directories.into_iter().flatten() {
            let making = || format!("making {}", directory.display());
            fs::create_dir_all(directory).of_directory(making)?;
        }
        for index in 0..plan.contests.len() {
            let trace = plan.trace(index).map(|(path, _)| path);
            let packets = plan.packets(index).into_iter().flatten();
            let there = |path: &PathBuf| path.symlink_metadata().is_ok();
            if let Some(path) = packets.chain(trace).chain(plan.plot(index)).find(there) {
                return Err(Error::Exists(path));
            }
        }
        Ok(plan)
    }

    /// Whether there are no files to write.
    pub fn is_empty(&self) -> bool {
        self.files.is_none()
    }

    /// Creates the files that are filled while the simulation at `index` runs.
    pub fn open(&self, index: usize, simulation: &Simulation) -> Result<Watchers, Error> {
        let packets = self.packets(index).map(|paths| PacketCapture::create(paths, simulation));
        let trace = self.trace(index).map(|(path, format)| Trace::create(path, format));
        let plot = self.files.plot.as_ref().map(|_| Plot::new(simulation));
        Ok((packets.transpose()?, (trace.transpose()?, plot)))
    }

    /// Writes what is left to write, now that it has run.
    pub fn close(
        &self,
        index: usize,
        (packets, (trace, plot)): Watchers,
        outcome: &Outcome,
    ) -> Result<(), Error> {
        packets.map_or(Ok(()), PacketCapture::finish)?;
        trace.map_or(Ok(()), Trace::finish)?;
        if let Some((plot, path)) = plot.zip(self.plot(index)) {
            let svg = plot.svg(&self.contests[index].title, outcome);
            let written = create(&path)?.write_all(svg.as_bytes());
            written.during(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }

    /// As it would be captured at either host.
    fn packets(&self, index: usize) -> Option<[PathBuf; 2]> {
        let directory = self.files.packets.as_ref()?;
        Some(
            [End::Client, End::Server]
                .map(|host| self.path(directory, index, &format!("{host}.pcapng"))),
        )
    }

    fn trace(&self, index: usize) -> Option<(PathBuf, Format)> {
        let (directory, format) = self.files.trace.as_ref()?;
        Some((self.path(directory, index, format.extension()), *format))
    }

    fn plot(&self, index: usize) -> Option<PathBuf> {
        Some(self.path(self.files.plot.as_ref()?, index, "svg"))
    }

    fn path(&self, directory: &Path, index: usize, extension: &str) -> PathBuf {
        directory.join(format!("{}.{extension}", self.contests[index].stem))
    }
}

/// Creates a file that is not there yet.
pub(super) fn create(path: &Path) -> Result<fs::File, Error> {
    fs::File::create_new(path).during(|| format!("creating {}", path.display()))
}

/// `<title>.<contender>`, with the seed where there are several; titles that differ only in what file
/// names have not are numbered.
fn named(scenarios: &[Scenario]) -> Vec<Named> {
    let mut taken = BTreeSet::new();
    let mut contests = Vec::new();
    for scenario in scenarios {
        let slug = slug(&scenario.title);
        let numbered = (2..).map(|number| format!("{slug}-{number}"));
        let mut slugs = std::iter::once(slug.clone()).chain(numbered);
        let slug = slugs.find(|slug| taken.insert(slug.clone())).expect("numbers do not end");
        for Contest { contender, seed, .. } in Contest::of(scenario) {
            let mut title = format!("{}: {contender}", scenario.title);
            let mut stem = format!("{slug}.{contender}");
            if scenario.repetitions > 1 {
                title += &format!(", seed {seed}");
                stem += &format!(".{seed}");
            }
            contests.push(Named { title, stem });
        }
    }
    contests
}

/// A title as a part of a file name: letters, digits, and dots between digits; the rest are hyphens.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    let mut letters = title.chars().peekable();
    while let Some(letter) = letters.next() {
        let point = letter == '.'
            && slug.ends_with(|last: char| last.is_ascii_digit())
            && letters.peek().is_some_and(char::is_ascii_digit);
        if slug.len() + letter.len_utf8() > SLUG_MOST {
            break;
        } else if letter.is_alphanumeric() || letter == '_' || point {
            slug.extend(letter.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches(['-', '.']).len());
    if slug.is_empty() { "scenario".into() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_parts_of_file_names() {
        assert_eq!(slug("RTT 200 ms, 0.1 % lost"), "rtt-200-ms-0.1-lost");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("... ?"), "scenario");
        assert_eq!(slug("loss = 0.01; rate = \"10 Mbit/s\""), "loss-0.01-rate-10-mbit-s");
        assert_eq!(slug(&"ü".repeat(200)).len(), SLUG_MOST);
    }
}
