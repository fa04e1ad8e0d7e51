//! The fates of packets, passed or lost, in the order in which they were sent.

/// Run lengths: so many that passed, then so many that were lost, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    runs: Vec<Run>,
}

/// Packets that passed, and the lost ones behind them. In the last run either number may be 0, in the first
/// that of packets that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub passed: u64,
    pub lost: u64,
}

impl Fates {
    /// Adds the next packet.
    pub fn push(&mut self, lost: bool) {
        self.add(if lost { Run { passed: 0, lost: 1 } } else { Run { passed: 1, lost: 0 } });
    }

    fn add(&mut self, run: Run) {
        match self.runs.last_mut() {
            // A packet that passes behind a loss begins another run.
            Some(last) if run.passed == 0 || last.lost == 0 => {
                last.passed += run.passed;
                last.lost += run.lost;
            }
            _ => self.runs.push(run),
        }
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// How many there are.
    pub fn packets(&self) -> u64 {
        self.runs.iter().map(|run| run.passed + run.lost).sum()
    }

    /// How many were lost.
    pub fn lost(&self) -> u64 {
        self.runs.iter().map(|run| run.lost).sum()
    }

    /// Lengths of the runs of lost packets.
    pub fn losses(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().map(|run| run.lost).filter(|lost| *lost > 0)
    }

    /// Lengths of what passed between two losses.
    pub fn gaps(&self) -> impl Iterator<Item = u64> {
        let between = self.runs.get(1..).unwrap_or_default();
        between.iter().filter(|run| run.lost > 0).map(|run| run.passed)
    }
}

impl FromIterator<bool> for Fates {
    fn from_iter<I: IntoIterator<Item = bool>>(lost: I) -> Fates {
        let mut fates = Fates::default();
        lost.into_iter().for_each(|lost| fates.push(lost));
        fates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_kept() {
        let fates: Fates = "L..LL.L...".chars().map(|it| it == 'L').collect();
        assert_eq!((fates.packets(), fates.lost()), (10, 4));
        assert_eq!(fates.losses().collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!(fates.gaps().collect::<Vec<_>>(), [2, 1]);
        assert_eq!(Fates::default().gaps().count(), 0);
    }
}
