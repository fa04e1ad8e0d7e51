//! What was skipped, noted so that a person sees it: libtest shows nothing that a passing test printed.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// The variable with the file to which each skip adds a line.
const SKIPPED: &str = "KIRIKAE_SKIPPED";

/// Shows and notes a skip.
pub(crate) fn note(what: &str) {
    // Not eprintln!, which the test harness catches. Nobody may be listening.
    let _ = io::stderr().write_all(format!("skipped: {what}\n").as_bytes());
    if let Some(file) = env::var_os(SKIPPED) {
        // One write for each line, since tests run beside each other.
        let noted = Path::new(&file).parent().map_or(Ok(()), fs::create_dir_all);
        let noted = noted.and_then(|()| OpenOptions::new().create(true).append(true).open(&file));
        let noted = noted.and_then(|mut file| file.write_all(format!("{what}\n").as_bytes()));
        noted.unwrap_or_else(|error| panic!("noting a skip in {}: {error}", file.display()));
    }
}

/// How many checks were skipped, and which, by a file of such lines.
///
/// # Errors
/// Fails if the file cannot be read. A file that does not exist means that nothing was skipped.
pub fn summary(file: &Path) -> io::Result<String> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        other => other?,
    };
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    Ok(match lines.len() {
        0 => "Nothing was skipped.".to_owned(),
        count => format!("Skipped: {count}, by what is missing:\n  {}", lines.join("\n  ")),
    })
}
