//! What something was made from, as headers say it.

use std::fmt;

/// Digests of what something was made from, by name, such as `simulator 0123456789ab`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs(Vec<(String, String)>);

impl Inputs {
    /// The groups of sources with these names, as this program was built of them.
    ///
    /// # Panics
    /// Panics if there is no group of such a name.
    pub fn built(groups: &[&str]) -> Inputs {
        let digest = |name: &&str| {
            let found = crate::BUILT.iter().find(|(group, _)| group == name);
            found.unwrap_or_else(|| panic!("there is no group {name}")).1
        };
        Inputs(groups.iter().map(|name| ((*name).to_owned(), digest(name).to_owned())).collect())
    }

    /// The same and another one.
    #[must_use]
    pub fn and(mut self, name: &str, digest: String) -> Inputs {
        self.0.push((name.to_owned(), digest));
        self
    }

    /// Reads what [`Display`](fmt::Display) writes; none where it is something else.
    pub fn parse(text: &str) -> Option<Inputs> {
        let input = |text: &str| {
            let (name, digest) = text.trim().split_once(' ')?;
            let is_digest = !digest.is_empty() && digest.chars().all(|it| it.is_ascii_hexdigit());
            (!name.is_empty() && is_digest).then(|| (name.to_owned(), digest.to_owned()))
        };
        text.split(',').map(input).collect::<Option<_>>().map(Inputs)
    }

    /// What is not as in `now`, in words: each input that is another one there, or is missing on
    /// either side. Nothing where there is no difference.
    pub fn differences(&self, now: &Inputs) -> Vec<String> {
        let changed = now.0.iter().filter_map(|(name, now)| match self.digest(name) {
            None => Some(format!("{name} not told, now {now}")),
            Some(then) if then != now => Some(format!("{name} {then}, now {now}")),
            Some(_) => None,
        });
        let gone = self.0.iter().filter(|(name, _)| now.digest(name).is_none());
        changed.chain(gone.map(|(name, then)| format!("{name} {then}, now none"))).collect()
    }

    /// Of all of them together, as a seed: another one with each change.
    pub fn seed(&self) -> u64 {
        let digest = crate::sources::digest_of(self.to_string());
        u64::from_str_radix(&digest, 16).expect("a digest is hexadecimal")
    }

    fn digest(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, digest)| digest.as_str())
    }
}

impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (place, (name, digest)) in self.0.iter().enumerate() {
            write!(f, "{}{name} {digest}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let inputs = Inputs::built(&["algorithms", "simulator"]).and("grid", "00ff".into());
        assert_eq!(Inputs::parse(&inputs.to_string()), Some(inputs));
        for none in ["", "simulator", "simulator 12x", "simulator 12, ", " 12"] {
            assert_eq!(Inputs::parse(none), None, "{none:?}");
        }
    }

    #[test]
    fn differences_are_told_by_name() {
        let read = |text: &str| Inputs::parse(text).unwrap();
        let (then, now) = (read("simulator 12, grid 5, seed 1"), read("grid 5, simulator 13, a 1"));
        assert_eq!(
            then.differences(&now),
            ["simulator 12, now 13", "a not told, now 1", "seed 1, now none"]
        );
        assert!(now.differences(&read("simulator 13, grid 5, a 1")).is_empty());
        assert_ne!(then.seed(), now.seed());
    }
}
