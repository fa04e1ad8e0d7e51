//! The send buffer: how much is sent of an application that writes more than the kernel takes at once,
//! and what an algorithm and the switcher see of it.

mod common;

use std::sync::Arc;

use common::{flow, link, ms};
use kirikae_algorithms::{Algorithm, Rule, Switch, Switcher};
use kirikae_interface::{policy, scope};
use kirikae_path::{PathSpec, Span, Time};
use kirikae_sim::{End, Host, Observer, Routes, Simulation, Workload};
use kirikae_tcp::{Control, Endpoint, Profile};

/// Of the first flow's client: bytes written and not ACKed after each ACK from the second second on,
/// the most segments in flight then, and the burst as the switcher has it, together with what had been
/// ACKed of it.
#[derive(Default)]
struct Watch {
    queued: Vec<u32>,
    flight: u32,
    burst: (u32, u64),
}

impl Observer for Watch {
    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        let Some(socket) = endpoint.socket().filter(|_| (flow, end) == (0, End::Client)) else {
            return;
        };
        let fields = &socket.fields;
        if now >= Time::ZERO + ms(2000) {
            self.queued.push(fields.write_seq.wrapping_sub(fields.snd_una));
            self.flight = self.flight.max(fields.packets_out);
        }
        self.burst = (socket.burst(), endpoint.acked());
    }
}

/// What was seen of cubic over this path: 12 s of as much as it takes, of a buffer of so many bytes.
fn watch(path: PathSpec, send_buffer_max: u32) -> Watch {
    let mut simulation = common::one(path, Workload::Bulk { bytes: None }, 12);
    let profile = Profile { receive_window_max: 32 << 20, send_buffer_max, ..Profile::linux_6() };
    let flow = &mut simulation.flows[0];
    flow.client.profile = Arc::new(profile);
    flow.server.profile = flow.client.profile.clone();
    let mut watch = Watch::default();
    simulation.observe(&mut watch).unwrap();
    watch
}

/// Bytes written and not ACKed as Linux 6.18 had them on these paths: 5 %, mean, 95 %
/// (docs/simulator.md).
#[test]
fn as_much_waits_as_in_the_kernel() {
    let measured = [
        (link(10, 67, 80), [388_064, 506_229, 622_640]),
        (link(100, 667, 80), [2_723_688, 3_375_887, 4_015_304]),
        (link(20, 100, 20), [386_616, 504_280, 621_192]),
    ];
    for (path, kernel) in measured {
        let mut queued = watch(path, Profile::linux_6().send_buffer_max).queued;
        queued.sort_unstable();
        let sum: u64 = queued.iter().map(|bytes| u64::from(*bytes)).sum();
        let mean = (sum / queued.len() as u64) as u32;
        let ours = [queued[queued.len() / 20], mean, queued[queued.len() * 19 / 20]];
        println!("{ours:?} bytes; the kernel: {kernel:?}");
        assert!(
            ours.into_iter()
                .zip(kernel)
                .all(|(ours, kernel)| { ours.abs_diff(kernel) < kernel / 10 })
        );
    }
}

/// A path of 690 segments on the way, and as many more in its queue. The last piece, of up to 45 segments, exceeds the
/// buffer.
#[test]
fn no_more_is_in_flight_than_the_buffer_holds() {
    for (buffer, at_most) in [(512 << 10, 386), (256 << 10, 216)] {
        let flight = watch(link(100, 667, 80), buffer).flight;
        assert!((at_most * 9 / 10..=at_most).contains(&flight), "{flight} segments");
    }
    assert!(watch(link(100, 667, 80), 4 << 20).flight > 690);
}

/// Two flows of Kirikae over 20 Mbit/s, near and far, that write so much; the seconds are too few.
fn switched(bytes: Option<u64>) -> (Vec<Vec<(Time, Switch)>>, Watch) {
    let candidates: Vec<Algorithm> = Algorithm::all().collect();
    let tables = vec![kirikae_table::usual().kernel_table().into()];
    let switcher = Switcher::new(policy::one(scope::usual()), tables, &candidates).unwrap();
    let algorithm = Algorithm::stock("cubic").unwrap();
    let control = Control { algorithm, switcher: Some(Rule::Switcher(switcher)) };
    let host =
        Host { profile: Arc::new(Profile::linux_6()), control: Arc::new(control), address: 0 };
    let mut bulk = flow(Routes::through(&[0]), Workload::Bulk { bytes });
    (bulk.client, bulk.server) = (host.clone(), host);
    let mut far = bulk.clone();
    far.routes = Routes::through(&[1, 0]);
    let links = vec![link(20, 100, 20), link(1000, 1000, 100)];
    let simulation =
        Simulation { seed: 1, links, flows: vec![bulk, far], duration: Span::from_secs(20) };
    let mut watch = Watch::default();
    let outcome = simulation.observe(&mut watch).unwrap();
    assert_eq!(outcome.left.len(), 2, "none has come to an end");
    (outcome.flows.into_iter().map(|flow| flow.switches).collect(), watch)
}

#[test]
fn bulk_keeps_what_it_came_with_whether_its_end_is_written_or_not() {
    for bytes in [None, Some(200 << 20)] {
        let (switches, watch) = switched(bytes);
        let (burst, acked) = watch.burst;
        assert!(u64::from(burst) > acked, "{burst} bytes, of which {acked} are ACKed");
        assert!(acked > 1 << 20, "bulk");
        assert!(switches.iter().all(Vec::is_empty), "{switches:?}");
    }
}
