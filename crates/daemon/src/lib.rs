//! The agent as a service: its policy file, and how it is seen while it runs.

// These two panic where nobody reads.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod addresses;
pub mod client;
mod guards;
pub mod kept_paths;
mod kept_suspensions;
mod metrics;
mod origin;
mod page;
mod policy_file;
mod seeds;
mod selection;
mod server;
mod service;
pub mod status;
mod switch_log;
mod visitors;
mod warnings;

pub use addresses::Addresses;
pub use page::page_routes;
pub use policy_file::{Host, PolicyFile, Readers, SeenBy};
pub use selection::{PathSelection, Selection};
pub use server::{ServeError, serve_commands, socket};
pub use service::{ReloadError, Service};
pub use warnings::{page_warning, warnings};
