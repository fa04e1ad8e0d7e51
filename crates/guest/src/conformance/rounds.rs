//! cwnd at the end of each round trip.

use nix::libc::tcp_info;
use serde::{Deserialize, Serialize};

/// cwnd at the end of each round trip: those before the first loss was repaired, those between the
/// first and the second, and so on. So rounds are counted from the same lost packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds(pub Vec<Vec<u32>>);

impl Rounds {
    /// Round by round the median of several runs of one algorithm: the lower one of the middle two
    /// where their number is even, and as many rounds as all of them have. None where they did not
    /// recover equally often, or where there is no run.
    pub fn median(runs: &[Rounds]) -> Option<Rounds> {
        let phases = runs.first()?.0.len();
        if runs.iter().any(|run| run.0.len() != phases) {
            return None;
        }
        let rounds = |phase: usize| runs.iter().map(move |run| &run.0[phase]);
        let of_phase = |phase| {
            let of_all = rounds(phase).map(Vec::len).min().unwrap_or_default();
            let of_round = |round| {
                let mut windows: Vec<_> = rounds(phase).map(|windows| windows[round]).collect();
                windows.sort_unstable();
                windows[(windows.len() - 1) / 2]
            };
            (0..of_all).map(of_round).collect()
        };
        Some(Rounds((0..phases).map(of_phase).collect()))
    }
}

/// Finds the rounds in what the kernel tells of the socket several times in a round.
#[derive(Default)]
pub struct Counter {
    pub rounds: Rounds,
    /// Bytes sent so far, each counted once.
    pub sent: u64,
    /// The round is over when this many bytes are ACKed: those sent when it began.
    ends_at: u64,
    recovering: bool,
}

/// States of `tcp_info`, include/uapi/linux/tcp.h.
const OPEN: u8 = 0;
const RECOVERY: u8 = 3;

impl Counter {
    pub fn see(&mut self, info: &tcp_info) {
        self.sent = info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
        // In recovery and after a timeout the kernel itself moves cwnd.
        if info.tcpi_ca_state >= RECOVERY {
            self.recovering = true;
        }
        if self.sent == 0 || self.recovering && info.tcpi_ca_state != OPEN {
            return;
        }
        let phases = &mut self.rounds.0;
        let begins = self.recovering || phases.is_empty();
        if begins {
            phases.push(Vec::new());
            self.recovering = false;
        }
        if begins || info.tcpi_bytes_acked > self.ends_at {
            self.ends_at = self.sent;
            phases.last_mut().expect("begun").push(info.tcpi_snd_cwnd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_give_the_median_of_each_round() {
        let run = |first: &[u32], second: &[u32]| Rounds(vec![first.to_vec(), second.to_vec()]);
        let runs = [
            run(&[10, 20], &[13, 14, 15]),
            run(&[10, 21, 40], &[25, 26]),
            run(&[10, 22], &[16, 17]),
        ];
        assert_eq!(Rounds::median(&runs), Some(run(&[10, 21], &[16, 17])));
        assert_eq!(Rounds::median(&[]), None);
        assert_eq!(Rounds::median(&[run(&[10], &[5]), Rounds(vec![vec![10]])]), None);
    }

    #[test]
    fn a_round_is_over_when_its_first_moments_data_is_acked() {
        let mut counter = Counter::default();
        let seen = [
            // sent, retransmitted, ACKed, cwnd, state
            (0, 0, 1, 9, OPEN),
            (10, 0, 1, 10, OPEN),
            (15, 0, 6, 15, OPEN),
            (20, 0, 11, 20, OPEN),
            (35, 0, 20, 39, OPEN),
            (40, 0, 21, 40, OPEN),
            (60, 0, 30, 41, 1),
            (62, 1, 30, 30, RECOVERY),
            (70, 1, 70, 25, RECOVERY),
            (71, 1, 70, 20, OPEN),
            (80, 1, 71, 21, OPEN),
        ];
        for (bytes_sent, bytes_retrans, bytes_acked, cwnd, state) in seen {
            // A struct of the C library with private fields has no other way.
            let mut info = crate::system::no_tcp_info();
            info.tcpi_bytes_sent = bytes_sent;
            info.tcpi_bytes_retrans = bytes_retrans;
            info.tcpi_bytes_acked = bytes_acked;
            info.tcpi_snd_cwnd = cwnd;
            info.tcpi_ca_state = state;
            counter.see(&info);
        }
        assert_eq!(counter.rounds, Rounds(vec![vec![10, 20, 40], vec![20, 21]]));
        assert_eq!(counter.sent, 79);
    }
}
