//! Keeps the latest switches for those who ask.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use kirikae_vocabulary::Switch;

use crate::addresses::Addresses;
use crate::status::Numbered;

/// How many switches are remembered.
pub const REMEMBERED: usize = 10_000;

/// For how long they are.
pub const KEPT_FOR: Duration = Duration::from_secs(3600);

/// Remembers the latest switches, and counts all of them.
#[derive(Debug, Default)]
pub struct SwitchLog {
    latest: VecDeque<Numbered>,
    /// The number of switches that were made, by reason.
    pub made: BTreeMap<String, u64>,
    /// The number of choices that were only observed.
    pub observed: u64,
}

impl SwitchLog {
    /// Adds the next switch.
    pub fn push(&mut self, switch: Switch) {
        if switch.observed {
            self.observed += 1;
        } else {
            *self.made.entry(switch.reason.to_string()).or_default() += 1;
        }
        if self.latest.len() == REMEMBERED {
            self.latest.pop_front();
        }
        let number = self.observed + self.made.values().sum::<u64>();
        self.latest.push_back(Numbered { number, switch });
    }

    /// The switches with a number above `after` that are still remembered, the oldest first.
    pub fn after(&self, after: u64) -> Vec<Numbered> {
        self.latest.iter().filter(|it| it.number > after).cloned().collect()
    }

    /// Forgets the switches that are older than [`KEPT_FOR`].
    pub fn forget_old(&mut self, now_ns: u64) {
        let oldest_ns = now_ns.saturating_sub(KEPT_FOR.as_nanos() as u64);
        while self.latest.front().is_some_and(|it| it.switch.at_ns < oldest_ns) {
            self.latest.pop_front();
        }
    }

    /// Keeps no more of remote addresses than is told of them from now on.
    pub fn shorten_addresses(&mut self, addresses: Addresses) {
        for Numbered { switch, .. } in &mut self.latest {
            switch.remote = addresses.of(switch.remote);
        }
    }
}

#[cfg(test)]
mod tests {
    use kirikae_vocabulary::Reason;

    use super::*;

    fn switch(at_ns: u64) -> Switch {
        Switch {
            at_ns,
            local: "192.0.2.1:443".parse().unwrap(),
            remote: "198.51.100.7:50000".parse().unwrap(),
            namespace: 7,
            from: "cubic".into(),
            to: "kk_cubic".into(),
            reason: Reason::PredictedLatency,
            observed: false,
            rtt_s: 0.1,
            rate_bit_s: None,
            burst_bytes: None,
            stream_share: None,
            isolated_loss: 0.0,
            burst_loss: 0.0,
            predicted_s: Vec::new(),
            known: None,
        }
    }

    #[test]
    fn switches_are_kept_for_an_hour() {
        const SECOND_NS: u64 = 1_000_000_000;
        let mut log = SwitchLog::default();
        (0..3).for_each(|n| log.push(switch(n * 1800 * SECOND_NS)));
        log.forget_old(3600 * SECOND_NS);
        assert_eq!(log.after(0).len(), 3);
        log.forget_old(3601 * SECOND_NS);
        assert_eq!(log.after(0).iter().map(|it| it.number).collect::<Vec<_>>(), [2, 3]);
        log.forget_old(9000 * SECOND_NS);
        assert_eq!(log.after(0), []);
        assert_eq!(log.made.values().sum::<u64>(), 3, "they are counted for good");
        log.push(switch(9000 * SECOND_NS));
        assert_eq!(log.after(0)[0].number, 4);
    }

    #[test]
    fn addresses_that_are_not_told_any_more_are_not_kept() {
        let mut log = SwitchLog::default();
        log.push(switch(1));
        log.shorten_addresses(Addresses::Prefix);
        assert_eq!(log.after(0)[0].switch.remote, "198.51.100.0:50000".parse().unwrap());
    }
}
