//! Rules about packets: how large they are, who cuts them, and where they wait on this host.

use super::{Case, TIMESTAMPS, USUAL_MTU, set};
use crate::units::{percent, rate, size, time};
use crate::{Finding, Limit, Verdict};

/// Bytes of an Ethernet frame around its packet: header, checksum, preamble, and gap.
const FRAME: f64 = 38.0;
/// From this rate on a core is busy with single segments, bit/s. A rule of thumb.
const MANY_SEGMENTS: f64 = 1e9;

pub(super) fn findings(case: &Case) -> Vec<Finding> {
    if let Err(why) = &case.host.route {
        let unknown = |name| Finding::unknown(name, why);
        return ["mtu", "queue", "offloads"]
            .map(unknown)
            .into_iter()
            .chain([probing(case)])
            .collect();
    }
    vec![mtu(case), probing(case), queue(case), offloads(case)]
}

fn mtu(case: &Case) -> Finding {
    const NAME: &str = "mtu";
    let Some(mtu) = case.mtu() else {
        return Finding::unknown(NAME, "the interface does not tell it");
    };
    let bytes = f64::from(mtu);
    let share = (bytes - case.headers()) / (bytes + FRAME);
    let most = share * case.path.rate.value;
    let name = case.interface().map_or("", |interface| &interface.name);
    let effect = format!(
        "{} of an Ethernet frame is data: {} of {}",
        percent(share),
        rate(most),
        rate(case.path.rate.value),
    );
    let verdict = if mtu < USUAL_MTU { Verdict::Note } else { Verdict::Fine };
    Finding::new(NAME, verdict, format!("{mtu} B on {name}"), effect)
        .limit(Limit::Throughput(most))
        .by("(MTU - headers) / (MTU + 38) (Chen and Sasaki, 2011, 5.1)")
        .change(format!(
            "ip link set {name} mtu {USUAL_MTU}  # where everything on the way takes that"
        ))
}

fn probing(case: &Case) -> Finding {
    const NAME: &str = "mtu-probing";
    const SYSCTL: &str = "net.ipv4.tcp_mtu_probing";
    let (verdict, effect) = match case.host.sysctls.number(SYSCTL) {
        Err(why) => return Finding::unknown(NAME, why),
        Ok(0) => (
            Verdict::Note,
            "where a router drops large packets and its ICMP is filtered, connections stall for good",
        ),
        Ok(_) => (Verdict::Fine, "a router that drops large packets in silence is found out"),
    };
    let measured = format!("{SYSCTL} = {}", case.host.sysctls.text(SYSCTL).unwrap_or_default());
    Finding::new(NAME, verdict, measured, effect).by("RFC 4821").change(set(SYSCTL, 1))
}

fn queue(case: &Case) -> Finding {
    const NAME: &str = "queue";
    let Some(interface) = case.interface() else { return Finding::unknown(NAME, "no interface") };
    let Some(qdiscs) = &interface.qdiscs else {
        return Finding::unknown(
            NAME,
            format!("the queueing discipline of {} is not told", interface.name),
        );
    };
    let names = qdiscs.iter().cloned().collect::<Vec<_>>().join(", ");
    let measured = format!("{names} on {}", interface.name);
    let has = |name: &str| qdiscs.contains(name);
    let change = format!("tc qdisc replace dev {} root fq", interface.name);
    if has("fq") {
        let effect = "flows wait apart from each other, and are paced by it";
        return Finding::new(NAME, Verdict::Fine, measured, effect).by("tc-fq(8)");
    }
    if has("fq_codel") || has("cake") || has("fq_pie") {
        let effect = "flows wait apart from each other; who paces does so by timers of its own";
        return Finding::new(NAME, Verdict::Fine, measured, effect).by("RFC 8290");
    }
    if has("noqueue") {
        let effect = "nothing waits here; who paces does so by timers of its own";
        return Finding::new(NAME, Verdict::Fine, measured, effect);
    }
    if !has("pfifo_fast") && !has("pfifo") {
        let effect = "not known here what it does to latency";
        return Finding::new(NAME, Verdict::Note, measured, effect).change(change);
    }
    let Some(packets) = interface.queue_length.filter(|packets| *packets > 0) else {
        return Finding::unknown(NAME, format!("{measured}: its length is not told"));
    };
    let frame = f64::from(case.mtu().unwrap_or(USUAL_MTU)) + FRAME;
    let wait = f64::from(packets) * frame * 8.0 / case.path.rate.value;
    let effect = format!(
        "one queue of {packets} packets for all: where this interface is the bottleneck, other traffic \
         makes packets wait up to {}",
        time(wait),
    );
    Finding::new(NAME, Verdict::Note, measured, effect)
        .limit(Limit::Latency(wait))
        .by("packets * frame / rate")
        .change(change)
}

fn offloads(case: &Case) -> Finding {
    const NAME: &str = "offloads";
    let Some(interface) = case.interface() else { return Finding::unknown(NAME, "no interface") };
    let Some(offloads) = interface.offloads else {
        return Finding::unknown(NAME, format!("{} does not tell", interface.name));
    };
    let on = |on| if on { "on" } else { "off" };
    let measured = format!(
        "{}: TSO {}, GSO {}, GRO {}",
        interface.name,
        on(offloads.tso),
        on(offloads.gso),
        on(offloads.gro),
    );
    let all = offloads.gso && offloads.gro;
    let segments = case.path.rate.value / (8.0 * (case.segment() + TIMESTAMPS));
    let effect = match all {
        true => format!("up to {} go through the kernel at once", size(65_536.0)),
        false => format!("{} segments a second, each on its own, at this rate", segments.round()),
    };
    let verdict = match all || case.path.rate.value < MANY_SEGMENTS {
        true => Verdict::Fine,
        false => Verdict::Note,
    };
    Finding::new(NAME, verdict, measured, effect)
        .change(format!("ethtool -K {} gso on gro on", interface.name))
}
