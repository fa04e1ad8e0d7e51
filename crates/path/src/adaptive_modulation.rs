//! The radio access of a mobile: a link whose rate follows the signal, and ARQ behind it.

use serde::Serialize;

use crate::check::Unfit;
use crate::link::Link;
use crate::link_spec::check_cross;
use crate::radio::Radio;
use crate::rate::Paced;
use crate::{Arq, ArqSpec, CrossTrafficSpec, Element, QueueSpec, RadioSpec, stream_seed};

/// A radio link with adaptive modulation, and how it repeats what it loses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdaptiveModulationSpec {
    /// The signal over time, and the rate that follows from it.
    pub radio: RadioSpec,
    /// The repetition of packets that have bit errors.
    pub arq: ArqSpec,
    /// The queue before the link.
    pub queue: QueueSpec,
    /// Other traffic that shares the queue and the link.
    pub cross: Option<CrossTrafficSpec>,
}

impl AdaptiveModulationSpec {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        self.radio.check()?;
        self.arq.check()?;
        self.queue.check()?;
        check_cross(self.cross)
    }

    /// Builds the link and the ARQ behind it, which see the same signal.
    pub(crate) fn build<P: Send + 'static>(&self, seed: u64) -> [Box<dyn Element<P> + Send>; 2] {
        let radio = Radio::new(self.radio, stream_seed(seed, &[2]));
        let arq = Arq::over(radio.clone(), self.arq, stream_seed(seed, &[0]));
        let link = Link::new(Paced::new(radio), &self.queue).shared(self.cross, seed);
        [Box::new(link), Box::new(arq)]
    }
}
