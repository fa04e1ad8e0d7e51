//! The exceptions that Python sees.

use kirikae_results::Error as LabError;
use kirikae_settings::Refusal;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(kirikae, Error, PyException, "Why something was not computed.");
pyo3::create_exception!(
    kirikae,
    ScenarioError,
    Error,
    "A scenario that is refused: its file, line and key, what was found and what is allowed."
);

/// The exception for a refusal.
pub fn refused(refusal: &Refusal) -> PyErr {
    let error = ScenarioError::new_err(refusal.to_string());
    let told = Python::attach(|py| {
        let value = error.value(py);
        value.setattr("file", refusal.file.to_string_lossy())?;
        value.setattr("line", refusal.line)?;
        value.setattr("key", refusal.key.as_deref())?;
        value.setattr("found", &refusal.found)?;
        value.setattr("allowed", &refusal.allowed)
    });
    told.err().unwrap_or(error)
}

/// The exception for an error of the laboratory.
pub fn failed(error: &LabError) -> PyErr {
    match error {
        LabError::Scenario(refusal) => refused(refusal),
        other => Error::new_err(other.to_string()),
    }
}
