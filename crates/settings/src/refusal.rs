//! Why a file was refused: where, what was found, what is allowed.

use std::fmt;
use std::path::PathBuf;

/// An error in a file, described so that it can be mended without reading code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The file as it was named by the caller.
    pub file: PathBuf,
    /// Line in the file, from 1; None if the file as a whole is refused.
    pub line: Option<usize>,
    /// Full name of the key, for instance `path.forward[0].probability`.
    pub key: Option<String>,
    /// The text that was found there.
    pub found: String,
    /// A description of what is allowed there.
    pub allowed: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}; allowed: {}", self.found, self.allowed)
    }
}

impl std::error::Error for Refusal {}
