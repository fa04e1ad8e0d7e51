//! Man pages and shell completions, from the definitions of the commands.
//!
//! `cargo run -p kirikae --example manual -- DIRECTORY` writes `man/kirikae*.1` and
//! `completions/{kirikae.bash,_kirikae,kirikae.fish}` there.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use clap::Command;
use clap_complete::Shell;

fn main() -> io::Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (Some(directory), None) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("usage: manual DIRECTORY"));
    };
    write(&PathBuf::from(directory), shown(&kirikae::definitions()))
}

/// The commands without the hidden ones, which completions would name.
fn shown(all: &Command) -> Command {
    let commands = all.get_subcommands().filter(|command| !command.is_hide_set());
    Command::new("kirikae")
        .about(all.get_about().cloned().unwrap_or_default())
        .after_help(all.get_after_help().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .subcommands(commands.cloned())
}

fn write(directory: &Path, definitions: Command) -> io::Result<()> {
    let (man, completions) = (directory.join("man"), directory.join("completions"));
    for directory in [&man, &completions] {
        // Pages of commands that are gone would stay.
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        fs::create_dir_all(directory)?;
    }
    // `help` needs no page.
    clap_mangen::generate_to(definitions.clone().disable_help_subcommand(true), &man)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut definitions.clone(), "kirikae", &completions)?;
    }
    Ok(())
}
