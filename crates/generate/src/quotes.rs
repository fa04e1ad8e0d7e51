//! Figures that prose quotes from tables: where the tables are made again, the prose does not follow by
//! itself, but is found.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

/// Begins a line, before the file and the texts: `<!-- quotes FILE: TEXT; TEXT -->`.
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
            bail!("{file}: allowed: `{}FILE: TEXT; TEXT -->`", BEGIN.trim_start());
        };
        let source_text = match source == file {
            true => blocks.clone(),
            false => parts(&read(source)?).concat(),
        };
        for text in texts.split(';').map(normal) {
            count += 1;
            let mut miss = |missing_in: String| {
                misquoted.push(Misquoted { file: file.into(), text: text.clone(), missing_in });
            };
            if !source_text.contains(&text) {
                miss(format!("{source}, from which it is quoted"));
            }
            if !prose.contains(&text) {
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
}
