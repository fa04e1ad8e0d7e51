//! What goes on failing is told once, and again after an hour.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// What goes on failing is told again after this time.
const TELL_AGAIN: Duration = Duration::from_secs(3600);

/// What has failed, by what does not work because of it, and when it was told last.
#[derive(Debug)]
pub(crate) struct Troubles<Lost>(BTreeMap<Lost, (String, Instant)>);

impl<Lost> Default for Troubles<Lost> {
    fn default() -> Self {
        Troubles(BTreeMap::new())
    }
}

impl<Lost: Ord + Display> Troubles<Lost> {
    /// What is to be told, unless what was told last of it is the same and not an hour old.
    pub fn tell(
        &mut self,
        lost: Lost,
        trouble: String,
        is_same: impl FnOnce(&str) -> bool,
    ) -> Option<String> {
        let told = self.0.get(&lost);
        if told.is_some_and(|(told, at)| is_same(told) && at.elapsed() < TELL_AGAIN) {
            return None;
        }
        let line = format!("{lost}: {trouble}");
        self.0.insert(lost, (trouble, Instant::now()));
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_told_once_until_it_changes() {
        let mut troubles = Troubles::default();
        let mut told =
            |it: &str| troubles.tell("nothing works", it.to_owned(), |before| before == it);
        assert_eq!(told("a lock").as_deref(), Some("nothing works: a lock"));
        assert_eq!(told("a lock"), None);
        assert!(told("another lock").is_some());
    }
}
