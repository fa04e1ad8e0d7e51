//! Why the agent could not start or stop.

use crate::libbpf;

/// Why the agent could not start or stop.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host lacks something, or something of it is in the way. The text says what, and what to do. The
    /// exit status is 3.
    #[error("{0}")]
    Missing(String),
    /// What was asked for cannot be. The text says what is wrong with it. The exit status is 2.
    #[error("{0}")]
    Wrong(String),
    /// Something else failed.
    #[error("{doing}: {cause}")]
    Failed {
        /// What was being done.
        doing: String,
        /// What the system or libbpf said.
        cause: String,
    },
}

/// Says what was being done when something failed.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: std::fmt::Display> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        let reason = libbpf::take_reason().map(|reason| format!(": {reason}")).unwrap_or_default();
        self.map_err(|cause| Error::Failed { doing: what(), cause: format!("{cause:#}{reason}") })
    }
}
