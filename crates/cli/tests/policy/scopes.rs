//! Tests scopes by local port, remote prefix and cgroup.

use std::net::{TcpListener, TcpStream};

use kirikae_agent::{Agent, Treatment};
use kirikae_policy::{Matching, Scope};

use crate::common::{self, OwnCgroup};
use crate::namespace::{self, IPV6};
use crate::pair::{Pair, has_kernel_timer, has_our_timer, is_ours, seen, talk_until};
use crate::{ORIGINAL, all, start};

fn scope(name: &str, matching: Matching) -> Scope {
    Scope { name: name.into(), matching, ..all() }
}

fn remote(prefix: &str) -> Matching {
    Matching { remotes: vec![prefix.parse().unwrap()], ..Matching::default() }
}

fn scope_of(agent: &Agent, stream: &TcpStream) -> Option<String> {
    seen(agent, stream).map(|connection| {
        assert_eq!(connection.treatment, Treatment::Switched);
        connection.scope.unwrap()
    })
}

pub fn each_connection_is_in_the_first_that_it_matches(cgroup: &OwnCgroup) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let nested = cgroup.enter_below("nested");
    let by_cgroup = |matching| Matching { cgroups: vec![nested.path.clone()], ..matching };
    let by_port = Matching { local_ports: vec![port..=port], ..Matching::default() };
    let scopes = [
        scope("port", by_port),
        scope("cgroup and IPv4", by_cgroup(remote("127.7.1.2/32"))),
        scope("IPv4", remote("127.7.0.0/16")),
        scope("IPv6", remote("fd00:6b6b::/32")),
        scope("cgroup", by_cgroup(Matching::default())),
    ];
    let agent = start(cgroup, &scopes, None);
    // Each connection with the scopes of its ends. The remote addresses of far ends differ from those of near
    // ones, except over IPv6.
    let inside = [
        ("127.0.0.1", Some("cgroup"), Some("cgroup")),
        ("127.7.1.2", Some("cgroup and IPv4"), Some("cgroup")),
        ("127.7.1.1", Some("IPv4"), Some("cgroup")),
    ];
    let open = |(host, near, far)| (Pair::open(host), near, far);
    let mut expected: Vec<_> = inside.into_iter().map(open).collect();
    cgroup.enter_again();
    let outside = [
        ("127.7.1.2", Some("IPv4"), None),
        ("::ffff:127.7.255.1", Some("IPv4"), None),
        (IPV6, Some("IPv6"), Some("IPv6")),
        ("127.0.0.1", None, None),
        ("127.8.0.1", None, None),
        ("::1", None, None),
    ];
    expected.extend(outside.into_iter().map(open));
    let to_port = Pair::open_to(&listener, "127.0.0.1".parse().unwrap(), None);
    expected.push((to_port, None, Some("port")));
    for (pair, near, far) in &expected {
        assert_eq!(scope_of(&agent, &pair.near).as_deref(), *near, "{:?}", pair.near);
        assert_eq!(scope_of(&agent, &pair.far).as_deref(), *far, "{:?}", pair.far);
    }

    let (mut pairs, scopes): (Vec<Pair>, Vec<_>) =
        expected.into_iter().map(|(pair, near, far)| (pair, (near, far))).unzip();
    talk_until(&mut pairs, "all that are in a scope are switched", |pairs| {
        let is_done = |end: &TcpStream, scope: Option<&str>| scope.is_none() || is_ours(end);
        let mut pairs = pairs.iter().zip(&scopes);
        pairs.all(|(pair, (near, far))| is_done(&pair.near, *near) && is_done(&pair.far, *far))
    });
    for (pair, (near, far)) in pairs.iter().zip(scopes) {
        for (end, scope) in [(&pair.near, near), (&pair.far, far)] {
            if scope.is_some() {
                assert!(has_our_timer(end), "{end:?}");
            } else {
                assert_eq!(common::algorithm(end), ORIGINAL, "{end:?}");
                assert!(has_kernel_timer(end), "{end:?}");
            }
        }
    }
    assert_eq!(agent.stop().unwrap().remaining.len(), 0);
}

/// A cgroup that does not exist yet, and one that is replaced, as with a service that is restarted.
pub fn cgroups_come_and_go(cgroup: &OwnCgroup) {
    let path = cgroup.path.join("service");
    let by_cgroup = Matching { cgroups: vec![path], ..Matching::default() };
    let scopes = [scope("service", by_cgroup), scope("others", Matching::default())];
    let mut agent = start(cgroup, &scopes, Some(namespace::ours()));
    let mut other = Pair::open("127.0.0.1");
    other.talk_until("it is switched", Pair::is_switched);
    assert!(!agent.renew().unwrap(), "there is nothing new");
    for _ in 0..2 {
        let service = cgroup.enter_below("service");
        let mut early = Pair::open("127.0.0.1");
        assert_eq!(scope_of(&agent, &early.near).as_deref(), Some("others"), "not noticed yet");
        let before = seen(&agent, &other.near).unwrap();
        assert!(agent.renew().unwrap());
        assert!(!agent.renew().unwrap(), "it is noticed once");
        early.burst();
        let mut late = Pair::open("127.0.0.1");
        for pair in [&mut early, &mut late] {
            assert_eq!(scope_of(&agent, &pair.near).as_deref(), Some("service"));
            pair.talk_until("it is switched", Pair::is_switched);
        }
        // The other connections keep what they have.
        let after = seen(&agent, &other.near).unwrap();
        assert_eq!(after.scope.as_deref(), Some("others"));
        assert_eq!((after.switches, after.predicted_s), (before.switches, before.predicted_s));
        assert!(other.is_switched());
        drop(service);
        assert!(!agent.renew().unwrap(), "one that has gone changes nothing");
    }
    assert_eq!(agent.stop().unwrap().remaining.len(), 0);
}
