//! Tests `kirikae top` in a terminal, and without one.

mod common;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_checks::{Need, has};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;

use common::{OwnCgroup, RunningAgent, kirikae, privileged};

const ROWS: NonZeroU16 = NonZeroU16::new(30).unwrap();
const COLUMNS: NonZeroU16 = NonZeroU16::new(120).unwrap();
/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);
/// A terminal with a command in it.
struct Terminal {
    command: Child,
    keyboard: File,
    before: Termios,
    inside: OwnedFd,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    fn with_top() -> Terminal {
        let size =
            Winsize { ws_row: ROWS.get(), ws_col: COLUMNS.get(), ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).unwrap();
        let inside = || pty.slave.try_clone().unwrap();
        let before = tcgetattr(&pty.slave).unwrap();
        let mut command = kirikae();
        command.args(["top", "--interval", "100ms"]).env("TERM", "xterm");
        let command = command.stdin(inside()).stdout(inside()).stderr(inside()).spawn().unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(ROWS, COLUMNS, 0)));
        let showing = Arc::clone(&screen);
        let mut output = File::from(pty.master.try_clone().unwrap());
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                showing.lock().unwrap().process(&bytes[..read]);
            }
        });
        Terminal { command, keyboard: pty.master.into(), before, inside: inside(), screen }
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self.screen.lock().unwrap().screen()) {
            let shown = self.screen.lock().unwrap().screen().contents();
            assert!(Instant::now() < deadline, "not {what}:\n{shown}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contents().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the command ends and checks that the terminal is as before. Returns the exit status.
    fn end(mut self) -> Option<i32> {
        let status = self.command.wait().unwrap().code();
        self.wait_until("as it was", |it| !it.alternate_screen() && !it.hide_cursor());
        assert_eq!(tcgetattr(&self.inside).unwrap(), self.before);
        status
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // If it has ended, it cannot be killed.
        let _ = self.command.kill();
        let _ = self.command.wait();
    }
}

#[test]
fn without_a_terminal_it_tells_what_to_use() {
    let refused = kirikae().arg("top").output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("terminal") && message.contains("kirikae status --json"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn connections_are_shown_until_a_key_or_a_signal() {
    if !privileged() {
        return;
    }
    let is_alone = !std::path::Path::new(kirikae_agent::DIRECTORY).exists();
    if !has(Need::Alone, is_alone.then_some(()).ok_or("another agent is running")) {
        return;
    }
    let terminal = Terminal::with_top();
    terminal.wait_for("no agent is running here");
    assert_eq!(terminal.end(), Some(1));

    let cgroup = OwnCgroup::enter();
    let agent = RunningAgent::start(&cgroup, "name = 'tested'\nleast-rtt = '0 s'\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let end = listener.local_addr().unwrap().to_string();

    let mut terminal = Terminal::with_top();
    terminal.wait_for(&end);
    terminal.wait_for("by scope tested");
    terminal.press("?");
    terminal.wait_for("congestion window, segments");
    terminal.press("x/no such connection");
    terminal.wait_for("no connection matches");
    terminal.press("\rq");
    assert_eq!(terminal.end(), Some(0));

    let terminal = Terminal::with_top();
    terminal.wait_for(&end);
    kill(Pid::from_raw(terminal.command.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(terminal.end(), Some(0));

    ends_with_its_terminal(&end);

    // It waits for an agent that has gone.
    let mut terminal = Terminal::with_top();
    terminal.wait_for(&end);
    agent.stop();
    terminal.wait_for("no agent is running here");
    terminal.press("\x03");
    assert_eq!(terminal.end(), Some(0));
}

/// The terminal goes away without a signal, since it is nobody's controlling terminal.
fn ends_with_its_terminal(shown: &str) {
    let size = Winsize { ws_row: ROWS.get(), ws_col: COLUMNS.get(), ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(&size, None).unwrap();
    let inside = || pty.slave.try_clone().unwrap();
    // This copy is not inherited by any child.
    let mut output = File::from(pty.master.try_clone().unwrap());
    drop(pty.master);
    let mut command = kirikae();
    command.arg("top").env("TERM", "xterm");
    let mut top = command.stdin(inside()).stdout(inside()).stderr(inside()).spawn().unwrap();
    // They hold their own copies of the slave.
    drop((command, pty.slave));
    let mut screen = vt100::Parser::new(ROWS, COLUMNS, 0);
    let mut bytes = [0; 4096];
    while !screen.screen().contents().contains(shown) {
        let read = output.read(&mut bytes).unwrap();
        screen.process(&bytes[..read]);
    }
    drop(output);
    let deadline = Instant::now() + PATIENCE;
    while top.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            top.kill().unwrap();
            top.wait().unwrap();
            panic!("it lives on without its terminal");
        }
        thread::sleep(Duration::from_millis(10));
    }
}
