//! What another version has left pinned remembers connections in another layout: it is restored by what is pinned with
//! it, and read by nothing else.
//!
//! The other version is this one with two members of `struct connection` in each other's place, so that every size is
//! the same. It needs root. It is one test function, since the host can have one agent at a time.

mod common;
#[path = "../../../bpf/compile.rs"]
mod compile;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_agent::DIRECTORY;
use libbpf_rs::{IterOpts, MapCore, MapFlags, MapHandle, MapIterOpts, Object, ObjectBuilder};
use nix::sys::signal::Signal;
use socket2::SockRef;

use common::{OwnCgroup, RunningAgent, algorithm, kirikae, privileged};

const OURS: &str = "\tchar original[TCP_CA_NAME_MAX]; /* the algorithm it had when first met */
\tchar current[TCP_CA_NAME_MAX];	/* the one it was given last */\n";
const THEIRS: &str = "\tchar current[TCP_CA_NAME_MAX];\n\tchar original[TCP_CA_NAME_MAX];\n";
const NAME_BYTES: usize = 16;
/// The place of its flags, after three names, and CONNECTION_SWITCHED of them.
const FLAGS: usize = 3 * NAME_BYTES;
const SWITCHED: u32 = 8;

/// What the connection had when the other version met it, and what that has given to it.
const ORIGINAL: &str = "cubic";
const CURRENT: &str = "reno";

#[test]
fn another_layout_is_read_by_its_own_code_alone() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let other = OtherVersion::load();
    a_pinned_restorer_restores_its_own(&cgroup, &other);
    a_map_that_nothing_can_restore_stays(&cgroup, &other);
    registered_algorithms_are_not_shared(&cgroup, &other);
}

fn a_pinned_restorer_restores_its_own(cgroup: &OwnCgroup, other: &OtherVersion) {
    for undoes in [true, false] {
        let pins = pins_of_a_killed_agent(cgroup);
        other.pin_restorer(&pins.join("restorer-7"));
        let (near, _far) = connect();
        other.remember(&near);
        if undoes {
            let told = said(&kirikae().arg("undo").output().unwrap());
            assert_eq!(algorithm(&near), ORIGINAL, "{told}");
        } else {
            RunningAgent::start_inside(cgroup).stop();
            assert_eq!(algorithm(&near), ORIGINAL);
        }
        assert!(!Path::new(DIRECTORY).exists());
    }
}

fn a_map_that_nothing_can_restore_stays(cgroup: &OwnCgroup, other: &OtherVersion) {
    let pins = pins_of_a_killed_agent(cgroup);
    let pinned = pins.join("connections");
    other.connections().pin(&pinned).unwrap();
    let (near, _far) = connect();
    other.remember(&near);
    for _ in 0..2 {
        let undone = kirikae().arg("undo").output().unwrap();
        let told = said(&undone);
        assert!(undone.status.code() == Some(1) && told.contains("another version"), "{told}");
        assert!(algorithm(&near) == CURRENT && pinned.exists(), "{told}");
    }
    fs::remove_file(pinned).unwrap();
    assert!(kirikae().arg("undo").status().unwrap().success());
}

fn registered_algorithms_are_not_shared(cgroup: &OwnCgroup, other: &OtherVersion) {
    let algorithms = |arguments: &[&str]| kirikae().arg("algorithms").args(arguments).output();
    assert!(algorithms(&["--register", "kk_bic"]).unwrap().status.success());
    let places = ["/run/kirikae-algorithms", "/sys/fs/bpf/kirikae-algorithms"];
    let place = places.map(PathBuf::from).into_iter().find(|it| it.exists()).unwrap();
    fs::remove_file(place.join("connections")).unwrap();
    other.connections().pin(place.join("connections")).unwrap();

    let more = algorithms(&["--register", "kk_hybla"]).unwrap();
    let (near, _far) = connect();
    other.remember(&near);
    let agent = RunningAgent::start_inside(cgroup);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !agent.told().contains("another version of kirikae has registered algorithms") {
        assert!(Instant::now() < deadline, "{}", agent.told());
        thread::sleep(Duration::from_millis(10));
    }
    agent.stop();
    assert!(algorithms(&["--unregister"]).unwrap().status.success());

    assert!(more.status.code() == Some(1) && said(&more).contains("another version"));
    assert_eq!(algorithm(&near), CURRENT, "neither taken in nor restored");
}

/// The directory of pins of an agent that was killed.
fn pins_of_a_killed_agent(cgroup: &OwnCgroup) -> PathBuf {
    let agent = RunningAgent::start_inside(cgroup);
    agent.signal(Signal::SIGKILL);
    drop(agent);
    let places = [PathBuf::from("/sys/fs/bpf/kirikae"), Path::new(DIRECTORY).join("bpf")];
    places.into_iter().find(|it| it.join("restorer-1").exists()).unwrap()
}

fn connect() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The restorer of another version, and what that remembers of connections.
struct OtherVersion(Object);

impl OtherVersion {
    fn load() -> OtherVersion {
        let directory = tempfile::tempdir().unwrap();
        let bpf = directory.path().join("bpf");
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
        let copied = Command::new("cp").arg("-r").args([&ours, &bpf]).status().unwrap();
        assert!(copied.success());
        let header = bpf.join("connection/connection.h");
        let text = fs::read_to_string(&header).unwrap();
        assert!(text.contains(OURS), "the two members to exchange");
        fs::write(&header, text.replace(OURS, THEIRS)).unwrap();
        let source = bpf.join("switcher/programs/restore.bpf.c");
        let object = compile::compile(&bpf, &source, directory.path());
        let mut builder = ObjectBuilder::default();
        OtherVersion(builder.open_file(object).unwrap().load().unwrap())
    }

    fn connections(&self) -> MapHandle {
        let map = self.0.maps().find(|map| map.name() == "connections").unwrap();
        MapHandle::try_from(&map).unwrap()
    }

    /// Pins its programs, as an agent of it does.
    fn pin_restorer(&self, directory: &Path) {
        fs::create_dir(directory).unwrap();
        let connections = self.connections();
        for program in self.0.progs_mut() {
            let name = program.name().to_str().unwrap().to_owned();
            let options = match name.starts_with("restore") {
                true => IterOpts::None,
                false => IterOpts::Map(MapIterOpts::from_fd(connections.as_fd())),
            };
            let mut link = program.attach_iter_with_opts(options).unwrap();
            link.pin(directory.join(name)).unwrap();
        }
    }

    /// Has it remember a connection that it has switched.
    fn remember(&self, connection: &TcpStream) {
        SockRef::from(connection).set_tcp_congestion(CURRENT.as_bytes()).unwrap();
        let connections = self.connections();
        let mut remembered = vec![0; connections.value_size() as usize];
        for (place, name) in [CURRENT, ORIGINAL].into_iter().enumerate() {
            remembered[place * NAME_BYTES..][..name.len()].copy_from_slice(name.as_bytes());
        }
        remembered[FLAGS..][..size_of::<u32>()].copy_from_slice(&SWITCHED.to_ne_bytes());
        let key = connection.as_raw_fd().to_ne_bytes();
        connections.update(&key, &remembered, MapFlags::ANY).unwrap();
    }
}
