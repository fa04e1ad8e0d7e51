//! The hazards of jumbo frames (section 5.1): links that do not pass them, and traffic in larger bursts.

use kirikae_path::{Direction, Time};
use kirikae_results::Error;
use kirikae_results::statistics::{Estimate, mean};
use kirikae_scenario::{Controls, Scenario};
use kirikae_sim::{End, Observer, Outcome, Passage, Step, Traffic};
use kirikae_simlab::sim;
use kirikae_tcp::Endpoint;

use super::super::{Cell, Column, Found, Key, Row, Table};

pub(super) const BLACK_HOLE: Key = Key::with("black-hole", &["usual"]);
pub(super) const SENT_AGAIN: Key = Key::with("black-hole-sent-again", &["segments", "usual"]);
pub(super) const PROBING: Key = Key::with("black-hole-probing", &["carried"]);
pub(super) const SWINGS: Key = Key::with("jumbo-swings", &["jumbo", "usual"]);
pub(super) const OVERFLOWS: Key = Key::with("jumbo-overflows", &["jumbo", "usual"]);

/// The MTU of usual frames, bytes.
const USUAL: u32 = 1500;
/// Time over which traffic is summed up, nanoseconds: half of the round trip of the scenario with bursts.
const BIN_NS: u64 = 1_000_000;

/// Watches what is sent over the first link, and when something arrives.
#[derive(Debug, Default)]
struct TrafficWatch {
    /// Bytes of data that entered in each bin.
    entered: Vec<u64>,
    /// Bytes of data that were lost.
    lost: u64,
    /// When data first arrived at a server, seconds.
    first_s: Option<f64>,
}

impl Observer for TrafficWatch {
    fn packet(&mut self, passage: Passage<'_>) {
        if passage.hop.direction != Direction::Forward {
            return;
        }
        let bytes = u64::from(passage.segment.len);
        match passage.step {
            Step::Enters => {
                let bin = (passage.at.as_nanos() / BIN_NS) as usize;
                self.entered.resize(self.entered.len().max(bin + 1), 0);
                self.entered[bin] += bytes;
            }
            Step::Dropped(_) => self.lost += bytes,
            Step::Leaves => {}
        }
    }

    fn received(&mut self, now: Time, _flow: usize, end: End, endpoint: &Endpoint) {
        if end == End::Server && self.first_s.is_none() && endpoint.in_order() > 1 {
            self.first_s = Some((now - Time::ZERO).as_secs_f64());
        }
    }
}

impl TrafficWatch {
    /// The standard deviation of what is sent in a bin, as a share of its mean.
    fn variation(&self) -> f64 {
        let n = self.entered.len().max(1) as f64;
        let mean = self.entered.iter().sum::<u64>() as f64 / n;
        let square = |bytes: &u64| (*bytes as f64 - mean).powi(2);
        (self.entered.iter().map(square).sum::<f64>() / n).sqrt() / mean
    }

    /// Share of the bytes that were lost.
    fn loss(&self) -> f64 {
        self.lost as f64 / self.entered.iter().sum::<u64>().max(1) as f64
    }
}

/// A run and what the sender of its first flow sent.
type Run = (TrafficWatch, Traffic);

fn watch(scenarios: &[&Scenario]) -> Result<Vec<Vec<Run>>, Error> {
    let result = |watch, outcome: Outcome| (watch, outcome.flows[0].traffic[0]);
    let play = |scenario: &&Scenario| {
        let one = std::slice::from_ref(*scenario);
        sim::watch(one, &Controls::default(), TrafficWatch::default, result)
    };
    scenarios.iter().map(play).collect()
}

/// What arrives over a link of usual frames that drops larger ones.
pub(super) fn black_hole(scenarios: &[&Scenario]) -> Result<(Vec<Found>, Option<Table>), Error> {
    let mut table = Table::new(
        "A download over a link that drops what is larger than 1500 bytes (section 5.1)",
        "MTU of the hosts, tcp_mtu_probing",
        [
            Column::new("goodput, Mbit/s", 1),
            Column::new("segments sent", 0),
            Column::new("of them again", 0),
            Column::new("first data arrives, s", 2),
        ],
    );
    let one = |value: f64| Cell::ours(Estimate { value, half_width: None }, 1);
    let mut courses = Vec::new();
    for (scenario, runs) in scenarios.iter().zip(watch(scenarios)?) {
        let Some((duration, (watch, traffic))) = scenario.duration.zip(runs.into_iter().next())
        else {
            continue;
        };
        let stack = &scenario.stack;
        let mbit = traffic.arrived as f64 * 8.0 / 1e6 / duration.as_secs_f64();
        table.rows.push(Row::new(
            format!("{} B, {}", stack.mtu, u8::from(stack.mtu_probing)),
            vec![
                one(mbit),
                one(traffic.segments as f64),
                one(traffic.retransmissions as f64),
                watch.first_s.map_or(Cell::word("never"), one),
            ],
        ));
        courses.push((stack.mtu > USUAL, stack.mtu_probing, mbit, traffic, watch.first_s));
    }
    let of = |jumbo, probing| courses.iter().find(|it| (it.0, it.1) == (jumbo, probing));
    let mut found = Vec::new();
    if let (Some(usual), Some(jumbo)) = (of(false, false), of(true, false)) {
        let again = |of: &Traffic| of.retransmissions as f64 / of.segments.max(1) as f64;
        let share = Found::new(BLACK_HOLE, jumbo.2 / usual.2, 2);
        found.push(share.word("usual", format!("{:.0}", usual.2)));
        let sent_again = Found::new(SENT_AGAIN, again(&jumbo.3), jumbo.3.segments as usize)
            .word("segments", jumbo.3.retransmissions.to_string());
        found.push(sent_again.word("usual", format!("{:.4}", again(&usual.3))));
        if let Some((carried, first_s)) = of(true, true).and_then(|it| Some((it.2, it.4?))) {
            let share = format!("{:.0}", 100.0 * carried / usual.2);
            found.push(Found::new(PROBING, first_s, 1).word("carried", share));
        }
    }
    Ok((found, (!table.rows.is_empty()).then_some(table)))
}

/// How unevenly the same answers are sent in frames of both sizes, and what of them a switch drops.
pub(super) fn bursts(scenarios: &[&Scenario]) -> Result<(Vec<Found>, Option<Table>), Error> {
    let mut table = Table::new(
        "Answers of 64 KiB from 16 servers over 1 Gbit/s with a queue of 256 KiB (section 5.1)",
        "MTU",
        [
            Column::new("bytes sent in a ms: standard deviation over mean", 2),
            Column::new("bytes dropped, %", 2),
        ],
    );
    let mut seen = Vec::new();
    for (scenario, runs) in scenarios.iter().zip(watch(scenarios)?) {
        let of = |each: &dyn Fn(&TrafficWatch) -> f64| {
            mean(&runs.iter().map(|(watch, _)| each(watch)).collect::<Vec<f64>>())
        };
        let Some((varies, lost)) = of(&TrafficWatch::variation).zip(of(&|it| 100.0 * it.loss()))
        else {
            continue;
        };
        let cells = [varies, lost].map(|it| Cell::ours(it, runs.len())).to_vec();
        table.rows.push(Row::new(format!("{} B", scenario.stack.mtu), cells));
        seen.push((scenario.stack.mtu > USUAL, varies.value, lost.value, runs.len()));
    }
    let of = |jumbo| seen.iter().find(|it| it.0 == jumbo);
    let mut found = Vec::new();
    if let (Some(usual), Some(jumbo)) = (of(false), of(true)) {
        let words = |found: Found, jumbo: f64, usual: f64| {
            found.word("jumbo", format!("{jumbo:.2}")).word("usual", format!("{usual:.2}"))
        };
        let n = usual.3 + jumbo.3;
        found.push(words(Found::new(SWINGS, jumbo.1 / usual.1, n), jumbo.1, usual.1));
        found.push(words(Found::new(OVERFLOWS, jumbo.2 - usual.2, n), jumbo.2, usual.2));
    }
    Ok((found, (!table.rows.is_empty()).then_some(table)))
}
