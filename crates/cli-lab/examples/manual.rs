//! Man pages and shell completions of both programs, from the definitions of their commands.
//!
//! `cargo run -p kirikae-lab --example manual -- DIRECTORY` writes `PROGRAM/man/PROGRAM*.1` and
//! `PROGRAM/completions/{PROGRAM.bash,_PROGRAM,PROGRAM.fish}` there.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use clap::Command;
use clap_complete::Shell;

fn main() -> io::Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (Some(directory), None) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("usage: manual DIRECTORY"));
    };
    let directory = PathBuf::from(directory);
    write(&directory.join("kirikae"), "kirikae", shown("kirikae", &kirikae::definitions()))?;
    let lab = shown("kirikae-lab", &kirikae_lab::definitions());
    write(&directory.join("kirikae-lab"), "kirikae-lab", lab)
}

/// The commands without the hidden ones, which completions would name.
fn shown(program: &'static str, all: &Command) -> Command {
    let commands = all.get_subcommands().filter(|command| !command.is_hide_set());
    Command::new(program)
        .about(all.get_about().cloned().unwrap_or_default())
        .after_help(all.get_after_help().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .subcommands(commands.cloned())
}

fn write(directory: &Path, program: &str, definitions: Command) -> io::Result<()> {
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
        clap_complete::generate_to(shell, &mut definitions.clone(), program, &completions)?;
    }
    Ok(())
}
