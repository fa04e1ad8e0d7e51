//! The operator's policy: which scope a connection is in, by `bpf/switcher/core/policy_match.h`.

use std::net::Ipv6Addr;

use kirikae_algorithms::scope_of;
use kirikae_interface::{
    CGROUP_LEVELS, NO_SCOPE, POLICY_RULES, address, match_key, policy, rule, scope,
};
use proptest::prelude::*;

/// Bits of ::ffff:0:0, in front of each IPv4 address.
const MAPPED: u32 = 96;

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// The first `bits` bits of an address.
fn mask(bits: u32) -> address {
    Ipv6Addr::from_bits(u128::MAX.checked_shl(128 - bits).unwrap_or(0)).into()
}

/// A rule that every connection matches.
fn anybody(scope: u32) -> rule {
    rule { last_port: u16::MAX, scope, ..Default::default() }
}

fn from(network: &str, bits: u32, scope: u32) -> rule {
    rule { remote: ip(network).into(), mask: mask(bits), ..anybody(scope) }
}

fn with(rules: &[rule]) -> Box<policy> {
    let mut policy = policy::one(scope::usual());
    policy.rules = rules.len() as u32;
    policy.rule[..rules.len()].copy_from_slice(rules);
    policy
}

fn remote(address: &str) -> match_key {
    let mut key = match_key::default();
    key.ends.remote = ip(address).into();
    key
}

#[test]
fn the_first_rule_that_matches_counts() {
    let narrow = from("::ffff:10.1.0.0", MAPPED + 16, 3);
    let wide = from("::ffff:10.0.0.0", MAPPED + 8, 5);
    let policy = with(&[narrow, wide]);
    assert_eq!(scope_of(&policy, &remote("::ffff:10.1.2.3")), Some(3));
    assert_eq!(scope_of(&policy, &remote("::ffff:10.2.2.3")), Some(5));
    assert_eq!(scope_of(&policy, &remote("::ffff:11.1.2.3")), None);
    let mut turned = with(&[wide, narrow]);
    assert_eq!(scope_of(&turned, &remote("::ffff:10.1.2.3")), Some(5));
    turned.rules = 0;
    assert_eq!(scope_of(&turned, &remote("::ffff:10.1.2.3")), None, "none of its rules is in use");
}

/// The mask is in network byte order, as the address is: 20 bits end within a byte.
#[test]
fn a_network_may_end_within_a_byte() {
    let policy = with(&[from("::ffff:192.168.16.0", MAPPED + 20, 1), from("2001:db8::", 33, 2)]);
    for (address, scope) in [
        ("::ffff:192.168.16.0", Some(1)),
        ("::ffff:192.168.31.255", Some(1)),
        ("::ffff:192.168.32.0", None),
        ("::ffff:192.168.15.255", None),
        ("2001:db8:7fff::1", Some(2)),
        ("2001:db8:8000::1", None),
        // An IPv6 address that ends with the same bits is no IPv4 address.
        ("::192.168.16.1", None),
    ] {
        assert_eq!(scope_of(&policy, &remote(address)), scope, "{address}");
    }
}

#[test]
fn local_ports_are_from_the_first_to_the_last() {
    let policy = with(&[rule { first_port: 80, last_port: 443, ..anybody(0) }]);
    for (port, scope) in [(79, None), (80, Some(0)), (443, Some(0)), (444, None), (0, None)] {
        let mut key = match_key::default();
        key.ends.local_port = port;
        key.ends.remote_port = 100;
        assert_eq!(scope_of(&policy, &key), scope, "{port}");
    }
}

#[test]
fn a_cgroup_may_be_on_any_level() {
    let policy = with(&[rule { cgroup: 7, ..anybody(2) }]);
    assert_eq!(scope_of(&policy, &match_key::default()), None, "it is in no cgroup at all");
    for level in 0..CGROUP_LEVELS as usize {
        let mut key = match_key { cgroup: [1; CGROUP_LEVELS as usize], ..Default::default() };
        assert_eq!(scope_of(&policy, &key), None);
        key.cgroup[level] = 7;
        assert_eq!(scope_of(&policy, &key), Some(2), "level {level}");
    }
}

/// Numbers in a policy that are larger than its arrays lead nowhere beyond them.
#[test]
fn numbers_beyond_the_arrays_are_bounded() {
    let policy = with(&[anybody(NO_SCOPE + 1)]);
    assert_eq!(scope_of(&policy, &match_key::default()), None);
    let mut policy = with(&[rule { first_port: 1, ..anybody(0) }; POLICY_RULES as usize]);
    policy.rules = u32::MAX;
    assert_eq!(scope_of(&policy, &match_key::default()), None);
    policy.rule[POLICY_RULES as usize - 1] = anybody(4);
    assert_eq!(scope_of(&policy, &match_key::default()), Some(4));
}

/// Addresses that differ in their first and last bits, so that masks tell some apart.
fn any_ip() -> impl Strategy<Value = Ipv6Addr> {
    (0u128..4, 0u128..4).prop_map(|(high, low)| Ipv6Addr::from_bits(high << 126 | low))
}

/// Few values of each kind, so that rules match now and then.
fn any_rule() -> impl Strategy<Value = rule> {
    (0u64..4, any_ip(), 0u32..=128, 0u16..4, 0u16..4, 0..NO_SCOPE).prop_map(
        |(cgroup, remote, bits, first_port, last_port, scope)| {
            let (remote, mask) = (remote.into(), mask(bits));
            rule { cgroup, remote, mask, first_port, last_port, scope }
        },
    )
}

fn any_key() -> impl Strategy<Value = match_key> {
    (prop::array::uniform16(0u64..6), any_ip(), 0u16..5).prop_map(|(cgroup, remote, port)| {
        let mut key = match_key { cgroup, ..Default::default() };
        key.ends.remote = remote.into();
        key.ends.local_port = port;
        key
    })
}

/// What a rule says, read plainly.
fn matches(rule: &rule, key: &match_key) -> bool {
    let masked =
        |address: address| Ipv6Addr::from(address).to_bits() & Ipv6Addr::from(rule.mask).to_bits();
    masked(key.ends.remote) == masked(rule.remote)
        && (rule.cgroup == 0 || key.cgroup.contains(&rule.cgroup))
        && (rule.first_port..=rule.last_port).contains(&key.ends.local_port)
}

proptest! {
    #[test]
    fn scopes_agree_with_a_plain_reading(
        rules in prop::collection::vec(any_rule(), 0..12),
        key in any_key(),
    ) {
        let expected = rules.iter().find(|rule| matches(rule, &key)).map(|rule| rule.scope);
        prop_assert_eq!(scope_of(&with(&rules), &key), expected);
    }
}
