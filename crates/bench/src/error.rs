//! The errors of a comparison on the real kernel, and their exit statuses.

use kirikae_scenario::Refusal;

/// Why a comparison on the real kernel did not run or did not end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error that can also happen in virtual time.
    #[error(transparent)]
    Comparison(#[from] kirikae_results::Error),
    /// The agent failed.
    #[error(transparent)]
    Agent(#[from] kirikae_agent::Error),
    /// The emulated path failed.
    #[error(transparent)]
    Emulator(#[from] kirikae_emu::Error),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Comparison(refusal.into())
    }
}

impl Error {
    /// Exit status of a command that ends with this error: 2 for bad input, 3 if the host lacks something, 1
    /// otherwise.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Comparison(error) => error.exit_status(),
            Error::Agent(kirikae_agent::Error::Missing(_))
            | Error::Emulator(
                kirikae_emu::Error::Missing(_) | kirikae_emu::Error::TooFast { .. },
            ) => 3,
            _ => 1,
        }
    }
}
