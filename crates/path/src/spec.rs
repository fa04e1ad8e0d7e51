//! A path as plain data, and how it becomes elements.

use std::fmt;

use serde::Serialize;
use thiserror::Error;

use crate::{
    Chain, Delay, Element, GilbertElliott, IndependentLoss, ListedLoss, QueueLimit, Rate, Span,
    stream_seed,
};

/// Both directions of a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathSpec {
    /// From the sender to the receiver.
    pub forward: DirectionSpec,
    /// From the receiver back to the sender.
    pub backward: DirectionSpec,
}

/// The elements of one direction, in the order in which packets meet them.
pub type DirectionSpec = Vec<ElementSpec>;

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver back to the sender.
    Backward,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        })
    }
}

/// One element of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "element")]
pub enum ElementSpec {
    /// [`Delay`]
    Delay {
        /// At most one day.
        delay: Span,
    },
    /// [`Rate`]
    Rate {
        /// At least 1.
        bits_per_second: u64,
        /// What may wait, not counting the packet being transmitted.
        limit: QueueLimit,
    },
    /// [`IndependentLoss`]
    Loss {
        /// 0 to 1.
        probability: f64,
    },
    /// [`GilbertElliott`]
    GilbertElliott {
        /// Probability of moving from good to bad, 0 to 1.
        p: f64,
        /// Probability of moving from bad to good, 0 to 1.
        r: f64,
        /// Probability that a packet passes in the good state, 0 to 1.
        k: f64,
        /// Probability that a packet passes in the bad state, 0 to 1.
        h: f64,
    },
    /// [`ListedLoss`]
    ListedLoss {
        /// The numbers of the packets to lose; the first packet has number 0.
        packets: Vec<u64>,
    },
}

/// A description that is not a path. `element` counts from 0 within its direction.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SpecError {
    /// A probability is not one.
    #[error("{direction} element {element}: {name} = {value} is not a probability from 0 to 1")]
    Probability {
        /// Where.
        direction: Direction,
        /// Where.
        element: usize,
        /// The field's name.
        name: &'static str,
        /// What it was given.
        value: f64,
    },
    /// A link without a rate.
    #[error("{direction} element {element}: a rate must be at least 1 bit/s")]
    ZeroRate {
        /// Where.
        direction: Direction,
        /// Where.
        element: usize,
    },
    /// A delay that can only be a mistaken unit.
    #[error("{direction} element {element}: a delay of {delay} is longer than a day")]
    LongDelay {
        /// Where.
        direction: Direction,
        /// Where.
        element: usize,
        /// What it was given.
        delay: Span,
    },
}

const LONGEST_DELAY: Span = Span::from_secs(24 * 3600);

impl PathSpec {
    /// Checks every value's range.
    pub fn validate(&self) -> Result<(), SpecError> {
        for (direction, elements) in
            [(Direction::Forward, &self.forward), (Direction::Backward, &self.backward)]
        {
            for (element, spec) in elements.iter().enumerate() {
                spec.validate(direction, element)?;
            }
        }
        Ok(())
    }

    /// The forward and the backward chain. Each random element draws from its own stream, seeded
    /// with [`stream_seed`]`(seed, [direction, element])`: direction 0 is forward, 1 backward, and
    /// elements count from 0.
    pub fn build<P: Send + 'static>(&self, seed: u64) -> Result<(Chain<P>, Chain<P>), SpecError> {
        self.validate()?;
        let chain = |direction: Direction, elements: &[ElementSpec]| {
            let build = |(index, spec): (usize, &ElementSpec)| {
                spec.build(stream_seed(seed, &[direction as u64, index as u64]))
            };
            Chain::new(elements.iter().enumerate().map(build).collect())
        };
        Ok((chain(Direction::Forward, &self.forward), chain(Direction::Backward, &self.backward)))
    }

    /// The round-trip time of a packet that never waits, without its serialisation.
    pub fn base_rtt(&self) -> Span {
        propagation(&self.forward) + propagation(&self.backward)
    }
}

/// The sum of a direction's constant delays.
pub fn propagation(direction: &[ElementSpec]) -> Span {
    direction
        .iter()
        .map(|element| match element {
            ElementSpec::Delay { delay } => *delay,
            _ => Span::ZERO,
        })
        .sum()
}

/// The lowest rate of a direction in bit/s, or `None` if nothing limits it.
pub fn bottleneck(direction: &[ElementSpec]) -> Option<u64> {
    direction
        .iter()
        .filter_map(|element| match element {
            ElementSpec::Rate { bits_per_second, .. } => Some(*bits_per_second),
            _ => None,
        })
        .min()
}

impl ElementSpec {
    fn validate(&self, direction: Direction, element: usize) -> Result<(), SpecError> {
        let probability = |name, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(())
            } else {
                Err(SpecError::Probability { direction, element, name, value })
            }
        };
        match *self {
            ElementSpec::Delay { delay } if delay > LONGEST_DELAY => {
                Err(SpecError::LongDelay { direction, element, delay })
            }
            ElementSpec::Rate { bits_per_second: 0, .. } => {
                Err(SpecError::ZeroRate { direction, element })
            }
            ElementSpec::Loss { probability: value } => probability("probability", value),
            ElementSpec::GilbertElliott { p, r, k, h } => [("p", p), ("r", r), ("k", k), ("h", h)]
                .into_iter()
                .try_for_each(|(name, value)| probability(name, value)),
            ElementSpec::Delay { .. }
            | ElementSpec::Rate { .. }
            | ElementSpec::ListedLoss { .. } => Ok(()),
        }
    }

    fn build<P: Send + 'static>(&self, seed: u64) -> Box<dyn Element<P> + Send> {
        match *self {
            ElementSpec::Delay { delay } => Box::new(Delay::new(delay)),
            ElementSpec::Rate { bits_per_second, limit } => {
                Box::new(Rate::new(bits_per_second, limit))
            }
            ElementSpec::Loss { probability } => Box::new(IndependentLoss::new(probability, seed)),
            ElementSpec::GilbertElliott { p, r, k, h } => {
                Box::new(GilbertElliott::new(p, r, k, h, seed))
            }
            ElementSpec::ListedLoss { ref packets } => Box::new(ListedLoss::new(packets.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forward(element: ElementSpec) -> PathSpec {
        PathSpec { forward: vec![element], backward: Vec::new() }
    }

    #[test]
    fn helpers_tell_delay_and_rate() {
        let rate = |bits_per_second| ElementSpec::Rate {
            bits_per_second,
            limit: QueueLimit::Packets(100),
        };
        let delay = |millis| ElementSpec::Delay { delay: Span::from_millis(millis) };
        let path = PathSpec {
            forward: vec![rate(20), delay(30), rate(10), delay(40)],
            backward: vec![delay(50)],
        };
        assert_eq!(propagation(&path.forward), Span::from_millis(70));
        assert_eq!(path.base_rtt(), Span::from_millis(120));
        assert_eq!((bottleneck(&path.forward), bottleneck(&path.backward)), (Some(10), None));
    }

    #[test]
    fn impossible_values_are_refused() {
        let limit = QueueLimit::Packets(1);
        let day = Span::from_secs(24 * 3600);
        let refused = [
            ElementSpec::Loss { probability: 1.5 },
            ElementSpec::Loss { probability: -0.1 },
            ElementSpec::Loss { probability: f64::NAN },
            ElementSpec::GilbertElliott { p: 1.1, r: 0.5, k: 1.0, h: 0.0 },
            ElementSpec::GilbertElliott { p: 0.1, r: -0.5, k: 1.0, h: 0.0 },
            ElementSpec::GilbertElliott { p: 0.1, r: 0.5, k: 2.0, h: 0.0 },
            ElementSpec::GilbertElliott { p: 0.1, r: 0.5, k: 1.0, h: 7.0 },
            ElementSpec::Rate { bits_per_second: 0, limit },
            ElementSpec::Delay { delay: day + Span::from_nanos(1) },
        ];
        for element in refused {
            let error = forward(element.clone()).build::<()>(1).map(drop).unwrap_err();
            assert!(error.to_string().starts_with("forward element 0: "), "{element:?}: {error}");
        }
        let allowed = [
            ElementSpec::Loss { probability: 0.0 },
            ElementSpec::Loss { probability: 1.0 },
            ElementSpec::Rate { bits_per_second: 1, limit },
            ElementSpec::Delay { delay: day },
        ];
        for element in allowed {
            assert_eq!(forward(element).validate(), Ok(()));
        }
    }

    #[test]
    fn an_error_names_the_value() {
        let path = PathSpec {
            forward: Vec::new(),
            backward: vec![
                ElementSpec::Delay { delay: Span::ZERO },
                ElementSpec::Loss { probability: 1.5 },
            ],
        };
        assert_eq!(
            path.validate().unwrap_err().to_string(),
            "backward element 1: probability = 1.5 is not a probability from 0 to 1"
        );
    }
}
