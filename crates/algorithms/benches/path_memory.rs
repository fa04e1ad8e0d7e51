//! Nanoseconds that a look-up in a path memory of a million entries takes natively, at a place that no cache
//! knows, and what is written there.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use kirikae_algorithms::PathMemory;
use kirikae_interface::{PATH_WAYS, path_entry, path_key};

const ENTRIES: u32 = 1 << 20;
const LIFETIME_S: u32 = 600;
const NOW_S: u32 = 100;

/// The path to the IPv4 host of this number, scattered over all networks.
fn key(host: u32) -> path_key {
    let address = host.wrapping_mul(0x9e37_79b1);
    path_key { network: 0xffff << 32 | u64::from(address), ..Default::default() }
}

fn entry(host: u32) -> path_entry {
    path_entry { key: key(host), written_s: NOW_S, rtt_us: 20_000, ..Default::default() }
}

fn path_memory(criterion: &mut Criterion) {
    let memory = PathMemory::new(ENTRIES / PATH_WAYS);
    (0..ENTRIES).for_each(|host| memory.note(&entry(host)));
    let mut group = criterion.benchmark_group("path_memory");
    let mut host = 0u32;
    let mut next = || {
        host = host.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        host % ENTRIES
    };
    group.bench_function("recall", |bencher| {
        bencher.iter(|| black_box(memory.recall(&key(next()), NOW_S, LIFETIME_S)));
    });
    group.bench_function("note", |bencher| bencher.iter(|| memory.note(&entry(next()))));
    group.finish();
}

criterion_group!(benches, path_memory);
criterion_main!(benches);
