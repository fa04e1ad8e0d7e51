//! Reads sysctls of the process' network namespace.

use std::collections::BTreeMap;
use std::fs;

use serde::Serialize;

use crate::Unread;

/// The sysctls that are read.
const NAMES: [&str; 30] = [
    "net.core.default_qdisc",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_no_ssthresh_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_rto_max_ms",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_shrink_window",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_thin_linear_timeouts",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
];

/// Values by name; None if there is no such sysctl here, or if it cannot be read.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Sysctls(BTreeMap<String, Option<String>>);

impl Sysctls {
    pub(crate) fn read() -> Sysctls {
        let value = |name: &&str| {
            let file = format!("/proc/sys/{}", name.replace('.', "/"));
            let text = fs::read_to_string(file).ok()?;
            Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        Sysctls(NAMES.iter().map(|name| ((*name).to_owned(), value(name))).collect())
    }

    /// Sysctls with these values, and no others.
    pub fn of<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Sysctls {
        let known = |(name, value): (&str, &str)| (name.to_owned(), Some(value.to_owned()));
        Sysctls(values.into_iter().map(known).collect())
    }

    /// The text of a sysctl.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Unread> {
        let value = self.0.get(name).and_then(Option::as_deref);
        value.ok_or_else(|| format!("{name} is not to be read in this network namespace"))
    }

    /// The value of a sysctl that is a number.
    pub(crate) fn number(&self, name: &str) -> Result<i64, Unread> {
        let text = self.text(name)?;
        text.parse().map_err(|_| format!("{name} is no number: {text}"))
    }

    /// The values of a sysctl that is three numbers: least, initial, and most.
    pub(crate) fn three(&self, name: &str) -> Result<[u64; 3], Unread> {
        let text = self.text(name)?;
        let numbers: Option<Vec<u64>> = text.split(' ').map(|number| number.parse().ok()).collect();
        numbers
            .and_then(|numbers| numbers.try_into().ok())
            .ok_or_else(|| format!("{name} is not three numbers: {text}"))
    }
}
