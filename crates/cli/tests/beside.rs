//! Tests other sock_ops programs beside the switcher: one that takes its callbacks, one that chooses
//! algorithms itself.
//!
//! It is one test function, since the host can have one agent at a time.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_agent::{Feature, FeatureState, Treatment};
use kirikae_checks::{Need, has};
use kirikae_daemon::client;
use kirikae_daemon::status::Connections;
use kirikae_neighbour::{Habit, Neighbour};

use common::{OwnCgroup, RunningAgent, algorithm, privileged};

/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);
/// The algorithm that the neighbour chooses.
const CHOSEN: &str = "reno";

/// A connection over loopback and its two ends.
struct Pair {
    near: TcpStream,
    far: TcpStream,
}

impl Pair {
    fn open() -> Pair {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        Pair { near, far: listener.accept().unwrap().0 }
    }

    /// Talks until the condition holds.
    fn talk_until(&self, what: &str, is_so: impl Fn(&Pair) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
            for (mut from, mut to) in [(&self.near, &self.far), (&self.far, &self.near)] {
                from.write_all(&[7; 10_000]).unwrap();
                to.read_exact(&mut [0; 10_000]).unwrap();
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Talks long enough for several choices.
    fn talk_for_a_while(&self) {
        let until = Instant::now() + Duration::from_millis(300);
        self.talk_until("time has passed", |_| Instant::now() > until);
    }

    fn is_switched(&self) -> bool {
        algorithm(&self.near).starts_with("kk_")
    }
}

#[test]
fn others_keep_what_is_theirs_and_are_told_of() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    callbacks_taken_once(&cgroup);
    callbacks_taken_again_and_again(&cgroup);
    algorithms_chosen(&cgroup);
}

/// The switcher hears nothing of the connection until the agent has looked.
fn callbacks_taken_once(cgroup: &OwnCgroup) {
    let agent = RunningAgent::start_inside(cgroup);
    let neighbour = Neighbour::attach(Habit::TakesCallbacksOnce, &cgroup.path).unwrap();
    let pair = Pair::open();
    let original = algorithm(&pair.near);
    pair.talk_until("it is told", |_| agent.told().contains("taken the callbacks of"));
    if can_ask_again() {
        pair.talk_until("it is switched", Pair::is_switched);
        // The switcher heard of the other end by the neighbour's callback.
        assert!(agent.status().asked_again >= 1);
        assert_eq!(agent.status().unheard, 0);
        assert!(agent.told().contains("for all but 0"), "{}", agent.told());
    } else {
        assert!(!pair.is_switched() && agent.status().unheard >= 1, "{}", agent.told());
    }
    agent.stop();
    assert_eq!(algorithm(&pair.near), original);
    // The neighbour's callback is still called.
    let before = neighbour.calls().unwrap();
    drop(pair);
    assert!(neighbour.calls().unwrap() > before);
}

/// Before Linux 6.12 nobody can have the kernel call back for a connection that is open.
fn can_ask_again() -> bool {
    let support = kirikae_agent::support().unwrap();
    let is_adoption = |it: &Feature| it.name == "adoption" && it.state == FeatureState::Present;
    support.features.iter().any(is_adoption)
        || has(Need::Adoption, Err("callbacks cannot be asked for again"))
}

/// The switcher hears the callbacks that still come; neither program keeps the other from anything.
fn callbacks_taken_again_and_again(cgroup: &OwnCgroup) {
    let original = algorithm(&Pair::open().near);
    let before = Neighbour::attach(Habit::TakesCallbacks, &cgroup.path).unwrap();
    let agent = RunningAgent::start_inside(cgroup);
    let after = Neighbour::attach(Habit::TakesCallbacks, &cgroup.path).unwrap();
    let pair = Pair::open();
    pair.talk_until("it is switched", Pair::is_switched);
    let calls = || (before.calls().unwrap(), after.calls().unwrap());
    let so_far = calls();
    pair.talk_until("both are called", |_| calls().0 > so_far.0 && calls().1 > so_far.1);
    agent.stop();
    assert_eq!(algorithm(&pair.near), original);
    let so_far = calls();
    pair.talk_until("both are called", |_| calls().0 > so_far.0 && calls().1 > so_far.1);
}

/// The switcher does not contend with another that chooses: the connection is left alone.
fn algorithms_chosen(cgroup: &OwnCgroup) {
    let agent = RunningAgent::start_inside(cgroup);
    for habit in [Habit::ChoosesOnce, Habit::Chooses] {
        let neighbour = Neighbour::attach(habit, &cgroup.path).unwrap();
        let pair = Pair::open();
        pair.talk_until("it is left alone", |pair| {
            [&pair.near, &pair.far].map(treatment) == [Some(Treatment::LeftAlone); 2]
        });
        let switches = || agent.status().switches.values().sum::<u64>();
        let so_far = switches();
        pair.talk_for_a_while();
        assert_eq!((algorithm(&pair.near).as_str(), switches()), (CHOSEN, so_far));
        drop(neighbour);
        pair.talk_for_a_while();
        assert_eq!((algorithm(&pair.near).as_str(), switches()), (CHOSEN, so_far));
    }
    agent.stop();
    // Now the neighbour chooses before the switcher has seen the connection.
    let _neighbour = Neighbour::attach(Habit::ChoosesOnce, &cgroup.path).unwrap();
    let agent = RunningAgent::start_inside(cgroup);
    let pair = Pair::open();
    pair.talk_for_a_while();
    assert_eq!((algorithm(&pair.near).as_str(), treatment(&pair.near)), (CHOSEN, None));
    agent.stop();
    assert_eq!(algorithm(&pair.near), CHOSEN);
}

/// The treatment of a connection; None if it is not remembered.
fn treatment(end: &TcpStream) -> Option<Treatment> {
    let Connections { connections, .. } = client::get("/connections").unwrap();
    let local = end.local_addr().unwrap();
    let remote = end.peer_addr().unwrap();
    let ours = connections.into_iter().find(|it| it.local == local && it.remote == remote);
    ours.map(|it| it.treatment)
}
