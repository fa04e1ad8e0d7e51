/// Why nothing was found out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A destination that is none, or does not answer.
    #[error("{destination}: {why}")]
    Destination {
        /// As it was given.
        destination: String,
        /// What is wrong with it, and what is allowed.
        why: String,
    },
}
