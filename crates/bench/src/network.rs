//! Builds a contest's emulated network: a host at each end of each group of flows.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use kirikae_emu::{Namespace, Network, NetworkSpec, RouteSpec};
use kirikae_results::While;
use kirikae_results::contest::Contest;
use kirikae_scenario::{Contender, FlowGroup, stack};
use kirikae_sim::{End, Flow, Simulation};

use crate::error::Error;
use crate::player::{Assignment, FlowAssignment, GroupAssignment, HostAssignment};

/// The first client's port. Each flow of a network has a port of its own, since the switcher reports
/// connections by address and port, and drops are told apart by ports alone.
const FIRST_CLIENT_PORT: u16 = 20_000;

/// Bits of net.ipv4.tcp_recovery: losses are found by time (RFC 8985), and ...
const RACK: u32 = 1;
/// ... RACK waits however many segments were SACKed above a hole.
const NO_RACK_SHORTCUT: u32 = 4;

/// Each group with its flows.
fn groups<'a>(
    contest: &Contest<'a>,
    simulation: &'a Simulation,
) -> impl Iterator<Item = (&'a FlowGroup, &'a [Flow])> {
    let mut rest = &simulation.flows[..];
    contest.scenario.flows.iter().map(move |group| {
        let (own, others) = rest.split_at(group.connections() as usize);
        rest = others;
        (group, own)
    })
}

/// The network. For each group it has the host of the clients, and after it that of the servers.
pub fn spec(contest: &Contest, simulation: &Simulation) -> NetworkSpec {
    let mut network = NetworkSpec { links: simulation.links.clone(), ..NetworkSpec::default() };
    for (place, (_, flows)) in groups(contest, simulation).enumerate() {
        let (client, server) = (2 * place, 2 * place + 1);
        network.hosts.extend([format!("{place}-client"), format!("{place}-server")]);
        let routes = &flows[0].routes;
        for (from, to, hops) in
            [(client, server, &routes.forward), (server, client, &routes.backward)]
        {
            network.routes.push(RouteSpec { from, to, hops: hops.to_vec() });
        }
    }
    network
}

/// Sets the sysctls and the routes of the hosts of a group.
pub fn furnish(contest: &Contest, network: &Network) -> Result<(), Error> {
    for (group, hosts) in contest.scenario.flows.iter().zip(network.hosts().chunks(2)) {
        let [client, server] = hosts else { unreachable!("a group has two hosts") };
        hosts.iter().try_for_each(|host| set_tcp(contest, host))?;
        let (sender, other) = match group.sender() {
            End::Client => (client, server),
            End::Server => (server, client),
        };
        let played = group.contender.unwrap_or(contest.contender);
        if played == Contender::CubicWithoutIdleRestart {
            sender.set_sysctl("net.ipv4.tcp_slow_start_after_idle", "0")?;
        }
        let window = initial_window(contest);
        let start = played.is_switched().then(|| start_from(played.congestion_control()));
        set_route(sender, other, window.iter().chain(&start))?;
        set_route(other, sender, &window)?;
    }
    Ok(())
}

fn set_tcp(contest: &Contest, host: &Namespace) -> Result<(), Error> {
    // The default receive window (64 KiB) would limit the first bursts of every sender. The kernel takes the
    // buffer at the start for the window even where the largest is said to be smaller. Memory for 1,448 bytes of
    // data is 2,304, a little less than 8/5.
    let stack = &contest.scenario.stack;
    let at_start = stack.receive_buffer.min(stack.receive_window_max);
    let buffers = [at_start, stack.receive_window_max]
        .map(|bytes| (u64::from(bytes) * 8 / 5).min(i32::MAX as u64));
    host.set_sysctl("net.ipv4.tcp_rmem", &format!("4096 {} {}", buffers[0], buffers[1]))?;
    // The least size and that at the start are the kernel's own.
    host.set_sysctl("net.ipv4.tcp_wmem", &format!("4096 16384 {}", stack.send_buffer_max))?;
    if stack.notsent_lowat < u32::MAX {
        host.set_sysctl("net.ipv4.tcp_notsent_lowat", &stack.notsent_lowat.to_string())?;
    }
    if stack.mtu_probing {
        host.set_sysctl("net.ipv4.tcp_mtu_probing", "1")?;
    }
    let shortcut = if stack.rack_shortcut { 0 } else { NO_RACK_SHORTCUT };
    let recovery = contest.scenario.tcp_recovery.unwrap_or(RACK | shortcut);
    host.set_sysctl("net.ipv4.tcp_recovery", &recovery.to_string())?;
    // What one connection learns of the path must not be used by the next: contenders do not learn alike.
    Ok(host.set_sysctl("net.ipv4.tcp_no_metrics_save", "1")?)
}

/// The attribute of a route by which connections begin with the window that the scenario wants, where that is
/// not the kernel's own.
fn initial_window(contest: &Contest) -> Option<[String; 2]> {
    let segments = contest.scenario.stack.initial_window;
    let is_usual = segments == stack::usual().initial_window;
    (!is_usual).then(|| ["initcwnd".into(), segments.to_string()])
}

/// The attribute of a route that makes an algorithm of the kernel's what connections start with, by name and
/// whatever the host's default is.
///
/// By the route, since a namespace may take as its default only what the host allows to everyone
/// (net.ipv4.tcp_allowed_congestion_control), which need not have it and is the
/// operator's to change; and not by the socket, since an application that chooses for itself is
/// not what kirikae is for. (The route would win over the socket: the other contenders go without.)
fn start_from(algorithm: &str) -> [String; 2] {
    ["congctl".into(), algorithm.into()]
}

/// Gives a host a route of its own to the other one, where there is something to say about it.
fn set_route<'a>(
    from: &Namespace,
    to: &Namespace,
    attributes: impl IntoIterator<Item = &'a [String; 2]>,
) -> Result<(), Error> {
    let attributes: Vec<&str> = attributes.into_iter().flatten().map(String::as_str).collect();
    if attributes.is_empty() {
        return Ok(());
    }
    let to = to.address().to_string();
    let route = [&["route", "add", &to, "via", &to], &attributes[..]].concat();
    let output = Command::new("ip")
        .args(["-n", from.name()])
        .args(&route)
        .output()
        .during(|| "running ip".into())?;
    if output.status.success() {
        return Ok(());
    }
    let says = String::from_utf8_lossy(&output.stderr);
    Err(kirikae_results::Error::Failed(format!("ip {}: {}", route.join(" "), says.trim())).into())
}

/// What the player of the network is told. `cgroup_of` tells where the connections of a contender are switched.
pub fn assignment(
    contest: &Contest,
    simulation: &Simulation,
    network: &Network,
    cgroup_of: &dyn Fn(Contender) -> Option<PathBuf>,
) -> Assignment {
    let mut first_port = FIRST_CLIENT_PORT;
    let hosts = network.hosts().chunks(2);
    let group = |((group, flows), hosts): ((&FlowGroup, &[Flow]), &[Namespace])| {
        let played = group.contender.unwrap_or(contest.contender);
        let [client, server] = [&hosts[0], &hosts[1]]
            .map(|host| HostAssignment { namespace: host.path(), address: host.address() });
        let own_first_port = first_port;
        first_port += flows.len() as u16;
        let flow = |flow: &Flow| FlowAssignment {
            start: flow.start,
            after: flow.after,
            activities: flow.activities.clone(),
        };
        GroupAssignment {
            client,
            server,
            sender: group.sender(),
            congestion_control: played.congestion_control().into(),
            cgroup: cgroup_of(played),
            first_port: own_first_port,
            flows: flows.iter().map(flow).collect(),
        }
    };
    Assignment {
        seed: simulation.seed,
        duration: simulation.duration,
        measured: contest.scenario.measured.clone(),
        groups: groups(contest, simulation).zip(hosts).map(group).collect(),
    }
}

/// Flow by flow where the one is that sends, and where the other.
pub fn ends(assignment: &Assignment) -> Vec<[SocketAddr; 2]> {
    let of_group = |group: &GroupAssignment| {
        let of_flow = |place| {
            let [client, server] = [group.client_end(place), group.server_end()].map(Into::into);
            match group.sender {
                End::Client => [client, server],
                End::Server => [server, client],
            }
        };
        (0..group.flows.len()).map(of_flow).collect::<Vec<[SocketAddr; 2]>>()
    };
    assignment.groups.iter().flat_map(of_group).collect()
}
