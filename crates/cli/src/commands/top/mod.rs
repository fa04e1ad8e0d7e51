//! `kirikae top`

mod asking;
#[cfg(test)]
mod canned;
mod columns;
mod drawing;
mod keys;
#[cfg(test)]
mod tests;
mod text;
mod view;

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use asking::Asker;
use keys::Action;
use view::View;

/// How long the loop waits for a key at most, before it looks for signals and answers.
const TURN: Duration = Duration::from_millis(50);

/// How often it checks whether the terminal still exists, milliseconds.
const LOOK: u16 = 1000;

/// Show the connections, live
///
/// A table of every connection that the agent remembers: its algorithm, RTT, both loss rates, how long ago
/// it was switched last and why, and the share of the latency that this is expected to save; more
/// columns where the terminal is wide. `?` tells the keys.
#[derive(clap::Args)]
pub struct Arguments {
    /// How often the agent is asked, from 100ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,
}

fn interval(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&time) => {
            Ok(time)
        }
        _ => Err("allowed: a time from 100ms to 1h with its unit".into()),
    }
}

/// Shows the connections until a key or a signal ends it.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    ensure!(
        io::stdout().is_terminal(),
        "`kirikae top` needs a terminal; `kirikae status --json` tells programs what there is"
    );
    let stop = Arc::new(AtomicBool::new(false));
    end_on_signals(Arc::clone(&stop))?;
    end_with_terminal(Arc::clone(&stop));
    let view = View::new(asking::ask()?);
    // It is restored if the program panics, too.
    let terminal = ratatui::try_init().context("preparing the terminal")?;
    let shown = show(terminal, view, Asker::new(arguments.interval), &stop);
    shown.and(ratatui::try_restore()).context("using the terminal")?;
    Ok(ExitCode::SUCCESS)
}

fn end_on_signals(stop: Arc<AtomicBool>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            end(&stop);
        }
    });
    Ok(())
}

/// Ends the program when its terminal has gone. Not every terminal sends a signal first.
fn end_with_terminal(stop: Arc<AtomicBool>) {
    thread::spawn(move || {
        let stdout = io::stdout();
        // A poll for no event reports only that the other end has gone; but that does not wake it, hence the
        // timeout.
        let mut terminal = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
        while matches!(poll(&mut terminal, LOOK), Ok(0) | Err(Errno::EINTR)) {}
        end(&stop);
    });
}

/// Ends the process. A thread that waits for keys of a terminal that has gone may never return, so this does
/// not wait for it.
fn end(stop: &AtomicBool) -> ! {
    stop.store(true, Ordering::Relaxed);
    thread::sleep(20 * TURN);
    // If the terminal is gone, there is nobody to report an error to.
    let _ = ratatui::try_restore();
    process::exit(1)
}

fn show(
    mut terminal: DefaultTerminal,
    mut view: View,
    mut asker: Asker,
    stop: &AtomicBool,
) -> io::Result<()> {
    let mut is_new = true;
    while !stop.load(Ordering::Relaxed) {
        if is_new {
            terminal.draw(|frame| drawing::draw(frame, &mut view))?;
        }
        is_new = event::poll(TURN)?;
        if is_new
            && let Event::Key(key) = event::read()?
            && key.is_press()
            && let Some(action) = keys::action(key, view.mode())
        {
            if action == Action::Quit {
                return Ok(());
            }
            view.act(action);
        }
        match asker.turn() {
            Some(Ok(snapshot)) => view.answered(snapshot),
            Some(Err(why)) => view.not_answered(&why),
            None => continue,
        }
        is_new = true;
    }
    Ok(())
}
