//! Finds as scenario files.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use kirikae_results::report::estimate;
use kirikae_results::{Error, While};

use super::{Find, Verdict};

/// Makes the directory, or finds that there is nothing in it.
pub(super) fn prepare(output: &Path) -> Result<(), Error> {
    let making = || format!("making {}", output.display());
    fs::create_dir_all(output).of_directory(making)?;
    let mut entries = fs::read_dir(output).of_directory(making)?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(Error::Directory(format!(
            "{} is not empty, and nothing was played; allowed: a new or empty directory",
            output.display()
        ))),
    }
}

/// Writes each find, made simple, with a comment that says what was found.
pub(super) fn write(output: &Path, finds: &mut [Find]) -> Result<(), Error> {
    for (rank, find) in (1..).zip(finds) {
        let path = output.join(format!("{rank:02}-path-{}.toml", find.found.path));
        let text = comment(find) + &find.reduced.text;
        File::create_new(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .during(|| format!("writing {}", path.display()))?;
        find.file = Some(path);
    }
    Ok(())
}

fn comment(find: &Find) -> String {
    let Verdict { ratio, repetitions, mean_s, best, best_mean_s, .. } = &find.reduced.verdict;
    format!(
        "# kirikae takes {} times as long as {best} in the mean of {repetitions} repetitions: {mean_s:.3} s\n\
         # instead of {best_mean_s:.3} s. Found as: {},\n# where it was {}.\n\n",
        estimate(Some(*ratio), 3),
        find.found.title,
        estimate(Some(find.found.verdict.ratio), 3),
    )
}
