//! Connections that are held back, for comparison.

use std::time::Duration;

use kirikae_agent::{Agent, Treatment};
use kirikae_policy::Scope;

use crate::common::OwnCgroup;
use crate::pair::{Pair, has_kernel_timer, has_our_timer, seen, talk_until};
use crate::{ORIGINAL, all, start};

const CONNECTIONS: usize = 200;
/// Of as many, each drawn with 1/2: 50 more or less than 100 are beyond 7 standard deviations, so
/// once in 10^12 runs.
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
    let (mut held_back, mut switched) = (Vec::new(), Vec::new());
    for _ in 0..CONNECTIONS {
        let pair = Pair::open("127.0.0.1");
        match seen(&agent, &pair.near).unwrap().treatment {
            Treatment::HeldBack => held_back.push(pair),
            treatment => {
                assert_eq!(treatment, Treatment::Switched);
                switched.push(pair);
            }
        }
    }
    assert!(held_back.len().abs_diff(CONNECTIONS / 2) < MOST_AWAY, "{} held back", held_back.len());
    talk_until(&mut held_back, "their bursts are counted", |_| {
        bursts_counted(&agent, false) >= 500
    });
    talk_until(&mut switched, "all others are switched", |it| it.iter().all(Pair::is_switched));
    assert!(switched.iter().all(|pair| has_our_timer(&pair.near)));
    assert!(held_back.iter().all(|pair| pair.algorithm() == ORIGINAL));
    assert!(held_back.iter().all(|pair| has_kernel_timer(&pair.near)));
    assert_eq!(agent.stop().unwrap().remaining, 0);
}
