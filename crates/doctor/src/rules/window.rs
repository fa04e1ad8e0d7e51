//! Rules about the data that may be under way: throughput is at most window / RTT (RFC 7323, section 1.1;
//! Chen and Sasaki, 2011, formula 2).

use super::{Case, USUAL_MTU, round_up, set};
use crate::units::{rate, size, time};
use crate::{Finding, Kernel, Limit, Verdict};

const BY_WINDOW: &str = "window / RTT (RFC 7323, 1.1)";
/// The largest window without scaling (RFC 9293, section 3.1).
const UNSCALED: f64 = 65_535.0;
/// The share of a send buffer that is in use. A writer that waits is woken when a third is free
/// (sk_stream_write_space). So the share is 5/6 in the mean if the path spaces the ACKs, and 1 if they come
/// all at once; this is between them.
const IN_USE: f64 = 11.0 / 12.0;
/// The share of a send buffer's memory that is data, as measured (docs/doctor.md).
const DATA: f64 = 0.95;
/// The first release in which the kernel measures which share of a receive buffer's memory is data; older
/// ones take it from tcp_adv_win_scale.
const MEASURED_SHARE: Kernel = Kernel { major: 6, minor: 6 };
/// Memory of a received packet besides its data, bytes: head room and the description of its parts (in the
/// same power of two), and struct sk_buff.
const AROUND: u32 = 64 + 320;
const DESCRIPTION: f64 = 256.0;

pub(super) fn findings(case: &Case) -> Vec<Finding> {
    vec![send_buffer(case), receive_buffer(case), scaling(case), fixed_sizes(case)]
}

/// Judges whether a window of at most, or about, so many bytes fills the path.
fn judge(
    case: &Case,
    name: &'static str,
    measured: String,
    (at_most, window): (&str, f64),
) -> Finding {
    let most = case.by_window(window);
    let (verdict, than) = verdict(case, most);
    let effect = format!("{at_most} {} at {}, {than}", rate(most), time(case.path.rtt.value));
    Finding::new(name, verdict, measured, effect).limit(Limit::Throughput(most)).by(BY_WINDOW)
}

/// Judges whether so many bit/s are enough, and says it in words.
fn verdict(case: &Case, carried: f64) -> (Verdict, String) {
    let wanted = case.path.rate.value;
    match carried < wanted {
        true => (Verdict::Limits, format!("less than the {} asked for", rate(wanted))),
        false => (Verdict::Fine, format!("not less than the {} asked for", rate(wanted))),
    }
}

const WMEM: &str = "net.ipv4.tcp_wmem";

/// The setting for a send buffer that fills the path; None if the present one is not known.
pub(super) fn larger_send_buffer(case: &Case) -> Option<String> {
    let [least, first, most] = case.host.sysctls.three(WMEM).ok()?;
    // Retransmitted data stays in the buffer for another round trip.
    let enough = round_up(2.0 * case.path.bandwidth_delay());
    Some(set(WMEM, format!("{least} {first} {}", enough.max(most))))
}

fn send_buffer(case: &Case) -> Finding {
    const NAME: &str = "send-buffer";
    let most = match case.host.sysctls.three(WMEM) {
        Ok([_, _, most]) => most,
        Err(why) => return Finding::unknown(NAME, why),
    };
    let measured = format!("{WMEM}: up to {}", size(most as f64));
    let bound = case.by_window(most as f64);
    let expected = bound * IN_USE * DATA;
    let (verdict, than) = verdict(case, expected);
    let effect = format!(
        "at most {} at {}, about {} with a writer that is woken when a third of it is free: {than}",
        rate(bound),
        time(case.path.rtt.value),
        rate(expected),
    );
    let finding = Finding::new(NAME, verdict, measured, effect);
    Finding { expected: Some(expected), ..finding }
        .limit(Limit::Throughput(bound))
        .by(BY_WINDOW)
        .change(larger_send_buffer(case).unwrap_or_default())
}

/// The share of a receive buffer's memory that is offered as window, and how that is known.
fn share(case: &Case) -> (f64, String) {
    let scale = case.host.sysctls.number("net.ipv4.tcp_adv_win_scale").unwrap_or(1);
    match case.host.kernel {
        Some(kernel) if kernel < MEASURED_SHARE => {
            // The kernel computes this in tcp_win_from_space.
            let part = 0.5f64.powi(scale.unsigned_abs().min(31) as i32);
            (if scale > 0 { 1.0 - part } else { part }, "by tcp_adv_win_scale".to_owned())
        }
        _ => {
            let mtu = case.mtu().unwrap_or(USUAL_MTU);
            let memory = f64::from((mtu + AROUND).next_power_of_two()) + DESCRIPTION;
            let how = format!(
                "as the kernel measures it with {} B of data in {memory} B of memory; more where the \
                 interface packs closer",
                case.segment(),
            );
            (case.segment() / memory, how)
        }
    }
}

fn receive_buffer(case: &Case) -> Finding {
    const NAME: &str = "receive-buffer";
    const SYSCTL: &str = "net.ipv4.tcp_rmem";
    const GROWS: &str = "net.ipv4.tcp_moderate_rcvbuf";
    let three = case.host.sysctls.three(SYSCTL);
    let ([least, first, most], grows) = match (three, case.host.sysctls.number(GROWS)) {
        (Ok(three), Ok(grows)) => (three, grows != 0),
        (Err(why), _) | (_, Err(why)) => return Finding::unknown(NAME, why),
    };
    let (share, how) = share(case);
    let space = if grows { most } else { first } as f64;
    let measured = match grows {
        true => format!("{SYSCTL}: up to {}", size(space)),
        false => format!("{GROWS} = 0: {SYSCTL} stays at {}", size(space)),
    };
    let enough = round_up(2.0 * case.path.bandwidth_delay() / share);
    let mut finding = judge(case, NAME, measured, ("about", space * share));
    finding.effect += &format!(" (a window of {}: {how})", size(space * share));
    if !grows {
        finding = finding.change(set(GROWS, 1));
    }
    if (most as f64) * share < case.path.bandwidth_delay() {
        finding = finding.change(set(SYSCTL, format!("{least} {first} {}", enough.max(most))));
    }
    finding
}

fn scaling(case: &Case) -> Finding {
    const NAME: &str = "window-scaling";
    const SYSCTL: &str = "net.ipv4.tcp_window_scaling";
    match case.host.sysctls.number(SYSCTL) {
        Err(why) => Finding::unknown(NAME, why),
        Ok(0) => judge(
            case,
            NAME,
            format!("{SYSCTL} = 0: windows of at most 65535 B"),
            ("at most", UNSCALED),
        )
        .change(set(SYSCTL, 1)),
        Ok(_) => {
            let effect = "windows above 65535 B, where the other end scales, too";
            Finding::new(NAME, Verdict::Fine, format!("{SYSCTL} is on"), effect)
        }
    }
}

/// The buffers of programs that set their size themselves: the kernel doubles the size for its own use.
fn fixed_sizes(case: &Case) -> Finding {
    const NAME: &str = "fixed-buffers";
    const SEND: &str = "net.core.wmem_max";
    const RECEIVE: &str = "net.core.rmem_max";
    let sysctls = &case.host.sysctls;
    let (send, receive) = match (sysctls.number(SEND), sysctls.number(RECEIVE)) {
        (Ok(send), Ok(receive)) => (2.0 * send as f64, 2.0 * share(case).0 * receive as f64),
        (Err(why), _) | (_, Err(why)) => return Finding::unknown(NAME, why),
    };
    let most = case.by_window(send.min(receive));
    let short = most < case.path.rate.value;
    let verdict = if short { Verdict::Note } else { Verdict::Fine };
    let measured = format!("{SEND} {}, {RECEIVE} {}", size(send / 2.0), {
        size(sysctls.number(RECEIVE).unwrap_or(0) as f64)
    });
    let effect = format!(
        "programs that set SO_SNDBUF or SO_RCVBUF themselves: at most {} at {}",
        rate(most),
        time(case.path.rtt.value),
    );
    let enough = round_up(case.path.bandwidth_delay());
    let mut finding = Finding::new(NAME, verdict, measured, effect)
        .limit(Limit::Throughput(most))
        .by(BY_WINDOW)
        .change("let programs leave their buffers to the kernel, which adapts them");
    for (name, value) in [(SEND, send / 2.0), (RECEIVE, receive / 2.0)] {
        if value < enough as f64 {
            finding = finding.change(set(name, enough));
        }
    }
    finding
}
