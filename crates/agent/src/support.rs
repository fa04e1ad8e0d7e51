//! What the running kernel allows, and what is missing.
//!
//! Looking changes nothing on the host: what is loaded is neither attached nor registered, and the
//! socket on which options are tried is in a network namespace of its own.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;

use kirikae_algorithms::Algorithm;
use kirikae_policy::{Policy, Scope};
use libbpf_rs::btf::types::{FuncProto, Ptr, Struct};
use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::{IterOpts, MapHandle};
use nix::sched::{CloneFlags, unshare};
use serde::Serialize;

use crate::algorithms::{CONNECTIONS, Users};
use crate::error::{Doing, Error};
use crate::kernel::AFTER_IDLE;
use crate::kernel_algorithms::KernelAlgorithms;
use crate::listing::Listing;
use crate::namespaces::apart;
use crate::path_memory::{self, DEFAULT_PATHS, PathMemory, PathSets};
use crate::program::Program;
use crate::restore::Restorer;
use crate::switcher::Switcher;
use crate::{algorithms, host, iterator, libbpf, object};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/support.bpf.o"));

/// Everything that was found.
#[derive(Clone, Debug, Serialize)]
pub struct Support {
    /// Release of the running kernel.
    pub kernel: String,
    /// Why `kirikae run` could not work here, as this user; none where it could.
    pub refusal: Option<String>,
    /// Each thing that was looked at.
    pub features: Vec<Feature>,
}

/// Something that a command needs or uses.
#[derive(Clone, Debug, Serialize)]
pub struct Feature {
    /// The feature, in words.
    pub name: &'static str,
    /// Whether it is there.
    pub state: State,
    /// What was found, or why it could not be looked at.
    pub found: String,
    /// The commands that cannot work without it.
    pub needed_by: &'static [&'static str],
    /// What else is lost without it.
    pub otherwise: &'static str,
}

/// Whether a feature is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is there.
    Present,
    /// It is missing.
    Missing,
    /// It could not be looked at.
    Unknown,
}

/// The state of a feature, and what was found.
type Finding = (State, String);

fn finding(found: Result<impl Into<String>, impl ToString>) -> Finding {
    match found {
        Ok(found) => (State::Present, found.into()),
        Err(why) => (State::Missing, why.to_string()),
    }
}

fn feature(
    name: &'static str,
    (state, found): Finding,
    needed_by: &'static [&'static str],
    otherwise: &'static str,
) -> Feature {
    Feature { name, state, found, needed_by, otherwise }
}

const EVERYBODY: &[&str] = &["run", "undo", "bench", "emulate"];
const AGENT: &[&str] = &["run", "undo", "bench"];
const SWITCHER: &[&str] = &["run", "bench"];
const PATHS: &[&str] = &["bench", "emulate"];
const BENCH: &[&str] = &["bench"];
const NOBODY: &[&str] = &[];

/// Looks at everything. What only root can look at is reported as unknown to other users.
///
/// # Errors
/// Fails if /proc cannot be read.
pub fn support() -> Result<Support, Error> {
    libbpf::listen();
    let mut features = rights()?;
    features.extend(types(Btf::from_vmlinux().as_ref()));
    features.push(feature(
        "cgroup v2",
        finding(
            host::cgroup_root()
                .map(|root| host::confinement(&root).unwrap_or_else(|| root.display().to_string())),
        ),
        SWITCHER,
        "",
    ));
    features.extend(programs());
    features.extend(sockets());
    features.extend(laboratory()?);
    let refusal = refusal(&features);
    Ok(Support { kernel: host::kernel_release()?, refusal, features })
}

fn refusal(features: &[Feature]) -> Option<String> {
    host::requirements().err().map(|error| error.to_string()).or_else(|| lacking(features))
}

/// The first feature that `kirikae run` needs and that was not found.
fn lacking(features: &[Feature]) -> Option<String> {
    let needed = features.iter().filter(|feature| feature.needed_by.contains(&"run"));
    let mut lacking = needed.filter(|feature| feature.state != State::Present);
    lacking.next().map(|feature| format!("{}: {}", feature.name, feature.found))
}

/// Bits of capability sets (capability.h), and what they are for. CAP_SYS_ADMIN is also what the agent needs
/// to enter namespaces and to mount its pins.
const CAPABILITIES: [(u32, &str, &[&str], &str); 4] = [
    (host::CAP_SYS_ADMIN, "CAP_SYS_ADMIN", EVERYBODY, ""),
    (
        19,
        "CAP_SYS_PTRACE",
        NOBODY,
        "connections in namespaces that only another user's process leads to are not restored",
    ),
    (
        13,
        "CAP_NET_RAW",
        NOBODY,
        "connections whose path is back are not told, and wait for their timer",
    ),
    (12, "CAP_NET_ADMIN", PATHS, ""),
];

fn rights() -> Result<Vec<Feature>, Error> {
    let user = nix::unistd::geteuid();
    let is_root = if user.is_root() { Ok("yes") } else { Err(format!("user {user}")) };
    let mut features = vec![feature("root", finding(is_root), EVERYBODY, "")];
    let path = "/proc/self/status";
    let status = fs::read_to_string(path).doing(|| format!("reading {path}"))?;
    let effective = host::effective_capabilities(&status).unwrap_or_default();
    for (bit, name, needed_by, otherwise) in CAPABILITIES {
        let held = if effective >> bit & 1 == 1 { Ok("held") } else { Err("not held") };
        features.push(feature(name, finding(held), needed_by, otherwise));
    }
    Ok(features)
}

/// The features that the kernel's description of its types tells, to every user.
fn types(btf: Result<&Btf<'static>, &libbpf_rs::Error>) -> Vec<Feature> {
    let described = btf.map(|_| "/sys/kernel/btf/vmlinux");
    let look = |what: &dyn Fn(&Btf) -> Result<String, String>| match btf {
        Ok(btf) => finding(what(btf)),
        Err(_) => (State::Unknown, "no BTF to look into".to_owned()),
    };
    let is_type = |btf: &Btf, name: &str| match btf.type_by_name::<Struct>(name) {
        Some(_) => Ok(()),
        None => Err(format!("no struct {name}")),
    };
    vec![
        feature("BTF", finding(described), AGENT, ""),
        feature(
            "links of struct_ops",
            look(&|btf| is_type(btf, "bpf_struct_ops_link").map(|()| "yes".into())),
            NOBODY,
            "the algorithms of a killed bench stay registered (since Linux 6.4)",
        ),
        feature(
            "iterators",
            look(&|btf| {
                is_type(btf, "bpf_iter__tcp")?;
                is_type(btf, "bpf_iter__bpf_sk_storage_map")?;
                Ok("of TCP sockets and of socket storage".into())
            }),
            AGENT,
            "",
        ),
        feature("struct_ops", look(&struct_ops), AGENT, ""),
        feature("callback after idle", look(&callback_after_idle), SWITCHER, ""),
        feature("cong_control", look(&cong_control), SWITCHER, ""),
        feature(
            "destroying connections",
            look(&|btf| match host::has_destroy(btf) {
                true => Ok("bpf_sock_destroy".into()),
                false => Err("no bpf_sock_destroy".into()),
            }),
            NOBODY,
            "a policy with when-address-gone = \"destroy\" is refused (since Linux 6.5)",
        ),
    ]
}

fn operations<'btf>(btf: &'btf Btf, member: &str) -> Option<BtfType<'btf>> {
    let structure = btf.type_by_name::<Struct>("tcp_congestion_ops")?;
    let member = structure.iter().find(|m| m.name.is_some_and(|name| name == member))?;
    btf.type_by_id(member.ty)
}

/// Congestion controls may be BPF programs.
fn struct_ops(btf: &Btf) -> Result<String, String> {
    match btf.type_by_name::<Struct>(host::STRUCT_OPS) {
        Some(_) => Ok("of tcp_congestion_ops".into()),
        None => Err("congestion controls cannot be BPF programs".into()),
    }
}

/// Either of two callbacks tells the algorithms of a transmission after idle time.
fn callback_after_idle(btf: &Btf) -> Result<String, String> {
    let known = [AFTER_IDLE, "cwnd_event"];
    let found = known.into_iter().find(|name| operations(btf, name).is_some());
    found.map(str::to_owned).ok_or_else(|| format!("neither {} nor {}", known[0], known[1]))
}

/// Linux 6.10 added two arguments.
fn cong_control(btf: &Btf) -> Result<String, String> {
    let prototype = operations(btf, "cong_control")
        .and_then(|member| Ptr::try_from(member.skip_mods_and_typedefs()).ok())
        .and_then(|pointer| FuncProto::try_from(pointer.next_type()?).ok());
    match prototype.map(|prototype| prototype.len()) {
        Some(arguments @ (2 | 4)) => Ok(format!("{arguments} arguments")),
        Some(arguments) => Err(format!("{arguments} arguments, of which ours know 2 or 4")),
        None => Err("not in struct tcp_congestion_ops".into()),
    }
}

fn only_by_root() -> Option<Finding> {
    let is_root = nix::unistd::geteuid().is_root();
    (!is_root).then(|| (State::Unknown, "takes root to try".to_owned()))
}

/// Whether the kernel takes our programs.
fn programs() -> [Feature; 6] {
    let [switcher, listing, restorer, path_memory, candidates, others] = match only_by_root() {
        Some(unknown) => [(); 6].map(|()| unknown.clone()),
        None => load(),
    };
    [
        feature("switcher", switcher, SWITCHER, ""),
        feature("listing", listing, SWITCHER, ""),
        feature("restorer", restorer, AGENT, ""),
        feature("path memory", path_memory, AGENT, ""),
        feature("candidates", candidates, SWITCHER, ""),
        feature("other algorithms", others, NOBODY, "those that do not load are no contenders"),
    ]
}

fn load() -> [Finding; 6] {
    let policy = Policy::one(Scope::new(kirikae_table::usual().kernel_table().into()));
    let path_sets = match PathSets::new(DEFAULT_PATHS) {
        Ok(path_sets) => path_sets,
        Err(error) => return [(); 6].map(|()| (State::Unknown, error.to_string())),
    };
    let switcher = Switcher::load(&Program::shipped(), &policy, false, None, &path_sets);
    let connections = switcher.as_ref().ok().and_then(|switcher| switcher.map(CONNECTIONS).ok());
    let beside = |load: fn(&MapHandle) -> Result<(), Error>| match &connections {
        Some(connections) => finding(load(connections).map(|()| "loads")),
        None => (State::Unknown, "needs the switcher's map".into()),
    };
    let sets = switcher
        .as_ref()
        .map_err(ToString::to_string)
        .and_then(|switcher| switcher.map(path_memory::SETS).map_err(|error| error.to_string()));
    let path_memory =
        sets.and_then(|sets| PathMemory::load(sets, &path_sets).map_err(|error| error.to_string()));
    let load_all = |algorithms: Vec<Algorithm>| {
        let connections = connections.as_ref().map(|map| map.as_fd());
        for algorithm in &algorithms {
            algorithms::load(algorithm, Users::Switcher, connections)?;
        }
        let names: Vec<&str> = algorithms.iter().map(|algorithm| algorithm.name()).collect();
        Ok::<_, Error>(format!("load: {}", names.join(", ")))
    };
    let (candidates, others) = Algorithm::all()
        .partition(|algorithm| kirikae_table::candidates().any(|name| name == algorithm.name()));
    [
        finding(switcher.as_ref().map_err(ToString::to_string).and_then(verified)),
        beside(|connections| Listing::load(connections).map(drop)),
        beside(|connections| Restorer::hidden(connections).map(drop)),
        finding(path_memory.map(|_| "loads")),
        finding(load_all(candidates)),
        finding(load_all(others)),
    ]
}

fn verified(switcher: &Switcher) -> Result<String, String> {
    let instructions = switcher.verified_instructions().map_err(|error| error.to_string())?;
    Ok(format!("loads; the kernel walked {instructions} instructions of a million to verify it"))
}

/// Tries on a socket what can be done to one.
fn sockets() -> [Feature; 4] {
    let tried = match only_by_root() {
        Some(unknown) => Err(unknown),
        None => try_options().map_err(|error| (State::Missing, error.to_string())),
    };
    let option = |what: &str, found: &str| match &tried {
        Ok(answers) => match answers.get(what) {
            Some(0) => (State::Present, found.to_owned()),
            Some(&error) => finding(Err::<&str, _>(io::Error::from_raw_os_error(-error))),
            None => (State::Unknown, "not tried".into()),
        },
        Err(finding) => finding.clone(),
    };
    [
        feature(
            "shorter timeouts",
            option("set-rto-min", "TCP_BPF_RTO_MIN can be set"),
            NOBODY,
            "retransmission timeouts have the kernel's lower bound",
        ),
        feature(
            "timeouts read",
            option("get-rto-min", "TCP_BPF_RTO_MIN can be read"),
            NOBODY,
            "restored to 200 ms, whatever it was (since Linux 6.15)",
        ),
        feature(
            "bounded back-off",
            option("set-rto-max", "TCP_RTO_MAX_MS can be set"),
            NOBODY,
            "retransmission timeouts back off as the kernel's do (since Linux 6.15)",
        ),
        feature(
            "adoption",
            option("set-callbacks", "TCP_BPF_SOCK_OPS_CB_FLAGS can be set"),
            NOBODY,
            "connections that are open when the agent starts are not switched (since Linux 6.12)",
        ),
    ]
}

/// Tries each option of support.bpf.c on a socket, in a network namespace that ends with the thread. Returns
/// 0 or the negative error for each.
fn try_options() -> Result<HashMap<String, i32>, Error> {
    const DOING: &str = "trying options on a socket";
    let doing = || DOING.to_owned();
    let object = object::load(OBJECT, DOING, |_| Ok(()))?;
    let program = object.progs_mut().next().expect("support.bpf.c has one program");
    let link = program.attach_iter_with_opts(IterOpts::None).doing(doing)?;
    let read = || -> io::Result<String> {
        unshare(CloneFlags::CLONE_NEWNET)?;
        let _socket = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        String::from_utf8(iterator::read(&link)?).map_err(io::Error::other)
    };
    Ok(answers(&apart(read).doing(doing)?))
}

/// Parses lines of `NAME NUMBER`.
fn answers(text: &str) -> HashMap<String, i32> {
    let answer = |line: &str| {
        let (name, number) = line.split_once(' ')?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    text.lines().filter_map(answer).collect()
}

/// The features that the bench needs beside the agent's.
fn laboratory() -> Result<[Feature; 4], Error> {
    let namespaces = apart(|| Ok(unshare(CloneFlags::CLONE_NEWNET)?)).map(|()| "can be made");
    let tun = "/dev/net/tun";
    let tun = File::options().read(true).write(true).open(tun).map(|_| tun);
    let kernel = KernelAlgorithms::read()?;
    let stock = |name: &str| {
        finding(if kernel.registered.contains(name) {
            Ok("registered")
        } else if kernel.modules.contains(name) {
            Ok("there as a module")
        } else {
            Err("not in this kernel")
        })
    };
    Ok([
        feature("network namespaces", finding(namespaces), PATHS, ""),
        feature("TUN devices", finding(tun), PATHS, ""),
        feature("stock cubic", stock("cubic"), BENCH, ""),
        feature("stock bbr", stock("bbr"), NOBODY, "not to be had as a contender"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_numbers_by_name() {
        let answers = answers("set-rto-min 0\nget-rto-min -22\n");
        assert_eq!((answers["set-rto-min"], answers["get-rto-min"]), (0, -22));
    }

    #[test]
    fn what_run_needs_and_is_not_there_is_the_refusal() {
        let lacking =
            |state, needed_by| lacking(&[feature("x", (state, "y".into()), needed_by, "")]);
        assert_eq!(lacking(State::Missing, SWITCHER), Some("x: y".into()));
        assert_eq!(lacking(State::Unknown, SWITCHER), Some("x: y".into()));
        assert_eq!(lacking(State::Present, SWITCHER), None);
        assert_eq!(lacking(State::Missing, BENCH), None);
    }
}
