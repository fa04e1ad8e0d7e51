//! The columns: their texts, their order of sorting, and which of them fit the screen.

use std::cmp::Ordering;
use std::net::SocketAddr;
use std::time::Duration;

use kirikae_agent::Connection;

use super::text;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Local,
    Remote,
    Algorithm,
    Original,
    Treatment,
    Scope,
    Rtt,
    Isolated,
    Burst,
    Rate,
    Cwnd,
    Latency,
    Switches,
    Ago,
    Why,
    Gain,
}

use Column::*;

impl Column {
    /// All columns, from left to right.
    pub const ALL: [Column; 16] = [
        Local, Remote, Algorithm, Original, Treatment, Scope, Rtt, Isolated, Burst, Rate, Cwnd,
        Latency, Switches, Ago, Why, Gain,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Local => "local",
            Remote => "remote",
            Algorithm => "algorithm",
            Original => "original",
            Treatment => "treatment",
            Scope => "scope",
            Rtt => "RTT",
            Isolated => "isolated",
            Burst => "burst",
            Rate => "rate",
            Cwnd => "cwnd",
            Latency => "latency",
            Switches => "switches",
            Ago => "switch",
            Why => "why",
            Gain => "gain",
        }
    }

    /// What the column means, for the help.
    pub fn meaning(self) -> &'static str {
        match self {
            Local => "this end; where there is little room its port",
            Remote => "the other end",
            Algorithm => "congestion control in use",
            Original => "the one it had when it was met",
            Treatment => "what becomes of it",
            Scope => "its scope in the policy",
            Rtt => "lowest round-trip time of late",
            Isolated => "rate of isolated losses",
            Burst => "rate of burst losses",
            Rate => "of the bottleneck",
            Cwnd => "congestion window, segments",
            Latency => "what the latest burst took, or writes of the stream take",
            Switches => "how often it was switched",
            Ago => "how long ago the latest was",
            Why => "its reason",
            Gain => "share of the original's latency that is expected to be saved",
        }
    }

    pub fn is_number(self) -> bool {
        matches!(self, Rtt | Isolated | Burst | Rate | Cwnd | Latency | Switches | Ago | Gain)
    }

    /// The text of a connection in this column. `now_ns` is CLOCK_MONOTONIC when the connections were looked
    /// at. The text is empty if nothing is known.
    pub fn text(self, of: &Connection, now_ns: u64) -> String {
        let known = |text: Option<String>| text.unwrap_or_default();
        match self {
            Local => of.local.to_string(),
            Remote => of.remote.to_string(),
            Algorithm => of.algorithm.clone(),
            Original => of.original.clone(),
            Treatment => of.treatment.name().into(),
            Scope => known(of.scope.clone()),
            Rtt => known((of.rtt_s > 0.0).then(|| text::seconds(of.rtt_s))),
            Isolated => text::percent(of.isolated_loss),
            Burst => text::percent(of.burst_loss),
            Rate => known(of.rate_bit_s.map(text::rate)),
            Cwnd => of.cwnd.to_string(),
            Latency => known(of.latency_s().map(text::seconds)),
            Switches => of.switches.to_string(),
            Ago => {
                let age = |at_ns| Duration::from_nanos(now_ns.saturating_sub(at_ns));
                known(of.latest_switch.map(|it| text::ago(age(it.at_ns))))
            }
            Why => known(of.latest_switch.map(|it| it.reason.to_string())),
            Gain => known(gain(of).map(|gain| format!("{:.0} %", gain * 100.0))),
        }
    }

    /// The same within a width: an address that is too long is cut so that its port is seen.
    pub fn text_within(self, of: &Connection, now_ns: u64, width: usize) -> String {
        match self {
            Local => end_within(of.local, width),
            Remote => end_within(of.remote, width),
            _ => self.text(of, now_ns),
        }
    }

    /// The order of two connections by this column: names in alphabetical order, numbers in descending order,
    /// unknown ones last.
    pub fn order(self, a: &Connection, b: &Connection) -> Ordering {
        let numbers = |of: fn(&Connection) -> f64| of(b).total_cmp(&of(a));
        match self {
            Local => a.local.cmp(&b.local),
            Remote => a.remote.cmp(&b.remote),
            Algorithm => a.algorithm.cmp(&b.algorithm),
            Original => a.original.cmp(&b.original),
            Treatment => a.treatment.cmp(&b.treatment),
            Scope => a.scope.cmp(&b.scope),
            Rtt => numbers(|it| it.rtt_s),
            Isolated => numbers(|it| it.isolated_loss),
            Burst => numbers(|it| it.burst_loss),
            Rate => b.rate_bit_s.cmp(&a.rate_bit_s),
            Cwnd => b.cwnd.cmp(&a.cwnd),
            Latency => numbers(|it| it.latency_s().unwrap_or(-1.0)),
            Switches => b.switches.cmp(&a.switches),
            Ago => {
                let at = |it: &Connection| it.latest_switch.map(|it| it.at_ns);
                at(b).cmp(&at(a))
            }
            Why => a.latest_switch.map(|it| it.reason).cmp(&b.latest_switch.map(|it| it.reason)),
            Gain => numbers(|it| gain(it).unwrap_or(f64::NEG_INFINITY)),
        }
    }
}

/// Share of the original algorithm's latency that is expected to be saved; negative if latency is lost.
pub fn gain(of: &Connection) -> Option<f64> {
    Some(1.0 - of.predicted_s? / of.predicted_original_s?)
}

fn end_within(end: SocketAddr, width: usize) -> String {
    let whole = end.to_string();
    if whole.len() <= width {
        return whole;
    }
    let port = format!(":{}", end.port());
    match width.checked_sub(port.len() + 1) {
        Some(room) if room >= 4 => format!("{}…{port}", &whole[..room]),
        _ => port,
    }
}

/// Widest texts of the columns that need very different room.
#[derive(Clone, Copy, Debug, Default)]
pub struct Widest {
    pub local: usize,
    pub remote: usize,
    pub scope: usize,
}

impl Widest {
    pub fn of(connections: &[Connection]) -> Widest {
        let widest =
            |text: fn(&Connection) -> usize| connections.iter().map(text).max().unwrap_or(0);
        Widest {
            local: widest(|it| end_width(it.local)),
            remote: widest(|it| end_width(it.remote)),
            scope: widest(|it| it.scope.as_ref().map_or(0, |it| it.chars().count())),
        }
    }
}

fn end_width(end: SocketAddr) -> usize {
    end.to_string().len()
}

/// Width of an end of an IPv4 connection.
const IPV4_END: usize = 21;

/// The columns that fit the screen, from left to right, with their widths; there is a space between two.
pub fn fitting(width: usize, widest: &Widest) -> Vec<(Column, usize)> {
    let end = |widest: usize| widest.clamp(6, IPV4_END);
    // The most important is first; some columns ask for more width after others have got theirs.
    let wishes = [
        (Remote, end(widest.remote)),
        (Algorithm, 11),
        (Rtt, 8),
        (Isolated, 8),
        (Burst, 6),
        (Gain, 6),
        (Ago, 6),
        (Local, 6),
        (Why, 17),
        (Treatment, 12),
        (Local, end(widest.local)),
        (Scope, widest.scope.clamp(5, 12)),
        (Algorithm, 15),
        (Original, 11),
        (Remote, widest.remote),
        (Local, widest.local),
        (Switches, 8),
        (Latency, 8),
        (Rate, 13),
        (Cwnd, 7),
        (Scope, widest.scope.clamp(5, 40)),
    ];
    let mut widths = [0; Column::ALL.len()];
    let mut room = width + 1;
    for (column, wished) in wishes {
        let has = &mut widths[column as usize];
        let more = if *has == 0 { wished + 1 } else { wished.saturating_sub(*has) };
        if more <= room {
            room -= more;
            *has = wished.max(*has);
        }
    }
    // The width that is left shows more of addresses that are cut.
    let remote = &mut widths[Remote as usize];
    if *remote > 0 {
        *remote += room.min(widest.remote.saturating_sub(*remote));
    }
    Column::ALL.into_iter().zip(widths).filter(|(_, width)| *width > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(width: usize, widest: &Widest) -> Vec<&'static str> {
        fitting(width, widest).into_iter().map(|(column, _)| column.title()).collect()
    }

    #[test]
    fn the_less_important_columns_go_first() {
        let widest = Widest { local: 21, remote: 21, scope: 3 };
        let needed = ["local", "remote", "algorithm", "RTT", "isolated", "burst", "switch", "gain"];
        assert_eq!(names(80, &widest), needed);
        assert_eq!(names(40, &widest), ["remote", "algorithm", "burst"]);
        assert_eq!(names(4, &widest), [""; 0]);
        assert_eq!(names(500, &widest).len(), Column::ALL.len());
        for width in 0..300 {
            for widest in [widest, Widest { local: 47, remote: 47, scope: 40 }] {
                let columns = fitting(width, &widest);
                let taken: usize = columns.iter().map(|(_, width)| width + 1).sum();
                assert!(taken <= width + 1, "{taken} of {width}");
            }
        }
    }

    #[test]
    fn of_an_address_that_is_too_long_the_port_stays() {
        let end: SocketAddr = "[2001:db8:1234:5678::1]:44321".parse().unwrap();
        assert_eq!(end_within(end, 29), "[2001:db8:1234:5678::1]:44321");
        assert_eq!(end_within(end, 21), "[2001:db8:1234…:44321");
        assert_eq!(end_within(end, 6), ":44321");
    }
}
