//! Rules about losses: what they do to throughput and latency, by the congestion control and by how they are
//! repaired.

use super::{Case, set};
use crate::units::{percent, rate, time};
use crate::{Finding, Limit, Verdict};

/// Usual lower bound of the part of the retransmission timeout that is added to the round trip, s.
const RTO_MIN: f64 = 0.2;
/// The maximum segment lifetime, s (RFC 9293, section 3.4.1). If sequence numbers wrap within it, an old
/// segment may be taken for a new one without timestamps.
const SEGMENT_LIFETIME: f64 = 120.0;

pub(super) fn findings(case: &Case) -> Vec<Finding> {
    vec![congestion_control(case), sack(case), timestamps(case), tail(case), ecn(case)]
}

/// The mean window, in segments, that independent losses leave, and the formula.
fn window(name: &str, loss: f64, rtt: f64) -> Option<(f64, &'static str)> {
    // This is RFC 5681: one segment more in each round trip, halved at each loss.
    let reno = (1.5 / loss).sqrt();
    match name.trim_start_matches("kk_") {
        "reno" => Some((reno, "MSS / RTT * sqrt(1.5 / p) (Mathis et al., 1997; RFC 3649, 2)")),
        // C is 0.4, and the decrease to 0.7. If Reno's window is larger, cubic grows as Reno does.
        "cubic" => {
            let cubic = 1.054 * (rtt / loss).powf(0.75);
            Some((
                cubic.max(reno),
                "MSS / RTT * max(1.054 (RTT/p)^0.75, sqrt(1.5 / p)) (RFC 9438, 5)",
            ))
        }
        _ => None,
    }
}

fn congestion_control(case: &Case) -> Finding {
    const NAME: &str = "congestion-control";
    const SYSCTL: &str = "net.ipv4.tcp_congestion_control";
    let name = match case.congestion_control() {
        Ok(name) => name,
        Err(why) => return Finding::unknown(NAME, why),
    };
    let available = case.host.sysctls.text("net.ipv4.tcp_available_congestion_control");
    let measured = format!("{name}; loaded: {}", available.clone().unwrap_or("unknown"));
    let rtt = case.path.rtt.value;
    if case.models_the_path() {
        let effect = "losses of a channel are not taken for congestion";
        return Finding::new(NAME, Verdict::Fine, measured, effect).by("Cardwell et al., 2016");
    }
    let Some(loss) = case.path.loss.map(|loss| loss.value) else {
        let effect = match window(name, 1.0, rtt) {
            Some(_) => {
                format!("fills the path only below a loss rate of {}", percent(fills(case, name)))
            }
            None => "no formula for it here; loss rate not given (--loss)".into(),
        };
        return Finding::new(NAME, Verdict::Note, measured, effect);
    };
    if loss == 0.0 {
        return Finding::new(
            NAME,
            Verdict::Fine,
            measured,
            "there is no loss that it could mistake",
        );
    }
    let Some((segments, formula)) = window(name, loss, rtt) else {
        let effect = "no formula for it here: `kirikae explain` tells what the latency table knows";
        return Finding::new(NAME, Verdict::Note, measured, effect);
    };
    let most = case.by_window(segments * case.segment());
    let short = most < case.path.rate.value;
    let verdict = if short { Verdict::Limits } else { Verdict::Fine };
    let effect = format!(
        "{} lost one by one leave a mean window of {} segments: about {} at {}",
        percent(loss),
        segments.round(),
        rate(most),
        time(rtt),
    );
    let finding = Finding::new(NAME, verdict, measured, effect)
        .limit(Limit::Throughput(most))
        .by(formula)
        .change("kirikae run  # chooses for each connection");
    let loaded = available.is_ok_and(|names| names.split(' ').any(|name| name == "bbr"));
    let load = if loaded { "" } else { "modprobe tcp_bbr; " };
    finding.change(format!("{load}{}", set(SYSCTL, "bbr")))
}

/// The loss rate up to which the algorithm fills the path.
fn fills(case: &Case, name: &str) -> f64 {
    let wanted = case.path.bandwidth_delay() / case.segment();
    // The window falls with the loss rate, so the range is halved until it is narrow.
    let (mut low, mut high) = (1e-15f64, 1.0f64);
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        match window(name, middle, case.path.rtt.value) {
            Some((segments, _)) if segments >= wanted => low = middle,
            _ => high = middle,
        }
    }
    low
}

fn sack(case: &Case) -> Finding {
    const NAME: &str = "sack";
    const SYSCTL: &str = "net.ipv4.tcp_sack";
    match case.host.sysctls.number(SYSCTL) {
        Err(why) => Finding::unknown(NAME, why),
        Ok(0) => {
            let rtt = case.path.rtt.value;
            let effect = format!(
                "of several losses in a window one is repaired each round trip: {} each",
                time(rtt)
            );
            Finding::new(NAME, Verdict::Limits, format!("{SYSCTL} = 0"), effect)
                .limit(Limit::Latency(rtt))
                .by("NewReno (RFC 6582, 3.2)")
                .change(set(SYSCTL, 1))
        }
        Ok(_) => {
            let effect = "several losses of a window are repaired in a round trip";
            Finding::new(NAME, Verdict::Fine, format!("{SYSCTL} is on"), effect)
                .by("RFC 2018, 6675")
        }
    }
}

fn timestamps(case: &Case) -> Finding {
    const NAME: &str = "timestamps";
    const SYSCTL: &str = "net.ipv4.tcp_timestamps";
    let on = match case.host.sysctls.number(SYSCTL) {
        Ok(value) => value != 0,
        Err(why) => return Finding::unknown(NAME, why),
    };
    if on {
        let effect = "round trips of retransmissions are measured, and old segments are recognised";
        return Finding::new(NAME, Verdict::Fine, format!("{SYSCTL} is on"), effect)
            .by("RFC 7323, 4 and 5");
    }
    let round = 2f64.powi(32) * 8.0 / case.path.rate.value;
    let verdict = if round < SEGMENT_LIFETIME { Verdict::Limits } else { Verdict::Note };
    let effect = format!(
        "sequence numbers come round in {} at this rate, and an old segment may be taken for a new one \
         for 2 min; timeouts that were none are not recognised by them",
        time(round),
    );
    Finding::new(NAME, verdict, format!("{SYSCTL} = 0"), effect)
        .by("2^31 / rate > MSL (RFC 7323, 5.2)")
        .change(set(SYSCTL, 1))
}

/// The time that the loss of the last packet costs.
fn tail(case: &Case) -> Finding {
    const NAME: &str = "tail-loss";
    let sysctls = &case.host.sysctls;
    let by_route = case.route().and_then(|route| route.rto_min_ms).map(|ms| f64::from(ms) / 1e3);
    let by_sysctl = sysctls.number("net.ipv4.tcp_rto_min_us").map(|us| us as f64 / 1e6);
    let least = by_route.or(by_sysctl.ok()).unwrap_or(RTO_MIN);
    let rto = case.path.rtt.value + least;
    let probes = sysctls.number("net.ipv4.tcp_early_retrans").map(|value| value >= 3);
    let rack = sysctls.number("net.ipv4.tcp_recovery").map(|value| value & 1 != 0);
    let (probes, rack) = match (probes, rack) {
        (Ok(probes), Ok(rack)) => (probes, rack),
        (Err(why), _) | (_, Err(why)) => return Finding::unknown(NAME, why),
    };
    let on = |on| if on { "on" } else { "off" };
    let measured = format!(
        "least timeout {}; tail loss probes {}, RACK {}",
        time(least),
        on(probes),
        on(rack),
    );
    let (soon, later) = (2.0 * case.path.rtt.value, (rto - 2.0 * case.path.rtt.value).max(0.0));
    let finding = match probes {
        true => {
            let effect = format!("a lost last packet is sent again after {}", time(soon.min(rto)));
            Finding::new(NAME, Verdict::Fine, measured, effect).by("2 RTT (RFC 8985, 7.2)")
        }
        false if later > 0.0 => {
            let effect = format!(
                "a lost last packet waits for the timeout, {}: {} longer",
                time(rto),
                time(later)
            );
            Finding::new(NAME, Verdict::Limits, measured, effect)
                .limit(Limit::Latency(later))
                .by("RTT + max(least timeout, 4 RTTVAR) (RFC 6298, 2)")
                .change(set("net.ipv4.tcp_early_retrans", 3))
        }
        false => {
            let effect = format!("a lost last packet waits for the timeout, {}", time(rto));
            Finding::new(NAME, Verdict::Note, measured, effect)
                .by("RTT + max(least timeout, 4 RTTVAR) (RFC 6298, 2)")
                .change(set("net.ipv4.tcp_early_retrans", 3))
        }
    };
    match rack {
        true => finding,
        false => Finding {
            verdict: finding.verdict.min(Verdict::Note),
            effect: finding.effect + "; retransmissions that are lost again wait for it, too",
            ..finding
        }
        .change(set("net.ipv4.tcp_recovery", 1)),
    }
}

fn ecn(case: &Case) -> Finding {
    const NAME: &str = "ecn";
    const SYSCTL: &str = "net.ipv4.tcp_ecn";
    let (verdict, effect) = match case.host.sysctls.number(SYSCTL) {
        Err(why) => return Finding::unknown(NAME, why),
        Ok(0) => (Verdict::Note, "queues that mark drop instead, and each drop costs a repair"),
        Ok(2) => (Verdict::Fine, "granted where the other end asks for it, not asked for"),
        Ok(_) => (Verdict::Fine, "asked for: queues that mark need not drop"),
    };
    let measured = format!("{SYSCTL} = {}", case.host.sysctls.text(SYSCTL).unwrap_or_default());
    Finding::new(NAME, verdict, measured, effect).by("RFC 3168").change(set(SYSCTL, 2))
}
