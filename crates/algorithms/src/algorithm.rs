//! The congestion controls of `bpf/algorithms/`, what they are and what can be set of them.

pub mod out_of_tree;

use std::ffi::{CStr, c_char};
use std::fmt;

use serde::{Serialize, Serializer};

use crate::c;

struct Registration {
    /// In the kernel.
    name: &'static str,
    ops: *const c::tcp_congestion_ops,
    about: *const c::about,
    has_large_state: bool,
}

// SAFETY: points to constants of the C code, which nothing writes.
unsafe impl Sync for Registration {}

macro_rules! registration {
    ($name:expr, $ops:ident, $about:ident, $has_large_state:expr) => {
        Registration {
            name: $name,
            ops: &raw const c::$ops,
            about: &raw const c::$about,
            has_large_state: $has_large_state,
        }
    };
}

static REGISTRATIONS: &[Registration] = include!(concat!(env!("OUT_DIR"), "/algorithms.rs"));

/// What the kernel brings. Our bbr and reno do as its own do, but for idle keep, and but for what the
/// kernel's bbr leaves to whoever follows it.
static STOCK: &[Registration] = &[
    registration!("bbr", kk_bbr, kk_bbr_about, false),
    registration!("cubic", kk_stock_cubic, kk_stock_cubic_about, false),
    registration!("reno", kk_reno, kk_reno_about, false),
];

/// What the thesis compares with and no kernel brings.
static THESIS: &[Registration] = include!(concat!(env!("OUT_DIR"), "/thesis.rs"));

/// A congestion control of `bpf/algorithms/`, one that the kernel brings, or one that the thesis compares
/// with, with the values of its parameters.
#[derive(Clone, Copy)]
pub struct Algorithm {
    registration: &'static Registration,
    values: [u32; c::PARAMETERS_MAX as usize],
    has_twin: bool,
}

/// A value that may be set without rebuilding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, with the unit or scale at the end.
    pub name: &'static str,
    /// Its value where none is set.
    pub preset: u32,
    /// Lowest value allowed.
    pub lowest: u32,
    /// Highest value allowed.
    pub highest: u32,
    /// What it is, with its unit.
    pub what: &'static str,
}

/// Why a parameter cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterError {
    /// The algorithm has no such parameter; it has these.
    Unknown(Vec<&'static str>),
    /// The value is outside the parameter's range.
    OutOfRange(Parameter),
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ParameterError::Unknown(known) if known.is_empty() => {
                f.write_str("no such parameter; it has none")
            }
            ParameterError::Unknown(known) => {
                write!(f, "no such parameter; allowed: {}", known.join(", "))
            }
            ParameterError::OutOfRange(Parameter { lowest, highest, what, .. }) => {
                write!(f, "out of range; allowed: {lowest} to {highest} ({what})")
            }
        }
    }
}

impl std::error::Error for ParameterError {}

impl Algorithm {
    /// All of them, by name in alphabetical order, with their parameters as preset.
    pub fn all() -> impl Iterator<Item = Algorithm> {
        REGISTRATIONS.iter().map(Algorithm::preset)
    }

    /// The one with this in-kernel name (`kk_...`).
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::all().find(|algorithm| algorithm.name() == name)
    }

    /// One of the kernel's own, to be played in the simulator: bbr, cubic or reno. It cannot be
    /// registered in a kernel.
    pub fn stock(name: &str) -> Option<Algorithm> {
        let algorithm = Algorithm::preset(STOCK.iter().find(|stock| stock.name == name)?);
        Some(algorithm.with("idle_keep", 0).unwrap_or(algorithm))
    }

    /// What the thesis compares with, to be played in the simulator, by name in alphabetical order. None of
    /// them can be registered in a kernel.
    pub fn of_the_thesis() -> impl Iterator<Item = Algorithm> {
        THESIS.iter().map(Algorithm::preset)
    }

    fn preset(registration: &'static Registration) -> Algorithm {
        let mut algorithm = Algorithm { registration, values: Default::default(), has_twin: false };
        for (place, parameter) in algorithm.parameters().enumerate() {
            algorithm.values[place] = parameter.preset;
        }
        algorithm
    }

    pub(crate) fn ops(self) -> &'static c::tcp_congestion_ops {
        // SAFETY: a constant of the C code, never written.
        unsafe { &*self.registration.ops }
    }

    fn about(self) -> &'static c::about {
        // SAFETY: a constant of the C code, never written.
        unsafe { &*self.registration.about }
    }

    /// In-kernel name.
    pub fn name(self) -> &'static str {
        self.registration.name
    }

    /// Whether the window and the pacing rate are its alone (`cong_control`), as with bbr.
    pub fn controls_alone(self) -> bool {
        self.ops().cong_control.is_some()
    }

    /// Whether it keeps more than fits the private area (`bpf/algorithms/common/large_state.h`).
    pub(crate) fn has_large_state(self) -> bool {
        self.registration.has_large_state
    }

    /// The paper or RFC it is written from.
    pub fn source(self) -> &'static str {
        text(self.about().source)
    }

    /// What it is good at.
    pub fn good_at(self) -> &'static str {
        text(self.about().good_at)
    }

    /// What it has been held against.
    pub fn state(self) -> &'static str {
        text(self.about().state)
    }

    /// What can be set, in the order of [`Algorithm::values`].
    pub fn parameters(self) -> impl ExactSizeIterator<Item = Parameter> {
        (0..self.about().parameters_count as usize).map(move |place| {
            // SAFETY: the C code describes `parameters_count` parameters in a constant array.
            let parameter = unsafe { &*self.about().parameters.add(place) };
            Parameter {
                name: text(parameter.name),
                preset: parameter.preset,
                lowest: parameter.lowest,
                highest: parameter.highest,
                what: text(parameter.what),
            }
        })
    }

    /// The same algorithm with one parameter set.
    ///
    /// # Errors
    /// Fails if it has no parameter of this name, or the value is outside its range.
    pub fn with(mut self, name: &str, value: u32) -> Result<Algorithm, ParameterError> {
        let Some((place, parameter)) =
            self.parameters().enumerate().find(|(_, parameter)| parameter.name == name)
        else {
            return Err(ParameterError::Unknown(self.parameters().map(|p| p.name).collect()));
        };
        if !(parameter.lowest..=parameter.highest).contains(&value) {
            return Err(ParameterError::OutOfRange(parameter));
        }
        self.values[place] = value;
        Ok(self)
    }

    /// The same algorithm, with a check on its quiet ACKs: each socket has a twin that looks at
    /// everything with each ACK, and whatever makes them differ is a panic. Where the algorithm has
    /// no quiet ACKs nothing is checked.
    #[must_use]
    pub fn checked(mut self) -> Algorithm {
        self.has_twin = true;
        self
    }

    pub(crate) fn has_twin(self) -> bool {
        self.has_twin
    }

    /// Values of the parameters, in their order; places beyond them are 0.
    pub fn values(&self) -> &[u32; c::PARAMETERS_MAX as usize] {
        &self.values
    }
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Algorithm) -> bool {
        std::ptr::eq(self.registration, other.registration) && self.values == other.values
    }
}

impl Eq for Algorithm {}

/// Its name, and the parameters that are not as preset.
impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())?;
        for (parameter, value) in self.parameters().zip(self.values) {
            if value != parameter.preset {
                write!(f, " {}={value}", parameter.name)?;
            }
        }
        Ok(())
    }
}

/// Writes its name, and the parameters that differ from the preset.
impl Serialize for Algorithm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{self:?}"))
    }
}

fn text(pointer: *const c_char) -> &'static str {
    // SAFETY: every text of the C code is a constant that ends with a zero.
    unsafe { CStr::from_ptr(pointer) }.to_str().expect("texts in bpf/ are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_can_be_set() {
        let refused = |name: &str| Algorithm::named(name).unwrap().with("rtt0", 1).unwrap_err();
        assert_eq!(refused("kk_bbr").to_string(), "no such parameter; it has none");
        assert_eq!(
            refused("kk_hybla").to_string(),
            "no such parameter; allowed: rtt0_us, idle_keep"
        );
    }

    #[test]
    fn files_are_named_as_in_the_kernel() {
        for algorithm in
            Algorithm::all().chain(Algorithm::stock("cubic")).chain(Algorithm::of_the_thesis())
        {
            assert_eq!(text(algorithm.ops().name.as_ptr()), algorithm.name());
        }
    }
}
