//! The errors of a comparison, and their exit statuses.

use std::path::PathBuf;

use kirikae_scenario::Refusal;

/// Why a comparison did not run or did not end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A scenario file was refused.
    #[error(transparent)]
    Scenario(#[from] Refusal),
    /// A file that would have to be overwritten.
    #[error("{} is there already, and nothing was run: files are never overwritten; remove it, or \
             choose another directory", .0.display())]
    Exists(PathBuf),
    /// Scenarios that are valid one by one cannot run in one call.
    #[error("{0}")]
    Incompatible(String),
    /// A directory that the caller named cannot be used.
    #[error("{0}")]
    Directory(String),
    /// The host lacks something. The text says what, and what to do.
    #[error("{0}")]
    Missing(String),
    /// The simulator refused a scenario.
    #[error("a scenario that cannot be simulated: {0}")]
    Simulation(#[from] kirikae_sim::SimulationError),
    /// The operating system refused a step.
    #[error("{step}: {cause}")]
    Io {
        /// What was being done.
        step: String,
        /// What the operating system said.
        cause: std::io::Error,
    },
    /// The journal beside a file that is to be written cannot be used.
    #[error("{0}")]
    Journal(String),
    /// A shard cannot be put together with others.
    #[error("{0}")]
    Shard(String),
    /// The run was ended early. The text says what is kept.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// Exit status of a command that ends with this error: 2 for bad input, 3 if the host lacks something, 1
    /// otherwise.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Scenario(_)
            | Error::Incompatible(_)
            | Error::Exists(_)
            | Error::Journal(_)
            | Error::Shard(_)
            | Error::Directory(_) => 2,
            Error::Missing(_) => 3,
            _ => 1,
        }
    }
}

/// Says what was being done when the operating system refused.
pub trait While<T> {
    /// Adds to an error what was being done.
    ///
    /// # Errors
    /// Returns the error as [`Error::Io`].
    fn during(self, step: impl FnOnce() -> String) -> Result<T, Error>;

    /// The same for something that the caller named.
    ///
    /// # Errors
    /// Returns the error as [`Error::Directory`].
    fn of_directory(self, step: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<std::io::Error>> While<T> for Result<T, E> {
    fn during(self, step: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| Error::Io { step: step(), cause: error.into() })
    }

    fn of_directory(self, step: impl FnOnce() -> String) -> Result<T, Error> {
        self.during(step).map_err(|error| Error::Directory(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_said_is_told_once() {
        let refused = || Err::<(), _>(std::io::Error::other("no"));
        let error = refused().during(|| "writing".into()).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.exit_status()), ("writing: no", 1));
        // Otherwise a program that prints an error with its sources would say it twice.
        assert!(std::error::Error::source(&error).is_none());
        let error = refused().of_directory(|| "making x".into()).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.exit_status()), ("making x: no", 2));
    }
}
