//! Rules about memory: that of all connections together, and unsent data of one.

use super::{Case, round_up, set};
use crate::units::{size, time};
use crate::{Finding, Limit, Verdict};

/// The kernel's default, which does not limit unsent data.
const UNLIMITED: i64 = u32::MAX as i64;
/// Bytes of unsent data that are enough to keep a path full. No RFC has a number; this is the one that
/// latency-sensitive servers use.
const ENOUGH_UNSENT: u64 = 131_072;

pub(super) fn findings(case: &Case) -> Vec<Finding> {
    vec![unsent(case), all_connections(case)]
}

/// Unsent data delays an answer that is written after it on the same connection.
fn unsent(case: &Case) -> Finding {
    const NAME: &str = "unsent-data";
    const SYSCTL: &str = "net.ipv4.tcp_notsent_lowat";
    let sysctls = &case.host.sysctls;
    let (limit, buffer) = match (sysctls.number(SYSCTL), sysctls.three("net.ipv4.tcp_wmem")) {
        (Ok(limit), Ok([_, _, buffer])) => (limit, buffer as f64),
        (Err(why), _) | (_, Err(why)) => return Finding::unknown(NAME, why),
    };
    let unlimited = limit >= UNLIMITED;
    // This is what the buffer holds besides what is under way.
    let room = (buffer - case.path.bandwidth_delay()).max(0.0);
    let most = if unlimited { room } else { room.min(limit as f64) };
    let wait = most * 8.0 / case.path.rate.value;
    let effect = format!(
        "bulk on a connection may put {} unsent before an answer on it: {}",
        size(most),
        time(wait),
    );
    let measured = match unlimited {
        true => format!("{SYSCTL}: no limit"),
        false => format!("{SYSCTL} = {}", size(limit as f64)),
    };
    let verdict = if wait > case.path.rtt.value { Verdict::Note } else { Verdict::Fine };
    Finding::new(NAME, verdict, measured, effect)
        .limit(Limit::Latency(wait))
        .by("unsent / rate (tcp(7), TCP_NOTSENT_LOWAT)")
        .change(set(SYSCTL, ENOUGH_UNSENT))
}

/// How many connections may fill such paths before the kernel begins to save memory.
fn all_connections(case: &Case) -> Finding {
    const NAME: &str = "memory";
    const SYSCTL: &str = "net.ipv4.tcp_mem";
    let [low, pressure, high] = match case.host.sysctls.three(SYSCTL) {
        Ok(pages) => pages,
        Err(why) => return Finding::unknown(NAME, why),
    };
    let page = page_size();
    let room = pressure as f64 * page;
    let each = case.path.bandwidth_delay().max(case.segment());
    let connections = (room / each).floor();
    let verdict = if connections < 1.0 { Verdict::Limits } else { Verdict::Fine };
    let effect = format!(
        "{connections} connections may have a path's content of {} in memory before windows shrink",
        size(each),
    );
    let wanted = (round_up(2.0 * each) as f64 / page).ceil() as u64;
    Finding::new(NAME, verdict, format!("{SYSCTL}: pressure from {}", size(room)), effect)
        .by("tcp(7), tcp_mem")
        .change(set(
            SYSCTL,
            format!("{} {} {}", low.max(wanted), pressure.max(wanted), high.max(2 * wanted)),
        ))
}

/// The size of a page in bytes.
fn page_size() -> f64 {
    let found = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE);
    found.ok().flatten().map_or(4096.0, |bytes| bytes as f64)
}
