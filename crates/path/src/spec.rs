//! A path as plain data, and how it becomes elements.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::check::Unfit;
use crate::{Chain, ElementSpec, Span, stream_seed};

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

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver back to the sender.
    Backward,
}

impl Direction {
    /// The other way.
    pub fn opposite(self) -> Direction {
        match self {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        })
    }
}

/// A description of an impossible path, or of one that delivers nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{direction} element {element}: {field} = {found} is not {allowed}")]
pub struct SpecError {
    /// The direction that the element belongs to.
    pub direction: Direction,
    /// The element's index in its direction, from 0.
    pub element: usize,
    /// The value's name in a scenario file, with those of the tables that it is in.
    pub field: String,
    /// The value that was given.
    pub found: String,
    /// A description of what is allowed.
    pub allowed: &'static str,
}

impl PathSpec {
    /// Checks the range of every value, and that the path delivers packets.
    ///
    /// # Errors
    /// The first value that is out of its range, with its place and what is allowed.
    pub fn validate(&self) -> Result<(), SpecError> {
        for (direction, elements) in
            [(Direction::Forward, &self.forward), (Direction::Backward, &self.backward)]
        {
            for (element, spec) in elements.iter().enumerate() {
                spec.check().map_err(|unfit| {
                    let Unfit { field, found, allowed } = unfit;
                    SpecError { direction, element, field, found, allowed }
                })?;
            }
        }
        Ok(())
    }

    /// The forward and the backward chain. Each random element draws from its own stream, seeded
    /// with [`stream_seed`]`(seed, [direction, element])`: direction 0 is forward, 1 backward, and
    /// elements count from 0. The same description and seed give the same fate for the same packets.
    ///
    /// # Errors
    /// A path that [`validate`](Self::validate) refuses.
    pub fn build<P: Send + 'static>(&self, seed: u64) -> Result<(Chain<P>, Chain<P>), SpecError> {
        self.validate()?;
        let chain = |direction: Direction, elements: &[ElementSpec]| {
            let build = |(index, spec): (usize, &ElementSpec)| {
                spec.build(stream_seed(seed, &[direction as u64, index as u64]))
            };
            Chain::new(elements.iter().enumerate().flat_map(build).collect())
        };
        Ok((chain(Direction::Forward, &self.forward), chain(Direction::Backward, &self.backward)))
    }

    /// The least round-trip time: that of a packet that never waits and meets each varying delay at its
    /// shortest, without its serialisation.
    pub fn base_rtt(&self) -> Span {
        propagation(&self.forward) + propagation(&self.backward)
    }
}

/// The least delay of a direction besides waiting and transmission: the sum of the elements' delays,
/// those that vary taken at their shortest. No packet is faster.
pub fn propagation(direction: &[ElementSpec]) -> Span {
    direction.iter().map(ElementSpec::propagation).sum()
}

/// The rate of a direction's narrowest element in bit/s, or `None` if nothing limits it. A varying rate
/// counts with its highest value, and a recorded one with its busiest millisecond: the direction is never
/// faster for longer than that.
pub fn bottleneck(direction: &[ElementSpec]) -> Option<u64> {
    direction.iter().filter_map(ElementSpec::highest_rate).min()
}

/// The highest rate that a direction carries for a second, in bit/s, or `None` if nothing limits it: as
/// [`bottleneck`], but a recorded rate counts with its busiest second.
pub fn sustained_rate(direction: &[ElementSpec]) -> Option<u64> {
    direction.iter().filter_map(ElementSpec::sustained_rate).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ArqSpec, CoDelSpec, CrossTrafficSpec, GilbertElliottSpec, LinkChangeSpec, LinkSpec, Order,
        QueueLimit, QueueSpec, RateSpec, RateStep, RecordedDelays, RecordedRate, RetrySpec,
        RunLossSpec, Time, Turns, UsedLink,
    };

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
    fn what_varies_counts_at_its_best() {
        let ms = Span::from_millis;
        let steps = [(0, 3), (1, 7), (2, 5)]
            .map(|(at, bits_per_second)| RateStep { at: Time::from_nanos(at), bits_per_second });
        let queue = QueueSpec::drop_tail(QueueLimit::Packets(9));
        let link = |rate| ElementSpec::Link(LinkSpec::new(rate, queue.clone()));
        let recorded = RecordedRate::parse("test", "1\n1\n9\n").unwrap();
        let used = |at, bits_per_second, delay| UsedLink {
            at: Time::from_nanos(at),
            silence: Span::ZERO,
            bits_per_second,
            delay,
        };
        let links = vec![used(0, 30, ms(8)), used(1, 20, ms(6))];
        let change = LinkChangeSpec { queue: queue.clone(), links };
        let delays = RecordedDelays::parse("test", "0 9\n1 4\n").unwrap();
        let order = Order::Free;
        for (element, rate, delay) in [
            (link(RateSpec::Scheduled(steps.to_vec())), Some(7), 0),
            (link(RateSpec::Recorded(recorded)), Some(24_000_000), 0),
            (ElementSpec::LinkChange(change), Some(30), 6),
            (ElementSpec::Jitter { delay: ms(5), jitter: ms(3), order }, None, 5),
            (ElementSpec::RecordedDelay { delays, order }, None, 4),
        ] {
            let direction = [element];
            assert_eq!(bottleneck(&direction), rate, "{direction:?}");
            assert_eq!(propagation(&direction), ms(delay), "{direction:?}");
        }
    }

    #[test]
    fn impossible_values_are_refused() {
        let limit = QueueLimit::Packets(1);
        let day = Span::from_secs(24 * 3600);
        let gilbert_elliott =
            |p, r, k, h| ElementSpec::GilbertElliott(GilbertElliottSpec { p, r, k, h });
        let arq = |loss, retries, retry_delay| ElementSpec::Arq {
            loss,
            arq: ArqSpec { retries, retry_delay },
        };
        let runs = |begin, lengths: &[(u64, f64)]| {
            ElementSpec::RunLoss(RunLossSpec { begin, lengths: lengths.to_vec() })
        };
        let refused = [
            (ElementSpec::Loss { probability: 1.5 }, "probability"),
            (ElementSpec::Loss { probability: -0.1 }, "probability"),
            (ElementSpec::Loss { probability: f64::NAN }, "probability"),
            (ElementSpec::Loss { probability: 1.0 }, "probability"),
            (gilbert_elliott(1.1, 0.5, 1.0, 0.0), "p"),
            (gilbert_elliott(0.1, -0.5, 1.0, 0.0), "r"),
            (gilbert_elliott(0.1, 0.5, 2.0, 0.0), "k"),
            (gilbert_elliott(0.1, 0.5, 1.0, 7.0), "h"),
            // Losses in both states; in the good state, which it never leaves; and in the bad state for ever.
            (gilbert_elliott(0.1, 0.5, 0.0, 0.0), "k"),
            (gilbert_elliott(0.0, 0.5, 0.0, 1.0), "k"),
            (gilbert_elliott(0.1, 0.0, 1.0, 0.0), "k"),
            (ElementSpec::Rate { bits_per_second: 0, limit }, "rate"),
            (ElementSpec::Delay { delay: day + Span::from_nanos(1) }, "delay"),
            (arq(1.0, 3, Span::ZERO), "loss"),
            (arq(0.5, 256, Span::ZERO), "retries"),
            (arq(0.5, 3, day + Span::from_nanos(1)), "retry-delay"),
            (runs(1.1, &[(1, 1.0)]), "begin"),
            (runs(0.1, &[]), "lengths"),
            (runs(0.1, &[(0, 1.0)]), "lengths"),
            (runs(0.1, &[(1, 0.0)]), "lengths"),
        ];
        for (element, field) in refused {
            let error = forward(element.clone()).build::<()>(1).map(drop).unwrap_err();
            assert_eq!((error.element, error.field.as_str()), (0, field), "{element:?}");
        }
        let allowed = [
            ElementSpec::Loss { probability: 0.0 },
            gilbert_elliott(0.1, 0.0, 0.0, 0.1),
            gilbert_elliott(0.0, 0.0, 0.1, 0.0),
            ElementSpec::Rate { bits_per_second: 1, limit },
            ElementSpec::Delay { delay: day },
            arq(0.99, 255, day),
            runs(1.0, &[(1_000_000, 1e-9)]),
        ];
        for element in allowed {
            assert_eq!(forward(element).validate(), Ok(()));
        }
    }

    #[test]
    fn parts_of_a_link_are_checked_and_named() {
        let good = LinkSpec {
            rate: RateSpec::Constant(1),
            overhead: 38,
            queue: QueueSpec {
                limit: QueueLimit::Packets(0),
                mark: Some(QueueLimit::Packets(0)),
                codel: Some(CoDelSpec {
                    target: Span::from_millis(5),
                    interval: Span::from_millis(100),
                    mark: true,
                }),
                reorder_interval: Some(1),
            },
            retries: Some(RetrySpec {
                channel: GilbertElliottSpec { p: 0.1, r: 0.1, k: 1.0, h: 0.0 },
                limit: 7,
            }),
            cross: Some(CrossTrafficSpec {
                bits_per_second: 1,
                packet_bytes: 1500,
                turns: Some(Turns {
                    on: Span::from_millis(1),
                    off: Span::from_millis(1),
                    exponential: false,
                }),
            }),
        };
        type Spoil = fn(&mut LinkSpec);
        let spoilt: [(Spoil, &str); 9] = [
            (|link| link.rate = RateSpec::Constant(0), "rate"),
            (|link| link.rate = RateSpec::Scheduled(Vec::new()), "steps"),
            (|link| link.queue.reorder_interval = Some(0), "reorder-interval"),
            (|link| link.queue.codel.as_mut().unwrap().target = Span::ZERO, "codel.target"),
            (|link| link.retries.as_mut().unwrap().channel.r = 0.0, "retries.k"),
            (|link| link.retries.as_mut().unwrap().limit = 256, "retries.limit"),
            (|link| link.cross.as_mut().unwrap().bits_per_second = 0, "cross.rate"),
            (|link| link.cross.as_mut().unwrap().packet_bytes = 19, "cross.packet"),
            (
                |link| link.cross.as_mut().unwrap().turns.as_mut().unwrap().off = Span::ZERO,
                "cross.off",
            ),
        ];
        assert_eq!(forward(ElementSpec::Link(good.clone())).validate(), Ok(()));
        for (spoil, field) in spoilt {
            let mut link = good.clone();
            spoil(&mut link);
            assert_eq!(forward(ElementSpec::Link(link)).validate().unwrap_err().field, field);
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
