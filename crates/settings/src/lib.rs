//! Files that people write, in TOML: whatever is not allowed in one is refused with file, line and
//! key, and with what is allowed in its place.

pub mod quantity;
mod refusal;
pub mod section;

pub use refusal::Refusal;
