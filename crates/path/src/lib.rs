//! What a packet meets between sender and receiver: delay, rate and queue, loss.
//!
//! An [`Element`] is a state machine that is told the time; this crate knows no clock and does no
//! I/O. The simulator drives it with virtual time, the emulator with the kernel's clock, and both
//! get the same fate for the same packets arriving at the same times.
//!
//! A path is described by a [`PathSpec`], plain data; [`PathSpec::build`] turns it and a seed into
//! a [`Chain`] of elements for each direction.

mod chain;
mod delay;
mod element;
mod gilbert_elliott;
mod independent_loss;
mod listed_loss;
mod packet;
mod random;
mod rate;
mod spec;
mod time;

pub use chain::Chain;
pub use delay::Delay;
pub use element::{DropCause, Dropped, Element, Outcome};
pub use gilbert_elliott::GilbertElliott;
pub use independent_loss::IndependentLoss;
pub use listed_loss::ListedLoss;
pub use packet::Packet;
pub use random::{RandomStream, stream_seed};
pub use rate::{QueueLimit, Rate};
pub use spec::{
    Direction, DirectionSpec, ElementSpec, PathSpec, SpecError, bottleneck, propagation,
};
pub use time::{Span, Time};
