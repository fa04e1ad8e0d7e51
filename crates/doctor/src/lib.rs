//! Finds out what of this host limits TCP on a path of a given rate and round-trip time, by which formula,
//! and what to change. It reads the host ([`Host`]) and connections to a destination ([`Destination`]); the
//! findings are a function of these and the path ([`examine`]). It changes nothing.

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
mod tcp_metrics;
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
pub use tcp_metrics::{TcpMetrics, tcp_metrics};

use serde::Serialize;

/// What was read, and the findings.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The path that was asked about.
    pub path: Path,
    /// The host that the findings are about.
    pub host: Host,
    /// Connections to the destination, the busiest first.
    pub connections: Vec<Connection>,
    /// The findings: first those that limit, then notes, then what is as it should be, and then what is
    /// unknown.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether something of the host limits the path.
    pub fn limits(&self) -> bool {
        self.findings.iter().any(|finding| finding.verdict == Verdict::Limits)
    }
}

/// The reason why something was not read, as shown to the operator.
pub type Unread = String;
