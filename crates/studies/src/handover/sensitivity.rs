//! How much of the agreement hangs on what the paper does not tell and the scenarios were fitted by: the queues,
//! the window, and the least timeout.

use kirikae_path::{ElementSpec, QueueLimit, Span, Time};
use kirikae_scenario::{Controls, Scenario};

use super::super::{
    Axis, Cell, Column, Computed, Error, Figure, Form, Found, Key, Material, Panel, Row, Scale,
    Series, Table, simulate,
};
use super::{PUBLISHED, SCHEMES, Throughputs, in_order, one, published};

pub(super) const EVERYWHERE: Key = Key::new("everywhere");
pub(super) const ORDER_EVERYWHERE: Key = Key::new("order-everywhere");
pub(super) const DEFAULT: Key = Key::new("default");

/// Packets in each queue; segments of 1000 bytes that the receiver has room for, none being more than anything holds;
/// the least timeout beyond the round trip.
const QUEUES: [u64; 5] = [20, 25, 30, 40, 50];
const WINDOWS: [(u32, &str); 4] = [(60, "60"), (90, "90"), (120, "120"), (UNLIMITED, "none")];
const TIMEOUTS_MS: [u64; 4] = [200, 500, 770, 1000];
const UNLIMITED: u32 = 4000;
const SEGMENT: u32 = 1000;
/// What the scenarios have, and what ns-2 has where nothing is said.
const FITTED: (u64, u32) = (30, 90);
const OF_NS_2: (u64, u32) = (50, UNLIMITED);

/// Which of the throughputs agree at a setting, and whether the pairs of schemes are in order.
struct Setting {
    agree: Vec<bool>,
    ordered: Vec<bool>,
}

impl Setting {
    fn cell(&self) -> Cell {
        Cell::ours(one(self.agreeing() as f64), self.agree.len())
    }

    fn agreeing(&self) -> usize {
        self.agree.iter().filter(|agrees| **agrees).count()
    }
}

/// Plays the cases of the paper with other queues, windows and timeouts.
pub(super) fn sensitivity(material: &Material) -> Result<Computed, Error> {
    let cases: Vec<Scenario> =
        material.scenarios.iter().filter(|it| is_published(it)).cloned().collect();
    if cases.is_empty() {
        return Ok(Computed::default());
    }
    let play = |change: &dyn Fn(&mut Scenario)| -> Result<Setting, Error> {
        let mut cases = cases.clone();
        cases.iter_mut().for_each(change);
        setting(material, &cases)
    };
    let mut grid = Vec::new();
    for queue in QUEUES {
        for (window, name) in WINDOWS {
            let set = |it: &mut Scenario| {
                set_queues(it, queue);
                it.stack.receive_window_max = window * SEGMENT;
            };
            grid.push(((queue, window), name, play(&set)?));
        }
    }
    let mut timeouts = Vec::new();
    for ms in TIMEOUTS_MS {
        timeouts.push((ms, play(&|it: &mut Scenario| it.stack.rto_min = Span::from_millis(ms))?));
    }
    let all: Vec<&Setting> =
        grid.iter().map(|(_, _, it)| it).chain(timeouts.iter().map(|(_, it)| it)).collect();
    Ok(Computed {
        found: found(&grid, &all),
        tables: tables(&grid, &timeouts),
        figures: vec![figure(&grid, &timeouts)],
    })
}

type Place<'a> = ((u64, u32), &'a str, Setting);

/// NewReno of ns-2, in the schemes that were printed.
fn is_published(scenario: &Scenario) -> bool {
    let swept = |name: &str| scenario.swept.get(name).map(String::as_str);
    let printed =
        SCHEMES.iter().any(|(name, key, _)| !key.is_empty() && swept("handover") == Some(name));
    printed && swept("stack") == Some(PUBLISHED.0)
}

fn set_queues(scenario: &mut Scenario, packets: u64) {
    let limit = QueueLimit::Packets(packets);
    for path in scenario.links.iter_mut().map(|link| &mut link.path) {
        for element in path.forward.iter_mut().chain(&mut path.backward) {
            match element {
                ElementSpec::Rate { limit: own, .. } => *own = limit,
                ElementSpec::Link(link) => link.queue.limit = limit,
                ElementSpec::LinkChange(change) => change.queue.limit = limit,
                _ => {}
            }
        }
    }
}

fn setting(material: &Material, cases: &[Scenario]) -> Result<Setting, Error> {
    let mut cases = cases.to_vec();
    for case in &mut cases {
        case.contenders.retain(|contender| contender.name() == PUBLISHED.1);
        // What comes after the throughput was counted changes nothing.
        case.duration = case.measured.as_ref().map(|it| it.end - Time::ZERO);
    }
    let outcome = simulate(&cases, Controls::default())?;
    let table = published(material, &Throughputs { comparisons: &outcome.comparisons })?;
    let cells = table.rows.iter().flat_map(|row| &row.cells);
    Ok(Setting {
        agree: cells.filter_map(|cell| cell.agrees).collect(),
        ordered: table.rows.iter().flat_map(in_order).collect(),
    })
}

fn found(grid: &[Place], all: &[&Setting]) -> Vec<Found> {
    let printed = all[0].agree.len();
    let everywhere = (0..printed).filter(|cell| all.iter().all(|setting| setting.agree[*cell]));
    let ordered: Vec<bool> = all.iter().flat_map(|it| it.ordered.iter().copied()).collect();
    let in_order = ordered.iter().filter(|ordered| **ordered).count();
    let default = grid.iter().find(|(place, _, _)| *place == OF_NS_2);
    let default = default.map(|(_, _, it)| Found::new(DEFAULT, it.agreeing() as f64, printed));
    let found = [
        Found::new(EVERYWHERE, everywhere.count() as f64, printed),
        Found::new(ORDER_EVERYWHERE, in_order as f64, ordered.len()),
    ];
    found.into_iter().chain(default).collect()
}

fn tables(grid: &[Place], timeouts: &[(u64, Setting)]) -> Vec<Table> {
    let columns = WINDOWS.map(|(_, name)| Column::new(format!("window {name}"), 0));
    let title = "Throughputs within 15 % of the printed ones, by queue and window in packets";
    let mut by_both = Table::new(title, "queue", columns);
    for row in grid.chunk_by(|a, b| a.0.0 == b.0.0) {
        let cells = row.iter().map(|(_, _, setting)| setting.cell()).collect();
        by_both.rows.push(Row::new(row[0].0.0.to_string(), cells));
    }
    let title = "Throughputs within 15 % of the printed ones, by the least timeout";
    let mut by_timeout = Table::new(title, "beyond the round trip, ms", [Column::new("agree", 0)]);
    for (ms, setting) in timeouts {
        by_timeout.rows.push(Row::new(ms.to_string(), vec![setting.cell()]));
    }
    vec![by_both, by_timeout]
}

fn figure(grid: &[Place], timeouts: &[(u64, Setting)]) -> Figure {
    let y = || Axis::new("throughputs that agree, of 15", Scale::Between(0.0, 15.0));
    let by_window = WINDOWS.map(|(window, name)| {
        let own = grid.iter().filter(|((_, its), _, _)| *its == window);
        let points = own.map(|((queue, _), _, it)| (*queue as f64, one(it.agreeing() as f64)));
        Series::ours(format!("window {name}"), Form::Curve, points)
    });
    let points = timeouts.iter().map(|(ms, it)| (*ms as f64, one(it.agreeing() as f64)));
    Figure {
        title: "How much of the agreement hangs on what is not told".into(),
        about: format!(
            "Throughputs within 15 % of the printed ones with other queues and windows, and with other least \
             timeouts beside queues of {} and a window of {}, to which the scenarios were fitted.",
            FITTED.0, FITTED.1
        ),
        panels: vec![
            Panel {
                title: "By queue and window".into(),
                x: Axis::new("queue, packets", Scale::Between(15.0, 55.0)),
                y: y(),
                series: by_window.into(),
            },
            Panel {
                title: "By the least timeout".into(),
                x: Axis::new("least timeout beyond the round trip, ms", Scale::FromZero),
                y: y(),
                series: vec![Series::ours("window 90, queue 30", Form::Curve, points)],
            },
        ],
    }
}
