//! `--set ALGORITHM.PARAMETER=VALUE`

use kirikae_algorithms::{Algorithm, ParameterError};

/// A parameter of an algorithm and its value.
#[derive(Clone)]
pub struct Setting {
    algorithm: &'static str,
    parameter: String,
    value: u32,
}

impl Setting {
    /// The name of the algorithm.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// Parses a setting of one of `algorithms`; the error says what is allowed.
    pub fn parse(
        text: &str,
        algorithms: impl Iterator<Item = Algorithm>,
    ) -> Result<Setting, String> {
        let parts = text.split_once('=').and_then(|(name, value)| {
            let (algorithm, parameter) = name.split_once('.')?;
            let whole = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            // A number too large for u32 becomes the largest u32, which is out of the range of every
            // parameter, too.
            whole.then(|| (algorithm, parameter, value.parse().unwrap_or(u32::MAX)))
        });
        let Some((algorithm, parameter, value)) = parts else {
            return Err("allowed: ALGORITHM.PARAMETER=VALUE, the value a whole number".into());
        };
        let algorithms: Vec<Algorithm> = algorithms.collect();
        let Some(found) = algorithms.iter().find(|candidate| candidate.name() == algorithm) else {
            let names: Vec<&str> = algorithms.iter().map(|candidate| candidate.name()).collect();
            return Err(format!("no algorithm {algorithm} here; allowed: {}", names.join(", ")));
        };
        found
            .with(parameter, value)
            .map_err(|error| format!("{algorithm}.{parameter}: {error}"))?;
        Ok(Setting { algorithm: found.name(), parameter: parameter.to_owned(), value })
    }
}

/// The algorithms with these settings. If a parameter is set twice, the last value counts.
pub fn apply(
    settings: &[Setting],
    algorithms: impl Iterator<Item = Algorithm>,
) -> Result<Vec<Algorithm>, ParameterError> {
    algorithms
        .map(|algorithm| {
            settings
                .iter()
                .filter(|setting| setting.algorithm == algorithm.name())
                .try_fold(algorithm, |it, setting| it.with(&setting.parameter, setting.value))
        })
        .collect()
}
