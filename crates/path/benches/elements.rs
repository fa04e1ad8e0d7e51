//! Packets per second through each element and through a whole direction.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kirikae_path::{
    ArqSpec, Chain, CoDelSpec, Ecn, ElementSpec, GilbertElliottSpec, LinkSpec, Order, PathSpec,
    QueueLimit, QueueSpec, RateSpec, Span, Time,
};

const PACKETS: u64 = 10_000;

fn elements(criterion: &mut Criterion) {
    let delay = ElementSpec::Delay { delay: Span::from_millis(100) };
    let rate =
        ElementSpec::Rate { bits_per_second: 10_000_000_000, limit: QueueLimit::Packets(100) };
    let loss = ElementSpec::Loss { probability: 0.01 };
    let gilbert_elliott =
        ElementSpec::GilbertElliott(GilbertElliottSpec { p: 0.001, r: 0.25, k: 1.0, h: 0.0 });
    let listed_loss = ElementSpec::ListedLoss { packets: (0..1000).map(|n| n * 10).collect() };
    let link = |queue: QueueSpec| {
        ElementSpec::Link(LinkSpec::new(RateSpec::Constant(10_000_000_000), queue))
    };
    let drop_tail = QueueSpec::drop_tail(QueueLimit::Packets(100));
    let (target, interval) = (Span::from_millis(5), Span::from_millis(100));
    let codel = Some(CoDelSpec { target, interval, mark: true });
    let codel = link(QueueSpec { codel, ..drop_tail.clone() });
    let reordering = link(QueueSpec { reorder_interval: Some(30), ..drop_tail });
    let jitter = |order| ElementSpec::Jitter {
        delay: Span::from_millis(10),
        jitter: Span::from_millis(10),
        order,
    };
    let arq = ArqSpec { retries: 3, retry_delay: Span::from_millis(1) };
    let arq = ElementSpec::Arq { loss: 0.1, arq };
    let directions = [
        ("empty", vec![]),
        ("codel", vec![codel]),
        ("reordering", vec![reordering]),
        ("jitter_kept", vec![jitter(Order::Kept)]),
        ("jitter_free", vec![jitter(Order::Free)]),
        ("arq", vec![arq]),
        ("delay", vec![delay.clone()]),
        ("rate", vec![rate.clone()]),
        ("loss", vec![loss.clone()]),
        ("gilbert_elliott", vec![gilbert_elliott]),
        ("listed_loss", vec![listed_loss]),
        ("loss_rate_delay", vec![loss, rate, delay]),
    ];
    let mut group = criterion.benchmark_group("elements");
    group.throughput(Throughput::Elements(PACKETS));
    for (name, forward) in directions {
        let (mut chain, _) = PathSpec { forward, backward: vec![] }.build(1).expect("a valid path");
        let mut now = Time::ZERO;
        group.bench_function(name, |bencher| bencher.iter(|| offer(&mut chain, &mut now)));
    }
    group.finish();
}

/// Offers packets a little below the link's rate, telling the time at each arrival only.
fn offer(chain: &mut Chain<u64>, now: &mut Time) {
    for payload in 0..PACKETS {
        *now += Span::from_nanos(1_250);
        chain.enqueue(*now, 1500, Ecn::NotEct, payload, |at, fate| {
            black_box((at, fate.is_ok()));
        });
    }
}

criterion_group!(benches, elements);
criterion_main!(benches);
