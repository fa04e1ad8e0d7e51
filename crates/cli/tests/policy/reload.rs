//! Tests that another policy applies to connections that are open.

use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use kirikae_agent::{Agent, Namespaces, Treatment};
use kirikae_algorithms::Algorithm;
use kirikae_policy::{Matching, Policy, Scope, Timeouts};
use socket2::{SockFilter, SockRef};

use crate::common::{self, OwnCgroup};
use crate::namespace;
use crate::pair::{Pair, has_kernel_timer, has_our_timer, seen};
use crate::{CHOSEN, ORIGINAL, all, start};

/// Classic BPF, `ret #0`: the socket gets nothing.
const DROP: SockFilter = SockFilter::new(6, 0, 0, 0);

/// A scope that no connection here matches.
fn nothing() -> Scope {
    let nowhere = vec!["192.0.2.0/24".parse().unwrap()];
    let matching = Matching { remotes: nowhere, ..Matching::default() };
    Scope { name: "nothing".into(), matching, ..all() }
}

fn treatment(agent: &Agent, pair: &Pair) -> Treatment {
    seen(agent, &pair.near).unwrap().treatment
}

fn is_registered(algorithm: &str) -> bool {
    let available = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    fs::read_to_string(available).unwrap().split_whitespace().any(|it| it == algorithm)
}

fn is_as_it_was(pair: &Pair) -> bool {
    pair.algorithm() == ORIGINAL && has_kernel_timer(&pair.near) && has_kernel_timer(&pair.far)
}

pub fn connections_follow(cgroup: &OwnCgroup) {
    let observed = Scope { observed: true, ..all() };
    let mut agent = start(cgroup, &[observed], None);
    let adopt = || Some(namespace::ours());
    let put = |agent: &mut Agent, scope: Scope, adopt| {
        agent.reload(&Policy::one(scope), &[], adopt).unwrap();
    };
    let mut pair = Pair::open("127.0.0.1");
    let mut idle = Pair::open("127.0.0.1");
    let mut chosen = Pair::open_with(CHOSEN);
    for pair in [&mut pair, &mut idle] {
        pair.talk_until("a choice", |it| seen(&agent, &it.near).unwrap().switches > 0);
        assert!(is_as_it_was(pair));
    }

    // They are observed, and then switched.
    put(&mut agent, all(), None);
    for pair in [&mut pair, &mut idle] {
        pair.talk_until("it is switched", Pair::is_switched);
        assert_eq!(treatment(&agent, pair), Treatment::Switched);
        assert!(has_our_timer(&pair.near));
    }

    // A policy that cannot be activated changes nothing.
    let ports = (1..=257).map(|port| port..=port).collect();
    let too_much = Matching { local_ports: ports, ..Matching::default() };
    let scopes = vec![nothing(), Scope { matching: too_much, ..all() }];
    let another = [Algorithm::named("kk_highspeed").unwrap()];
    let refused = agent.reload(&Policy { scopes }, &another, adopt()).unwrap_err().to_string();
    assert!(refused.contains("258 rules"), "{refused}");
    assert!(!is_registered("kk_highspeed"));
    assert_eq!(agent.policy().scopes.len(), 1);
    assert!(idle.is_switched() && has_our_timer(&idle.near));
    assert_eq!(seen(&agent, &idle.near).unwrap().scope.as_deref(), Some("all"));
    let elsewhere = Namespaces::Named(vec!["/run/netns/not-there".into()]);
    let refused =
        agent.reload(&Policy::one(nothing()), &[], Some(elsewhere)).unwrap_err().to_string();
    assert!(refused.contains("/run/netns/not-there"), "{refused}");
    assert_eq!(agent.policy().scopes[0].name, "all");
    let mut new = Pair::open("127.0.0.1");
    new.talk_until("it is switched", Pair::is_switched);

    // The connections leave every scope: with the next ACK, or at once if they are adopted.
    put(&mut agent, nothing(), None);
    pair.talk_until("it is restored", is_as_it_was);
    assert_eq!(treatment(&agent, &pair), Treatment::OutOfScope);
    assert!(idle.is_switched(), "nobody has asked for it yet");
    let connection = seen(&agent, &idle.near).unwrap();
    assert_eq!(connection.treatment, Treatment::Switched);
    assert_eq!(connection.scope.as_deref(), Some("all"), "it is still under the policy before");
    put(&mut agent, nothing(), adopt());
    assert!(is_as_it_was(&idle) && is_as_it_was(&new));
    for pair in [&pair, &idle, &new] {
        let connection = seen(&agent, &pair.near).unwrap();
        assert_eq!((connection.treatment, connection.scope), (Treatment::OutOfScope, None));
    }

    // They come into a scope again, which overrules programs.
    assert_eq!(seen(&agent, &chosen.near), None);
    put(&mut agent, Scope { respect_application: false, ..all() }, adopt());
    assert_eq!(seen(&agent, &chosen.near).unwrap().original, CHOSEN);
    for pair in [&mut pair, &mut idle, &mut chosen] {
        pair.talk_until("it is switched", Pair::is_switched);
        assert!(has_our_timer(&pair.near));
    }
    let mut newly_chosen = Pair::open_with(CHOSEN);
    newly_chosen.talk_until("it is switched", Pair::is_switched);

    // Programs are respected again.
    put(&mut agent, all(), adopt());
    for pair in [&chosen, &newly_chosen] {
        assert_eq!(
            (pair.algorithm(), treatment(&agent, pair)),
            (CHOSEN.into(), Treatment::LeftAlone)
        );
        assert!(has_kernel_timer(&pair.near));
    }
    assert!(pair.is_switched() && idle.is_switched());

    // From now on it is held back: it is restored, and measured.
    put(&mut agent, Scope { holdback: 1.0, ..all() }, adopt());
    assert!(is_as_it_was(&pair) && is_as_it_was(&idle));
    assert_eq!(treatment(&agent, &idle), Treatment::HeldBack);

    put(&mut agent, all(), adopt());
    pair.talk_until("it is switched again", Pair::is_switched);
    (0..50).for_each(|_| chosen.burst());
    assert_eq!(chosen.algorithm(), CHOSEN);
    assert_eq!(agent.stop().unwrap().remaining.len(), 0);
    assert!([&pair, &idle, &new].into_iter().all(is_as_it_was));
    assert!([&chosen, &newly_chosen].into_iter().all(|pair| pair.algorithm() == CHOSEN));
}

/// The number that follows a word of `ss`.
fn number(pair: &Pair, before: &str) -> Option<f64> {
    let text = common::ss(&pair.near);
    text.split_whitespace().find_map(|word| word.strip_prefix(before))?.parse().ok()
}

/// A connection in recovery cannot follow a new policy yet, and the settings of the new scope with its
/// scope's number are not applied to it. A back-off that was bounded is bounded until its end.
pub fn in_recovery_no_other_scope_counts(cgroup: &OwnCgroup) {
    let mut agent = start(cgroup, &[all()], None);
    let mut pair = Pair::open("127.0.0.1");
    pair.talk_until("it is switched", Pair::is_switched);
    SockRef::from(&pair.far).attach_filter(&[DROP]).unwrap();
    pair.near.write_all(b"lost").unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let wait_until = |what: &str, is_so: &dyn Fn() -> bool| {
        while !is_so() {
            assert!(Instant::now() < deadline, "not {what}: {}", common::ss(&pair.near));
            thread::sleep(Duration::from_millis(10));
        }
    };
    wait_until("timed out", &|| number(&pair, "backoff:") >= Some(2.0));
    let other = Scope { timeouts: Timeouts::Kernel, ..nothing() };
    agent.reload(&Policy::one(other), &[], Some(namespace::ours())).unwrap();
    assert!(pair.is_switched());
    let connection = seen(&agent, &pair.near).unwrap();
    assert_eq!(connection.scope.as_deref(), Some("all"));
    // The bound came with Linux 6.15.
    if Path::new("/proc/sys/net/ipv4/tcp_rto_max_ms").exists() {
        let is_bounded = || number(&pair, "rto:") == Some(1000.0);
        wait_until("bounded", &|| number(&pair, "backoff:") >= Some(5.0) && is_bounded());
    }
    SockRef::from(&pair.far).detach_filter().unwrap();
    let mut arrived = [0; 4];
    pair.far.read_exact(&mut arrived).unwrap();
    assert_eq!(&arrived, b"lost");
    assert_eq!(agent.stop().unwrap().remaining.len(), 0);
    assert!(is_as_it_was(&pair));
}
