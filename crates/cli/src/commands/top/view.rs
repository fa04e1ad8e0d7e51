//! What is shown: the latest answer, its rows in order, and the reader's place in them.

use kirikae_agent::Connection;
use kirikae_daemon::status::Status;

use super::asking::Snapshot;
use super::columns::{self, Column, Widest};
use super::keys::{Action, Mode};
use super::text::clean;

/// The state of the screen.
pub struct View {
    snapshot: Snapshot,
    /// Switches a second between the latest two answers; None before there are two.
    switches_per_s: Option<f64>,
    /// Why the latest question was not answered.
    problem: Option<String>,
    widest: Widest,
    /// Numbers of the connections shown, in order.
    rows: Vec<usize>,
    sorted_by: Column,
    is_reversed: bool,
    filter: String,
    mode: Mode,
    is_paused: bool,
    /// The row that the reader is on.
    selected: usize,
    /// The first row on the screen, and the number of rows on it.
    top: usize,
    height: usize,
}

impl View {
    pub fn new(snapshot: Snapshot) -> View {
        let mut view = View {
            widest: Widest::of(&snapshot.connections),
            snapshot,
            switches_per_s: None,
            problem: None,
            rows: Vec::new(),
            sorted_by: Column::Ago,
            is_reversed: false,
            filter: String::new(),
            mode: Mode::default(),
            is_paused: false,
            selected: 0,
            top: 0,
            height: 1,
        };
        view.arrange();
        view
    }

    /// Takes in an answer. The reader stays on the selected connection. While paused, the screen keeps the answer
    /// before.
    pub fn answered(&mut self, snapshot: Snapshot) {
        self.problem = None;
        if self.is_paused {
            return;
        }
        let before = &self.snapshot.status;
        self.switches_per_s = switches_per_s(before, &snapshot.status);
        let selected = self.selected().map(whose);
        self.widest = Widest::of(&snapshot.connections);
        self.snapshot = snapshot;
        self.arrange();
        // If the reader is on the first row, the first row stays selected, whichever connection is in it.
        if self.selected > 0 {
            self.follow(selected);
        }
    }

    /// Notes why the agent has not answered.
    pub fn not_answered(&mut self, why: &str) {
        self.problem = Some(clean(why).into_owned());
    }

    /// Does what a key asks for; ending is the caller's part.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::Quit => {}
            Action::Move(rows) => self.go_to(self.selected.saturating_add_signed(rows)),
            Action::Page(screens) => {
                let rows = screens.saturating_mul(self.height as isize);
                self.go_to(self.selected.saturating_add_signed(rows));
            }
            Action::First => self.go_to(0),
            Action::Last => self.go_to(usize::MAX),
            Action::Sort(columns) => {
                let number = self.sorted_by as isize + columns;
                self.sorted_by =
                    Column::ALL[number.rem_euclid(Column::ALL.len() as isize) as usize];
                self.is_reversed = false;
                self.arrange_and_follow();
            }
            Action::Reverse => {
                self.is_reversed = !self.is_reversed;
                self.arrange_and_follow();
            }
            Action::Pause => self.is_paused = !self.is_paused,
            Action::Enter(mode) => self.mode = mode,
            Action::Type(c) => {
                self.filter.push(c);
                self.arrange_and_follow();
            }
            Action::Erase => {
                self.filter.pop();
                self.arrange_and_follow();
            }
            Action::ClearFilter => {
                self.filter.clear();
                self.mode = Mode::Table;
                self.arrange_and_follow();
            }
        }
    }

    fn arrange_and_follow(&mut self) {
        let selected = self.selected().map(whose);
        self.arrange();
        self.follow(selected);
    }

    /// Filters and sorts the rows. Equal ones stay in the order of the answer.
    fn arrange(&mut self) {
        let Snapshot { connections, now_ns, .. } = &self.snapshot;
        let wanted = self.filter.to_lowercase();
        let is_wanted = |number: &usize| {
            let matches = |column: Column| {
                column.text(&connections[*number], *now_ns).to_lowercase().contains(&wanted)
            };
            wanted.is_empty() || Column::ALL.into_iter().any(matches)
        };
        self.rows = (0..connections.len()).filter(is_wanted).collect();
        let (column, is_reversed) = (self.sorted_by, self.is_reversed);
        self.rows.sort_by(|&a, &b| {
            let order = column.order(&connections[a], &connections[b]);
            if is_reversed { order.reverse() } else { order }
        });
        self.go_to(self.selected);
    }

    fn follow(&mut self, selected: Option<Whose>) {
        let row = self.rows.iter().position(|row| {
            selected.is_some_and(|it| it == whose(&self.snapshot.connections[*row]))
        });
        if let Some(row) = row {
            self.go_to(row);
        }
    }

    fn go_to(&mut self, row: usize) {
        self.selected = row.min(self.rows.len().saturating_sub(1));
        self.scroll();
    }

    /// Scrolls so that the selected row is on the screen.
    fn scroll(&mut self) {
        let lowest = (self.selected + 1).saturating_sub(self.height);
        let last = self.rows.len().saturating_sub(self.height);
        self.top = self.top.clamp(lowest, self.selected).min(last.max(lowest));
    }

    /// Sets the number of rows on the screen, at least one.
    pub fn set_height(&mut self, height: usize) {
        self.height = height.max(1);
        self.scroll();
    }

    /// The rows on the screen.
    pub fn on_screen(&self) -> impl Iterator<Item = &Connection> {
        let rows = self.rows.iter().skip(self.top).take(self.height);
        rows.map(|row| &self.snapshot.connections[*row])
    }

    /// The row on the screen that the reader is on.
    pub fn selected_on_screen(&self) -> usize {
        self.selected - self.top
    }

    pub fn selected(&self) -> Option<&Connection> {
        self.rows.get(self.selected).map(|row| &self.snapshot.connections[*row])
    }

    /// Number of the row that the reader is on, from 1, and the number of rows; 0 of 0 if there are none.
    pub fn position(&self) -> (usize, usize) {
        (self.rows.len().min(self.selected + 1), self.rows.len())
    }

    /// The columns for which there is room, with their widths.
    pub fn columns(&self, width: usize) -> Vec<(Column, usize)> {
        columns::fitting(width, &self.widest)
    }

    pub fn status(&self) -> &Status {
        &self.snapshot.status
    }

    /// CLOCK_MONOTONIC in nanoseconds, when the connections were looked at.
    pub fn now_ns(&self) -> u64 {
        self.snapshot.now_ns
    }

    pub fn switches_per_s(&self) -> Option<f64> {
        self.switches_per_s
    }

    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn filter(&self) -> &str {
        &self.filter
    }

    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    pub fn sorted_by(&self) -> (Column, bool) {
        (self.sorted_by, self.is_reversed)
    }
}

/// What identifies a connection: its namespace and its ends.
type Whose = (u32, std::net::SocketAddr, std::net::SocketAddr);

fn whose(connection: &Connection) -> Whose {
    (connection.namespace, connection.local, connection.remote)
}

/// Switches a second between two answers; None if another agent has answered.
fn switches_per_s(before: &Status, now: &Status) -> Option<f64> {
    let switches = |status: &Status| status.switches.values().sum::<u64>();
    let made = switches(now).checked_sub(switches(before))?;
    let time_s = now.up_s - before.up_s;
    (time_s > 0.0).then(|| made as f64 / time_s)
}
