//! Tests who may see the agent, and who may change something.
//!
//! It is one test function, since the host can have one agent at a time.

mod common;

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use kirikae_daemon::client;
use kirikae_daemon::status::Connections;

use common::{OwnCgroup, RunningAgent, kirikae, privileged};

const NOBODY: u32 = 65_534;
const PAGE: &str = "127.0.0.1:18425";

/// Runs a command as an ordinary user; returns its exit status and output.
fn as_nobody(binary: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(binary).args(arguments).uid(NOBODY).gid(NOBODY).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn http(request: &str) -> String {
    let mut stream = TcpStream::connect(PAGE).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(path: &str, host: &str) -> String {
    http(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
}

/// What is told of the remote ends of connections.
fn remote_ends() -> Vec<IpAddr> {
    thread::sleep(Duration::from_millis(50));
    let Connections { connections, .. } = client::get("/connections").unwrap();
    connections.iter().map(|it| it.remote.ip()).collect()
}

#[test]
fn an_ordinary_user_sees_what_the_policy_lets_him_and_changes_nothing() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    // The user may not look into the directory in which the command is built.
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    let binary = directory.path().join("kirikae");
    fs::copy(kirikae().get_program(), &binary).unwrap();

    let agent = RunningAgent::start(&cgroup, "");
    // One listing is for all who ask in one round; a busy machine may take longer for it.
    let listed_at = || client::get::<Connections>("/connections").unwrap().now_ns;
    assert!((0..20).any(|_| listed_at() == listed_at()), "never one listing for two who ask");
    for command in ["status", "log", "paths", "reload"] {
        let (status, said) = as_nobody(&binary, &[command]);
        assert_eq!(status, 1, "{command}: {said}");
        assert!(said.contains("only root may"), "{command}: {said}");
    }
    assert!(TcpStream::connect(PAGE).is_err(), "the page is off");
    agent.stop();

    let seen = format!("[status]\nreaders = 'everyone'\npage = '{PAGE}'\n");
    let agent = RunningAgent::start(&cgroup, &seen);
    assert_eq!(as_nobody(&binary, &["status", "--json"]).0, 0);
    for change in [&["reload"][..], &["resume"], &["paths", "forget", "::/0"]] {
        let (status, said) = as_nobody(&binary, change);
        assert!(status == 1 && said.contains("only root"), "{said}");
    }
    let refused = kirikae().args(["resume", "of all"]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("no scope \"of all\" with a guard; allowed: scope 1"), "{said}");
    assert!(kirikae().args(["resume", "scope 1"]).output().unwrap().status.success());
    let (status, said) = as_nobody(&binary, &["undo"]);
    assert_ne!(status, 0, "{said}");

    // Over TCP nothing can be changed, and pages of other origins are told nothing.
    let ours = http(&format!("GET /status HTTP/1.1\r\nHost: {PAGE}\r\nConnection: close\r\n\r\n"));
    assert!(ours.starts_with("HTTP/1.1 200"), "{ours}");
    let metrics =
        http(&format!("GET /metrics HTTP/1.1\r\nHost: {PAGE}\r\nConnection: close\r\n\r\n"));
    assert!(metrics.contains("kirikae_events_lost_total 0\n"), "{metrics}");
    assert!(metrics.contains("# EOF"), "{metrics}");
    for header in ["Host: evil.example", "Host: 127.0.0.1\r\nOrigin: http://evil.example"] {
        let refused =
            http(&format!("GET /status HTTP/1.1\r\n{header}\r\nConnection: close\r\n\r\n"));
        assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    }
    for host in ["0.0.0.0:18425", "8.8.8.8", "192.0.2.1:18425"] {
        let refused = get("/connections", host);
        assert!(refused.starts_with("HTTP/1.1 403"), "{host}: {refused}");
    }
    for (path, status) in [
        ("/status", "200"),
        ("/connections?match=web&limit=5000", "200"),
        ("/", "200"),
        ("/paths", "404"),
        ("/connections?limit=x", "400"),
        (&format!("/connections?match={}", "1+".repeat(17)), "400"),
        (&format!("/connections?match={}", "1".repeat(257)), "400"),
    ] {
        let answer = get(path, PAGE);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        for header in [
            "content-security-policy: default-src 'self'",
            "x-content-type-options: nosniff",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(answer.contains(header), "{path}: {header}: {answer}");
        }
    }
    for change in ["/reload", "/paths/forget?to=::/0"] {
        let post = format!("POST {change} HTTP/1.1\r\nHost: {PAGE}\r\nConnection: close\r\n\r\n");
        let refused = http(&post);
        assert!(refused.starts_with("HTTP/1.1 404"), "{refused}");
    }

    // Many clients that connect to the page and send half of a request do not keep the commands from being
    // answered.
    let half = |_| {
        let mut stream = TcpStream::connect(PAGE).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
        stream
    };
    let silent: Vec<TcpStream> = (0..900).map(half).collect();
    assert_eq!(as_nobody(&binary, &["status", "--json"]).0, 0);
    drop(silent);
    agent.stop();

    // Whoever was first to have the page's port keeps no agent from its work; and of addresses is told what the
    // policy allows.
    let taken = TcpListener::bind(PAGE).unwrap();
    let seen = format!("least-rtt = '0 s'\n[status]\npage = '{PAGE}'\naddresses = 'prefix'\n");
    let agent = RunningAgent::start(&cgroup, &seen);
    assert!(agent.told().contains("no page: listening on 127.0.0.1:18425"), "{}", agent.told());
    assert!(agent.status().page.is_some_and(|page| !page.is_served));
    let mut near = TcpStream::connect(PAGE).unwrap();
    let far = taken.accept().unwrap().0;
    near.write_all(b"something").unwrap();
    // A listing is of a moment before.
    let told = (0..100).map(|_| remote_ends()).find(|it| !it.is_empty()).unwrap();
    assert!(told.iter().all(|it| it.to_string() == "127.0.0.0"), "{told:?}");
    drop((near, far));
    agent.stop();
}
