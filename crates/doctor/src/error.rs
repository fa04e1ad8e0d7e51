/// Why nothing was found out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The destination is invalid, or does not answer.
    #[error("{destination}: {why}")]
    Destination {
        /// The destination as it was given.
        destination: String,
        /// What is wrong with it, and what is allowed.
        why: String,
    },
}
