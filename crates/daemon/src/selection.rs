//! Selects the connections that a listing tells of, if not all of them are wanted.

use std::cmp::Reverse;
use std::net::SocketAddr;

use axum::extract::Query;
use axum::http::Uri;
use ipnet::IpNet;
use kirikae_agent::{Connection, PathFilter};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, de};

use crate::status::Connections;

/// The query of GET /connections. An empty one gives all connections in the order of their ends.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Words that each have to be part of what a connection is called: its ends, its scope, its
    /// algorithm or what becomes of it.
    #[serde(rename = "match")]
    matching: Words,
    sort: Sort,
    /// At most so many are told, the first ones.
    limit: Option<usize>,
    /// One more that is told, NAMESPACE/LOCAL/REMOTE, whether it is among these or not.
    also: Option<Ends>,
}

/// Words in lower case: few, since each is looked for in every connection.
#[derive(Debug, Default)]
struct Words(Vec<String>);

impl Words {
    /// How many there are at most, and how long they are in all, in bytes.
    const MOST: usize = 16;
    const BYTES: usize = 256;
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Words, D::Error> {
        let text = String::deserialize(deserializer)?;
        let words: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
        if text.len() > Words::BYTES || words.len() > Words::MOST {
            return Err(de::Error::custom("match: allowed are 16 words, and 256 bytes in all"));
        }
        Ok(Words(words))
    }
}

/// The key of the order. Numbers are in descending order, and connections with equal keys in the order of
/// their ends.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sort {
    #[default]
    Ends,
    LatestSwitch,
    Algorithm,
    Scope,
    Rtt,
    Loss,
    Cwnd,
    Latency,
    Sent,
}

#[derive(Debug, PartialEq)]
struct Ends {
    namespace: u32,
    local: SocketAddr,
    remote: SocketAddr,
}

impl<'de> Deserialize<'de> for Ends {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ends, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut parts = text.split('/');
        let mut ends = || {
            Some(Ends {
                namespace: parts.next()?.parse().ok()?,
                local: parts.next()?.parse().ok()?,
                remote: parts.next()?.parse().ok()?,
            })
        };
        ends().ok_or_else(|| de::Error::custom("also: allowed is NAMESPACE/LOCAL/REMOTE"))
    }
}

impl Selection {
    /// Parses a query, as it is behind the question mark.
    ///
    /// # Errors
    /// Fails with what is allowed.
    pub fn parse(query: &str) -> Result<Selection, String> {
        parse(query)
    }

    /// Selects from `all`, which are in the order of their ends, at most so many.
    pub fn of(&self, all: &Connections, most: usize) -> Connections {
        let Words(words) = &self.matching;
        let is_selected = |it: &&Connection| words.is_empty() || is_called(it, words);
        let mut selected: Vec<&Connection> = all.connections.iter().filter(is_selected).collect();
        let matching = selected.len();
        self.sort.apply(&mut selected);
        selected.truncate(self.limit.unwrap_or(most).min(most));
        let also = self.also.as_ref().and_then(|wanted| {
            let is_wanted = |it: &&Connection| {
                (it.namespace, it.local, it.remote)
                    == (wanted.namespace, wanted.local, wanted.remote)
            };
            all.connections.iter().find(is_wanted).cloned()
        });
        let connections = selected.into_iter().cloned().collect();
        Connections { now_ns: all.now_ns, matching, connections, also }
    }
}

/// The query of GET /paths and POST /paths/forget. An empty one is of all paths.
#[derive(Debug, Deserialize)]
pub struct PathSelection {
    to: Option<IpNet>,
}

impl PathSelection {
    /// Parses a query as [`Selection::parse`] does.
    ///
    /// # Errors
    /// Fails with what is allowed.
    pub fn parse(query: &str) -> Result<PathSelection, String> {
        parse(query)
    }

    /// The paths that are meant.
    pub fn filter(&self) -> PathFilter {
        PathFilter { remote: self.to, ..PathFilter::default() }
    }
}

fn parse<T: DeserializeOwned>(query: &str) -> Result<T, String> {
    let uri = format!("/?{query}").parse::<Uri>().map_err(|error| error.to_string())?;
    Query::try_from_uri(&uri).map(|Query(read)| read).map_err(|refusal| refusal.body_text())
}

fn is_called(connection: &Connection, words: &[String]) -> bool {
    let name = format!(
        "{} {} {} {} {}",
        connection.local,
        connection.remote,
        connection.scope.as_deref().unwrap_or_default(),
        connection.algorithm,
        connection.treatment.name()
    );
    let name = name.to_ascii_lowercase();
    words.iter().all(|word| name.contains(word))
}

impl Sort {
    fn apply(self, connections: &mut [&Connection]) {
        let mut largest = |value: fn(&Connection) -> f64| {
            connections.sort_by(|a, b| value(b).total_cmp(&value(a)));
        };
        match self {
            Sort::Ends => {}
            Sort::LatestSwitch => {
                connections.sort_by_key(|it| Reverse(it.latest_switch.map(|latest| latest.at_ns)));
            }
            Sort::Algorithm => connections.sort_by(|a, b| a.algorithm.cmp(&b.algorithm)),
            Sort::Scope => connections.sort_by(|a, b| a.scope.cmp(&b.scope)),
            Sort::Rtt => largest(|it| it.srtt_s),
            Sort::Loss => largest(|it| it.isolated_loss + it.burst_loss),
            Sort::Cwnd => connections.sort_by_key(|it| Reverse(it.cwnd)),
            Sort::Latency => largest(|it| it.latency_s().unwrap_or(0.0)),
            Sort::Sent => connections.sort_by_key(|it| Reverse(it.bytes_sent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use kirikae_agent::Treatment;

    use super::*;

    fn connection(port: u16, cwnd: u32) -> Connection {
        Connection {
            local: "192.0.2.1:443".parse().unwrap(),
            remote: SocketAddr::new("2001:db8::2".parse().unwrap(), port),
            namespace: 7,
            scope: Some("Web".into()),
            treatment: if port == 3 { Treatment::HeldBack } else { Treatment::Switched },
            algorithm: "kk_cubic".into(),
            original: "cubic".into(),
            chosen: "kk_cubic".into(),
            switches: 0,
            latest_switch: None,
            rtt_s: 0.0,
            srtt_s: 0.0,
            cwnd,
            ssthresh: 0,
            mss: 1448,
            pacing_rate_bit_s: None,
            isolated_loss: 0.0,
            burst_loss: 0.0,
            rate_bit_s: None,
            burst_bytes: None,
            burst_latency_s: None,
            stream: None,
            predicted_s: None,
            predicted_original_s: None,
            bytes_sent: 0,
            bytes_retransmitted: 0,
        }
    }

    /// Runs a query: returns the remote ports told, how many match, and the port of the one that is told
    /// besides.
    fn told(query: &str) -> (Vec<u16>, usize, Option<u16>) {
        let selection = Selection::parse(query).unwrap();
        let connections = vec![connection(1, 10), connection(2, 30), connection(3, 30)];
        let all = Connections { now_ns: 1, matching: 3, connections, also: None };
        let told = selection.of(&all, 100);
        let ports = told.connections.iter().map(|it| it.remote.port()).collect();
        (ports, told.matching, told.also.map(|it| it.remote.port()))
    }

    #[test]
    fn without_a_query_all_are_told_of() {
        assert_eq!(told(""), (vec![1, 2, 3], 3, None));
    }

    #[test]
    fn the_first_by_a_number_are_the_largest() {
        assert_eq!(told("sort=cwnd&limit=2"), (vec![2, 3], 3, None));
        assert_eq!(told("sort=cwnd&limit=0"), (vec![], 3, None));
    }

    #[test]
    fn every_word_has_to_be_in_the_name() {
        assert_eq!(told("match=held+web"), (vec![3], 1, None));
        assert_eq!(told("match=held+ssh"), (vec![], 0, None));
        assert_eq!(told("match=%5D%3A2"), (vec![2], 1, None));
    }

    #[test]
    fn one_is_told_of_besides() {
        let also = "also=7/192.0.2.1:443/%5B2001:db8::2%5D:2";
        assert_eq!(told(&format!("match=held&{also}")), (vec![3], 1, Some(2)));
        assert_eq!(told("also=8/192.0.2.1:443/%5B2001:db8::2%5D:2").2, None);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for query in ["sort=colour", "limit=-1", "also=7/192.0.2.1:443", "colour=red"] {
            assert!(Selection::parse(query).is_err(), "{query}");
        }
    }

    #[test]
    fn words_are_few_and_connections_no_more_than_allowed() {
        let words = |count: usize| format!("match={}", vec!["web"; count].join("+"));
        assert_eq!(told(&words(16)).1, 3);
        for query in [words(17), format!("match={}", "x".repeat(257))] {
            assert!(Selection::parse(&query).unwrap_err().contains("16 words"), "{query}");
        }
        let connections = (1..=5).map(|port| connection(port, 10)).collect();
        let all = Connections { now_ns: 1, matching: 5, connections, also: None };
        for (query, most) in [("", 2), ("limit=3", 2), ("limit=1", 1)] {
            let told = Selection::parse(query).unwrap().of(&all, 2);
            assert_eq!((told.connections.len(), told.matching), (most, 5), "{query}");
        }
    }
}
