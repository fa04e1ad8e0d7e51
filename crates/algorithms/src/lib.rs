#![doc = include_str!("../README.md")]

mod algorithm;
mod bpftune;
mod c;
pub mod drive;
pub mod portrait;
mod rule;
mod socket;
mod switcher;
mod twin;

pub use algorithm::{Algorithm, Parameter, ParameterError, out_of_tree};
pub use bpftune::Bpftune;
pub use rule::Rule;
pub use socket::{CaEvent, CaState, LargeState, RateSample, Socket};
pub use switcher::{
    Belief, BurstSpans, CALL_RECORD_BYTES, CALL_RECORD_VERSION, Estimator, LossRuns, Losses,
    Measured, NoCandidate, PathKnown, PathMemory, Period, Predicted, Replay, ReplayError,
    RoundTripSeen, Span, Stream, Switch, Switcher, Tables, ThesisMeasured, Told, exp2_fixed,
    given_up_after_ms, is_given_up_late, log2_fixed, path_network, period_us, scope_of,
    thesis_choose,
};
pub use twin::Compared;
