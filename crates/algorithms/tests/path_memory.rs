//! The path memory: where entries are, how long, whose, and what becomes of them.

use std::collections::BTreeSet;

use kirikae_algorithms::PathMemory;
use kirikae_interface::{
    PATH_NO_COLUMN, PATH_SETS_OF_PREFIX, PATH_SETS_SHARED, PATH_SHARES, PATH_USED_AT_MOST_S,
    PATH_WAYS, path_entry, path_key, path_outcome,
};
use proptest::prelude::*;

/// Sets of the agent's memory.
const SETS: u32 = 4096;
/// So many of them are for other namespaces than the host's own, too.
const SHARED: usize = (SETS / PATH_SETS_SHARED) as usize;

fn key(network: u64) -> path_key {
    path_key { network, namespace: 0, interface: 2 }
}

/// The key of an IPv4 address, in the host's own namespace.
fn ipv4(address: u32) -> path_key {
    key(0xffff << 32 | u64::from(address))
}

/// What a connection has shown that measured nothing.
fn news(key: path_key, written_s: u32) -> path_entry {
    let nothing = path_outcome { column: PATH_NO_COLUMN as u8, ..Default::default() };
    path_entry { key, written_s, outcome: [nothing; 2], ..Default::default() }
}

/// What is known of one path after another has been noted of it.
fn merged(known: path_entry, news: path_entry) -> path_entry {
    let memory = PathMemory::new(1);
    memory.note(&known);
    memory.note(&news);
    memory.recall(&news.key, news.written_s, 0).expect("noted just now").entry
}

/// How far counts are from an even spread: the sum over bins of (count - mean)^2 / mean.
fn chi_square(counts: &[u32]) -> f64 {
    let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|count| (f64::from(*count) - mean).powi(2) / mean).sum()
}

/// Within five standard deviations of what chance would have.
#[track_caller]
fn is_even(chi_square: f64, degrees: f64) {
    assert!(
        (chi_square - degrees).abs() < 5.0 * (2.0 * degrees).sqrt(),
        "{chi_square} of {degrees}"
    );
}

/// How many of these keys each set gets.
fn counts(memory: &PathMemory, keys: impl Iterator<Item = path_key>) -> Vec<u32> {
    let mut counts = vec![0; SETS as usize];
    for key in keys {
        counts[memory.place(&key)] += 1;
    }
    counts
}

#[test]
fn prefixes_in_a_row_are_spread_evenly() {
    let memory = PathMemory::new(SETS);
    let four = counts(&memory, (0..1 << 16).map(|prefix| ipv4(0x0a00_0001 | prefix << 8)));
    is_even(chi_square(&four), f64::from(SETS - 1));
    let six = (0..1 << 16).map(|prefix: u64| key(0x2001_0db8 << 32 | prefix << 16));
    is_even(chi_square(&counts(&memory, six)), f64::from(SETS - 1));
}

#[test]
fn a_namespace_has_its_share_and_no_more() {
    let memory = PathMemory::new(SETS);
    for namespace in [1, 2, 4_026_531_840] {
        let prefixes =
            (0..1 << 18).map(|it| path_key { namespace, ..ipv4(0x0a00_0001 + (it << 8)) });
        let mut counts = counts(&memory, prefixes);
        assert!(counts[SHARED..].iter().all(|count| *count == 0), "the host's own half");
        counts.retain(|count| *count > 0);
        assert_eq!(counts.len(), (SETS / PATH_SHARES) as usize);
        is_even(chi_square(&counts), f64::from(SETS / PATH_SHARES - 1));
    }
    let namespaces = (1..=1 << 16).map(|namespace| path_key { namespace, ..ipv4(0x0a00_0001) });
    let counts = counts(&memory, namespaces);
    is_even(chi_square(&counts[..SHARED]), SHARED as f64 - 1.0);
}

#[test]
fn however_few_sets_there_are_a_key_has_one() {
    for sets in 1..40 {
        let memory = PathMemory::new(sets);
        for namespace in 0..40 {
            let key = path_key { namespace, ..ipv4(0x0a00_0001) };
            assert!(memory.place(&key) < sets as usize);
        }
    }
}

#[test]
fn addresses_of_a_prefix_are_spread_evenly_over_its_sets() {
    let memory = PathMemory::new(SETS);
    let own = |keys: Vec<path_key>| {
        let mut counts = counts(&memory, keys.into_iter());
        counts.retain(|count| *count > 0);
        assert!(counts.len() <= PATH_SETS_OF_PREFIX as usize, "{} sets", counts.len());
        counts.resize(PATH_SETS_OF_PREFIX as usize, 0);
        chi_square(&counts)
    };
    let prefixes = 256;
    let four = (0..prefixes).map(|it| own((0..256).map(|host| ipv4(it << 8 | host)).collect()));
    let six = (0..prefixes).map(|it| {
        let prefix = 0x2001_0db8 << 32 | u64::from(it) << 16;
        own((0..256).map(|network| key(prefix | network)).collect())
    });
    let degrees = f64::from(prefixes * (PATH_SETS_OF_PREFIX - 1));
    is_even(four.sum(), degrees);
    is_even(six.sum(), degrees);
}

/// Strangers have all of a prefix's addresses, and come again and again.
fn flood(memory: &PathMemory, foreign: &[path_key]) {
    for round in 0..3 {
        for key in foreign {
            memory.note(&news(*key, 1000 + round));
        }
    }
}

/// Of 10,000 prefixes, about 635 have no room from the outset: so many more than four come to a set of
/// 4096. Strangers then take 64 sets at most, a 64th of the others' entries.
#[test]
fn no_prefix_pushes_out_more_than_a_64th_of_the_others() {
    let four: Vec<_> = (0..256).map(|host| ipv4(0xc000_0200 | host)).collect();
    let six: Vec<_> = (0..1 << 16).map(|network| key(0x2001_0db8_0001 << 16 | network)).collect();
    for foreign in [four, six] {
        let memory = PathMemory::new(SETS);
        let others: Vec<_> = (0..10_000).map(|it| ipv4(0x0a00_0001 | it << 8)).collect();
        for (written_s, other) in (1..).zip(&others) {
            memory.note(&news(*other, written_s % 900 + 1));
        }
        let known = |key: &&path_key| memory.recall(key, 2000, 2000).is_some();
        let before: Vec<_> = others.iter().filter(known).collect();
        assert!((9200..9530).contains(&before.len()), "{} have room", before.len());

        flood(&memory, &foreign);
        let taken: BTreeSet<_> = foreign.iter().map(|key| memory.place(key)).collect();
        assert!(taken.len() <= PATH_SETS_OF_PREFIX as usize);
        let is_foreign = |entry: &path_entry| {
            foreign.binary_search_by_key(&entry.key.network, |key| key.network).is_ok()
        };
        let entries = memory.entries().into_iter().flatten().filter(is_foreign).count();
        assert!(entries <= (PATH_SETS_OF_PREFIX * PATH_WAYS) as usize, "{entries} entries");
        let after = before.iter().filter(|key| known(key)).count();
        assert!(after < before.len(), "the strangers took nothing");
        assert!(after as f64 >= 0.97 * before.len() as f64, "{after} of {}", before.len());
        let is_hit = |key: &&&path_key| !known(key);
        assert!(before.iter().filter(is_hit).all(|key| taken.contains(&memory.place(key))));
    }
}

/// A namespace's prefixes are as many as whoever has it likes, and one who may make namespaces has many.
#[test]
fn no_namespace_pushes_out_more_than_its_share() {
    let memory = PathMemory::new(SETS);
    let of = |namespace, count: u32| {
        (0..count).map(move |it| path_key { namespace, ..ipv4(0x0a00_0001 + (it << 8)) })
    };
    let others: Vec<_> = of(0, 4000).chain(of(1, 200)).collect();
    for (written_s, other) in (1..).zip(&others) {
        memory.note(&news(*other, written_s % 900 + 1));
    }
    let known = |of: &dyn Fn(&path_key) -> bool| {
        let known = |key: &&path_key| of(key) && memory.recall(key, 3000, 3000).is_some();
        others.iter().filter(known).count() as f64
    };
    let (own, first) = (|key: &path_key| key.namespace == 0, |key: &path_key| key.namespace == 1);
    let in_own_half = |key: &path_key| own(key) && memory.place(key) >= SHARED;
    let before = (known(&own), known(&first), known(&in_own_half));

    flood(&memory, &of(2, 1 << 14).collect::<Vec<_>>());
    let entries: Vec<_> = memory.entries().into_iter().flatten().collect();
    let of_it = entries.iter().filter(|entry| entry.key.namespace == 2).count();
    assert_eq!(of_it as u32, SETS / PATH_SHARES * PATH_WAYS, "all that it may have");
    let left = known(&own);
    assert!(left < before.0 && left > before.0 * 0.9, "{left} of {}", before.0);

    for namespace in 3..200 {
        flood(&memory, &of(namespace, 1 << 10).collect::<Vec<_>>());
    }
    assert_eq!(known(&first), 0.0, "there are no namespaces that share nothing");
    assert_eq!(known(&in_own_half), before.2);
    assert!(before.1 > 0.0 && before.2 > before.0 * 0.4);
}

#[test]
fn a_full_set_gives_up_the_oldest() {
    let memory = PathMemory::new(1);
    for (network, written_s) in [(1, 40), (2, 10), (3, 30), (4, 20), (5, 50)] {
        memory.note(&news(key(network), written_s));
    }
    let known: Vec<_> = memory.entries()[0].iter().map(|entry| entry.key.network).collect();
    assert_eq!(known, [1, 5, 3, 4]);
}

#[test]
fn counters_stop_at_their_limits() {
    let full = path_entry { delivered_kb: u32::MAX - 1, uses: u16::MAX, ..news(key(1), 1) };
    let memory = PathMemory::new(1);
    memory.note(&full);
    memory.note(&path_entry { delivered_kb: 5, ..news(key(1), 1) });
    assert!(memory.begin(&key(1), 1));
    let known = memory.recall(&key(1), 1, 0).unwrap().entry;
    assert_eq!((known.delivered_kb, known.uses), (u32::MAX, u16::MAX));
}

/// Of what is the better the larger it is, or the smaller, a worse measurement counts a quarter.
#[test]
fn a_better_measurement_counts_at_once() {
    let known = path_entry {
        rate: 1000,
        rtt_us: 1000,
        round_bytes: 1000,
        usual_rtt_us: 1000,
        burst: 1000,
        ..news(key(1), 1)
    };
    let of = |value| path_entry {
        rate: value,
        rtt_us: value,
        round_bytes: value,
        usual_rtt_us: value,
        burst: value,
        ..news(key(1), 1)
    };
    let larger = merged(known, of(2000));
    assert_eq!((larger.rate, larger.rtt_us, larger.round_bytes), (2000, 1250, 2000));
    assert_eq!((larger.usual_rtt_us, larger.burst), (1250, 1250));
    let smaller = merged(known, of(600));
    assert_eq!((smaller.rate, smaller.rtt_us, smaller.round_bytes), (975, 600, 1000));
    assert_eq!((smaller.usual_rtt_us, smaller.burst), (900, 900));
    assert_eq!(merged(known, of(0)), known, "nothing was measured");
}

#[test]
fn two_algorithms_are_remembered_the_latest_first() {
    let outcome = |column, excess| path_outcome { column, excess, scopes: 1 };
    let of = |it| path_entry { outcome: [it, Default::default()], ..news(key(1), 1) };
    let mut known = news(key(1), 1);
    for it in [outcome(3, 10), outcome(5, 20), outcome(5, 30)] {
        known = merged(known, of(it));
    }
    assert_eq!(known.outcome, [outcome(5, 30), outcome(3, 10)]);
    let nothing = path_outcome { column: PATH_NO_COLUMN as u8, ..Default::default() };
    assert_eq!(merged(known, of(nothing)).outcome, known.outcome);
}

/// What one connection does with the entry of a path, so many seconds after what was done before.
#[derive(Clone, Debug)]
enum Deed {
    Begin,
    Release,
    Forget,
    Note,
}

fn deeds() -> impl Strategy<Value = Vec<(u32, Deed)>> {
    let deed = prop_oneof![
        4 => Just(Deed::Begin),
        1 => Just(Deed::Release),
        1 => Just(Deed::Forget),
        3 => Just(Deed::Note),
    ];
    prop::collection::vec((0..40_u32, deed), 1..60)
}

proptest! {
    #[test]
    fn what_was_noted_is_known_until_it_is_too_old(
        network in 1..u64::MAX, written_s in 1..1_u32 << 30, age_s in 0..1_u32 << 30, lifetime_s in 0..1_u32 << 30
    ) {
        let memory = PathMemory::new(SETS);
        let key = key(network);
        prop_assert!(memory.recall(&key, written_s, lifetime_s).is_none());
        memory.note(&news(key, written_s));
        let known = memory.recall(&key, written_s + age_s, lifetime_s);
        prop_assert_eq!(known.map(|it| it.age_s), (age_s <= lifetime_s).then_some(age_s));
        memory.forget(&key);
        prop_assert!(memory.recall(&key, written_s, lifetime_s).is_none());
    }

    /// Against a plain reading of the rule.
    #[test]
    fn an_entry_has_one_user_at_a_time(deeds in deeds()) {
        let memory = PathMemory::new(1);
        let key = key(7);
        let (mut now_s, mut is_there, mut used_until_s) = (1, false, 0);
        for (after_s, deed) in deeds {
            now_s += after_s;
            match deed {
                Deed::Begin => {
                    let may = is_there && used_until_s <= now_s;
                    prop_assert_eq!(memory.begin(&key, now_s), may);
                    if may {
                        used_until_s = now_s + PATH_USED_AT_MOST_S;
                    }
                }
                Deed::Release => {
                    memory.release(&key);
                    used_until_s = 0;
                }
                Deed::Forget => {
                    memory.forget(&key);
                    (is_there, used_until_s) = (false, 0);
                }
                Deed::Note => {
                    memory.note(&news(key, now_s));
                    is_there = true;
                }
            }
            let known = memory.recall(&key, now_s, u32::MAX);
            let is_used = known.map(|it| it.is_used != 0);
            prop_assert_eq!(is_used, is_there.then_some(used_until_s > now_s));
        }
    }

    /// What is merged lies between what was known and what was measured.
    #[test]
    fn a_merge_stays_between(known in 1..u32::MAX, measured in 1..u32::MAX) {
        let of = |value| path_entry { rate: value, rtt_us: value, usual_rtt_us: value, burst: value, ..news(key(1), 1) };
        let merged = merged(of(known), of(measured));
        let between = known.min(measured)..=known.max(measured);
        prop_assert!(between.contains(&merged.rate) && between.contains(&merged.rtt_us));
        // Two roundings of the mean.
        let nearly = between.start() - 1..=between.end().saturating_add(1);
        prop_assert!(nearly.contains(&merged.usual_rtt_us) && nearly.contains(&merged.burst));
    }

    /// Counters at their limits do not change what share is lost.
    #[test]
    fn the_share_that_is_lost_stays(before in any::<[u16; 3]>(), now in any::<[u16; 3]>()) {
        let of = |[sent_tens, isolated, bursts]: [u16; 3]| path_entry {
            sent_tens, isolated, bursts, ..news(key(1), 1)
        };
        let merged = merged(of(before), of(now));
        let counts = [merged.sent_tens, merged.isolated, merged.bursts].map(u32::from);
        let sums: [u32; 3] = std::array::from_fn(|i| u32::from(before[i]) + u32::from(now[i]));
        let halved = sums.map(|sum| sum / 2);
        let has_room = sums.iter().all(|sum| *sum <= u32::from(u16::MAX));
        prop_assert_eq!(counts, if has_room { sums } else { halved });
    }
}
