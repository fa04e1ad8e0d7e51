//! The kernel's cubic is told of round trips by TCP, and so ends slow start where it does.

mod common;

use common::{link, one};
use kirikae_path::Time;
use kirikae_sim::{End, Observer, Workload};
use kirikae_tcp::Endpoint;

/// The slow start threshold that the client ends with.
#[derive(Default)]
struct Threshold(u32);

impl Observer for Threshold {
    fn received(&mut self, _now: Time, _flow: usize, end: End, endpoint: &Endpoint) {
        if let (End::Client, Some(socket)) = (end, endpoint.socket()) {
            self.0 = socket.fields.snd_ssthresh;
        }
    }
}

/// In the round trip in which HyStart ends slow start the module's window goes from 320 to 537 segments
/// over 50 Mb/s and from 80 to 124 over 10 Mb/s (crates/algorithms/tests/stock.rs): by each segment
/// ACKed, and then by one for 20.
#[test]
fn slow_start_ends_where_the_modules_does() {
    for (mbps, module) in [(50, 532), (10, 122)] {
        let mut seen = Threshold::default();
        let workload = Workload::Bulk { bytes: None };
        one(link(mbps, 100_000, 100), workload, 2).observe(&mut seen).unwrap();
        let Threshold(ssthresh) = seen;
        assert!(ssthresh.abs_diff(module) <= 2, "{ssthresh} over {mbps} Mb/s");
    }
}
