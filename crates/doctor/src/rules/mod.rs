//! The rules: findings as a function of the host, the path and the connections.

mod interface;
mod live;
mod loss;
mod memory;
mod start;
mod window;

use crate::{Connection, Finding, Host, Interface, Path, Report, Route};

/// IP and TCP headers, and the timestamp option (RFC 7323), bytes.
const IPV4_HEADERS: f64 = 20.0 + 20.0;
const IPV6_HEADERS: f64 = 40.0 + 20.0;
const TIMESTAMPS: f64 = 12.0;
/// Largest IP packet on Ethernet, bytes.
const USUAL_MTU: u32 = 1500;

/// The host, the path and the connections that the rules look at.
struct Case<'a> {
    host: &'a Host,
    path: &'a Path,
    connections: &'a [Connection],
}

/// Finds out what of the host limits TCP on the path.
pub fn examine(host: Host, path: Path, connections: Vec<Connection>) -> Report {
    let case = Case { host: &host, path: &path, connections: &connections };
    let mut findings: Vec<Finding> = [
        window::findings,
        loss::findings,
        start::findings,
        interface::findings,
        memory::findings,
        live::findings,
    ]
    .iter()
    .flat_map(|rule| rule(&case))
    .collect();
    // The sort is stable, so that findings with the same verdict stay in this order.
    findings.sort_by_key(|finding| finding.verdict);
    Report { path, host, connections, findings }
}

impl Case<'_> {
    fn route(&self) -> Option<&Route> {
        self.host.route.as_ref().ok()
    }

    fn interface(&self) -> Option<&Interface> {
        self.route().map(|route| &route.interface)
    }

    /// The largest IP packet on the path, bytes, as far as it is known.
    fn mtu(&self) -> Option<u32> {
        let found = self.connections.iter().map(|it| it.path_mtu).min();
        found.or_else(|| self.route()?.mtu).or_else(|| self.interface()?.mtu)
    }

    /// Headers of a segment with data, bytes.
    fn headers(&self) -> f64 {
        let ipv6 = self.route().and_then(|route| route.to).is_some_and(|to| to.is_ipv6());
        let timestamps = self.host.sysctls.number("net.ipv4.tcp_timestamps") != Ok(0);
        let ip = if ipv6 { IPV6_HEADERS } else { IPV4_HEADERS };
        ip + if timestamps { TIMESTAMPS } else { 0.0 }
    }

    /// Data in a full segment, bytes.
    fn segment(&self) -> f64 {
        let found = self.connections.first().map(|it| f64::from(it.mss));
        found.unwrap_or_else(|| f64::from(self.mtu().unwrap_or(USUAL_MTU)) - self.headers())
    }

    /// The rate that a window of so many bytes carries, bit/s.
    fn by_window(&self, bytes: f64) -> f64 {
        bytes * 8.0 / self.path.rtt.value
    }

    /// The congestion control of new connections to the destination.
    fn congestion_control(&self) -> Result<&str, String> {
        let by_route = self.route().and_then(|route| route.congestion_control.as_deref());
        by_route.map_or_else(|| self.host.sysctls.text("net.ipv4.tcp_congestion_control"), Ok)
    }

    /// Whether the congestion control sets its window by a model of the path, not by losses.
    fn models_the_path(&self) -> bool {
        self.congestion_control()
            .is_ok_and(|name| name.trim_start_matches("kk_").starts_with("bbr"))
    }
}

/// The command `sysctl -w NAME=VALUE`.
fn set(name: &str, value: impl std::fmt::Display) -> String {
    let value = value.to_string();
    let quote = if value.contains(' ') { "\"" } else { "" };
    format!("sysctl -w {name}={quote}{value}{quote}")
}

/// The next power of 2 that is at least so many bytes, and at least 1 MiB.
fn round_up(bytes: f64) -> u64 {
    (bytes.ceil() as u64).max(1 << 20).next_power_of_two()
}
