//! Checks that the host has what a comparison needs, and removes what an earlier one may have left.

use std::io;

use kirikae_emu::owner_of;
use kirikae_results::While;
use kirikae_scenario::{Contender, Scenario};
use socket2::{Domain, Protocol, Socket, Type};

use crate::cgroup;
use crate::error::Error;
use crate::progress::tell;

/// Refuses contenders that cannot run here; the message names what is missing and says what to do.
pub fn check(scenarios: &[Scenario]) -> Result<(), Error> {
    if !nix::unistd::geteuid().is_root() {
        return Err(kirikae_results::Error::Missing(
            "a comparison makes network namespaces and devices, which needs root: run it with sudo"
                .into(),
        )
        .into());
    }
    let everyone = || scenarios.iter().flat_map(Scenario::everyone);
    for contender in everyone() {
        if !matches!(contender, Contender::Fixed(_)) {
            check_stock(contender.congestion_control())?;
        }
    }
    if everyone().any(Contender::is_switched) {
        kirikae_agent::requirements()?;
    } else if everyone().any(|contender| matches!(contender, Contender::Fixed(_))) {
        kirikae_agent::algorithm_requirements()?;
    }
    Ok(())
}

/// Checks that the kernel has an algorithm. Asking for it by name makes the kernel load its module.
fn check_stock(name: &str) -> Result<(), Error> {
    let asked = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))
        .and_then(|socket| socket.set_tcp_congestion(name.as_bytes()));
    match asked {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(kirikae_results::Error::Missing(format!(
                "this kernel has no congestion control {name}: install the kernel package that has \
             the module tcp_{name}, or leave it out of bench.contenders"
            ))
            .into())
        }
        asked => Ok(asked.during(|| format!("asking for congestion control {name}"))?),
    }
}

/// Removes the namespaces and cgroups of comparisons that were killed, and no others.
pub fn clean() -> Result<(), Error> {
    for name in kirikae_emu::remove_stale()? {
        tell(format_args!(
            "removed network namespace {name}, left behind by a run that was killed"
        ));
    }
    let Ok(root) = kirikae_agent::cgroup_root() else { return Ok(()) };
    let entries = std::fs::read_dir(&root).during(|| format!("reading {}", root.display()))?;
    for entry in entries {
        let entry = entry.during(|| format!("reading {}", root.display()))?;
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner_of);
        if owner.is_some_and(|owner| !owner.is_alive()) {
            let path = entry.path();
            cgroup::remove(&path).during(|| format!("removing cgroup {}", path.display()))?;
            tell(format_args!(
                "removed cgroup {}, left behind by a run that was killed",
                path.display()
            ));
        }
    }
    Ok(())
}
