//! Keeps libbpf's messages from the terminal, and puts its reasons into our errors.

use std::cell::RefCell;

use libbpf_rs::{ErrorKind, Object, OpenObject, PrintLevel, set_print};

use crate::error::{Doing, Error};

thread_local! {
    /// The latest line that says why something failed.
    static REASON: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps libbpf from printing.
pub(crate) fn listen() {
    set_print(Some((PrintLevel::Warn, |_, message| {
        if let Some(line) = reason(&message) {
            REASON.set(Some(line.to_owned()));
        }
    })));
}

/// How often an object is loaded at most.
const ATTEMPTS: usize = 20;

/// Loads what `open` opens. A signal makes the verifier give up (EAGAIN), even one that stops this process
/// and continues it; libbpf tries five times by itself, which is too few if signals keep coming.
pub(crate) fn load(
    open: impl Fn() -> Result<OpenObject, Error>,
    doing: impl FnOnce() -> String,
) -> Result<Object, Error> {
    for _ in 1..ATTEMPTS {
        match open()?.load() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => drop(take_reason()),
            loaded => return loaded.doing(doing),
        }
    }
    open()?.load().doing(doing)
}

/// Takes the reason that libbpf gave in this thread's last call; a second call returns None.
pub(crate) fn take_reason() -> Option<String> {
    REASON.take()
}

/// The last line of a message, without what always follows. The message may be the verifier's whole log.
fn reason(message: &str) -> Option<&str> {
    const NO_REASONS: [&str; 3] = ["failed to load", "-- END PROG LOAD LOG --", "processed "];
    let mut lines = message.lines().map(|line| line.trim_start_matches("libbpf: ").trim());
    lines.rfind(|line| !line.is_empty() && !NO_REASONS.iter().any(|no| line.contains(no)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_the_last_line_that_says_something() {
        let refused = "libbpf: prog 'restore': BPF program load failed: Permission denied\n";
        assert_eq!(reason(refused), Some(&refused[8..refused.len() - 1]));
        let log = "libbpf: prog 'restore': -- BEGIN PROG LOAD LOG --\n0: (bf) r6 = r1\n\
                   R2 invalid mem access\nprocessed 9 insns (limit 1000000)\n\
                   -- END PROG LOAD LOG --\n";
        assert_eq!(reason(log), Some("R2 invalid mem access"));
        assert_eq!(reason("libbpf: failed to load object 'restore_bpf'\n"), None);
    }
}
