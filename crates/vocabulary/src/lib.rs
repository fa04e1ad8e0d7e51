//! What is said of a connection and of a path in either world, the real kernel's and the simulator's.

mod report;
mod segment;
mod switch;

pub use report::{DirectionReport, DroppedPacket, Report, TimingError};
pub use segment::Segment;
pub use switch::{KnownPath, Reason, Switch};
