//! Connections that are held back, for comparison.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use kirikae_agent::{Agent, OTHERS, Share, Treatment};
use kirikae_policy::Scope;

use crate::common::OwnCgroup;
use crate::pair::{Pair, has_kernel_timer, has_our_timer, seen};
use crate::{ORIGINAL, all, start};

const CONNECTIONS: usize = 200;
/// For 200 draws with probability 1/2, 50 more or fewer than 100 are beyond 7 standard deviations: that
/// happens once in 10^12 runs.
const MOST_AWAY: usize = 50;

fn bursts_counted(agent: &Agent, switched: bool) -> u64 {
    let latencies = agent.burst_latencies().unwrap();
    latencies.iter().filter(|it| it.switched == switched).map(|it| it.count()).sum()
}

pub fn leaves_a_share_as_it_is(cgroup: &OwnCgroup) {
    let share = |holdback| Scope { holdback, ..all() };
    let mut agent = start(cgroup, &[share(1.0)], None);
    let mut all_of_them = Pair::open("127.0.0.1");
    all_of_them.talk_until("bursts are counted", |_| bursts_counted(&agent, false) >= 20);
    assert_eq!(bursts_counted(&agent, true), 0);
    assert_eq!(all_of_them.algorithm(), ORIGINAL);
    assert!(has_kernel_timer(&all_of_them.near));
    assert_eq!(seen(&agent, &all_of_them.near).unwrap().treatment, Treatment::HeldBack);
    let never = &mut |switch| panic!("{switch}");
    agent.poll(Duration::ZERO, never).unwrap();

    let half = kirikae_policy::Policy::one(share(0.5));
    agent.reload(&half, &[], None).unwrap();
    let pairs: Vec<Pair> = (0..CONNECTIONS).map(|_| Pair::open("127.0.0.1")).collect();
    let treatment = |pair: &Pair| seen(&agent, &pair.near).unwrap().treatment;
    let held_back = pairs.iter().filter(|pair| treatment(pair) == Treatment::HeldBack).count();
    let switched = pairs.iter().filter(|pair| treatment(pair) == Treatment::Switched).count();
    assert_eq!(held_back + switched, CONNECTIONS);
    assert!(held_back.abs_diff(CONNECTIONS / 2) < MOST_AWAY, "{held_back} held back");
    drop(pairs);
    spans_are_compared(&mut agent, cgroup);
    assert_eq!(agent.stop().unwrap().remaining.len(), 0);
}

/// A lot is drawn for each span of bursts, and the bursts of either kind are counted.
fn spans_are_compared(agent: &mut Agent, own: &OwnCgroup) {
    let mut pair = Pair::open("127.0.0.1");
    let mut is_seen = [false; 2];
    let group = |agent: &Agent| {
        let groups = agent.spans(0).unwrap();
        groups.into_iter().find(|group| group.cgroup != OTHERS)
    };
    let counted = |agent: &Agent| group(agent).map_or([0; 2], |group| group.sums.spans());
    pair.talk_until("spans of both kinds are counted", |pair| {
        let is_switched = pair.is_switched();
        assert!(is_switched || pair.algorithm() == ORIGINAL);
        is_seen[usize::from(is_switched)] = true;
        is_seen == [true; 2] && counted(agent).iter().all(|spans| *spans >= 4)
    });
    let cgroup = group(agent).unwrap().cgroup;
    assert_eq!(cgroup, own.path.metadata().unwrap().ino(), "the cgroup that it is in");
    agent.hold_back(0, cgroup, Share::ALL, 1).unwrap();
    assert_eq!(counted(agent), [0; 2], "another share is another experiment");
    // It need not wait for the end of its span.
    agent.look_at_shares().unwrap();
    pair.talk_until("spans are held back", |_| counted(agent)[1] >= 4);
    assert_eq!((pair.algorithm().as_str(), counted(agent)[0]), (ORIGINAL, 0));
    assert!(has_kernel_timer(&pair.near));
    agent.hold_back(0, cgroup, Share::own(1e-9), 2).unwrap();
    agent.look_at_shares().unwrap();
    pair.talk_until("it is switched", Pair::is_switched);
    assert!(has_our_timer(&pair.near));
}
