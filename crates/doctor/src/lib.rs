//! What of this host limits TCP on a path of a given rate and round-trip time, by which formula, and
//! what to change. Reads the host ([`Host`]) and connections to a destination ([`Destination`]); what
//! follows from that is a function of it and the path ([`examine`]). Changes nothing.

mod connection;
mod destination;
mod error;
mod finding;
mod host;
mod netlink;
mod offload;
mod path;
mod report;
mod route;
mod rules;
mod sysctl;
mod units;

pub use connection::Connection;
pub use destination::{Destination, Seen};
pub use error::Error;
pub use finding::{Finding, Limit, Verdict};
pub use host::{Host, Kernel};
pub use offload::Offloads;
pub use path::{Known, Path, Source};
pub use report::render;
pub use route::{Interface, Route};
pub use rules::examine;
pub use sysctl::Sysctls;

use serde::Serialize;

/// What was read, and what follows from it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// For which path.
    pub path: Path,
    /// What the findings are from.
    pub host: Host,
    /// Connections to the destination, the busiest first.
    pub connections: Vec<Connection>,
    /// What limits first, then what else there is to say, what is as it should be, and what is unknown.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether something of the host limits the path.
    pub fn limits(&self) -> bool {
        self.findings.iter().any(|finding| finding.verdict == Verdict::Limits)
    }
}

/// What was not read, and why; shown to the operator.
pub type Unread = String;
