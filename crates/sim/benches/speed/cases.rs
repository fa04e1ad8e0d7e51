//! The cases that are measured.

use std::sync::Arc;

use kirikae_algorithms::Algorithm;

use kirikae_path::{DirectionSpec, ElementSpec, PathSpec, QueueLimit, Span, Time};
use kirikae_sim::{Activity, Flow, Host, Routes, Simulation, Workload, staggered};
use kirikae_tcp::{Control, Profile};

const BURST: u64 = 65_536;
const INTERVAL: Span = Span::from_secs(2);

/// 64 KB every 2 s over 10 Mb/s, RTT 200 ms, of which every thousandth packet is lost; over so many
/// links in a row.
pub fn bursts(count: u64, links: u64) -> Simulation {
    let path = |loss: Option<ElementSpec>| {
        let delay = Span::from_nanos(100_000_000 / links);
        let mut path = link(10_000_000, QueueLimit::Packets(100), delay);
        path.forward.splice(..0, loss);
        path
    };
    let loss = ElementSpec::Loss { probability: 1e-3 };
    let links: Vec<PathSpec> = (0..links).map(|n| path((n == 0).then(|| loss.clone()))).collect();
    let due = (0..count).map(|burst| INTERVAL * burst);
    let flow = flow(&links, Workload::bursts(BURST, due));
    Simulation { seed: 1, links, flows: vec![flow], duration: INTERVAL * (count + 30) }
}

/// As much as goes through 100 Mb/s, RTT 20 ms, a queue of one BDP.
pub fn bulk(seconds: u64) -> Simulation {
    let links = vec![link(100_000_000, QueueLimit::Packets(167), Span::from_millis(10))];
    let flow = flow(&links, Workload::Bulk { bytes: None });
    Simulation { seed: 1, links, flows: vec![flow], duration: Span::from_secs(seconds) }
}

/// So many flows that share 10 Gb/s. Each opens its connection within 10 s; `bursts` of them come 2 s
/// apart after that, and if there are none the connection is idle until the end.
pub fn many(flows: usize, bursts: u64, within: Span) -> Simulation {
    let links = vec![link(10_000_000_000, QueueLimit::Packets(20_000), Span::from_millis(50))];
    // Idle ones would write when all is over.
    let first = if bursts > 0 { INTERVAL } else { Span::from_secs(1_000_000) };
    let due: Vec<Span> = (0..bursts.max(1)).map(|burst| first + INTERVAL * burst).collect();
    let flow = flow(&links, Workload::bursts(BURST, due));
    let starts = staggered(flows, within, 1);
    let flows = starts.into_iter().map(|start| Flow { start, ..flow.clone() }).collect();
    let duration = within + Span::from_secs(10) + INTERVAL * bursts;
    Simulation { seed: 1, links, flows, duration }
}

/// A link with its rate and queue forward; backward packets are only delayed.
fn link(bits_per_second: u64, limit: QueueLimit, delay: Span) -> PathSpec {
    let delay = ElementSpec::Delay { delay };
    let forward: DirectionSpec = vec![ElementSpec::Rate { bits_per_second, limit }, delay.clone()];
    PathSpec { forward, backward: vec![delay] }
}

/// A flow from the first link to the last.
fn flow(links: &[PathSpec], workload: Workload) -> Flow {
    let through: Vec<usize> = (0..links.len()).collect();
    let algorithm = Algorithm::stock("cubic").expect("the kernel has it");
    let host = Host {
        profile: Arc::new(Profile::linux_6()),
        control: Arc::new(Control { algorithm, switcher: None }),
        address: 0,
    };
    Flow {
        start: Time::ZERO,
        after: None,
        routes: Routes::through(&through),
        client: host.clone(),
        server: host,
        activities: vec![Activity { after: Span::ZERO, workload }],
        mobile: None,
        split: None,
    }
}
