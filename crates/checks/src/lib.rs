//! A check that cannot run where it is says so, in one way for all: where its need is named in
//! `KIRIKAE_REQUIRE` it fails, and anywhere else it is skipped, which is shown, noted in the file that
//! `KIRIKAE_SKIPPED` names, and counted at the end of `make test`.
//!
//! Tests begin with `if !can_run(&[Need::Root, Need::Tun]) { return; }`.

mod need;
mod skipped;

use std::env;
use std::fmt::Display;

pub use need::Need;
use skipped::note;
pub use skipped::summary;

/// The variable with the names of what must not be missing, between commas.
pub const REQUIRE: &str = "KIRIKAE_REQUIRE";

/// Parses a list of names between commas.
///
/// # Errors
/// Fails if a name is unknown.
pub fn required(list: &str) -> Result<Vec<Need>, String> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let need = |name: &str| {
        let allowed = || Need::ALL.map(Need::name).join(", ");
        Need::named(name)
            .ok_or_else(|| format!("{REQUIRE}: nothing is called {name}; allowed: {}", allowed()))
    };
    names.map(need).collect()
}

/// The needs that are required here and known at once to be missing.
///
/// # Errors
/// Fails if a name in `KIRIKAE_REQUIRE` is unknown.
pub fn missing() -> Result<Vec<String>, String> {
    let missing = |need: Need| need.missing().map(|why| required_but(need, why));
    Ok(required_here()?.into_iter().filter_map(missing).collect())
}

/// Whether a check with these needs can run here. Where it cannot, the skip is noted.
///
/// # Panics
/// Panics if what is missing is required.
#[track_caller]
pub fn can_run(needs: &[Need]) -> bool {
    needs.iter().all(|need| has(*need, need.missing().map_or(Ok(()), Err)))
}

/// The same for one need, if the check itself found out whether it is there, and why not.
///
/// # Panics
/// Panics if it is missing and required.
#[track_caller]
pub fn has(need: Need, found: Result<(), impl Display>) -> bool {
    match found {
        Ok(()) => true,
        Err(why) => pass_over(&this_check(), need, why).unwrap_or_else(|error| panic!("{error}")),
    }
}

/// Notes that a check of this name is skipped, and returns that it cannot run.
///
/// # Errors
/// Fails if what is missing is required.
pub fn pass_over(check: &str, need: Need, why: impl Display) -> Result<bool, String> {
    if required_here()?.contains(&need) {
        return Err(required_but(need, why));
    }
    note(&format!("{}: {check}: {why}", need.name()));
    Ok(false)
}

/// The test's name behind that of its program, without the hash that cargo gives it.
fn this_check() -> String {
    let program = env::current_exe().unwrap_or_default();
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    let program = program.rsplit_once('-').map_or(&*program, |(name, _hash)| name);
    match std::thread::current().name() {
        Some(test) if test != "main" => format!("{program}, {test}"),
        _ => program.to_owned(),
    }
}

fn required_here() -> Result<Vec<Need>, String> {
    required(&env::var(REQUIRE).unwrap_or_default())
}

fn required_but(need: Need, why: impl Display) -> String {
    format!("{} is required ({REQUIRE}), but {why}", need.name())
}
