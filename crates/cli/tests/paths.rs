//! The path memory on the real kernel, as the agent lists and changes it.
//!
//! It needs root. It is one test function, because the whole process shares its cgroup. No connection is
//! made, and so no algorithm registered.

mod common;

use std::net::Ipv4Addr;
use std::sync::Arc;

use kirikae_agent::{
    Agent, Config, DEFAULT_PATHS, KnownPath, PATHS, PathFilter, Pinning, own_namespace,
};
use kirikae_policy::{Policy, Scope};

use common::{OwnCgroup, privileged};

/// Longer ago than any host has been up.
const BEFORE_THE_START_S: u32 = 1_000_000_000;
/// Each network namespace but the agent's has one in so many of the entries.
const SHARES: u32 = 16;

fn start(cgroup: &OwnCgroup, paths: u32) -> Agent {
    let scope = Scope::new(Arc::from(kirikae_table::shipped().kernel_table()));
    let config = Config {
        cgroup: cgroup.path.clone(),
        algorithms: vec![],
        policy: Policy::one(scope),
        adopt: None,
        pinning: Pinning::Unpinned,
        paths,
        are_calls_recorded: false,
    };
    Agent::start(&config).unwrap()
}

fn path(remote: &str, age_s: u32) -> KnownPath {
    KnownPath {
        remote: remote.parse().unwrap(),
        namespace: own_namespace().unwrap(),
        interface: 2,
        age_s,
        rtt_us: 20_000,
        rate_bit_s: Some(80_000_000),
        sent: 1200,
        isolated_losses: 3,
        ..KnownPath::default()
    }
}

fn remotes(agent: &Agent) -> Vec<String> {
    let mut paths = agent.paths().unwrap();
    paths.sort_by_key(|path| path.remote);
    paths.iter().map(|path| path.remote.to_string()).collect()
}

fn to(remote: &str) -> PathFilter {
    PathFilter { remote: Some(remote.parse().unwrap()), ..PathFilter::default() }
}

#[test]
fn paths_are_listed_remembered_and_forgotten() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let agent = start(&cgroup, DEFAULT_PATHS);
    assert_eq!(agent.paths().unwrap(), []);
    let known = [path("192.0.2.1/32", 100), path("2001:db8::/64", BEFORE_THE_START_S)];
    assert_eq!(agent.remember_paths(&known).unwrap(), 2);
    let mut listed = agent.paths().unwrap();
    listed.sort_by_key(|path| path.remote);
    for (listed, known) in listed.into_iter().zip(known) {
        assert!(listed.age_s - known.age_s < 60, "{listed:?}");
        assert_eq!(KnownPath { age_s: known.age_s, ..listed }, known);
    }

    // What is newer stays.
    let other = |age_s| KnownPath { rtt_us: 1, ..path("192.0.2.1/32", age_s) };
    assert_eq!(agent.remember_paths(&[other(200)]).unwrap(), 0);
    assert!(agent.paths().unwrap().iter().all(|path| path.rtt_us == 20_000));
    assert_eq!(agent.remember_paths(&[other(0)]).unwrap(), 1);
    assert_eq!(agent.paths().unwrap().iter().filter(|path| path.rtt_us == 1).count(), 1);

    assert_eq!(agent.forget_paths(|path| to("198.51.100.0/24").has(path)).unwrap(), 0);
    assert_eq!(agent.forget_paths(|path| to("192.0.2.0/24").has(path)).unwrap(), 1);
    assert_eq!(remotes(&agent), ["2001:db8::/64"]);
    assert_eq!(agent.forget_paths(|_| true).unwrap(), 1);
    assert_eq!(remotes(&agent), [""; 0]);
    agent.stop().unwrap();

    the_oldest_are_given_up(&cgroup);
    another_namespace_pushes_out_no_more_than_its_share(&cgroup);
    as_many_as_are_allowed_are_listed(&cgroup);
}

fn the_oldest_are_given_up(cgroup: &OwnCgroup) {
    let agent = start(cgroup, *PATHS.start());
    let ages = [("192.0.2.1/32", BEFORE_THE_START_S), ("192.0.2.2/32", 300), ("192.0.2.3/32", 200)];
    let known = ages.map(|(remote, age_s)| path(remote, age_s));
    assert_eq!(agent.remember_paths(&known).unwrap(), 3);
    let more = [path("192.0.2.4/32", 100), path("192.0.2.5/32", 250), path("192.0.2.6/32", 400)];
    assert_eq!(agent.remember_paths(&more).unwrap(), 2, "the last is older than all others");
    assert_eq!(remotes(&agent), ["192.0.2.2/32", "192.0.2.3/32", "192.0.2.4/32", "192.0.2.5/32"]);
    agent.stop().unwrap();
}

/// Fills a memory of the largest size with what falls into it: sets are filled by chance.
fn as_many_as_are_allowed_are_listed(cgroup: &OwnCgroup) {
    let agent = start(cgroup, *PATHS.end());
    let known: Vec<KnownPath> = (1..=*PATHS.end()).map(|n| path(&remote(n), 1)).collect();
    let remembered = agent.remember_paths(&known).unwrap();
    assert!(remembered > known.len() / 2, "{remembered}");
    assert_eq!(agent.paths().unwrap().len(), remembered);
    agent.stop().unwrap();
}

fn remote(n: u32) -> String {
    format!("{}/32", Ipv4Addr::from(n.reverse_bits()))
}

/// However many prefixes it makes up, and though what it knows is newer.
fn another_namespace_pushes_out_no_more_than_its_share(cgroup: &OwnCgroup) {
    let agent = start(cgroup, DEFAULT_PATHS);
    let own: Vec<KnownPath> = (1..=DEFAULT_PATHS).map(|n| path(&remote(n), 1)).collect();
    let remembered = agent.remember_paths(&own).unwrap();
    let namespace = own_namespace().unwrap() + 1;
    let others: Vec<KnownPath> =
        own.into_iter().map(|path| KnownPath { namespace, age_s: 0, ..path }).collect();
    agent.remember_paths(&others).unwrap();
    let (others, own): (Vec<_>, Vec<_>) =
        agent.paths().unwrap().into_iter().partition(|path| path.namespace == namespace);
    let share = (DEFAULT_PATHS / SHARES) as usize;
    assert!((share * 9 / 10..=share).contains(&others.len()), "{} of {share}", others.len());
    assert!(own.len() >= remembered - share, "{} of {remembered}", own.len());
    agent.stop().unwrap();
}
