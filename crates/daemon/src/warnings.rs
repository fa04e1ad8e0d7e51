//! What a policy may say and hardly means, and what of it is not to be had on this host at present: `kirikae check`,
//! `run`, `reload` and `status` warn of it.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;

use kirikae_policy::Policy;

use crate::server::socket;

/// A line for each thing that the operator may want to mend.
pub fn warnings(policy: &Policy) -> Vec<String> {
    let missing = |cgroup: &std::path::Path| {
        let cgroup = cgroup.display();
        format!("there is no cgroup {cgroup} yet; its connections are taken in when there is")
    };
    let missing = policy.missing_cgroups().map(missing);
    let confinement =
        kirikae_agent::cgroup_root().ok().and_then(|it| kirikae_agent::confinement(&it));
    let unreached = policy.unreached().into_iter().map(|it| it.to_string());
    confinement.into_iter().chain(missing).chain(unreached).collect()
}

/// Why the page could not be served on this address. None if it could, or if an agent runs that may be
/// serving it.
pub fn page_warning(address: SocketAddr) -> Option<String> {
    let error = TcpListener::bind(address).err()?;
    let is_running = || match UnixStream::connect(socket()) {
        Ok(_) => true,
        // It is not for this user.
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    };
    let is_ours = error.kind() == io::ErrorKind::AddrInUse && is_running();
    (!is_ours).then(|| format!("the page cannot be served on {address}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_no_interface_has_is_warned_of() {
        let told = page_warning("192.0.2.1:8425".parse().unwrap()).unwrap();
        assert!(told.contains("192.0.2.1:8425"), "{told}");
        assert_eq!(page_warning("127.0.0.1:0".parse().unwrap()), None);
    }
}
