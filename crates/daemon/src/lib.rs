//! The agent as a service: its policy file, and how it is seen while it runs.

pub mod client;
mod guards;
mod kept_paths;
mod metrics;
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

pub use page::page_routes;
pub use policy_file::{Host, PolicyFile, Readers, SeenBy};
pub use server::{ServeError, let_read, serve_commands, serve_page, socket};
pub use service::Service;
pub use warnings::{page_warning, warnings};
