//! Connections that are open when the agent starts.

use kirikae_agent::{Agent, Namespaces, Treatment};
use kirikae_checks::{Need, has};
use kirikae_policy::{Matching, Policy, Scope};
use socket2::SockRef;

use crate::common::{self, OwnCgroup};
use crate::namespace::{self, Named};
use crate::pair::{Pair, has_kernel_timer, has_our_timer, seen};
use crate::{CHOSEN, ORIGINAL, all, start};

/// Before Linux 6.12 nobody can have the kernel call back for a connection that is open.
fn can_adopt(agent: &Agent, pair: &Pair) -> bool {
    let is_in = seen(agent, &pair.near).is_some();
    if !is_in {
        let release = kirikae_agent::kernel_release().unwrap();
        let version: Vec<u32> = release.split(['.', '-']).map_while(|it| it.parse().ok()).collect();
        assert!(version < vec![6, 12], "Linux {release} lets connections be adopted");
        let none = format!("Linux {release} does not let connections be taken in");
        return has(Need::Adoption, Err(none));
    }
    is_in
}

pub fn takes_in_open_connections(cgroup: &OwnCgroup) {
    let other = Named::new();
    let mut here = Pair::open("127.0.0.1");
    let mut there = other.within(|| Pair::open(namespace::IPV6));
    let chosen = Pair::open_with(CHOSEN);
    here.burst();
    there.burst();

    // Only our own namespace is looked at.
    let mut agent = start(cgroup, &[all()], Some(namespace::ours()));
    if !can_adopt(&agent, &here) {
        agent.stop().unwrap();
        return;
    }
    for end in [&here.near, &here.far] {
        assert_eq!(seen(&agent, end).unwrap().treatment, Treatment::Switched);
        assert!(has_our_timer(end));
    }
    assert_eq!(seen(&agent, &chosen.near), None, "its program chose it");
    assert_eq!(seen(&agent, &there.near), None);
    assert!(has_kernel_timer(&there.near));

    // Next, another namespace that is named as well; then every namespace, of which only this cgroup's
    // connections count.
    let policy = Policy::one(all());
    agent.reload(&policy, &[], Some(Namespaces::Named(vec![other.path()]))).unwrap();
    assert_eq!(seen(&agent, &there.near).unwrap().treatment, Treatment::Switched);
    let mut later = other.within(|| Pair::open("127.0.0.1"));
    let is_switched = |pair: &mut Pair| pair.talk_until("it is switched", Pair::is_switched);
    [&mut here, &mut there, &mut later].into_iter().for_each(is_switched);
    assert_eq!(chosen.algorithm(), CHOSEN);
    let namespaces = [&here, &there, &later].map(|it| seen(&agent, &it.near).unwrap().namespace);
    assert!(namespaces[0] != namespaces[1] && namespaces[1] == namespaces[2], "{namespaces:?}");
    restore(agent, &[&here, &there, &later]);

    // Every namespace is looked at, and in these only the connections of this cgroup.
    drop(later);
    let matching = Matching { cgroups: vec![cgroup.path.clone()], ..Matching::default() };
    let scope = Scope { matching, ..all() };
    let agent = start(cgroup, &[scope], Some(Namespaces::Every));
    [&mut here, &mut there].into_iter().for_each(is_switched);
    let ends = [&here.near, &here.far, &there.near, &there.far, &chosen.far];
    assert!(ends.iter().all(|end| seen(&agent, end).is_some()));
    assert_eq!(agent.connections().unwrap().len(), ends.len(), "no other connection of this host");
    restore(agent, &[&here, &there]);
    assert_eq!(chosen.algorithm(), CHOSEN);
}

/// The next agent takes in what one agent restored. What programs chose, only an agent that overrules them takes in.
pub fn takes_in_what_was_restored(cgroup: &OwnCgroup) {
    let choose = |pair: &Pair, algorithm: &str| {
        SockRef::from(&pair.near).set_tcp_congestion(algorithm.as_bytes()).unwrap();
    };
    let respecting = || start(cgroup, &[all()], Some(namespace::ours()));
    let mut ours = Pair::open("127.0.0.1");
    let mut before = Pair::open_with(CHOSEN);
    let mut between = Pair::open("127.0.0.1");
    let mut same = Pair::open("127.0.0.1");
    let agent = respecting();
    if !can_adopt(&agent, &ours) {
        agent.stop().unwrap();
        return;
    }
    choose(&same, ORIGINAL);
    between.talk_until("it is switched", Pair::is_switched);
    choose(&between, CHOSEN);
    let theirs = |agent: &Agent, pairs: [&Pair; 3]| {
        for pair in pairs {
            assert_eq!(seen(agent, &pair.near), None, "{:?}", pair.near);
            assert!(!pair.is_switched() && has_kernel_timer(&pair.near), "{:?}", pair.near);
        }
    };
    ours.talk_until("it is switched", Pair::is_switched);
    restore(agent, &[&ours]);

    let agent = respecting();
    ours.talk_until("it is switched again", Pair::is_switched);
    theirs(&agent, [&before, &between, &same]);
    restore(agent, &[&ours]);

    // This agent changes nothing about it.
    let agent = start(cgroup, &[Scope { observed: true, ..all() }], Some(namespace::ours()));
    (0..20).for_each(|_| ours.burst());
    assert_eq!(seen(&agent, &ours.near).unwrap().treatment, Treatment::Observed);
    agent.stop().unwrap();

    let overruling = Scope { respect_application: false, ..all() };
    let agent = start(cgroup, &[overruling], Some(namespace::ours()));
    for pair in [&mut ours, &mut before, &mut between, &mut same] {
        pair.talk_until("it is switched", Pair::is_switched);
    }
    restore(agent, &[&ours, &same]);

    let agent = respecting();
    ours.talk_until("it is switched once more", Pair::is_switched);
    theirs(&agent, [&before, &between, &same]);
    assert_eq!([&before, &between].map(Pair::algorithm), [CHOSEN; 2]);
    restore(agent, &[&ours]);
}

fn restore(agent: Agent, pairs: &[&Pair]) {
    let restored = agent.stop().unwrap();
    assert_eq!((restored.remaining.len(), restored.closed), (0, 0));
    assert!(restored.connections >= pairs.len(), "{restored:?}");
    for end in pairs.iter().flat_map(|pair| [&pair.near, &pair.far]) {
        assert_eq!(common::algorithm(end), ORIGINAL);
        assert!(has_kernel_timer(end), "{end:?}");
    }
}
