//! Connections that are open when the agent starts.

use kirikae_agent::{Agent, Matching, Namespaces, Policy, Scope, Treatment};

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
        common::say(&format!("skipped: Linux {release} has no adoption"));
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

    // Our own namespace alone.
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

    // Another one that is named, too; and every one, of which this cgroup's connections.
    let policy = Policy::one(all());
    agent.reload(&policy, &[], Some(Namespaces::Named(vec![other.path()]))).unwrap();
    assert_eq!(seen(&agent, &there.near).unwrap().treatment, Treatment::Switched);
    let mut later = other.within(|| Pair::open("127.0.0.1"));
    let is_switched = |pair: &mut Pair| pair.talk_until("it is switched", Pair::is_switched);
    [&mut here, &mut there, &mut later].into_iter().for_each(is_switched);
    assert_eq!(chosen.algorithm(), CHOSEN);
    let namespaces = [&here, &there, &later].map(|it| seen(&agent, &it.near).unwrap().namespace);
    assert!(namespaces[0] != namespaces[1] && namespaces[1] == namespaces[2], "{namespaces:?}");
    put_back(agent, &[&here, &there, &later]);

    // Every one, and of these the connections of this cgroup. The kernel remembers those that were put
    // back as set by a program, so they are left alone.
    let mut here = Pair::open("127.0.0.1");
    let mut there = other.within(|| Pair::open(namespace::IPV6));
    let matching = Matching { cgroups: vec![cgroup.path.clone()], ..Matching::default() };
    let scope = Scope { matching, ..all() };
    let agent = start(cgroup, &[scope], Some(Namespaces::Every));
    [&mut here, &mut there].into_iter().for_each(is_switched);
    let ends = [&here.near, &here.far, &there.near, &there.far, &chosen.far];
    assert!(ends.iter().all(|end| seen(&agent, end).is_some()));
    assert_eq!(agent.connections().unwrap().len(), ends.len(), "no other connection of this host");
    put_back(agent, &[&here, &there]);
    assert_eq!(chosen.algorithm(), CHOSEN);
}

fn put_back(agent: Agent, pairs: &[&Pair]) {
    let restored = agent.stop().unwrap();
    assert_eq!((restored.remaining, restored.closed), (0, 0));
    assert!(restored.connections >= pairs.len(), "{restored:?}");
    for end in pairs.iter().flat_map(|pair| [&pair.near, &pair.far]) {
        assert_eq!(common::algorithm(end), ORIGINAL);
        assert!(has_kernel_timer(end), "{end:?}");
    }
}
