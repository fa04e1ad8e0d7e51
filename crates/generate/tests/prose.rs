//! What code and documents cite is in docs/bibliography.md, and what docs/glossary.md points at is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where publications are cited.
const CITING: [&str; 8] =
    ["ARCHITECTURE.md", "README.md", "bpf", "crates", "docs", "scenarios", "studies", "tables"];
const BIBLIOGRAPHY: &str = "docs/bibliography.md";
const KINDS: [&str; 6] = ["c", "h", "md", "rs", "script", "toml"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts of all files under `path` that may cite, but for the bibliography.
fn texts(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            texts(&entry.unwrap().path(), found);
        }
    } else if path.extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known))
        && !path.ends_with(BIBLIOGRAPHY)
        && !path.ends_with("tests/prose.rs")
    {
        found.push(one_line(&fs::read_to_string(path).unwrap()));
    }
}

/// Without line ends, and what begins a line of a comment.
fn one_line(text: &str) -> String {
    const BEGINNINGS: [&str; 4] = ["///", "//!", "//", "#"];
    let stripped = text.lines().map(|line| {
        let line = line.trim_start();
        let line = BEGINNINGS.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
        line.strip_prefix("* ").unwrap_or(line).trim().to_owned()
    });
    stripped.collect::<Vec<_>>().join(" ")
}

/// "RFC 5681" for each of `RFC 5681` and `RFC5681`; "draft-..." for each draft.
fn documents(text: &str) -> BTreeSet<String> {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    let rfcs = text
        .split("RFC")
        .skip(1)
        .map(|rest| digits(rest.strip_prefix(' ').unwrap_or(rest)))
        .filter(|number| number.len() >= 3)
        .map(|number| format!("RFC {number}"));
    let is_of_name = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-';
    let drafts = text
        .split("draft-")
        .skip(1)
        .map(|rest| format!("draft-{}", rest.chars().take_while(is_of_name).collect::<String>()))
        .filter(|name| name.matches('-').count() > 2);
    rfcs.chain(drafts).collect()
}

/// First author and year of each "(Author, Author, 2003" and "(Author et al. 2003".
fn publications(text: &str) -> BTreeSet<(String, String)> {
    let read = |rest: &str| {
        let end = rest.find([')', ';', '(', '"', '`'])?;
        let year = rest[..end].find(['1', '2'])?;
        let (authors, rest) = rest.split_at(year);
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let is_year = number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
        let is_of_authors = |c: char| c.is_alphabetic() || " ,.-".contains(c);
        let first = authors.split([',', ' ']).next()?;
        let is_name = first.len() > 2
            && first.chars().next()?.is_uppercase()
            && first.chars().all(|c| c.is_alphabetic() || c == '-');
        let is_title = authors.split([' ', ',']).any(|word| {
            word.starts_with(char::is_lowercase) && !["and", "et", "al."].contains(&word)
        });
        let is_cited = is_year
            && is_name
            && !is_title
            && authors.chars().all(is_of_authors)
            && authors.ends_with(' ')
            && first != "RFC";
        is_cited.then(|| (first.to_owned(), number))
    };
    text.split('(').skip(1).filter_map(read).collect()
}

#[test]
fn what_is_cited_is_in_the_bibliography_and_what_is_there_is_cited() {
    let bibliography = fs::read_to_string(root().join(BIBLIOGRAPHY)).unwrap();
    let keys: Vec<&str> = bibliography
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .filter(|key| key.starts_with("draft-") || key.contains(char::is_numeric))
        .collect();
    assert!(keys.len() > 60, "{keys:?}");
    let mut citing = Vec::new();
    CITING.iter().for_each(|path| texts(&root().join(path), &mut citing));
    assert!(citing.len() > 500, "{} files", citing.len());

    let cited: BTreeSet<String> = citing.iter().flat_map(|text| documents(text)).collect();
    let named = |name: &String| keys.iter().any(|key| name.starts_with(key));
    let missing: Vec<_> = cited.iter().filter(|name| !named(name)).collect();
    assert!(missing.is_empty(), "cited, and not in {BIBLIOGRAPHY}: {missing:?}");

    let publications: BTreeSet<_> = citing.iter().flat_map(|text| publications(text)).collect();
    assert!(publications.len() > 10, "{publications:?}");
    let is_there = |(author, year): &(String, String)| {
        keys.iter().any(|key| key.starts_with(author.as_str()) && key.ends_with(year.as_str()))
    };
    let missing: Vec<_> = publications.iter().filter(|it| !is_there(it)).collect();
    assert!(missing.is_empty(), "cited, and not in {BIBLIOGRAPHY}: {missing:?}");

    let is_cited = |key: &&&str| match key.split([',', ' ']).next().unwrap() {
        "RFC" => cited.contains(**key),
        draft if draft.starts_with("draft-") => cited.iter().any(|name| name.starts_with(draft)),
        author => citing.iter().any(|text| text.contains(author)),
    };
    let idle: Vec<_> = keys.iter().filter(|key| !is_cited(key)).collect();
    assert!(idle.is_empty(), "in {BIBLIOGRAPHY}, and nowhere cited: {idle:?}");
}

#[test]
fn what_the_glossary_points_at_is_there() {
    let glossary = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let code = glossary.split('`').skip(1).step_by(2).filter(|text| text.contains('/'));
    let links = glossary.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
    let places: Vec<String> =
        code.map(str::to_owned).chain(links.map(|link| format!("docs/{link}"))).collect();
    assert!(places.len() > 30, "{places:?}");
    let missing: Vec<_> = places.iter().filter(|place| !root().join(place).exists()).collect();
    assert!(missing.is_empty(), "not there: {missing:?}");

    let words: Vec<&str> = glossary
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .skip(1)
        .collect();
    assert!(words.is_sorted(), "by alphabet: {words:?}");
}

#[test]
fn citations_are_read_as_they_are_written() {
    let text = one_line(
        "/*\n * of RFC 5681 and\n * RFC2018 (Mathis and Mahdavi 1996); draft-a-b-c-00.\n */",
    );
    let found: Vec<String> = documents(&text).into_iter().collect();
    assert_eq!(found, ["RFC 2018", "RFC 5681", "draft-a-b-c-00"]);
    assert_eq!(publications(&text), [("Mathis".to_owned(), "1996".to_owned())].into());
    for none in ["(in the year 1996)", "(RFC 1996)", "(Fig. 2003 b)", "(Linux of 2010)"] {
        assert_eq!(publications(none), BTreeSet::new(), "{none}");
    }
}
