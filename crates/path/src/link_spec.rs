//! A link as plain data.

use serde::Serialize;

use crate::check::{self, Unfit};
use crate::link::Link;
use crate::rate::{Constant, Paced, Scheduled, Service, check_steps};
use crate::recorded_rate::Opportunities;
use crate::{CrossTrafficSpec, Element, QueueSpec, RateStep, RecordedRate, RetrySpec, Span};

/// A link: its rate, its queue, and what else it carries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSpec {
    /// How fast it sends.
    pub rate: RateSpec,
    /// Bytes of the frame around each packet, which take time to send and do not count in the queue.
    pub overhead: u32,
    /// The queue before it.
    pub queue: QueueSpec,
    /// Frames that may be lost and sent again; None: none are lost.
    pub retries: Option<RetrySpec>,
    /// Cross traffic that shares the queue and the link.
    pub cross: Option<CrossTrafficSpec>,
}

/// The rate of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RateSpec {
    /// A constant rate in bit/s; at least 1.
    Constant(u64),
    /// A rate that changes in steps: in order of time, the first at 0, the last not to 0 bit/s.
    Scheduled(Vec<RateStep>),
    /// Opportunities to send, as they were recorded.
    Recorded(RecordedRate),
}

impl RateSpec {
    /// The highest rate that it ever has, in bit/s.
    pub fn highest(&self) -> u64 {
        match self {
            RateSpec::Constant(bits_per_second) => *bits_per_second,
            RateSpec::Scheduled(steps) => {
                steps.iter().map(|step| step.bits_per_second).max().unwrap_or(0)
            }
            RateSpec::Recorded(recorded) => recorded.busiest(Span::from_millis(1)),
        }
    }

    /// The highest rate that it has for a second, in bit/s.
    pub fn sustained(&self) -> u64 {
        match self {
            RateSpec::Recorded(recorded) => recorded.busiest(Span::from_secs(1)),
            _ => self.highest(),
        }
    }

    fn check(&self) -> Result<(), Unfit> {
        match self {
            RateSpec::Constant(bits_per_second) => check::rate("rate", *bits_per_second),
            RateSpec::Scheduled(steps) => check_steps(steps),
            RateSpec::Recorded(_) => Ok(()),
        }
    }
}

impl LinkSpec {
    /// A link with nothing but a rate and a queue.
    pub fn new(rate: RateSpec, queue: QueueSpec) -> LinkSpec {
        LinkSpec { rate, overhead: 0, queue, retries: None, cross: None }
    }

    pub(crate) fn check(&self) -> Result<(), Unfit> {
        self.rate.check()?;
        self.queue.check()?;
        let retries = self.retries.map_or(Ok(()), |retries| retries.check());
        retries.map_err(|unfit| unfit.within("retries"))?;
        check_cross(self.cross)
    }

    pub(crate) fn build<P: Send + 'static>(&self, seed: u64) -> Box<dyn Element<P> + Send> {
        match &self.rate {
            RateSpec::Constant(bits_per_second) => {
                Box::new(self.link(Paced::new(Constant(*bits_per_second)), seed))
            }
            RateSpec::Scheduled(steps) => {
                Box::new(self.link(Paced::new(Scheduled::new(steps)), seed))
            }
            RateSpec::Recorded(recorded) => {
                Box::new(self.link(Opportunities::new(recorded.clone()), seed))
            }
        }
    }

    fn link<P, S: Service>(&self, service: S, seed: u64) -> Link<P, S> {
        let link = Link::new(service, &self.queue).framed(self.overhead);
        link.shared(self.cross, seed).retrying(self.retries, seed)
    }
}

pub(crate) fn check_cross(cross: Option<CrossTrafficSpec>) -> Result<(), Unfit> {
    cross.map_or(Ok(()), |cross| cross.check()).map_err(|unfit| unfit.within("cross"))
}
