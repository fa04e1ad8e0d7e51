//! Rules about how soon a connection may send: the initial window, and what is left of a window after idle
//! time.

use super::{Case, set};
use crate::units::{size, time};
use crate::{Finding, Limit, Verdict};

/// The initial window in segments (RFC 6928), if the route sets none.
const INITIAL_WINDOW: u32 = 10;
const SLOW_START: &str = "log2(N / IW + 1) round trips (RFC 5681, 3.1)";

pub(super) fn findings(case: &Case) -> Vec<Finding> {
    vec![initial_window(case), idle_restart(case), metrics(case), fast_open(case)]
}

/// Number of round trips in which slow start sends so many segments: the window doubles in each.
fn rounds(segments: f64, window: f64) -> f64 {
    (segments / window + 1.0).log2().ceil().max(1.0)
}

fn window(case: &Case) -> u32 {
    case.route().and_then(|route| route.initcwnd).unwrap_or(INITIAL_WINDOW)
}

/// Number of round trips of a burst that starts from the initial window, and of one that only the path
/// limits.
fn burst(case: &Case) -> [f64; 2] {
    let segments = (f64::from(case.path.burst) / case.segment()).ceil();
    let fits = (case.path.bandwidth_delay() / case.segment()).max(1.0);
    let open = f64::from(window(case)).max(fits);
    [rounds(segments, f64::from(window(case))), (segments / open).ceil().max(1.0)]
}

fn initial_window(case: &Case) -> Finding {
    let measured = match &case.host.route {
        Err(why) => return Finding::unknown("initial-window", why),
        Ok(route) if route.initcwnd.is_some() => format!("initcwnd {} of the route", window(case)),
        Ok(_) => format!("{INITIAL_WINDOW} segments, the kernel's own"),
    };
    let [from_start, open] = burst(case);
    let pipe = (case.path.bandwidth_delay() / case.segment()).max(1.0);
    // The window is as large as the path's content one round trip before 2N - 1 segments are out.
    let full = (pipe / f64::from(window(case))).log2().ceil().max(0.0);
    let later = (from_start - open).max(0.0) * case.path.rtt.value;
    let effect = format!(
        "{} on a new connection take {from_start} round trips, {} longer than the path needs; its {} \
         segments are under way after {}",
        size(case.path.burst.into()),
        time(later),
        pipe.round(),
        time(full * case.path.rtt.value),
    );
    let verdict = if later > 0.0 { Verdict::Note } else { Verdict::Fine };
    let wanted = (f64::from(case.path.burst) / case.segment()).ceil().min(pipe.ceil());
    let finding = Finding::new("initial-window", verdict, measured, effect);
    let change = case.route().map(|route| {
        format!(
            "{} initcwnd {wanted}  # only where the path is known to take that at once",
            route.change()
        )
    });
    finding.limit(Limit::Latency(later)).by(SLOW_START).change(change.unwrap_or_default())
}

fn idle_restart(case: &Case) -> Finding {
    const NAME: &str = "idle-restart";
    const SYSCTL: &str = "net.ipv4.tcp_slow_start_after_idle";
    let on = match case.host.sysctls.number(SYSCTL) {
        Ok(value) => value != 0,
        Err(why) => return Finding::unknown(NAME, why),
    };
    let measured = format!("{SYSCTL} = {}", u8::from(on));
    let [from_start, open] = burst(case);
    let later = (from_start - open).max(0.0) * case.path.rtt.value;
    let burst = size(case.path.burst.into());
    let (verdict, effect) = match on {
        false => (Verdict::Fine, "the window lasts over idle time".to_owned()),
        true if case.models_the_path() => (
            Verdict::Fine,
            "the default congestion control keeps its window over idle time all the same"
                .to_owned(),
        ),
        true if later == 0.0 => {
            (Verdict::Fine, format!("{burst} go out in as few round trips all the same"))
        }
        true => (
            Verdict::Limits,
            format!(
                "{burst} after a pause of a retransmission timeout take {from_start} round trips instead \
                 of {open}: {} later",
                time(later),
            ),
        ),
    };
    let finding = Finding::new(NAME, verdict, measured, effect)
        .by("RFC 5681, 4.1, and slow start from there")
        .change(format!("{}  # or kirikae run, which paces what then goes out", set(SYSCTL, 0)));
    match verdict {
        Verdict::Limits => finding.limit(Limit::Latency(later)),
        _ => finding,
    }
}

/// What the host remembers of earlier connections to a destination.
fn metrics(case: &Case) -> Finding {
    const NAME: &str = "metrics";
    const ALL: &str = "net.ipv4.tcp_no_metrics_save";
    const SSTHRESH: &str = "net.ipv4.tcp_no_ssthresh_metrics_save";
    let sysctls = &case.host.sysctls;
    let all = match sysctls.number(ALL) {
        Ok(value) => value != 0,
        Err(why) => return Finding::unknown(NAME, why),
    };
    // Older kernels have no switch for it, and always remember.
    let ssthresh = sysctls.number(SSTHRESH).is_ok_and(|value| value != 0);
    let measured = format!("{ALL} = {}", u8::from(all));
    if all || ssthresh {
        let effect = "no slow start threshold of an earlier connection ends slow start early";
        return Finding::new(NAME, Verdict::Fine, measured, effect);
    }
    let effect = "the slow start threshold of a connection that met losses ends slow start of the next \
                  ones to the host early";
    let seen = case.route().and_then(|route| route.to);
    let show = seen.map_or("ip tcp_metrics show".into(), |to| format!("ip tcp_metrics show {to}"));
    Finding::new(NAME, Verdict::Note, measured, effect)
        .by("tcp_metrics(8)")
        .change(set(ALL, 1))
        .change(format!("{show}  # what is remembered now"))
}

fn fast_open(case: &Case) -> Finding {
    const NAME: &str = "fast-open";
    const SYSCTL: &str = "net.ipv4.tcp_fastopen";
    let sides = match case.host.sysctls.number(SYSCTL) {
        Ok(value) => value,
        Err(why) => return Finding::unknown(NAME, why),
    };
    let rtt = time(case.path.rtt.value);
    let measured = format!("{SYSCTL} = {sides}");
    let (verdict, effect) = match sides & 3 {
        3 => (
            Verdict::Fine,
            format!("programs that ask for it send {rtt} sooner on later connections"),
        ),
        1 => (
            Verdict::Fine,
            format!("clients that ask for it send {rtt} sooner on later connections"),
        ),
        _ => (Verdict::Note, format!("a new connection waits {rtt} before its first data, always")),
    };
    Finding::new(NAME, verdict, measured, effect).by("RFC 7413").change(set(SYSCTL, sides | 1))
}
