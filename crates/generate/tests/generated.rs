//! What is generated is as it would be made now: seeded places of it are made again.
//!
//! That sources have changed since is told and is no failure: most changes change no result, and what is
//! written keeps saying truthfully what it was made from. A place that comes out differently is a failure.
//! Which places are looked at follows from the sources, so that each change has others looked at.

use kirikae_generate::{STEPS, measured, misquoted, root};

fn holds(name: &str) {
    let step = STEPS.iter().find(|step| step.name == name).unwrap();
    let stale = step.stale().unwrap_or_else(|error| panic!("{error:#}"));
    let places = step.places().unwrap_or_else(|error| panic!("{error:#}"));
    assert!(!places.is_empty(), "{name}: no place was made again");
    for stale in &stale {
        println!("stale: {}: {}", stale.target, stale.differences.join("; "));
    }
    let other: Vec<_> = places.iter().filter(|place| place.written != place.now).collect();
    println!(
        "{name}: {} of {} places come out as written",
        places.len() - other.len(),
        places.len()
    );
    assert!(
        other.is_empty(),
        "{} of {} places of {} come out differently; `{}` makes it again: {other:#?}",
        other.len(),
        places.len(),
        step.targets[0],
        step.command(),
    );
}

#[test]
fn the_table() {
    holds("table");
}

#[test]
fn friendliness() {
    holds("friendliness");
}

#[test]
fn what_the_policies_allow() {
    holds("limits");
}

#[test]
fn what_the_policies_do() {
    holds("policies");
}

#[test]
fn the_search() {
    holds("search");
}

#[test]
fn the_guard() {
    holds("guard");
}

#[test]
fn regret() {
    holds("regret");
}

#[test]
fn studies() {
    holds("studies");
}

#[test]
fn figures_of_the_kernel_say_of_which_commit_they_are() {
    let figures = measured(&root()).unwrap_or_else(|error| panic!("{error:#}"));
    println!("{} figures of the real kernel", figures.len());
}

#[test]
fn prose_quotes_what_the_tables_say() {
    let (count, misquoted) = misquoted(&root()).unwrap_or_else(|error| panic!("{error:#}"));
    assert!(
        misquoted.is_empty(),
        "{} of {count} are not as quoted: {misquoted:#?}",
        misquoted.len()
    );
    println!("{count} figures in prose are as in the tables");
}
