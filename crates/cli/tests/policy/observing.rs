//! Tests scopes that are only observed.

use std::time::Duration;

use kirikae_agent::Treatment;
use kirikae_policy::Scope;
use kirikae_vocabulary::Switch;

use crate::common::OwnCgroup;
use crate::pair::{Pair, has_kernel_timer, seen};
use crate::{ORIGINAL, all, start};

pub fn changes_nothing(cgroup: &OwnCgroup) {
    let agent = start(cgroup, &[Scope { observed: true, ..all() }], None);
    let mut pair = Pair::open("127.0.0.1");
    let local = pair.near.local_addr().unwrap();
    let mut choices: Vec<Switch> = Vec::new();
    pair.talk_until("a choice is reported", |pair| {
        let keep = &mut |choice: Switch| choices.extend((choice.local == local).then_some(choice));
        agent.poll(Duration::ZERO, keep).unwrap();
        assert_eq!(pair.algorithm(), ORIGINAL);
        !choices.is_empty()
    });
    // Each choice starts from what was chosen before, so there may be several.
    (0..50).for_each(|_| pair.burst());
    agent
        .poll(Duration::ZERO, &mut |it| choices.extend((it.local == local).then_some(it)))
        .unwrap();

    assert!(choices.iter().all(|choice| choice.observed), "{choices:?}");
    assert_eq!(choices[0].from, ORIGINAL);
    assert!(choices.windows(2).all(|pair| pair[1].from == pair[0].to), "{choices:?}");
    let connection = seen(&agent, &pair.near).unwrap();
    assert_eq!(connection.treatment, Treatment::Observed);
    assert_eq!(connection.chosen, choices.last().unwrap().to);
    assert_eq!(connection.switches as usize, choices.len());
    assert_eq!((connection.algorithm, connection.original), (ORIGINAL.into(), ORIGINAL.into()));
    assert!(connection.predicted_s.unwrap() <= connection.predicted_original_s.unwrap());
    assert_eq!(pair.algorithm(), ORIGINAL);
    assert!(has_kernel_timer(&pair.near));
    assert_eq!(agent.stop().unwrap().connections, 0, "there was nothing to restore");
    assert_eq!(pair.algorithm(), ORIGINAL);
}
