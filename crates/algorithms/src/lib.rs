//! The C of `bpf/`, compiled natively behind a safe interface: the same algorithms and the same
//! switcher that run in the kernel, for tests and for the simulator.

mod algorithm;
mod c;
pub mod drive;
pub mod portrait;
mod socket;
mod switcher;

pub use algorithm::{Algorithm, Parameter, ParameterError};
pub use socket::{CaEvent, CaState, LargeState, RateSample, Socket};
pub use switcher::{
    Choice, Estimator, LossRuns, Measured, NoCandidate, Switch, Switcher, Timeouts, choose,
    period_us,
};
