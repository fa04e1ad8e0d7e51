//! Tests of the screen's look, and of what keys do to it.

use insta::assert_snapshot;
use kirikae_agent::Connection;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::asking::Snapshot;
use super::canned::{answer, connection, several, snapshot};
use super::columns::Column;
use super::drawing::draw;
use super::keys::{Action, Mode};
use super::view::View;

fn screen(view: &mut View, width: u16, height: u16) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, view)).unwrap();
    terminal.backend().clone()
}

fn view_of_several() -> View {
    View::new(snapshot(several()))
}

fn typed(view: &mut View, text: &str) {
    view.act(Action::Enter(Mode::Filter));
    text.chars().for_each(|c| view.act(Action::Type(c)));
}

/// The remote ports that are on the screen.
fn ports(view: &View) -> Vec<u16> {
    view.on_screen().map(|it| it.remote.port()).collect()
}

/// A view of so many connections, with so many rows on the screen.
fn many(connections: u16, rows: usize) -> View {
    let numbered =
        |port: u16| connection("192.0.2.1:443", &format!("198.51.100.7:{}", 1000 + port));
    let mut view = View::new(snapshot((0..connections).map(numbered).collect()));
    view.set_height(rows);
    view
}

#[test]
fn a_narrow_screen() {
    assert_snapshot!(screen(&mut view_of_several(), 80, 24));
}

#[test]
fn a_usual_screen() {
    assert_snapshot!(screen(&mut view_of_several(), 120, 20));
}

#[test]
fn a_wide_screen() {
    assert_snapshot!(screen(&mut view_of_several(), 200, 20));
}

#[test]
fn a_screen_without_connections() {
    assert_snapshot!(screen(&mut View::new(snapshot(Vec::new())), 80, 10));
}

#[test]
fn a_screen_with_news() {
    let mut view = view_of_several();
    let mut next = snapshot(several());
    next.status.up_s += 2.0;
    next.status.switches.insert("predicted-latency".into(), 1241);
    (next.status.observed, next.status.events_lost) = (7, 3);
    view.answered(next);
    typed(&mut view, "CUBIC");
    view.act(Action::Enter(Mode::Table));
    view.act(Action::Sort(-1));
    view.act(Action::Reverse);
    view.act(Action::Pause);
    assert_snapshot!(screen(&mut view, 120, 20));
}

#[test]
fn the_help() {
    let mut view = view_of_several();
    view.act(Action::Enter(Mode::Help));
    assert_snapshot!(screen(&mut view, 100, 36));
}

#[test]
fn the_filter_while_it_is_typed() {
    let mut view = view_of_several();
    typed(&mut view, "no such");
    assert_snapshot!(screen(&mut view, 80, 10));
}

#[test]
fn an_agent_that_has_gone() {
    let mut view = view_of_several();
    view.not_answered("no agent is running here\x1b[2J");
    assert_snapshot!(screen(&mut view, 80, 10));
}

#[test]
fn hostile_texts_reach_no_terminal() {
    let hostile = "\x1b]0;owned\x07\u{9b}2J\r\n\u{202e}x";
    let mut told = snapshot(Vec::new());
    told.status.policy.file = Some(hostile.into());
    told.status.version = hostile.into();
    told.status.by_algorithm.insert(hostile.into(), 1);
    let mut of = connection("192.0.2.1:443", "198.51.100.7:51234");
    for text in [&mut of.algorithm, &mut of.original, &mut of.chosen] {
        *text = hostile.into();
    }
    of.chosen.push('y');
    of.scope = Some(hostile.into());
    let told = Snapshot::new(told.status, answer(vec![of]));
    let mut view = View::new(told);
    typed(&mut view, "owned");
    view.act(Action::Enter(Mode::Table));
    let screen = screen(&mut view, 200, 20);
    let cells = || screen.buffer().content().iter().map(|cell| cell.symbol());
    assert!(cells().any(|symbol| symbol == "\u{fffd}"));
    for symbol in cells() {
        assert!(!symbol.chars().any(|c| c.is_control() || c == '\u{202e}'), "{symbol:?}");
    }
    assert_snapshot!(screen);
}

#[test]
fn no_screen_is_too_small() {
    for (width, height) in [(1, 1), (3, 2), (10, 5), (21, 6), (30, 16)] {
        let mut view = view_of_several();
        screen(&mut view, width, height);
        view.act(Action::Enter(Mode::Help));
        screen(&mut view, width, height);
        screen(&mut View::new(snapshot(Vec::new())), width, height);
    }
}

#[test]
fn sorted_by_the_latest_switch_and_then_by_others() {
    let mut view = view_of_several();
    view.set_height(10);
    assert_eq!(ports(&view), [65535, 51234, 443, 50000, 40000]);
    while view.sorted_by().0 != Column::Rtt {
        view.act(Action::Sort(1));
    }
    assert_eq!(ports(&view), [65535, 51234, 40000, 443, 50000]);
    view.act(Action::Reverse);
    assert_eq!(ports(&view), [50000, 51234, 40000, 443, 65535], "equal ones stay in order");
    for _ in Column::ALL {
        view.act(Action::Sort(1));
    }
    assert_eq!(view.sorted_by(), (Column::Rtt, false));
}

#[test]
fn filtered_by_any_column() {
    for (text, expected) in [
        ("HELD", vec![40000]),
        ("office", vec![443]),
        ("198.51.100", vec![51234, 40000]),
        ("westw", vec![65535]),
        ("89 %", vec![65535]),
        ("nothing", vec![]),
    ] {
        let mut view = view_of_several();
        view.set_height(10);
        typed(&mut view, text);
        assert_eq!(ports(&view), expected, "{text}");
        view.act(Action::Erase);
        assert_eq!(view.filter().len(), text.len() - 1);
        view.act(Action::ClearFilter);
        assert_eq!((ports(&view).len(), view.mode()), (5, Mode::Table));
    }
}

#[test]
fn the_screen_follows_the_reader() {
    let mut view = many(100, 10);
    view.act(Action::Move(-1));
    assert_eq!(view.position(), (1, 100));
    view.act(Action::Move(9));
    assert_eq!(ports(&view)[0], 1000);
    view.act(Action::Move(1));
    assert_eq!((ports(&view)[0], view.selected_on_screen()), (1001, 9));
    view.act(Action::Page(1));
    assert_eq!(view.position(), (21, 100));
    view.act(Action::Last);
    assert_eq!((ports(&view)[0], view.position()), (1090, (100, 100)));
    view.act(Action::Page(-20));
    assert_eq!((ports(&view)[0], view.position()), (1000, (1, 100)));
    view.act(Action::Last);
    typed(&mut view, ":1005");
    assert_eq!((ports(&view), view.position()), (vec![1005], (1, 1)));
}

#[test]
fn the_reader_stays_with_a_connection() {
    let mut view = many(100, 10);
    let without = |port: u16| {
        let kept = |it: &Connection| it.remote.port() != port;
        let all =
            (1000..1100).map(|port| connection("192.0.2.1:443", &format!("198.51.100.7:{port}")));
        snapshot(all.filter(kept).collect())
    };
    view.act(Action::Move(50));
    assert_eq!(view.selected().unwrap().remote.port(), 1050);
    view.answered(without(1000));
    assert_eq!((view.selected().unwrap().remote.port(), view.position()), (1050, (50, 99)));
    view.answered(without(1050));
    assert_eq!(view.position(), (50, 99), "it has gone: where it was");
    view.act(Action::First);
    view.answered(without(1000));
    assert_eq!(view.selected().unwrap().remote.port(), 1001, "the first row stays the first");
}

#[test]
fn nothing_moves_while_it_stands_still() {
    let mut view = many(5, 10);
    view.act(Action::Pause);
    view.answered(snapshot(Vec::new()));
    assert_eq!(view.position(), (1, 5));
    view.act(Action::Pause);
    view.answered(snapshot(Vec::new()));
    assert_eq!(view.position(), (0, 0));
    assert_eq!(view.selected(), None);
}

#[test]
fn switches_of_another_agent_are_no_rate() {
    let mut view = many(5, 10);
    let mut next = snapshot(several());
    next.status.up_s += 10.0;
    next.status.switches.insert("predicted-latency".into(), 1239);
    view.answered(next.clone());
    assert_eq!(view.switches_per_s(), Some(0.5));
    next.status.up_s = 1.0;
    next.status.switches.clear();
    view.answered(next);
    assert_eq!(view.switches_per_s(), None);
}
