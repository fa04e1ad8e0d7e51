//! Scopes that no connection reaches, because scopes before them take all that they match.

use std::net::Ipv6Addr;
use std::path::Path;

use crate::policy::{Part, Policy, Scope, mask};

/// A scope that no connection reaches.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "no connection reaches scope {scope}: all that it matches is in {}, before it",
    .before.join(" or ")
)]
pub struct Unreached {
    /// The name of the scope.
    pub scope: String,
    /// The names of the scopes that take its connections.
    pub before: Vec<String>,
}

impl Policy {
    /// The scopes that no connection reaches. One that is behind several that match its connections only
    /// together, such as two ranges of ports side by side, is not found.
    pub fn unreached(&self) -> Vec<Unreached> {
        let numbered = self.scopes.iter().enumerate();
        numbered.filter_map(|(number, scope)| unreached(scope, &self.scopes[..number])).collect()
    }
}

fn unreached(scope: &Scope, before: &[Scope]) -> Option<Unreached> {
    let mut names: Vec<String> = Vec::new();
    for part in scope.matching.parts() {
        let takes = |other: &&Scope| other.matching.parts().iter().any(|it| it.has_all_of(&part));
        let name = &before.iter().find(takes)?.name;
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    Some(Unreached { scope: scope.name.clone(), before: names })
}

impl Part<'_> {
    /// Whether every connection that the other matches matches this.
    fn has_all_of(&self, other: &Part) -> bool {
        let inside = |above: &Path| other.cgroup.is_some_and(|below| below.starts_with(above));
        let ((prefix, bits), (address, at_least)) = (self.remote, other.remote);
        let differs = (prefix.to_bits() ^ address.to_bits()) & Ipv6Addr::from(mask(bits)).to_bits();
        self.cgroup.is_none_or(inside)
            && self.ports.start() <= other.ports.start()
            && self.ports.end() >= other.ports.end()
            && bits <= at_least
            && differs == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Matching;

    fn scope(name: &str, cgroups: &[&str], ports: &[(u16, u16)], remotes: &[&str]) -> Scope {
        let matching = Matching {
            cgroups: cgroups.iter().map(Into::into).collect(),
            local_ports: ports.iter().map(|&(first, last)| first..=last).collect(),
            remotes: remotes.iter().map(|it| it.parse().unwrap()).collect(),
        };
        let table = kirikae_table::shipped().kernel_table().into();
        Scope { name: name.into(), matching, ..Scope::new(table) }
    }

    /// The names of the scopes before the last one that take all of its connections.
    fn before_last<const N: usize>(scopes: [Scope; N]) -> Vec<String> {
        let unreached = Policy { scopes: scopes.into() }.unreached();
        assert!(unreached.len() <= 1, "{unreached:?}");
        unreached.into_iter().flat_map(|it| it.before).collect()
    }

    #[test]
    fn what_is_behind_every_connection_is_not_reached() {
        let (all, ports) = (|| scope("all", &[], &[], &[]), || scope("b", &[], &[(22, 22)], &[]));
        assert_eq!(before_last([all(), ports()]), ["all"]);
        assert!(before_last([ports(), all()]).is_empty());
        let mapped = scope("every address", &[], &[], &["0.0.0.0/0", "::/0"]);
        assert_eq!(before_last([mapped, all()]), ["every address"]);
        let told = Policy { scopes: vec![all(), ports()] }.unreached()[0].to_string();
        assert!(told.contains("scope b") && told.contains("in all,"), "{told}");
    }

    #[test]
    fn each_part_has_to_be_within() {
        let web = || scope("web", &["/cg/web"], &[(80, 443)], &["10.0.0.0/8"]);
        for (inside, is_behind) in [
            (scope("in", &["/cg/web"], &[(80, 443)], &["10.0.0.0/8"]), true),
            (
                scope("in", &["/cg/web/a", "/cg/web"], &[(80, 80), (443, 443)], &["10.1.0.0/16"]),
                true,
            ),
            (scope("in", &["/cg/web"], &[(80, 443)], &["::ffff:10.0.0.0/104"]), true),
            (scope("in", &["/cg/website"], &[(80, 443)], &["10.0.0.0/8"]), false),
            (scope("in", &["/cg/web"], &[(79, 80)], &["10.0.0.0/8"]), false),
            (scope("in", &["/cg/web"], &[(80, 443)], &["8.0.0.0/7"]), false),
            (scope("in", &["/cg/web"], &[(80, 443)], &["11.0.0.0/8"]), false),
            (scope("in", &[], &[(80, 443)], &["10.0.0.0/8"]), false),
            (scope("in", &["/cg/web"], &[], &["10.0.0.0/8"]), false),
            (scope("in", &["/cg/web"], &[(80, 443)], &[]), false),
        ] {
            let matching = inside.matching.to_string();
            assert_eq!(!before_last([web(), inside]).is_empty(), is_behind, "{matching}");
        }
    }

    #[test]
    fn several_scopes_may_take_all_of_one() {
        let scopes = || [scope("a", &[], &[(1, 99)], &[]), scope("b", &["/cg"], &[], &[])];
        let [a, b] = scopes();
        assert_eq!(before_last([a, b, scope("c", &["/cg/x"], &[(50, 150)], &[])]), ["b"]);
        let [a, b] = scopes();
        assert!(before_last([a, b, scope("c", &["/other"], &[(50, 150)], &[])]).is_empty());
        let [a, b] = scopes();
        let both = scope("c", &["/cg"], &[(5, 6), (500, 600)], &[]);
        assert_eq!(before_last([a, b, both]), ["a", "b"]);
    }
}
