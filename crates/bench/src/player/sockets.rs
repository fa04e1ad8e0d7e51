//! Makes the sockets of both ends, each in its host's network namespace and in its cgroup: a socket stays in
//! those in which it was made.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddrV4;
use std::path::Path;
use std::time::Duration;

use kirikae_results::{Error, While};
use kirikae_sim::End;
use nix::sched::{CloneFlags, setns};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::assignment::{Assignment, GroupAssignment};

/// The sockets before anything is opened.
pub(super) struct Sockets {
    /// A listener for each group.
    pub listeners: Vec<Socket>,
    /// The clients' sockets, one for each flow, by group.
    pub clients: Vec<Vec<Socket>>,
}

impl Sockets {
    /// Makes all sockets; none of them blocks.
    pub fn make(assignment: &Assignment) -> Result<Sockets, Error> {
        let groups = &assignment.groups;
        let mut listeners: Vec<Option<Socket>> = groups.iter().map(|_| None).collect();
        let mut clients: Vec<Vec<Socket>> = groups.iter().map(|_| Vec::new()).collect();
        // None is the first: there is no way back to the cgroup that the player begins in.
        let cgroups = groups.iter().map(|group| group.cgroup.as_deref());
        let cgroups: BTreeSet<Option<&Path>> = cgroups.chain([None]).collect();
        for cgroup in cgroups {
            if let Some(cgroup) = cgroup {
                join(cgroup)?;
            }
            for ((listener, clients), group) in listeners.iter_mut().zip(&mut clients).zip(groups) {
                if group.cgroup_at(End::Server) == cgroup {
                    *listener = Some(listener_of(group)?);
                }
                if group.cgroup_at(End::Client) == cgroup {
                    *clients = clients_of(group)?;
                }
            }
        }
        Ok(Sockets { listeners: listeners.into_iter().flatten().collect(), clients })
    }
}

/// What it accepts has its congestion control and its cgroup.
fn listener_of(group: &GroupAssignment) -> Result<Socket, Error> {
    enter(&group.server.namespace)?;
    let address = group.server_end();
    let listening = || -> io::Result<Socket> {
        let socket = socket_at(group, End::Server)?;
        socket.bind(&address.into())?;
        socket.listen(group.flows.len() as i32)?;
        Ok(socket)
    };
    listening().during(|| format!("listening on {address}"))
}

fn clients_of(group: &GroupAssignment) -> Result<Vec<Socket>, Error> {
    enter(&group.client.namespace)?;
    let client = |address: SocketAddrV4| -> io::Result<Socket> {
        let socket = socket_at(group, End::Client)?;
        socket.bind(&address.into())?;
        Ok(socket)
    };
    let clients = (0..group.flows.len()).map(|place| {
        let address = group.client_end(place);
        let name = group.congestion_control_of(End::Client);
        client(address).during(|| format!("making the client {address} with {name}"))
    });
    clients.collect()
}

/// One of this end's that sends at once what it is given, and never waits. It ends at once when it is closed,
/// also by a kill: otherwise it would stay for minutes, with its namespace and its algorithm, waiting for answers
/// over a network that is gone.
fn socket_at(group: &GroupAssignment, end: End) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    prepare(&socket)?;
    if group.cgroup_at(end).is_none() {
        socket.set_tcp_congestion(group.congestion_control_of(end).as_bytes())?;
    }
    Ok(socket)
}

/// Makes of an accepted one what [`socket_at`] makes.
pub(super) fn prepare(socket: &Socket) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    socket.set_linger(Some(Duration::ZERO))
}

/// The socket's TCP_CONGESTION.
pub(super) fn congestion_control(socket: &Socket) -> io::Result<String> {
    let name = SockRef::from(socket).tcp_congestion()?;
    Ok(String::from_utf8_lossy(&name).trim_end_matches('\0').into())
}

fn enter(namespace: &Path) -> Result<(), Error> {
    std::fs::File::open(namespace)
        .and_then(|file| Ok(setns(file, CloneFlags::CLONE_NEWNET)?))
        .during(|| format!("joining network namespace {}", namespace.display()))
}

fn join(cgroup: &Path) -> Result<(), Error> {
    std::fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string())
        .during(|| format!("joining cgroup {}", cgroup.display()))
}
