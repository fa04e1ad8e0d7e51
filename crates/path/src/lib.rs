//! What a packet meets between sender and receiver: delay, rate and queue, loss.
//!
//! An [`Element`] is a state machine that is told the time; this crate knows no clock and does no
//! I/O. The simulator drives it with virtual time, the emulator with the kernel's clock, and both
//! get the same fate for the same packets arriving at the same times.
//!
//! A path is described by a [`PathSpec`], plain data; [`PathSpec::build`] turns it and a seed into
//! a [`Chain`] of elements for each direction.

mod adaptive_modulation;
mod arq;
mod chain;
mod check;
mod codel;
mod cross_traffic;
mod delay;
mod departures;
mod during;
mod element;
mod element_spec;
mod gilbert_elliott;
mod hop;
mod independent_loss;
mod intervals;
mod jitter;
mod limited_delay;
mod link;
mod link_change;
mod link_spec;
mod listed_loss;
mod on_time;
mod outage;
mod packet;
mod queue;
mod radio;
mod random;
mod rate;
mod recorded_delay;
mod recorded_rate;
pub mod recording;
mod retries;
mod run_loss;
mod spec;
mod time;

pub use adaptive_modulation::AdaptiveModulationSpec;
pub use arq::{Arq, ArqSpec};
pub use chain::Chain;
pub use codel::CoDelSpec;
pub use cross_traffic::{CrossTrafficSpec, Turns};
pub use delay::Delay;
pub use departures::Order;
pub use during::During;
pub use element::{DropCause, Dropped, Element, Outcome};
pub use element_spec::ElementSpec;
pub use gilbert_elliott::{GilbertElliott, GilbertElliottSpec};
pub use hop::{Hop, link_seed};
pub use independent_loss::IndependentLoss;
pub use intervals::Intervals;
pub use jitter::Jitter;
pub use limited_delay::LimitedDelay;
pub use link_change::{LinkChange, LinkChangeSpec, UsedLink};
pub use link_spec::{LinkSpec, RateSpec};
pub use listed_loss::ListedLoss;
pub use on_time::OnTime;
pub use outage::{Outage, OutageSpec};
pub use packet::{Ecn, Packet};
pub use queue::{QueueLimit, QueueSpec, Waiting};
pub use radio::{Movement, PathLoss, RadioSpec};
pub use random::{RandomStream, stream_seed};
pub use rate::RateStep;
pub use recorded_delay::{RecordedDelay, RecordedDelays};
pub use recorded_rate::RecordedRate;
pub use recording::BadLine;
pub use retries::RetrySpec;
pub use run_loss::{RunLoss, RunLossSpec};
pub use spec::{
    Direction, DirectionSpec, PathSpec, SpecError, bottleneck, propagation, sustained_rate,
};
pub use time::{Span, Time};
