//! What new connections make of what earlier ones have shown of their path
//! (`bpf/switcher/core/warm_start.h`).

use std::time::Duration;

use kirikae_interface as kernel;
use kirikae_table::Friendliness;
use serde::Serialize;

/// What is known of a path is forgotten after this time where the operator says nothing.
pub const PATH_LIFETIME: Duration = Duration::from_secs(kernel::USUAL_PATH_LIFETIME_S as u64);

/// The algorithm by which connections begin that jump (`bpf/algorithms/resume.bpf.c`).
const RESUME: &str = "kk_resume";

/// How a new connection begins whose path is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarmStart {
    /// As any does; only the first choice is made by what is known.
    None,
    /// By Careful Resume: the initial window first, then a jump to half of what was measured (RFC 9959).
    #[default]
    Careful,
    /// With a first window of what was measured, where the RTT of the handshake confirms the path;
    /// carefully otherwise. It goes beyond RFC 9959.
    FirstFlight,
}

impl WarmStart {
    /// All of them.
    pub const ALL: [WarmStart; 3] = [WarmStart::None, WarmStart::Careful, WarmStart::FirstFlight];

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            WarmStart::None => "none",
            WarmStart::Careful => "careful",
            WarmStart::FirstFlight => "first-flight",
        }
    }

    /// The algorithm that it needs beside those of the table.
    pub(crate) fn algorithm(self) -> Option<&'static str> {
        (self != WarmStart::None).then_some(RESUME)
    }

    pub(crate) fn scope_flags(self) -> u32 {
        match self {
            WarmStart::None => 0,
            WarmStart::Careful => kernel::SCOPE_CAREFUL,
            WarmStart::FirstFlight => kernel::SCOPE_FIRST_FLIGHT,
        }
    }
}

/// What holds where nothing else is said.
impl From<Friendliness> for WarmStart {
    fn from(friendliness: Friendliness) -> WarmStart {
        match friendliness {
            Friendliness::Friendly => WarmStart::None,
            Friendliness::Balanced => WarmStart::Careful,
            Friendliness::Fast => WarmStart::FirstFlight,
        }
    }
}
