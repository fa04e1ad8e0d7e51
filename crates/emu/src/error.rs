use std::io;

use kirikae_path::SpecError;
use thiserror::Error;

/// Why a path could not be emulated.
#[derive(Debug, Error)]
pub enum Error {
    /// This machine or user lacks something; the message says what, and what to do.
    #[error("{0}")]
    Missing(String),
    /// The description of the path is invalid.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The path needs more than this machine can emulate in time.
    #[error(
        "{label}: {asked:.1} Mb/s in packets of {mtu} bytes is more than this machine emulates \
         in time: at most {held:.1} Mb/s more, both directions together; lower the rate or run \
         fewer paths side by side"
    )]
    TooFast {
        /// The path's label.
        label: String,
        /// What the path needs, both directions together, in Mb/s.
        asked: f64,
        /// What the machine can hold beside the paths that run already, in Mb/s.
        held: f64,
        /// Packet size assumed, in bytes.
        mtu: u32,
    },
    /// Something that should have worked did not.
    #[error("{doing}: {cause}")]
    Failed {
        /// What was being done.
        doing: String,
        /// The answer of the system.
        cause: io::Error,
    },
}

impl Error {
    /// Makes an [`Error::Failed`] with its context.
    pub(crate) fn failed(doing: impl Into<String>, cause: impl Into<io::Error>) -> Error {
        Error::Failed { doing: doing.into(), cause: cause.into() }
    }
}
