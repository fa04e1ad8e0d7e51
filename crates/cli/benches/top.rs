//! Measures how long `kirikae top` takes with 10,000 connections to read an answer, to sort and filter it,
//! and to draw. Medians are printed; the thread that draws does everything except the reading.

// Only a part of each module is used here, and none of their tests.
#![allow(dead_code, unused_imports)]

#[path = "../src/commands/top/asking.rs"]
mod asking;
#[path = "../src/commands/top/canned.rs"]
mod canned;
#[path = "../src/commands/top/columns.rs"]
mod columns;
#[path = "../src/commands/top/drawing.rs"]
mod drawing;
#[path = "../src/commands/top/keys.rs"]
mod keys;
#[path = "../src/commands/top/text.rs"]
mod text;
#[path = "../src/commands/top/view.rs"]
mod view;

use std::hint::black_box;
use std::time::{Duration, Instant};

use kirikae_agent::{Connection, LatestSwitch};
use kirikae_daemon::status::Connections;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use keys::{Action, Mode};
use view::View;

const CONNECTIONS: u64 = 10_000;
const RUNS: usize = 51;

fn connection(number: u64, kinds: &[Connection]) -> Connection {
    let kind = kinds[number as usize % kinds.len()].clone();
    let earlier = |it: LatestSwitch| LatestSwitch { at_ns: it.at_ns - number * 104_729, ..it };
    let mut of = Connection {
        rtt_s: (number * 7919 % 10_007) as f64 / 1e5,
        latest_switch: kind.latest_switch.map(earlier),
        ..kind
    };
    of.remote.set_port(number as u16);
    of
}

fn measure(what: &str, mut f: impl FnMut() -> Duration) {
    let mut times: Vec<Duration> = (0..RUNS).map(|_| f()).collect();
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{what:44} {:8.2} ms, at most {:.2}", ms(times[RUNS / 2]), ms(times[RUNS - 1]));
}

fn timed<T>(f: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(f());
    start.elapsed()
}

fn main() {
    let kinds = canned::several();
    let connections: Vec<_> = (0..CONNECTIONS).map(|n| connection(n, &kinds)).collect();
    let told = canned::answer(connections);
    let json = serde_json::to_vec(&told).expect("it is JSON");
    println!("{CONNECTIONS} connections, {:.1} MB; medians of {RUNS}", json.len() as f64 / 1e6);
    measure("to read an answer", || timed(|| serde_json::from_slice::<Connections>(&json)));

    let snapshot = canned::snapshot(told.connections);
    let mut view = View::new(snapshot.clone());
    let mut terminal = Terminal::new(TestBackend::new(200, 60)).expect("a screen in memory");
    let mut draw =
        |view: &mut View| timed(|| terminal.draw(|frame| drawing::draw(frame, view)).map(drop));
    let answered = |view: &mut View| {
        let next = snapshot.clone();
        timed(|| view.answered(next))
    };
    measure("to take in an answer, sorted", || answered(&mut view));
    measure("to draw 200 x 60 cells", || draw(&mut view));
    measure("a screen down, and draw", || timed(|| view.act(Action::Page(1))) + draw(&mut view));
    measure("another column, and draw", || timed(|| view.act(Action::Sort(1))) + draw(&mut view));
    view.act(Action::Enter(Mode::Filter));
    measure("a letter of the filter, and draw", || {
        let typed = timed(|| view.act(Action::Type('c'))) + draw(&mut view);
        view.act(Action::Erase);
        typed
    });
    "cubic".chars().for_each(|c| view.act(Action::Type(c)));
    measure("to take in an answer, filtered and sorted", || answered(&mut view));
}
