//! Studies in which what a paper proposes is taken out: the criteria that ask for it have to notice.

use std::path::Path;

use kirikae_path::ElementSpec;
use kirikae_scenario::{Contender, Scenario};
use kirikae_studies::{Criterion, Run, Study};
use kirikae_tcp::{Handover, LossDetection};

/// The criteria of a study of which a few scenarios are played, as they are and changed.
fn both(
    study: &str,
    played: impl Fn(&Scenario) -> bool,
    change: impl Fn(&mut Scenario),
) -> [Vec<Criterion>; 2] {
    let study = Study::named(study).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut material = study.material(&from, Run { short: true, ..Run::default() }).unwrap();
    material.scenarios.retain(|scenario| played(scenario));
    let as_it_is = study.compare(&material).unwrap().criteria;
    material.scenarios.iter_mut().for_each(change);
    [as_it_is, study.compare(&material).unwrap().criteria]
}

/// Asserts that a criterion is met as it is, and missed where the study is changed.
#[track_caller]
fn notices([as_it_is, changed]: &[Vec<Criterion>; 2], what: &str) {
    let find = |all: &[Criterion]| {
        let found = all.iter().find(|it| it.what.starts_with(what));
        found.unwrap_or_else(|| panic!("{what} in {all:?}")).clone()
    };
    let (before, after) = (find(as_it_is), find(changed));
    assert_eq!((before.met, after.met), (Some(true), Some(false)), "{before:?}\n{after:?}");
}

#[test]
fn cubic_plus_is_missed_where_it_is_cubic() {
    let intervals = ["30", "40", "50", "70", "100", "1000"];
    let few = |it: &Scenario| {
        it.swept.contains_key("detection") && intervals.contains(&it.swept["ri"].as_str())
    };
    let findings =
        both("reordering", few, |it| it.stack.loss_detection = LossDetection::Duplicates);
    notices(&findings, "Cubic+ from RI 30 on");
    notices(&findings, "Window of Cubic+ over Cubic's");
}

#[test]
fn immediate_expiration_is_missed_where_the_timer_is_waited_for() {
    let published =
        |it: &Scenario| it.title.starts_with("Long disconnect, ") && it.title.ends_with("ns-2");
    let findings = both("handover", published, |it| {
        if it.stack.handover == Handover::ImmediateExpiration {
            it.stack.handover = Handover::None;
        }
    });
    notices(&findings, "Throughputs within 15 %");
}

#[test]
fn bandwidth_aware_ssthresh_is_missed_where_it_only_restarts() {
    let published =
        |it: &Scenario| it.title.starts_with("Wide to narrow, ") && it.title.ends_with("ns-2");
    let findings = both("handover", published, |it| {
        if it.stack.handover == Handover::BandwidthAware {
            it.stack.handover = Handover::ImmediateExpiration;
        }
    });
    notices(&findings, "Throughputs within 15 %");
    notices(&findings, "Wide to narrow: segments that overflow it with Bandwidth-Aware");
}

#[test]
fn jumbo_frames_arrive_where_no_link_drops_them() {
    let hole = |it: &Scenario| it.file.ends_with("black-hole.toml");
    let findings = both("large-bdp", hole, |it| {
        it.links[0].path.forward.retain(|element| !matches!(element, ElementSpec::Mtu { .. }));
    });
    notices(&findings, "What jumbo frames carry over a link");
    notices(&findings, "Share of the segments that are sent again there");
}

#[test]
fn frames_of_the_same_size_swing_alike() {
    let bursts = |it: &Scenario| it.file.ends_with("jumbo-bursts.toml");
    // 1501 bytes still count as jumbo frames.
    let findings = both("large-bdp", bursts, |it| it.stack.mtu = it.stack.mtu.min(1501));
    notices(&findings, "Answers of 64 KiB from 16 servers");
    notices(&findings, "The same: bytes that a queue");
}

#[test]
fn kirikae_is_above_the_bound_without_idle_keep() {
    let [kept, cut] = both("thesis-wifi", |_| true, |it| it.scope.idle_keep = false);
    let find = |all: &[Criterion], key| all.iter().find(|it| it.key == key).map(|it| it.met);
    assert_eq!(find(&kept, "over-bound"), Some(Some(true)));
    assert_eq!(find(&cut, "over-bound"), Some(Some(false)));
}

#[test]
fn a_relay_is_missed_where_there_is_none() {
    let few =
        |it: &Scenario| it.measured.is_none() && ["0", "0.03"].contains(&it.swept["loss"].as_str());
    let findings = both("snoop", few, |it| it.flows[0].split = None);
    notices(&findings, "cubic, 3 % lost: segments that the sender sends again with the relay");
    notices(&findings, "cubic, 0 % lost: latency of bursts with the relay");
}

#[test]
fn a_relay_that_takes_no_loss_for_congestion_is_no_cubic_sender() {
    let few = |it: &Scenario| it.measured.is_some() && it.swept["loss"] == "0.01";
    let findings = both("snoop", few, |it| {
        if let Some(split) = &mut it.flows[0].split {
            split.relay = Contender::Stock("bbr");
        }
    });
    notices(&findings, "cubic, 1 % lost: bulk goodput with the relay over that of a sender");
}
