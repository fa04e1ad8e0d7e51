//! Nanoseconds that the callbacks of one ACK take natively: in congestion avoidance, or where an
//! algorithm has the window to itself, with a pipe that is full.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use kirikae_algorithms::{Algorithm, RateSample, Socket};

const MSS: u32 = 1448;
const RTT_US: u32 = 100_000;
const CWND: u32 = 100;

fn per_ack(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("per_ack");
    for name in ["kk_reno", "kk_cubic", "kk_hybla", "kk_bbr", "kk_bbr3"] {
        let mut socket = Socket::new(Algorithm::named(name).expect("one of ours"), MSS);
        socket.fields.rtt_min.s[0].v = RTT_US;
        socket.fields.srtt_us = RTT_US << 3;
        socket.fields.tcp_mstamp = 1_000_000;
        socket.fields.snd_ssthresh = CWND / 2;
        socket.fields.set_is_cwnd_limited(1);
        group.bench_function(name, |bencher| bencher.iter(|| ack(black_box(&mut socket))));
    }
    group.finish();
}

/// Every other segment of a full window is ACKed; a BBR may have a smaller one in flight.
fn ack(socket: &mut Socket) {
    let alone = socket.algorithm().controls_alone();
    let fields = &mut socket.fields;
    let in_flight = if alone { fields.snd_cwnd.min(CWND) } else { CWND };
    if !alone {
        fields.snd_cwnd = CWND;
    }
    fields.tcp_mstamp += u64::from(2 * RTT_US / CWND);
    fields.delivered_mstamp = fields.tcp_mstamp;
    fields.delivered = fields.delivered.wrapping_add(2);
    fields.packets_out = in_flight;
    let ack = fields.delivered.wrapping_mul(MSS);
    fields.snd_nxt = ack.wrapping_add(CWND * MSS);
    // One sample in 8 is as fast as the path; of the others a BBR takes note at most.
    let rtt_us = i64::from(RTT_US + fields.delivered % 16);
    let sample = RateSample {
        prior_delivered: fields.delivered.wrapping_sub(in_flight),
        delivered: in_flight.cast_signed(),
        interval_us: rtt_us,
        rtt_us,
        acked_sacked: 2,
        prior_in_flight: in_flight,
        ..RateSample::default()
    };
    socket.pkts_acked(2, Some(RTT_US), CWND);
    socket.ack(ack, 2, &sample);
}

criterion_group!(benches, per_ack);
criterion_main!(benches);
