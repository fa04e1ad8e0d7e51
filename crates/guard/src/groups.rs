//! Judges a scope whose connections belong to several cgroups, so that the programs of one decide over themselves
//! alone.
//!
//! A program can tell whether its connection is held back, and answer late just then. So what a cgroup shows counts for
//! that cgroup: each has a [`Guard`] of its own. Of the scope as a whole only that is said which remains without
//! those that say most of harm and those that say most of help.

use std::collections::BTreeMap;

use kirikae_interface::SPAN_GROUPS;

use crate::confidence::ERROR;
use crate::guard::{Ask, Estimate, Guard, Reason, Verdict, nothing_known};
use crate::spans::{Difference, Strata};

/// Of all groups, one in so many is left out at either end, and one at least.
const LEFT_OUT_OF: usize = 4;
/// Where there are several groups, half of the error is that of the scope as a whole ...
const SCOPE_ERROR: f64 = ERROR / 2.0;
/// ... and the other half is shared by as many groups as the kernel tells apart, and that of all others.
const GROUP_ERROR: f64 = ERROR / 2.0 / (SPAN_GROUPS as f64 + 1.0);

/// The guards of a scope, by the names of their groups.
#[derive(Clone, Debug)]
pub struct Groups {
    holdback: f64,
    guards: BTreeMap<String, Guard>,
    /// Whether there has been more than one group since everything was counted anew.
    are_several: bool,
    /// Whether nothing of the scope is to be switched, whatever the group.
    is_suspended: bool,
    verdict: Verdict,
}

impl Groups {
    /// Makes the guards of a scope whose operator holds back this share of the spans (0 to 1).
    ///
    /// # Panics
    /// Panics if the share is not within 0 to 1.
    pub fn new(holdback: f64) -> Groups {
        assert!((0.0..=1.0).contains(&holdback), "a share of {holdback}");
        let verdict = nothing_known(holdback);
        let (are_several, is_suspended) = (false, false);
        Groups { holdback, guards: BTreeMap::new(), are_several, is_suspended, verdict }
    }

    /// Notes what was found out before: switching hurts a group, or, where none is named, the scope as a whole.
    pub fn suspend(&mut self, group: Option<&str>, found: Estimate) {
        match group {
            Some(group) => {
                self.guards.insert(group.into(), Guard::suspended(self.holdback, found));
            }
            None => (self.is_suspended, self.verdict) = (true, Verdict::Hurts(found)),
        }
    }

    /// The guard of a group, which is new if nothing was seen of the group before.
    pub fn guard(&mut self, group: &str) -> &Guard {
        self.entry(group)
    }

    fn entry(&mut self, group: &str) -> &mut Guard {
        let guard = Guard::new(self.holdback);
        self.guards.entry(group.into()).or_insert(guard)
    }

    /// Takes the sums of an epoch of a group; see [`Guard::look`].
    pub fn look(&mut self, group: &str, epoch: u32, sums: &Strata) {
        self.entry(group);
        self.are_several |= self.guards.len() > 1;
        let error = if self.are_several { GROUP_ERROR } else { ERROR };
        self.entry(group).look(epoch, sums, error);
    }

    /// Says something of the scope as a whole, once each group was looked at.
    pub fn conclude(&mut self) {
        if self.is_suspended {
            return;
        }
        let mut guards = self.guards.values();
        self.verdict = match guards.next() {
            None => nothing_known(self.holdback),
            Some(only) if !self.are_several => only.verdict(),
            Some(_) => self.judge_several(),
        };
    }

    fn judge_several(&mut self) -> Verdict {
        let found: Vec<Difference> = self.guards.values().filter_map(Guard::difference).collect();
        // Groups of which nothing can be said yet count, or those that come first would decide.
        let left_out = (self.guards.len() / LEFT_OUT_OF).max(1);
        if found.len() <= 2 * left_out {
            return Verdict::CannotJudge(Reason::FewGroups(self.guards.len()));
        }
        let verdict = Verdict::of(without_the_ends(found, left_out), SCOPE_ERROR);
        self.is_suspended = matches!(verdict, Verdict::Hurts(_));
        verdict
    }

    /// Forgets a group that is gone, unless switching hurts it.
    pub fn forget(&mut self, group: &str) {
        self.guards.retain(|name, guard| name != group || guard.hurts());
    }

    /// Whether nothing of the scope is to be switched, whatever the group.
    pub fn asks_to_observe(&self) -> bool {
        self.is_suspended
    }

    /// What is said of the scope; if it has one group, that is what is said of the group.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The guards by the names of their groups.
    pub fn guards(&self) -> impl Iterator<Item = (&str, &Guard)> {
        self.guards.iter().map(|(name, guard)| (name.as_str(), guard))
    }

    /// The groups of which nothing is switched.
    pub fn suspended(&self) -> impl Iterator<Item = (&str, &Guard)> {
        self.guards().filter(|(_, guard)| guard.asks() == Ask::Observe)
    }

    /// Switches again in all groups, after a verdict or at any time, and counts everything anew.
    pub fn resume(&mut self) {
        self.guards.values_mut().for_each(Guard::resume);
        self.is_suspended = false;
        self.verdict = nothing_known(self.holdback);
        self.are_several = self.guards.len() > 1;
    }
}

/// What remains of the differences that groups have shown without so many of them that move the mean up most, and as
/// many that move it down.
fn without_the_ends(mut groups: Vec<Difference>, left_out: usize) -> Option<Difference> {
    let all = together(&groups)?;
    let moves = |it: &Difference| it.information * (it.octaves - all.octaves);
    groups.sort_by(|one, other| moves(one).total_cmp(&moves(other)));
    together(&groups[left_out..groups.len() - left_out])
}

/// The mean of the differences by their information.
fn together(groups: &[Difference]) -> Option<Difference> {
    let mut sum = Difference { octaves: 0.0, information: 0.0, bursts: 0, spans: [0; 2] };
    for group in groups {
        sum.octaves += group.octaves * group.information;
        sum.information += group.information;
        sum.bursts += group.bursts;
        sum.spans[0] += group.spans[0];
        sum.spans[1] += group.spans[1];
    }
    sum.octaves /= sum.information;
    (sum.information > 0.0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use kirikae_path::{RandomStream, stream_seed};

    use super::*;
    use crate::HARM;

    /// A cgroup of a simulated host: its spans take so much longer when they are switched, octaves, and vary by so
    /// much.
    #[derive(Clone, Copy)]
    struct Tenant {
        effect: f64,
        spread: f64,
        /// Spans that it has in each look.
        spans: u32,
    }

    const HONEST: Tenant = Tenant { effect: 0.0, spread: 0.2, spans: 4 };
    /// Answers late where it is switched, as late as is counted, and often.
    const PLAYS_HARM: Tenant = Tenant { effect: 1.5, spread: 0.05, spans: 40 };
    /// Answers late where it is held back.
    const PLAYS_HELP: Tenant = Tenant { effect: -1.5, spread: 0.05, spans: 40 };

    struct Host {
        groups: Groups,
        tenants: Vec<(String, Tenant, Strata)>,
        random: RandomStream,
    }

    impl Host {
        fn of(run: u64, tenants: &[Tenant]) -> Host {
            let named = tenants.iter().enumerate();
            let tenants = named.map(|(n, it)| (n.to_string(), *it, Strata::default())).collect();
            let random = RandomStream::new(stream_seed(3, &[run]));
            Host { groups: Groups::new(0.02), tenants, random }
        }

        /// So many looks, as the agent makes them.
        fn run(&mut self, looks: u32) {
            for _ in 0..looks {
                self.look();
            }
        }

        fn look(&mut self) {
            let Host { groups, tenants, random } = self;
            for (name, tenant, sums) in tenants {
                let guard = groups.guard(name);
                let epoch = guard.epoch();
                let Ask::HoldBack(share) = guard.asks() else { continue };
                for _ in 0..tenant.spans {
                    let is_held_back = random.chance(share);
                    let effect = if is_held_back { 0.0 } else { tenant.effect };
                    let varies = (random.uniform() - 0.5) * 12f64.sqrt() * tenant.spread;
                    sums.add(2, effect + varies, is_held_back);
                }
                groups.look(name, epoch, sums);
                if groups.guard(name).epoch() != epoch {
                    *sums = Strata::default();
                }
            }
            groups.conclude();
        }

        fn suspended(&self) -> Vec<&str> {
            self.groups.suspended().map(|(name, _)| name).collect()
        }
    }

    #[test]
    fn one_group_is_judged_as_the_scope() {
        let mut host = Host::of(1, &[Tenant { effect: 0.1, ..HONEST }]);
        let mut alone = Guard::new(0.02);
        while host.suspended().is_empty() {
            let epoch = host.groups.guard("0").epoch();
            host.look();
            // Sums of an epoch that has ended with this look are not there any more.
            if host.groups.guard("0").epoch() == epoch {
                alone = host.groups.guard("0").clone();
                assert_eq!(host.groups.verdict(), alone.verdict());
            }
        }
        assert_eq!(host.groups.verdict(), alone.verdict());
        assert!(alone.hurts() && !host.groups.asks_to_observe());
        let mut by_hand = Guard::new(0.02);
        let mut sums = Strata::default();
        (0..1000).for_each(|n| sums.add(2, f64::from(n % 2) * 0.1, n % 4 < 2));
        by_hand.look(0, &sums, ERROR);
        let mut groups = Groups::new(0.02);
        groups.look("only", 0, &sums);
        groups.conclude();
        assert_eq!(groups.verdict(), by_hand.verdict());
    }

    #[test]
    fn who_plays_harm_is_observed_alone() {
        for run in 0..100 {
            for others in [1, 2, 7] {
                let mut host = Host::of(run, &[&[PLAYS_HARM][..], &vec![HONEST; others]].concat());
                host.run(200);
                assert_eq!(host.suspended(), ["0"], "run {run}, {others} others");
                assert!(!host.groups.asks_to_observe(), "{}", host.groups.verdict());
            }
        }
    }

    #[test]
    fn harm_to_others_is_seen_beside_one_who_plays_help() {
        let harmed = Tenant { effect: 0.3, ..HONEST };
        for run in 0..100 {
            for others in [1, 2, 7] {
                let mut host = Host::of(run, &[&[PLAYS_HELP][..], &vec![harmed; others]].concat());
                let mut looks = 0;
                let is_seen =
                    |host: &Host| host.groups.asks_to_observe() || host.suspended().len() == others;
                while !is_seen(&host) {
                    host.look();
                    looks += 1;
                    assert!(looks < 400, "run {run}, {others} others: {:?}", host.suspended());
                }
                assert!(!host.suspended().contains(&"0"));
            }
        }
    }

    /// Where each cgroup has too few spans to be judged by itself, all of them together are enough.
    #[test]
    fn harm_to_many_small_groups_is_seen_though_one_plays_help() {
        let small = Tenant { effect: 0.2, spread: 0.2, spans: 1 };
        let mut host = Host::of(1, &[&[PLAYS_HELP][..], &[small; 31]].concat());
        let mut looks = 0;
        while !host.groups.asks_to_observe() {
            host.look();
            looks += 1;
            assert!(looks < 400, "{}", host.groups.verdict());
        }
        assert!(host.suspended().len() < 16, "{:?} after {looks} looks", host.suspended());
    }

    #[test]
    fn less_than_a_quarter_that_play_harm_do_not_decide_for_all() {
        for run in 0..50 {
            let mut host = Host::of(run, &[&[PLAYS_HARM; 2][..], &[HONEST; 6]].concat());
            host.run(200);
            assert_eq!(host.suspended(), ["0", "1"]);
            assert!(!host.groups.asks_to_observe(), "{}", host.groups.verdict());
        }
    }

    /// The promise of a scope: all verdicts of its groups and its own, at all looks, with 1 %. Switching takes as
    /// much longer as is just no harm.
    #[test]
    fn nobody_is_observed_by_mistake_in_more_than_1_of_100_scopes() {
        const RUNS: u64 = 400;
        let tenant = Tenant { effect: HARM.log2(), ..HONEST };
        for groups in [2, 3, 12] {
            let (mut observed, mut missed) = (0, 0);
            for run in 0..RUNS {
                let mut host = Host::of(run, &vec![tenant; groups]);
                let mut is_missed = false;
                for _ in 0..150 {
                    host.look();
                    let estimate = host.groups.verdict().estimate();
                    is_missed |= estimate.is_some_and(|it| !(it.least..=it.most).contains(&HARM));
                }
                observed +=
                    u64::from(!host.suspended().is_empty() || host.groups.asks_to_observe());
                missed += u64::from(is_missed);
            }
            assert!(observed <= RUNS / 100, "{observed} of {RUNS} with {groups} groups");
            assert!(missed <= 2 * RUNS / 100, "{missed} of {RUNS} with {groups} groups");
        }
    }

    #[test]
    fn what_hurt_before_does_so_until_somebody_resumes() {
        let found = Estimate { ratio: 1.5, least: 1.2, most: 1.9, bursts: 500 };
        let mut groups = Groups::new(0.02);
        groups.suspend(Some("a"), found);
        let mut sums = Strata::default();
        (0..1000).for_each(|n| sums.add(2, f64::from(n % 3) * 0.1, n % 2 == 0));
        groups.look("a", 0, &sums);
        groups.look("b", 0, &sums);
        groups.forget("a");
        groups.forget("b");
        groups.conclude();
        let left: Vec<_> = groups.suspended().map(|(name, it)| (name, it.verdict())).collect();
        assert_eq!(left, [("a", Verdict::Hurts(found))]);
        assert_eq!(groups.guards().count(), 1);
        groups.resume();
        assert_eq!(groups.suspended().count(), 0);
    }
}
