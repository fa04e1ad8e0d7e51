//! One element as plain data, its range of values, and how it becomes state machines.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::check::{self, Unfit};
use crate::{
    AdaptiveModulationSpec, Arq, ArqSpec, Delay, During, Element, GilbertElliott,
    GilbertElliottSpec, IndependentLoss, Intervals, Jitter, LimitedDelay, LinkChange,
    LinkChangeSpec, LinkSpec, ListedLoss, Mtu, Order, Outage, OutageSpec, QueueLimit, QueueSpec,
    RateSpec, RecordedDelay, RecordedDelays, RunLoss, RunLossSpec, Span,
};

/// Sizes of an MTU, bytes: from what every link passes on whole (RFC 791, section 3.2) to the largest IP packet.
const MTUS: RangeInclusive<u32> = 68..=65_535;

/// One element of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "element")]
pub enum ElementSpec {
    /// [`Delay`]
    Delay {
        /// How much later each packet leaves than it arrived; at most one day.
        delay: Span,
    },
    /// [`LimitedDelay`]
    LimitedDelay {
        /// How much later each packet leaves than it arrived; at most one day.
        delay: Span,
        /// How much may be under way at once; the rest is dropped.
        limit: QueueLimit,
    },
    /// [`Jitter`]
    Jitter {
        /// The least delay, at most one day.
        delay: Span,
        /// The largest addition to it, at most one day.
        jitter: Span,
        /// Whether packets may overtake each other.
        order: Order,
    },
    /// [`RecordedDelay`]
    RecordedDelay {
        /// The recorded delays.
        delays: RecordedDelays,
        /// Whether packets may overtake each other.
        order: Order,
    },
    /// The usual [`Link`](ElementSpec::Link): a constant rate and a drop-tail queue.
    Rate {
        /// The rate in bit/s; at least 1.
        bits_per_second: u64,
        /// How much may wait, without the packet that is being transmitted.
        limit: QueueLimit,
    },
    /// A link with a queue before it.
    Link(LinkSpec),
    /// A radio link with adaptive modulation.
    AdaptiveModulation(AdaptiveModulationSpec),
    /// [`LinkChange`]
    LinkChange(LinkChangeSpec),
    /// [`IndependentLoss`]
    Loss {
        /// The probability that a packet is lost; from 0 to less than 1.
        probability: f64,
    },
    /// [`GilbertElliott`]
    GilbertElliott(GilbertElliottSpec),
    /// [`RunLoss`]
    RunLoss(RunLossSpec),
    /// [`ListedLoss`]
    ListedLoss {
        /// The numbers of the packets to lose; the first packet has number 0.
        packets: Vec<u64>,
    },
    /// [`During`]
    During {
        /// The channel that loses packets meanwhile: one of the losses above.
        loss: Box<ElementSpec>,
        /// The times at which it loses.
        #[serde(flatten)]
        when: Intervals,
    },
    /// [`Arq`]
    Arq {
        /// Probability that a single transmission is lost, 0 to less than 1.
        loss: f64,
        /// The number of repetitions and their delay.
        #[serde(flatten)]
        arq: ArqSpec,
    },
    /// [`Outage`]
    Outage(OutageSpec),
    /// [`Mtu`]
    Mtu {
        /// The largest packet that passes, from 68 to 65,535 bytes.
        bytes: u32,
    },
}

impl ElementSpec {
    /// The least delay that a packet can meet here besides waiting and transmission.
    pub(crate) fn propagation(&self) -> Span {
        match self {
            ElementSpec::Delay { delay }
            | ElementSpec::LimitedDelay { delay, .. }
            | ElementSpec::Jitter { delay, .. } => *delay,
            ElementSpec::RecordedDelay { delays, .. } => delays.least(),
            ElementSpec::LinkChange(spec) => spec.least_delay(),
            _ => Span::ZERO,
        }
    }

    /// The highest rate in bit/s at which packets can ever leave, `None` for any.
    pub(crate) fn highest_rate(&self) -> Option<u64> {
        match self {
            ElementSpec::Rate { bits_per_second, .. } => Some(*bits_per_second),
            ElementSpec::Link(spec) => Some(spec.rate.highest()),
            ElementSpec::AdaptiveModulation(spec) => Some(spec.radio.fastest_bits_per_second),
            ElementSpec::LinkChange(spec) => Some(spec.highest_rate()),
            _ => None,
        }
    }

    /// The highest rate in bit/s at which packets can leave for a second, `None` for any.
    pub(crate) fn sustained_rate(&self) -> Option<u64> {
        match self {
            ElementSpec::Link(spec) => Some(spec.rate.sustained()),
            _ => self.highest_rate(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Unfit> {
        match self {
            ElementSpec::Delay { delay } | ElementSpec::LimitedDelay { delay, .. } => {
                check::delay("delay", *delay)
            }
            ElementSpec::Jitter { delay, jitter, .. } => {
                check::delay("delay", *delay)?;
                check::delay("jitter", *jitter)
            }
            ElementSpec::Rate { bits_per_second, .. } => check::rate("rate", *bits_per_second),
            ElementSpec::Link(spec) => spec.check(),
            ElementSpec::AdaptiveModulation(spec) => spec.check(),
            ElementSpec::LinkChange(spec) => spec.check(),
            ElementSpec::Loss { probability } => check::loss("probability", *probability),
            ElementSpec::GilbertElliott(spec) => spec.check(),
            ElementSpec::RunLoss(spec) => spec.check(),
            ElementSpec::Arq { loss, arq } => {
                check::loss("loss", *loss)?;
                arq.check()
            }
            ElementSpec::During { loss, when } => {
                check::check(loss.loses(), "element", "another", "a loss")?;
                loss.check()?;
                when.check("during")
            }
            ElementSpec::Outage(spec) => spec.when.check("intervals"),
            ElementSpec::Mtu { bytes } => {
                let fits = MTUS.contains(bytes);
                check::check(fits, "mtu", format!("{bytes} B"), "a size from 68 B to 65535 B")
            }
            ElementSpec::RecordedDelay { .. } | ElementSpec::ListedLoss { .. } => Ok(()),
        }
    }

    /// Whether it is a channel that passes or drops, and does nothing else.
    fn loses(&self) -> bool {
        matches!(
            self,
            ElementSpec::Loss { .. }
                | ElementSpec::GilbertElliott(_)
                | ElementSpec::RunLoss(_)
                | ElementSpec::ListedLoss { .. }
        )
    }

    /// Builds its state machines, in the order in which packets meet them.
    pub(crate) fn build<P: Send + 'static>(&self, seed: u64) -> Vec<Box<dyn Element<P> + Send>> {
        let element: Box<dyn Element<P> + Send> = match self {
            ElementSpec::Delay { delay } => Box::new(Delay::new(*delay)),
            ElementSpec::LimitedDelay { delay, limit } => {
                Box::new(LimitedDelay::new(*delay, *limit))
            }
            ElementSpec::Jitter { delay, jitter, order } => {
                Box::new(Jitter::new(*delay, *jitter, *order, seed))
            }
            ElementSpec::RecordedDelay { delays, order } => {
                Box::new(RecordedDelay::new(delays.clone(), *order))
            }
            ElementSpec::Rate { bits_per_second, limit } => {
                let rate = RateSpec::Constant(*bits_per_second);
                LinkSpec::new(rate, QueueSpec::drop_tail(*limit)).build(seed)
            }
            ElementSpec::Link(spec) => spec.build(seed),
            ElementSpec::AdaptiveModulation(spec) => return spec.build(seed).into(),
            ElementSpec::LinkChange(spec) => Box::new(LinkChange::new(spec.clone())),
            ElementSpec::Loss { probability } => Box::new(IndependentLoss::new(*probability, seed)),
            ElementSpec::GilbertElliott(spec) => Box::new(GilbertElliott::new(*spec, seed)),
            ElementSpec::RunLoss(spec) => Box::new(RunLoss::new(spec, seed)),
            ElementSpec::ListedLoss { packets } => Box::new(ListedLoss::new(packets.clone())),
            ElementSpec::Arq { loss, arq } => Box::new(Arq::new(*arq, *loss, seed)),
            ElementSpec::During { loss, when } => {
                let channel = loss.build(seed).pop().expect("one element");
                Box::new(During::new(channel, when.clone()))
            }
            ElementSpec::Outage(spec) => Box::new(Outage::new(spec.clone())),
            ElementSpec::Mtu { bytes } => Box::new(Mtu::new(*bytes)),
        };
        vec![element]
    }
}
