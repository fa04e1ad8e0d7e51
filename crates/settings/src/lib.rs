//! TOML files that people write. What is not allowed in one is refused with file, line and key, and with what
//! is allowed in its place.
//!
//! A quantity has a unit, and a range:
//!
//! ```
//! use kirikae_path::Span;
//! use kirikae_settings::quantity::{Quantity, Rate};
//!
//! assert_eq!(Span::parse("200 ms"), Some(Span::from_millis(200)));
//! assert_eq!(Rate::parse("1.5 Mbit/s").map(|rate| rate.0), Some(1_500_000));
//! // Neither a number without a unit nor another unit's is taken.
//! assert_eq!(Span::parse("200"), None);
//! assert_eq!(Span::parse("200 MB"), None);
//! ```
//!
//! A section refuses what it does not know:
//!
//! ```
//! use kirikae_settings::section::{Section, Source};
//!
//! let source = Source::new("path.toml", "rtt = \"200 ms\"\nqueu = 3\n");
//! let table = source.root()?;
//! let section = Section::root(&source, &table, &[]);
//! let rtt: std::time::Duration = section.quantity("rtt")?;
//! assert_eq!(rtt.as_millis(), 200);
//! assert_eq!(
//!     section.allow(&["rtt", "queue"]).unwrap_err().to_string(),
//!     "path.toml:2: queu: unknown key; allowed: rtt, queue (did you mean queue?)"
//! );
//! # Ok::<(), kirikae_settings::Refusal>(())
//! ```

pub mod quantity;
mod refusal;
pub mod section;

pub use refusal::Refusal;
