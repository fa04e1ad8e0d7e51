//! Everything that we create on a host is named after the process that made it. So a later process can tell
//! what a crash left behind from what is in use, and what is ours from what is not.

use std::fs;
use std::sync::OnceLock;

const PREFIX: &str = "kirikae";

/// The process that a name belongs to. A process id alone is reused some day; together with the start time it
/// is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// When it started, in clock ticks since boot (field 22 of /proc/pid/stat).
    pub started: u64,
}

impl Owner {
    /// The owner that stands for this process.
    ///
    /// # Panics
    /// Panics if /proc is not mounted.
    pub fn this_process() -> Owner {
        static THIS: OnceLock<Owner> = OnceLock::new();
        *THIS.get_or_init(|| {
            let pid = std::process::id();
            Owner { pid, started: start_time(pid).expect("/proc is mounted") }
        })
    }

    /// Whether the process still runs.
    pub fn is_alive(&self) -> bool {
        start_time(self.pid) == Some(self.started)
    }
}

/// The name of the `n`-th thing of this process in this role (letters, digits and hyphens):
/// `kirikae-<pid>-<start time>-<n>-<role>`.
pub fn own_name(n: u32, role: &str) -> String {
    let Owner { pid, started } = Owner::this_process();
    format!("{PREFIX}-{pid}-{started}-{n}-{role}")
}

/// The owner of a name, or `None` if [`own_name`] would never give it.
pub fn owner_of(name: &str) -> Option<Owner> {
    let mut parts = name.splitn(5, '-');
    if parts.next() != Some(PREFIX) {
        return None;
    }
    let pid = number(parts.next()?)?;
    let started = number(parts.next()?)?;
    let _n: u32 = number(parts.next()?)?;
    let role = parts.next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!role.is_empty() && role.chars().all(plain)).then_some(Owner { pid, started })
}

/// Parses a decimal number exactly as we would print it: no sign, no leading zero.
fn number<N: std::str::FromStr + ToString>(text: &str) -> Option<N> {
    text.parse().ok().filter(|number: &N| number.to_string() == text)
}

/// Field 22 of /proc/pid/stat (proc_pid_stat(5)), or `None` if there is no such process or it is a
/// zombie, which holds nothing any more.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command (field 2) stands in parentheses and may itself contain spaces and parentheses.
    let (_, after_command) = stat.rsplit_once(')')?;
    let mut fields = after_command.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    // `state` was field 3, so field 22 is the 19th after it.
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_ours_leads_back_to_us() {
        let owner = owner_of(&own_name(3, "sender")).unwrap();
        assert_eq!(owner, Owner::this_process());
        assert!(owner.is_alive());
    }

    #[test]
    fn another_process_with_our_pid_is_not_us() {
        let Owner { pid, started } = Owner::this_process();
        assert!(!Owner { pid, started: started + 1 }.is_alive());
        assert!(!Owner { pid: u32::MAX, started }.is_alive());
    }

    #[test]
    fn other_names_have_no_owner() {
        for name in [
            "",
            "kirikae",
            "kirikae-demo",
            "kirikae-12-34-0",
            "kirikae-12-34-0-",
            "kirikae-12-34-x-sender",
            "kirikae-012-34-0-sender",
            "kirikae-+12-34-0-sender",
            "kirikae-12-34-0-send/er",
            "xkirikae-12-34-0-sender",
        ] {
            assert_eq!(owner_of(name), None, "{name}");
        }
        assert!(owner_of("kirikae-12-34-0-sender").is_some());
    }
}
