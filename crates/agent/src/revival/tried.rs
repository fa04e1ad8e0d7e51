//! Paths that may be back, whose connections are made to send for a while.

use std::time::{Duration, Instant};

use ipnet::IpNet;

use super::stalled::Stalled;
use crate::affected_paths::AffectedPaths;
use crate::paths::PathFilter;

/// So long after a change connections are made to send: a neighbour has to be found first, and a link may take a
/// moment from its carrier to its first packet.
const TRIED_FOR: Duration = Duration::from_secs(2);
/// When more are tried in a namespace, all are.
const TOLD_APART: usize = 256;

/// Those of a namespace, and until when they are tried.
#[derive(Debug, Default)]
pub(super) struct Tried(Vec<(PathFilter, Instant)>);

impl Tried {
    /// Tries these from now on.
    pub fn add(&mut self, paths: AffectedPaths, now: Instant) {
        let until = now + TRIED_FOR;
        for paths in paths.into_paths() {
            match self.0.iter_mut().find(|(tried, _)| *tried == paths) {
                Some((_, before)) => *before = until,
                None => self.0.push((paths, until)),
            }
        }
        if self.0.len() > TOLD_APART {
            self.0 = vec![(PathFilter::default(), until)];
        }
    }

    /// Ends those whose time is over.
    pub fn expire(&mut self, now: Instant) {
        self.0.retain(|(_, until)| *until > now);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a connection of the namespace goes over one of them.
    pub fn has(&self, stalled: &Stalled) -> bool {
        self.0.iter().any(|(paths, _)| goes_over(stalled, paths))
    }
}

fn goes_over(stalled: &Stalled, paths: &PathFilter) -> bool {
    // A connection that has lost its route has none, and one that a new route concerns has still the old one.
    (paths.interface.is_none_or(|it| it == stalled.interface || stalled.interface == 0)
        || paths.remote.is_some())
        && paths.has_remote(IpNet::from(stalled.remote.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(interface: u32) -> Stalled {
        Stalled {
            local: "192.0.2.1:80".parse().unwrap(),
            remote: "198.51.100.7:40000".parse().unwrap(),
            namespace: 1,
            interface,
            snd_una: 0,
            rto_us: 100_000,
            most_us: u32::MAX,
            back_off: 1,
            waited_us: 0,
        }
    }

    fn paths(remote: Option<&str>, interface: u32) -> PathFilter {
        PathFilter {
            remote: remote.map(|it| it.parse().unwrap()),
            namespace: Some(1),
            interface: Some(interface),
        }
    }

    #[test]
    fn a_change_concerns_what_goes_over_it_or_to_it() {
        let concerns =
            |remote, interface, stalled: Stalled| goes_over(&stalled, &paths(remote, interface));
        assert!(concerns(None, 2, over(2)) && !concerns(None, 3, over(2)));
        assert!(concerns(None, 3, over(0)), "it has lost its route");
        assert!(concerns(Some("198.51.100.0/24"), 3, over(2)), "it has another route now");
        assert!(!concerns(Some("203.0.113.0/24"), 2, over(2)));
    }

    #[test]
    fn many_in_turn_are_all_of_them_and_end() {
        let (mut tried, now) = (Tried::default(), Instant::now());
        for interface in 0..=TOLD_APART as u32 {
            assert!(!tried.has(&over(1_000)));
            let mut turned = AffectedPaths::default();
            turned.add(paths(None, interface));
            tried.add(turned, now);
        }
        assert!(tried.has(&over(1_000)) && tried.0.len() == 1);
        tried.expire(now + TRIED_FOR);
        assert!(tried.is_empty());
    }
}
