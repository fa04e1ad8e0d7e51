//! What goes wrong, as Python exceptions.

use kirikae_settings::Refusal;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(kirikae, Error, PyException, "Anything that Kirikae refuses or fails at.");
create_exception!(
    kirikae,
    ScenarioError,
    Error,
    "A scenario was refused: `file`, `line` (from 1; None where the scenario was not read from a text), \
     `key` (None where the file as a whole is refused), and `message`, which says what was found and what \
     is allowed."
);

/// The exception for a scenario that was refused.
pub fn refused(py: Python, refusal: &Refusal) -> PyErr {
    let error = ScenarioError::new_err(refusal.to_string());
    let value = error.value(py);
    let message = format!("{}; allowed: {}", refusal.found, refusal.allowed);
    let told = value
        .setattr("file", refusal.file.display().to_string())
        .and_then(|()| value.setattr("line", refusal.line))
        .and_then(|()| value.setattr("key", &refusal.key))
        .and_then(|()| value.setattr("message", message));
    told.map_or_else(|failure| failure, |()| error)
}

/// The exception for a comparison that did not run or did not end.
pub fn failed(py: Python, error: &kirikae_results::Error) -> PyErr {
    match error {
        kirikae_results::Error::Scenario(refusal) => refused(py, refusal),
        other => Error::new_err(other.to_string()),
    }
}
