//! Of which sweep results are, and by which code.

use kirikae_provenance::Inputs;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Shard;

/// The first line of a shard file and of a journal: only the same code computes the same of the same
/// sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header<S> {
    /// The version of this program.
    kirikae: String,
    /// Digests of the sources that determine results.
    sources: String,
    pub shard: Shard,
    /// Places of the whole sweep.
    pub places: usize,
    pub sweep: S,
}

/// What is computed, in parts: a latency table, a search.
pub(crate) trait Sweep: Serialize + DeserializeOwned {
    /// The groups of sources that determine its results.
    fn sources(&self) -> Inputs;

    /// What differs from another one, if something does.
    fn difference(&self, expected: &Self) -> Option<String>;
}

impl<S: Sweep> Header<S> {
    /// Of what this program computes.
    pub fn new(sweep: S, shard: Shard, places: usize) -> Header<S> {
        let kirikae = env!("CARGO_PKG_VERSION").into();
        Header { kirikae, sources: sweep.sources().to_string(), shard, places, sweep }
    }

    /// Whether a place is one of the shard's.
    pub fn has(&self, place: usize) -> bool {
        place < self.places && place % self.shard.of() as usize == self.shard.index() as usize - 1
    }

    /// What of the code differs from this program's, if something does.
    pub fn other_code(&self) -> Option<String> {
        let version = env!("CARGO_PKG_VERSION");
        if self.kirikae != version {
            return Some(format!("kirikae {} and not {version}", self.kirikae));
        }
        let now = self.sweep.sources();
        let Some(then) = Inputs::parse(&self.sources) else {
            return Some(format!("sources {:?} and not {now}", self.sources));
        };
        let differences = then.differences(&now);
        (!differences.is_empty()).then(|| differences.join("; "))
    }

    /// What of the sweep and of how it is divided differs from another one, if something does.
    pub fn other_sweep(&self, expected: &Header<S>) -> Option<String> {
        if let Some(difference) = self.sweep.difference(&expected.sweep) {
            return Some(difference);
        }
        let [own, expected] = [self, expected].map(|it| (it.shard.of(), it.places));
        (own != expected).then(|| {
            let told = |(of, places)| format!("{places} places in {of} shards");
            format!("{} instead of {}", told(own), told(expected))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which numbers are squared.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Squares {
        numbers: String,
    }

    impl Sweep for Squares {
        fn sources(&self) -> Inputs {
            Inputs::built(&["simulator", "measuring"])
        }

        fn difference(&self, expected: &Squares) -> Option<String> {
            let differs = self.numbers != expected.numbers;
            differs.then(|| format!("squares of {} instead of {}", self.numbers, expected.numbers))
        }
    }

    fn header(shard: &str, numbers: &str) -> Header<Squares> {
        Header::new(Squares { numbers: numbers.into() }, shard.parse().unwrap(), 10)
    }

    #[test]
    fn its_places_are_those_of_the_shard() {
        let header = header("2/4", "primes");
        let has: Vec<usize> = (0..20).filter(|place| header.has(*place)).collect();
        assert_eq!(has, header.shard.places(10).collect::<Vec<_>>());
    }

    #[test]
    fn what_differs_is_told() {
        let one = header("1/4", "primes");
        assert_eq!(one.other_sweep(&header("3/4", "primes")), None);
        assert_eq!(
            one.other_sweep(&header("1/4", "cubes")).unwrap(),
            "squares of primes instead of cubes"
        );
        assert_eq!(
            one.other_sweep(&header("1/3", "primes")).unwrap(),
            "10 places in 4 shards instead of 10 places in 3 shards"
        );
        assert_eq!(one.other_code(), None);
        let other = Header { sources: "simulator 12".into(), ..one.clone() };
        let told = other.other_code().unwrap();
        assert!(
            told.contains("simulator 12, now ") && told.contains("measuring not told"),
            "{told}"
        );
        let other = Header { kirikae: "0.0.1".into(), ..one };
        assert_eq!(
            other.other_code().unwrap(),
            format!("kirikae 0.0.1 and not {}", env!("CARGO_PKG_VERSION"))
        );
    }
}
