//! Where something generated is: a file as a whole, or a block of a document.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use kirikae_provenance::Inputs;

/// A place in the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file of values whose first lines, behind `#`, say how it was made.
    File(&'static str),
    /// A block of a document, by its name: from a line `<!-- generated NAME: ... -->` to `<!-- end NAME -->`.
    Block(&'static str, &'static str),
    /// The table that ships, whose program writes its own header.
    Table(&'static str),
}

/// Before what made a file.
const COMMAND: &str = "# Generated: ";
/// Before what it was made from.
const INPUTS: &str = "# Inputs: ";

impl Target {
    /// The file, from the root of the repository.
    pub fn file(self) -> &'static str {
        match self {
            Target::File(file) | Target::Block(file, _) | Target::Table(file) => file,
        }
    }

    /// Its text as it is, without what says how it was made; and what it was made from.
    ///
    /// # Errors
    /// A file without it, or a header that says nothing of its making.
    pub fn read(self, root: &Path) -> anyhow::Result<(String, Inputs)> {
        let text = read(root, self.file())?;
        let (text, inputs) = match self {
            Target::File(_) => {
                let mut lines = text.lines();
                let command = lines.next().is_some_and(|line| line.starts_with(COMMAND));
                let inputs = lines.next().and_then(|line| line.strip_prefix(INPUTS));
                let rest = lines.flat_map(|line| [line, "\n"]).collect::<String>();
                (rest, inputs.filter(|_| command).and_then(Inputs::parse))
            }
            Target::Block(_, name) => {
                let (header, text, _) = block(&text, name).with_context(|| self.to_string())?;
                let inputs = text_behind(header, "; inputs: ").and_then(Inputs::parse);
                (text.to_owned(), inputs)
            }
            Target::Table(_) => {
                let header: Vec<String> = text
                    .lines()
                    .map_while(|line| line.strip_prefix('#'))
                    .map(|line| line.trim_start().to_owned())
                    .collect();
                (text.clone(), kirikae_provenance::inputs_of_table(&header))
            }
        };
        let inputs =
            inputs.with_context(|| format!("{self} does not say what it was made from"))?;
        Ok((text, inputs))
    }

    /// Puts a text there, and says how it was made.
    ///
    /// # Errors
    /// A document without the block; a file that cannot be written.
    pub fn write(
        self,
        root: &Path,
        text: &str,
        command: &str,
        inputs: &Inputs,
    ) -> anyhow::Result<()> {
        let whole = match self {
            Target::File(_) => format!("{COMMAND}{command}\n{INPUTS}{inputs}\n{text}"),
            Target::Block(file, name) => {
                ensure!(text.ends_with('\n'), "a block ends with a line");
                let document = read(root, file)?;
                let (header, old, _) = block(&document, name).with_context(|| self.to_string())?;
                let new = format!("{BEGIN}{name}: {command}; inputs: {inputs} -->\n");
                let (was, now) = (format!("{header}\n{old}"), format!("{new}{text}"));
                document.replacen(&was, &now, 1)
            }
            Target::Table(_) => bail!("{self} is written by its own program"),
        };
        fs::write(root.join(self.file()), whole).with_context(|| format!("writing {self}"))
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Block(file, name) => write!(f, "{file} ({name})"),
            Target::File(file) | Target::Table(file) => f.write_str(file),
        }
    }
}

const BEGIN: &str = "<!-- generated ";

/// A block's first line, its text, and what is behind it.
fn block<'a>(document: &'a str, name: &str) -> anyhow::Result<(&'a str, &'a str, &'a str)> {
    let begin = format!("{BEGIN}{name}: ");
    let end = format!("<!-- end {name} -->\n");
    let mut places = document.match_indices(&begin);
    let (Some((place, _)), None) = (places.next(), places.next()) else {
        bail!("the document does not have `{begin}... -->` once");
    };
    let (header, rest) =
        document[place..].split_once('\n').context("nothing behind its first line")?;
    let (text, rest) =
        rest.split_once(&end).with_context(|| format!("`{}` is missing", end.trim()))?;
    Ok((header, text, rest))
}

/// What a comment of HTML says behind some words, up to its end.
pub(crate) fn text_behind<'a>(comment: &'a str, words: &str) -> Option<&'a str> {
    let (_, rest) = comment.split_once(words)?;
    rest.strip_suffix(" -->")
}

fn read(root: &Path, file: &str) -> anyhow::Result<String> {
    fs::read_to_string(root.join(file)).with_context(|| format!("reading {file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "Before.\n\n<!-- generated one: make it; inputs: simulator 12 -->\n| 1 |\n\
                            <!-- end one -->\n\n<!-- generated two: make it; inputs: a 1, b 2 -->\n\
                            <!-- end two -->\nBehind.\n";

    #[test]
    fn a_block_is_replaced_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("x.md"), DOCUMENT).unwrap();
        let [one, two] = ["one", "two"].map(|name| Target::Block("x.md", name));
        let inputs = Inputs::parse("simulator 13").unwrap();
        assert_eq!(one.read(directory.path()).unwrap().0, "| 1 |\n");
        two.write(directory.path(), "| 2 |\n", "make again", &inputs).unwrap();
        assert_eq!(two.read(directory.path()).unwrap(), ("| 2 |\n".into(), inputs.clone()));
        let written = fs::read_to_string(directory.path().join("x.md")).unwrap();
        let wanted = DOCUMENT.replace(
            "make it; inputs: a 1, b 2 -->\n",
            "make again; inputs: simulator 13 -->\n| 2 |\n",
        );
        assert_eq!(written, wanted);
        let none = Target::Block("x.md", "three").read(directory.path()).unwrap_err();
        assert!(format!("{none:#}").contains("`<!-- generated three: ... -->` once"), "{none:#}");
    }

    #[test]
    fn a_file_says_how_it_was_made() {
        let directory = tempfile::tempdir().unwrap();
        let inputs = Inputs::parse("simulator 13, scenarios 5").unwrap();
        let file = Target::File("x.csv");
        file.write(directory.path(), "a,b\n1,2\n", "make it", &inputs).unwrap();
        assert_eq!(file.read(directory.path()).unwrap(), ("a,b\n1,2\n".into(), inputs));
        fs::write(directory.path().join("x.csv"), "a,b\n1,2\n").unwrap();
        assert!(file.read(directory.path()).unwrap_err().to_string().contains("does not say"));
    }
}
