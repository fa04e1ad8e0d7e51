//! The operator's policy on the real kernel: which connections are in which scope, what is changed of
//! them, how open ones are taken in, and how all follow when the policy becomes another.
//!
//! It needs root, and is skipped without. It is one test function, because the whole process shares the
//! algorithms' names and this process's cgroup. Everything is in network namespaces of its own, so that no
//! connection of the host is ever taken in.

mod adoption;
#[path = "../common/mod.rs"]
mod common;
mod holdback;
mod namespace;
mod observing;
mod pair;
mod reload;
mod scopes;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kirikae_agent::{Agent, Config, DEFAULT_PATHS, Namespaces, Pinning, candidates};
use kirikae_policy::{Policy, Scope};

use common::{OwnCgroup, privileged};

/// The algorithm that connections begin with; every network namespace may use it.
const ORIGINAL: &str = "reno";
/// The algorithm that programs choose themselves.
const CHOSEN: &str = "cubic";

#[test]
fn the_policy_holds() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    thread::scope(|scope| {
        scope.spawn(|| {
            namespace::enter_a_new_one();
            scopes::each_connection_is_in_the_first_that_it_matches(&cgroup);
            scopes::cgroups_come_and_go(&cgroup);
            observing::changes_nothing(&cgroup);
            holdback::leaves_a_share_as_it_is(&cgroup);
            adoption::takes_in_open_connections(&cgroup);
            adoption::takes_in_what_was_restored(&cgroup);
            reload::connections_follow(&cgroup);
            reload::in_recovery_no_other_scope_counts(&cgroup);
        });
    });
}

/// A scope of all connections, with the usual settings.
fn all() -> Scope {
    let table = Arc::from(kirikae_table::shipped().kernel_table());
    Scope { least_rtt: Duration::ZERO, ..Scope::new(table) }
}

fn start(cgroup: &OwnCgroup, scopes: &[Scope], adopt: Option<Namespaces>) -> Agent {
    let config = Config {
        cgroup: cgroup.path.clone(),
        algorithms: candidates(&scopes[0]).unwrap(),
        policy: Policy { scopes: scopes.to_vec() },
        adopt,
        pinning: Pinning::Unpinned,
        paths: DEFAULT_PATHS,
        are_calls_recorded: false,
    };
    Agent::start(&config).unwrap()
}
