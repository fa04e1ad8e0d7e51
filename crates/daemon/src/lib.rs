//! The agent as a service: its policy file, and how it is seen while it runs.

mod policy_file;

pub use policy_file::{Host, PolicyFile, Readers, Status};
