//! What each key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What the keys act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Table,
    /// The filter is being typed.
    Filter,
    Help,
}

/// The action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Quit,
    /// Moves so many rows down; negative: up.
    Move(isize),
    /// Moves so many screens down; negative: up.
    Page(isize),
    First,
    Last,
    /// Moves the sorting so many columns to the right; negative: to the left.
    Sort(isize),
    Reverse,
    Pause,
    /// Enters a mode.
    Enter(Mode),
    /// Appends a character to the filter.
    Type(char),
    /// Removes the filter's last character.
    Erase,
    /// Removes the filter and returns to the table.
    ClearFilter,
}

/// The action of a key in a mode; None if the key does nothing there.
pub fn action(key: KeyEvent, mode: Mode) -> Option<Action> {
    use Action::*;
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Quit),
            KeyCode::Char('f') if mode == Mode::Table => Some(Page(1)),
            KeyCode::Char('b') if mode == Mode::Table => Some(Page(-1)),
            _ => None,
        };
    }
    match (mode, key.code) {
        (Mode::Filter, KeyCode::Enter) => Some(Enter(Mode::Table)),
        (Mode::Filter, KeyCode::Esc) => Some(ClearFilter),
        (Mode::Filter, KeyCode::Backspace) => Some(Erase),
        (Mode::Filter, KeyCode::Char(c)) if !c.is_control() => Some(Type(c)),
        (Mode::Help, _) => Some(Enter(Mode::Table)),
        (_, KeyCode::Down) => Some(Move(1)),
        (_, KeyCode::Up) => Some(Move(-1)),
        (_, KeyCode::PageDown) => Some(Page(1)),
        (_, KeyCode::PageUp) => Some(Page(-1)),
        (Mode::Table, code) => in_table(code),
        _ => None,
    }
}

fn in_table(code: KeyCode) -> Option<Action> {
    use Action::*;
    Some(match code {
        KeyCode::Char('q') | KeyCode::Esc => Quit,
        KeyCode::Char('j') => Move(1),
        KeyCode::Char('k') => Move(-1),
        KeyCode::Char('g') | KeyCode::Home => First,
        KeyCode::Char('G') | KeyCode::End => Last,
        KeyCode::Char('s' | '>') | KeyCode::Right => Sort(1),
        KeyCode::Char('S' | '<') | KeyCode::Left => Sort(-1),
        KeyCode::Char('r') => Reverse,
        KeyCode::Char('/') => Enter(Mode::Filter),
        KeyCode::Char('p') => Pause,
        KeyCode::Char('?' | 'h') => Enter(Mode::Help),
        _ => return None,
    })
}

/// The keys and what they do, for the help.
pub const HELP: [(&str, &str); 8] = [
    ("↑ ↓  j k", "a row up or down"),
    ("PgUp PgDn", "a screen; g, G: the first, the last row"),
    ("s  < >", "sort by the next column, or the one to the left or right"),
    ("r", "the other way round"),
    ("/", "only connections with a text in any column; Enter keeps it, Esc drops it"),
    ("p", "stand still, and go on"),
    ("?", "this help; any key closes it"),
    ("q  Esc", "end; Ctrl-C, too"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(code: KeyCode, mode: Mode) -> Option<Action> {
        action(KeyEvent::new(code, KeyModifiers::NONE), mode)
    }

    #[test]
    fn keys_of_the_table() {
        let is = |code, expected| assert_eq!(pressed(code, Mode::Table), Some(expected), "{code}");
        is(KeyCode::Char('q'), Action::Quit);
        is(KeyCode::Esc, Action::Quit);
        is(KeyCode::Down, Action::Move(1));
        is(KeyCode::Char('j'), Action::Move(1));
        is(KeyCode::Up, Action::Move(-1));
        is(KeyCode::Char('k'), Action::Move(-1));
        is(KeyCode::PageDown, Action::Page(1));
        is(KeyCode::PageUp, Action::Page(-1));
        is(KeyCode::Char('s'), Action::Sort(1));
        is(KeyCode::Char('>'), Action::Sort(1));
        is(KeyCode::Char('<'), Action::Sort(-1));
        is(KeyCode::Char('r'), Action::Reverse);
        is(KeyCode::Char('/'), Action::Enter(Mode::Filter));
        is(KeyCode::Char('p'), Action::Pause);
        is(KeyCode::Char('?'), Action::Enter(Mode::Help));
        assert_eq!(pressed(KeyCode::Char('x'), Mode::Table), None);
    }

    #[test]
    fn letters_belong_to_the_filter_while_it_is_typed() {
        for letter in ['q', 'j', '/', '?', 'é'] {
            let typed = pressed(KeyCode::Char(letter), Mode::Filter);
            assert_eq!(typed, Some(Action::Type(letter)));
        }
        assert_eq!(pressed(KeyCode::Char('\u{9b}'), Mode::Filter), None);
        assert_eq!(pressed(KeyCode::Esc, Mode::Filter), Some(Action::ClearFilter));
        assert_eq!(pressed(KeyCode::Enter, Mode::Filter), Some(Action::Enter(Mode::Table)));
        assert_eq!(pressed(KeyCode::Backspace, Mode::Filter), Some(Action::Erase));
        assert_eq!(pressed(KeyCode::Down, Mode::Filter), Some(Action::Move(1)));
    }

    #[test]
    fn control_c_ends_it_in_every_mode() {
        for mode in [Mode::Table, Mode::Filter, Mode::Help] {
            let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert_eq!(action(key, mode), Some(Action::Quit));
        }
    }

    #[test]
    fn any_key_closes_the_help() {
        for code in [KeyCode::Esc, KeyCode::Char('q'), KeyCode::Down] {
            assert_eq!(pressed(code, Mode::Help), Some(Action::Enter(Mode::Table)));
        }
    }
}
