//! Draws the screen.

use std::collections::BTreeMap;
use std::time::Duration;

use kirikae_agent::Connection;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::columns::Column;
use super::keys::{self, Mode};
use super::text::{self, number};
use super::view::View;

/// The ssthresh of a connection whose algorithm never saw a loss.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Draws the whole screen.
pub fn draw(frame: &mut Frame, view: &mut View) {
    // Shows more of the selected connection, if there are lines for it.
    let details = match frame.area().height {
        ..16 => 0,
        16..24 => 3,
        _ => 6,
    };
    let [header, titles, rows, details, foot] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(details),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    view.set_height(rows.height.into());
    draw_header(frame, header, view);
    let columns = placed(view.columns(rows.width.into()), rows);
    draw_titles(frame, titles, view, &columns);
    draw_rows(frame, rows, view, &columns);
    if let Some(connection) = view.selected() {
        let more = Paragraph::new(more_of(connection, view.now_ns())).wrap(Wrap { trim: true });
        frame.render_widget(more.dim(), details);
    }
    frame.render_widget(foot_of(view), foot);
    if view.mode() == Mode::Help {
        draw_help(frame);
    }
}

/// The columns with the area of each.
fn placed(columns: Vec<(Column, usize)>, area: Rect) -> Vec<(Column, Rect)> {
    let mut x = area.x;
    let place = |(column, width): (Column, usize)| {
        let cell = Rect { x, width: width as u16, ..area };
        x += cell.width + 1;
        (column, cell)
    };
    columns.into_iter().map(place).collect()
}

fn draw_header(frame: &mut Frame, area: Rect, view: &View) {
    let status = view.status();
    let up = humantime::format_duration(Duration::from_secs(status.up_s as u64));
    let policy = match &status.policy.file {
        Some(file) => format!("{file}, generation {}", status.policy.generation),
        None => "of the command line".into(),
    };
    let first = vec![
        format!("kirikae {}", status.version).bold(),
        format!(
            "  up {up}  policy {policy}, {}",
            number(status.policy.scopes.len() as u64, "scope")
        )
        .into(),
    ];
    let per_s = view.switches_per_s().map(|rate| format!(", {rate:.1}/s")).unwrap_or_default();
    let switches: u64 = status.switches.values().sum();
    let mut third = vec![Span::from(format!("switches    {switches}{per_s}"))];
    if status.observed > 0 {
        third.push(format!("; observed {}", status.observed).into());
    }
    third.push(match status.events_lost {
        0 => "; no event lost".into(),
        lost => format!("; {} lost", number(lost, "event")).bold(),
    });
    let second = format!("connections {}{}", status.connections, counts(&status.by_algorithm));
    frame.render_widget(Paragraph::new(vec![first.into(), second.into(), third.into()]), area);
}

/// The numbers by algorithm, the largest first: `: kk_cubic 10, kk_bbr 2`
fn counts(by_algorithm: &BTreeMap<String, usize>) -> String {
    let mut counts: Vec<_> = by_algorithm.iter().collect();
    counts.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    let counts: Vec<String> =
        counts.iter().map(|(name, number)| format!("{name} {number}")).collect();
    if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) }
}

fn draw_titles(frame: &mut Frame, area: Rect, view: &View, columns: &[(Column, Rect)]) {
    frame.buffer_mut().set_style(area, Style::new().reversed());
    let (sorted_by, is_reversed) = view.sorted_by();
    for (column, cell) in columns {
        let mut title = Line::from(column.title());
        if *column == sorted_by {
            title = title.bold().underlined();
            if is_reversed {
                title = title.italic();
            }
        }
        let cell = Rect { y: area.y, height: 1, ..*cell };
        frame.render_widget(aligned(title, *column), cell);
    }
}

fn aligned(line: Line, column: Column) -> Line {
    if column.is_number() { line.right_aligned() } else { line }
}

fn draw_rows(frame: &mut Frame, area: Rect, view: &View, columns: &[(Column, Rect)]) {
    for (connection, y) in view.on_screen().zip(area.y..area.bottom()) {
        for (column, cell) in columns {
            let text = column.text_within(connection, view.now_ns(), cell.width.into());
            let cell = Rect { y, height: 1, ..*cell };
            frame.render_widget(aligned(text.into(), *column), cell);
        }
    }
    if view.selected().is_some() {
        let y = area.y + view.selected_on_screen() as u16;
        let row = Rect { y, height: 1, ..area }.intersection(area);
        frame.buffer_mut().set_style(row, Style::new().bold().reversed());
    }
    if view.position().1 == 0 {
        let why = if view.filter().is_empty() { "no connections" } else { "no connection matches" };
        frame.render_widget(Line::from(why).dim(), area);
    }
}

/// Details of a connection that may not fit the columns.
fn more_of(of: &Connection, now_ns: u64) -> Vec<Line<'static>> {
    let mut first = format!("{} > {}: {}", of.local, of.remote, of.treatment.name());
    if let Some(scope) = &of.scope {
        first += &format!(" by scope {scope}");
    }
    let mut second = format!("{} in use, {} before", of.algorithm, of.original);
    if of.chosen != of.algorithm {
        second += &format!(", {} chosen", of.chosen);
    }
    if let Some(latest) = of.latest_switch {
        let ago = text::ago(Duration::from_nanos(now_ns.saturating_sub(latest.at_ns)));
        let switches = number(of.switches, "switch");
        second += &format!("; {switches}, the latest {ago} ago: {}", latest.reason);
    }
    if let (Some(chosen), Some(original)) = (of.predicted_s, of.predicted_original_s) {
        let [chosen, original] = [chosen, original].map(text::seconds);
        second += &format!("; {chosen} a burst expected, not {original}");
    }
    let srtt = text::seconds(of.srtt_s);
    let mut third = format!("sRTT {srtt}, cwnd {} of {} bytes", of.cwnd, of.mss);
    if of.ssthresh < INFINITE_SSTHRESH {
        third += &format!(", ssthresh {}", of.ssthresh);
    }
    if let Some(rate) = of.pacing_rate_bit_s {
        third += &format!(", paced at {}", text::rate(rate));
    }
    if let Some(rate) = of.rate_bit_s {
        third += &format!("; bottleneck {}", text::rate(rate));
    }
    if let Some(size) = of.burst_bytes {
        third += &format!("; bursts of {}", text::bytes(size.into()));
    }
    if let Some(latency) = of.burst_latency_s {
        third += &format!(", the latest in {}", text::seconds(latency));
    }
    if let Some(stream) = of.stream {
        third += &format!("; a stream of {}", text::rate(stream.demand_bit_s));
        if let Some(latency) = stream.latency_s {
            third += &format!(", a write in {}", text::seconds(latency));
        }
        third += &format!(", {} waiting", text::bytes(stream.backlog_bytes.into()));
    }
    let [sent, again] = [of.bytes_sent, of.bytes_retransmitted].map(text::bytes);
    third += &format!("; {sent} sent, {again} again");
    [first, second, third].map(Line::from).to_vec()
}

fn foot_of(view: &View) -> Line<'_> {
    if view.mode() == Mode::Filter {
        return Line::from_iter(["/".bold(), view.filter().into(), "▏".into()]);
    }
    let (row, rows) = view.position();
    let mut foot = vec![Span::from(format!("{row} of {rows}"))];
    if let Some(problem) = view.problem() {
        foot.push(format!("  {problem}").bold());
        return foot.into();
    }
    if view.is_paused() {
        foot.push("  standing still".bold());
    }
    if !view.filter().is_empty() {
        foot.push(format!("  with {}", view.filter()).bold());
    }
    let (column, is_reversed) = view.sorted_by();
    let reversed = if is_reversed { ", reversed" } else { "" };
    foot.push(format!("  by {}{reversed}", column.title()).into());
    foot.push("  s sort  r reverse  / filter  p pause  ? help  q quit".dim());
    foot.into()
}

fn draw_help(frame: &mut Frame) {
    let line = |(what, meaning): (&str, &str)| Line::from(format!("{what:10} {meaning}"));
    let mut lines: Vec<Line> = keys::HELP.into_iter().map(line).collect();
    lines.push(Line::default());
    lines.extend(Column::ALL.into_iter().map(|it| line((it.title(), it.meaning()))));
    let area = frame.area().centered(
        Constraint::Max(lines.iter().map(Line::width).max().unwrap_or(0) as u16 + 2),
        Constraint::Max(lines.len() as u16 + 2),
    );
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("kirikae top")), area);
}
