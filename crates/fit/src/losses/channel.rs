//! The likelihood of losses in a Gilbert-Elliott channel. A packet is lost or passes in the state that it
//! finds, then the channel moves, as in kirikae_path's element. The state is hidden, so its distribution is
//! carried along (Rabiner, Proc. IEEE 77(2), 1989, section III.A); over a run of equal fates the step is
//! raised to a power.

use super::fates::{Fates, Run};

/// The parameters as in kirikae_path's GilbertElliottSpec: p is the probability of turning bad, r that of
/// turning good, and k and h those of passing in the good and the bad state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Channel {
    pub p: f64,
    pub r: f64,
    pub k: f64,
    pub h: f64,
}

/// A value for the good state, and one for the bad state.
type State = [f64; 2];
/// Weights of the steps between the two states.
type Matrix = [[f64; 2]; 2];

impl Channel {
    /// A channel that is always good, and loses packets independently.
    pub fn independent(loss: f64) -> Channel {
        Channel { p: 0.0, r: 1.0, k: 1.0 - loss, h: 1.0 }
    }

    /// The loss rate in the long run.
    pub fn loss_rate(&self) -> f64 {
        let [good, bad] = self.stationary();
        good * (1.0 - self.k) + bad * (1.0 - self.h)
    }

    /// The distribution of the state that a packet finds in the long run.
    fn stationary(&self) -> State {
        let Channel { p, r, .. } = *self;
        [r / (p + r), p / (p + r)]
    }

    /// The step for an event with these probabilities in each state: the event happens, and the channel
    /// moves.
    fn step(&self, happens: State) -> Matrix {
        let Channel { p, r, .. } = *self;
        let [good, bad] = happens;
        [[good * (1.0 - p), good * p], [bad * r, bad * (1.0 - r)]]
    }

    fn passing(&self) -> Matrix {
        self.step([self.k, self.h])
    }

    fn losing(&self) -> Matrix {
        self.step([1.0 - self.k, 1.0 - self.h])
    }

    /// The logarithm of the likelihood of all the fates; the state at the beginning is that of the long run.
    pub fn log_likelihood(&self, fates: &Fates) -> f64 {
        let (passing, losing) = (Power::new(self.passing()), Power::new(self.losing()));
        let (mut state, mut product, mut log) = (self.stationary(), 1.0, 0.0);
        for Run { passed, lost } in fates.runs() {
            for (power, times) in [(&passing, *passed), (&losing, *lost)] {
                let next = power.apply(state, times);
                let sum: f64 = next.iter().sum();
                state = next.map(|it| it / sum);
                product *= sum;
            }
            // Logarithms take longest, so they are taken seldom.
            if product < 1e-200 {
                log += f64::ln(product);
                product = 1.0;
            }
        }
        let scales = |power: &Power, times: u64| {
            if times == 0 { 0.0 } else { power.larger.ln() * times as f64 }
        };
        let lost = fates.lost();
        log + product.ln() + scales(&passing, fates.packets() - lost) + scales(&losing, lost)
    }

    /// Probabilities that a run of losses has at least 1, 2, ... packets, as many as asked for.
    pub fn loss_runs(&self, most: u64) -> impl Iterator<Item = f64> + use<> {
        at_least(self.stationary(), self.passing(), self.losing(), most)
    }

    /// The probability that at least this many packets pass between two losses.
    pub fn gap_at_least(&self, length: u64) -> f64 {
        let begin = times(self.stationary(), self.losing());
        let power = Power::new(self.passing());
        let reaches = |length| power.apply(begin, length).iter().sum::<f64>();
        reaches(length) / reaches(1) * power.larger.powf(length as f64 - 1.0)
    }
}

fn at_least(state: State, before: Matrix, each: Matrix, most: u64) -> impl Iterator<Item = f64> {
    let mut state = times(times(state, before), each);
    let first: f64 = state.iter().sum();
    (0..most).map(move |_| {
        let share = state.iter().sum::<f64>() / first;
        state = times(state, each);
        share
    })
}

fn times(state: State, matrix: Matrix) -> State {
    let [a, b] = state;
    [a * matrix[0][0] + b * matrix[1][0], a * matrix[0][1] + b * matrix[1][1]]
}

/// A matrix to be raised to powers: by its eigenvalues, which are real where no entry is negative.
struct Power {
    matrix: Matrix,
    larger: f64,
    smaller: f64,
}

impl Power {
    fn new(matrix: Matrix) -> Power {
        let [[a, b], [c, d]] = matrix;
        let half = (a + d) / 2.0;
        let root = ((a - d) * (a - d) / 4.0 + b * c).sqrt();
        let larger = half + root;
        // This takes it from the product of both, without cancellation.
        let smaller = if larger > 0.0 { (a * d - b * c) / larger } else { 0.0 };
        Power { matrix, larger, smaller }
    }

    /// A state after so many steps, to be multiplied by the larger eigenvalue as often.
    fn apply(&self, state: State, steps: u64) -> State {
        if steps == 0 {
            return state;
        }
        let Power { matrix, larger, smaller } = *self;
        let less = |by: f64| {
            let [[a, b], [c, d]] = matrix;
            times(state, [[a - by, b], [c, d - by]])
        };
        let (first, second) = (less(smaller), less(larger));
        let ratio = (smaller / larger).powi(i32::try_from(steps).unwrap_or(i32::MAX));
        let apart = larger - smaller;
        if apart > 1e-9 * larger {
            let next = [0, 1].map(|it| (first[it] - ratio * second[it]) / apart);
            next.map(|it| it.max(0.0))
        } else {
            // Equal eigenvalues: M^n = l^n + n l^(n-1) (M - l).
            let n = steps as f64;
            let next = [0, 1].map(|it| state[it] + n / larger * second[it]);
            next.map(|it| it.max(0.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANNEL: Channel = Channel { p: 0.1, r: 0.3, k: 0.95, h: 0.2 };

    fn fates(text: &str) -> Fates {
        text.chars().map(|it| it == 'L').collect()
    }

    /// The sum over all ways through the states.
    fn by_hand(channel: &Channel, text: &str) -> f64 {
        let ways = 0..1u32 << text.len();
        let probability = |way: u32| {
            let mut product = 1.0;
            let bad = |place: usize| way >> place & 1 == 1;
            for (place, letter) in text.chars().enumerate() {
                product *= match (place, bad(place)) {
                    (0, bad) => channel.stationary()[usize::from(bad)],
                    (_, now) => match (bad(place - 1), now) {
                        (false, false) => 1.0 - channel.p,
                        (false, true) => channel.p,
                        (true, false) => channel.r,
                        (true, true) => 1.0 - channel.r,
                    },
                };
                let passes = if bad(place) { channel.h } else { channel.k };
                product *= if letter == 'L' { 1.0 - passes } else { passes };
            }
            product
        };
        ways.map(probability).sum::<f64>().ln()
    }

    #[test]
    fn likelihood_is_the_sum_over_all_ways() {
        for text in ["...LL.L....", "LL......L", ".", "L", "LLLLLLLL.."] {
            for channel in
                [CHANNEL, Channel { k: 1.0, h: 0.0, ..CHANNEL }, Channel::independent(0.1)]
            {
                let (found, expected) =
                    (channel.log_likelihood(&fates(text)), by_hand(&channel, text));
                assert!((found - expected).abs() < 1e-9, "{text} {channel:?}: {found} {expected}");
            }
        }
    }

    #[test]
    fn run_lengths_of_gilberts_channel_are_geometric() {
        let channel = Channel { p: 0.01, r: 0.25, k: 1.0, h: 0.0 };
        for (length, share) in (0..).zip(channel.loss_runs(5)) {
            assert!((share - 0.75f64.powi(length)).abs() < 1e-12);
        }
        assert!((channel.gap_at_least(101) - 0.99f64.powi(100)).abs() < 1e-12);
        assert!((channel.loss_rate() - 0.01 / 0.26).abs() < 1e-12);
    }
}
