//! Figures that prose quotes from tables: where the tables are made again, the prose does not follow by
//! itself, but is found.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

/// Begins a line, before what is quoted from and the texts: `<!-- quotes FILE: TEXT; TEXT -->`, or, of a row of a
/// generated table by its first cell, `<!-- quotes FILE BLOCK, ROW: TEXT; TEXT -->`.
const BEGIN: &str = "\n<!-- quotes ";
const GENERATED: &str = "<!-- generated ";
const END: &str = "<!-- end ";

/// A text that a document says it quotes, and that is missing on either side.
#[derive(Debug, PartialEq, Eq)]
pub struct Misquoted {
    /// The document.
    pub file: String,
    /// What is quoted.
    pub text: String,
    /// Where it is missing.
    pub missing_in: String,
}

/// Of all documents in the root and in `docs/`: how many texts are quoted, and those that are not where they
/// should be.
///
/// # Errors
/// A file that cannot be read; a comment that cannot be understood.
pub fn misquoted(root: &Path) -> anyhow::Result<(usize, Vec<Misquoted>)> {
    let mut misquoted = Vec::new();
    let mut count = 0;
    for directory in ["", "docs"] {
        for entry in fs::read_dir(root.join(directory))? {
            let name = Path::new(directory).join(entry?.file_name()).display().to_string();
            if name.ends_with(".md") {
                count += check(root, &name, &mut misquoted)?;
            }
        }
    }
    Ok((count, misquoted))
}

fn check(root: &Path, file: &str, misquoted: &mut Vec<Misquoted>) -> anyhow::Result<usize> {
    let read = |file: &str| fs::read_to_string(root.join(file)).with_context(|| file.to_owned());
    let document = format!("\n{}", read(file)?);
    let [blocks, prose] = parts(&document);
    let mut count = 0;
    for comment in document.split(BEGIN).skip(1) {
        let read_comment = || comment.split_once(" -->")?.0.split_once(": ");
        let Some((source, texts)) = read_comment() else {
            bail!("{file}: allowed: `{}FILE BLOCK, ROW: TEXT; TEXT -->`", BEGIN.trim_start());
        };
        let (source_file, of_row) = source.split_once(' ').unzip();
        let source_file = source_file.unwrap_or(source);
        let source_text = match of_row.map(|it| it.split_once(", ")) {
            Some(Some((block, first))) => row(&read(source_file)?, block, first)
                .with_context(|| format!("{file}: {source_file} has no row {first} in {block}"))?,
            Some(None) => bail!("{file}: {source}: allowed: FILE or FILE BLOCK, ROW"),
            None if source_file == file => blocks.clone(),
            None => parts(&read(source_file)?).concat(),
        };
        for text in texts.split(';').map(normal) {
            count += 1;
            let mut miss = |missing_in: String| {
                misquoted.push(Misquoted { file: file.into(), text: text.clone(), missing_in });
            };
            if !has(&source_text, &text) {
                miss(format!("{source}, from which it is quoted"));
            }
            if !has(&prose, &text) {
                miss("the prose that quotes it".into());
            }
        }
    }
    Ok(count)
}

/// What is generated in a document and what is not, neither with comments.
fn parts(document: &str) -> [String; 2] {
    let (mut blocks, mut prose) = (String::new(), String::new());
    let mut generated = false;
    let mut comment = false;
    for line in document.lines() {
        generated = (generated || line.starts_with(GENERATED)) && !line.starts_with(END);
        comment |= line.starts_with("<!--");
        let part = if generated { &mut blocks } else { &mut prose };
        if !comment {
            part.push_str(line);
            part.push('\n');
        }
        comment &= !line.ends_with("-->");
    }
    [normal(&blocks), normal(&prose)]
}

/// The row of a generated table that begins with this cell.
fn row(document: &str, block: &str, first: &str) -> Option<String> {
    let begin = format!("{GENERATED}{block}: ");
    let of_block = document.lines().skip_while(|line| !line.starts_with(&begin));
    let mut of_block = of_block.take_while(|line| !line.starts_with(END));
    of_block.find(|line| line.starts_with(&format!("| {first} |"))).map(normal)
}

/// Whether the text is there, and no part of a longer number.
fn has(all: &str, text: &str) -> bool {
    let is_of_number = |character: Option<char>| character.is_some_and(|it| it.is_ascii_digit());
    all.match_indices(text).any(|(at, _)| {
        let (before, after) = (&all[..at], &all[at + text.len()..]);
        let goes_on = |text: &str| is_of_number(text.trim_start_matches('.').chars().next());
        let began = |text: &str| is_of_number(text.trim_end_matches('.').chars().last());
        let (first, last) = (text.chars().next(), text.chars().last());
        !(is_of_number(first) && began(before) || is_of_number(last) && goes_on(after))
    })
}

/// With single spaces, since lines end anywhere.
fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "<!-- quotes x.md: 0.78 ± 0.44; 5 -->\n<!-- quotes y.md: 162 of\n  168 -->\n\
        The worst keeps 0.78 ±\n0.44, or 5; 162 of 168 agree.\n\
        <!-- generated a: make; inputs: b 1 -->\n| 0.78 ± 0.44 | 5 |\n<!-- end a -->\n";

    fn of(document: &str, source: &str) -> anyhow::Result<(usize, Vec<Misquoted>)> {
        let directory = tempfile::tempdir()?;
        fs::create_dir(directory.path().join("docs"))?;
        fs::write(directory.path().join("x.md"), document)?;
        fs::write(directory.path().join("y.md"), source)?;
        misquoted(directory.path())
    }

    #[test]
    fn what_is_quoted_is_on_both_sides() {
        assert_eq!(of(DOCUMENT, "**162 of 168** cells").unwrap(), (3, vec![]));
        let missing = |document: &str, source| {
            let found = of(document, source).unwrap().1;
            found.into_iter().map(|it| (it.text, it.missing_in)).collect::<Vec<_>>()
        };
        let source = "y.md, from which it is quoted".to_owned();
        assert_eq!(missing(DOCUMENT, "163 of 168"), [("162 of 168".into(), source)]);
        let made_again = DOCUMENT.replace("| 0.78 ± 0.44 |", "| 0.79 ± 0.44 |");
        let blocks = "x.md, from which it is quoted".to_owned();
        assert_eq!(missing(&made_again, "162 of 168"), [("0.78 ± 0.44".into(), blocks)]);
        let rewritten = DOCUMENT.replace("keeps 0.78", "keeps 0.79");
        let prose = "the prose that quotes it".to_owned();
        assert_eq!(missing(&rewritten, "162 of 168"), [("0.78 ± 0.44".into(), prose)]);
        assert!(of("<!-- quotes y.md -->", "").is_err());
    }

    #[test]
    fn a_part_of_a_number_is_not_quoted() {
        assert!(has("1.10 of it, and 2 x 5.", "1.10") && has("it is 5.", "5"));
        for longer in ["1.106", "11.10", "1.1.10", "21.10"] {
            assert!(!has(longer, "1.10"), "{longer}");
        }
        assert!(has("| 162 of 168 |", "162 of 168") && !has("| 1162 of 168 |", "162 of 168"));
    }

    #[test]
    fn a_row_is_quoted_from_its_table() {
        let table = |row: &str| {
            format!(
                "<!-- generated a: make; inputs: b 1 -->\n| x | 7 |\n{row}\n<!-- end a -->\n| y | 7 |\n"
            )
        };
        let quoted = |row: &str| of("<!-- quotes y.md a, y: 7 -->\nIt has 7.\n", &table(row));
        assert_eq!(quoted("| y | 7 |").unwrap(), (1, vec![]));
        assert_eq!(quoted("| y | 8 |").unwrap().1[0].text, "7");
        assert!(quoted("").is_err(), "there is no such row in the table");
        assert!(of("<!-- quotes y.md a: 7 -->\n7\n", &table("")).is_err());
    }
}
