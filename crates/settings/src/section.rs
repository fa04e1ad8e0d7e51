//! A table of a file. Every access to it refuses wrong values, with file, line and key.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use kirikae_path::BadLine;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::quantity::Quantity;
use crate::refusal::Refusal;

/// The text that the tables were read from.
pub struct Source {
    /// The file as it was named.
    pub file: PathBuf,
    /// What is in it.
    pub text: String,
    /// The texts of the files that it names, by their names in it.
    named: RefCell<BTreeMap<String, String>>,
}

impl Source {
    /// A text that is in this file, or would be.
    pub fn new(file: impl Into<PathBuf>, text: impl Into<String>) -> Source {
        Source { file: file.into(), text: text.into(), named: RefCell::default() }
    }

    /// The same with the texts of files that it names, by their names in it: these files are not read.
    pub fn with_named(self, named: BTreeMap<String, String>) -> Source {
        Source { named: named.into(), ..self }
    }

    /// The texts of the files that it names and that have been asked for, by their names in it.
    pub fn into_named(self) -> BTreeMap<String, String> {
        self.named.into_inner()
    }

    /// Reads a file. `allowed` says what kind of file is expected, for a refusal.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read(file: &Path, allowed: &str) -> Result<Source, Refusal> {
        let text = std::fs::read_to_string(file).map_err(|error| Refusal {
            file: file.to_owned(),
            line: None,
            key: None,
            found: format!("cannot be read ({error})"),
            allowed: allowed.into(),
        })?;
        Ok(Source::new(file, text))
    }

    /// The file's top table.
    ///
    /// # Errors
    /// Refuses a text that is not TOML.
    pub fn root(&self) -> Result<Spanned<DeTable<'_>>, Refusal> {
        DeTable::parse(&self.text).map_err(|error| {
            let line = error.span().map(|span| self.line(&span));
            let written = line.and_then(|line| self.text.lines().nth(line - 1));
            let message = error.message().replace('\n', ", ");
            Refusal {
                file: self.file.clone(),
                line,
                key: None,
                found: format!("not TOML ({message}): {}", written.unwrap_or_default().trim()),
                allowed: "TOML 1.1, see https://toml.io".into(),
            }
        })
    }

    fn line(&self, span: &Range<usize>) -> usize {
        1 + self.text[..span.start].matches('\n').count()
    }

    /// Refuses the value at a place: the full name of its key, what was found, and what is allowed.
    pub fn refuse(
        &self,
        span: &Range<usize>,
        key: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Refusal {
        Refusal {
            file: self.file.clone(),
            line: Some(self.line(span)),
            key: Some(key.into()),
            found: found.into(),
            allowed: allowed.into(),
        }
    }
}

/// The value of a sweep's name in one of its scenarios.
#[derive(Clone, Copy)]
pub struct Binding<'a> {
    /// The name, which the file has after a `$`.
    pub name: &'a str,
    /// The value.
    pub value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Binding<'a> {
    /// The value of `written`: `"$name"`, or `"$name.key"` if the name's value is a table.
    fn resolve(
        bindings: &[Binding<'a>],
        written: &'a Spanned<DeValue<'a>>,
    ) -> &'a Spanned<DeValue<'a>> {
        let name = written.get_ref().as_str().and_then(|text| text.strip_prefix('$'));
        name.and_then(|name| Binding::find(bindings, name)).unwrap_or(written)
    }

    fn find(bindings: &[Binding<'a>], name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        let (name, key) = Binding::split(name);
        let bound = bindings.iter().find(|binding| binding.name == name)?.value;
        key.map_or(Some(bound), |key| bound.get_ref().as_table()?.get(key))
    }

    /// Splits off the key after a name, if there is one.
    pub fn split(name: &str) -> (&str, Option<&str>) {
        name.split_once('.').map_or((name, None), |(name, key)| (name, Some(key)))
    }

    /// The value as it is written in the file, without quotes, under the name; and those of a table under
    /// `name.key`.
    pub fn texts(&self, source: &'a Source) -> impl Iterator<Item = (String, &'a str)> {
        let text = |value: &Spanned<DeValue>| source.text[value.span()].trim_matches('"');
        let keys = self.value.get_ref().as_table().into_iter().flatten();
        let keys =
            keys.map(move |(key, value)| (format!("{}.{}", self.name, key.get_ref()), text(value)));
        [(self.name.to_owned(), text(self.value))].into_iter().chain(keys)
    }
}

/// A table, its name and where it begins.
pub struct Section<'a> {
    source: &'a Source,
    bindings: &'a [Binding<'a>],
    name: String,
    span: Range<usize>,
    table: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    /// The file's top table.
    pub fn root(
        source: &'a Source,
        table: &'a Spanned<DeTable<'a>>,
        bindings: &'a [Binding<'a>],
    ) -> Section<'a> {
        Section { source, bindings, name: String::new(), span: 0..0, table: table.get_ref() }
    }

    /// Every key with its value.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> {
        self.table.keys().map(|key| {
            let key: &str = key.get_ref();
            (key, self.optional(key).expect("it is there"))
        })
    }

    /// Refuses keys that are not listed, with the nearest listed one.
    ///
    /// # Errors
    /// Refuses the first key that is not listed, with file, line and key.
    pub fn allow(&self, keys: &[&str]) -> Result<(), Refusal> {
        let Some((key, _)) =
            self.table.iter().find(|(key, _)| !keys.contains(&key.get_ref().as_ref()))
        else {
            return Ok(());
        };
        let written: &str = key.get_ref();
        let allowed = format!("{}{}", keys.join(", "), nearest(written, keys));
        Err(self.source.refuse(&key.span(), self.full(written), "unknown key", allowed))
    }

    /// A key that must exist.
    ///
    /// # Errors
    /// Fails if the key is missing.
    pub fn required(&self, key: &str, allowed: &str) -> Result<Field<'a>, Refusal> {
        self.optional(key).ok_or_else(|| {
            self.source.refuse(&self.span, self.full(key), "missing required key", allowed)
        })
    }

    /// A key that may be left out.
    pub fn optional(&self, key: &str) -> Option<Field<'a>> {
        let value = self.table.get(key)?;
        let value = Binding::resolve(self.bindings, value);
        Some(Field { source: self.source, bindings: self.bindings, name: self.full(key), value })
    }

    /// A quantity with its unit; it must exist.
    ///
    /// # Errors
    /// Fails if the key is missing, or its value of another kind or out of its range.
    pub fn quantity<Q: Quantity>(&self, key: &str) -> Result<Q, Refusal> {
        self.required(key, Q::ALLOWED)?.quantity()
    }

    /// A quantity with its unit, which may be left out.
    ///
    /// # Errors
    /// Fails if the value is of another kind or out of its range.
    pub fn optional_quantity<Q: Quantity>(&self, key: &str) -> Result<Option<Q>, Refusal> {
        self.optional(key).map(|field| field.quantity()).transpose()
    }

    /// A number from 0 to 1; it must exist.
    ///
    /// # Errors
    /// Fails if the key is missing, or its value of another kind or out of its range.
    pub fn probability(&self, key: &str) -> Result<f64, Refusal> {
        const ALLOWED: &str = "a number from 0 to 1";
        self.required(key, ALLOWED)?.number(0.0..=1.0, ALLOWED)
    }

    /// A whole number; it must exist.
    ///
    /// # Errors
    /// Fails if the key is missing, or its value of another kind or out of its range.
    pub fn whole(&self, key: &str, range: RangeInclusive<u64>) -> Result<u64, Refusal> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        self.required(key, &allowed)?.whole(range)
    }

    /// `true` or `false`; the latter if left out.
    ///
    /// # Errors
    /// Fails if the value is of another kind or out of its range.
    pub fn flag(&self, key: &str) -> Result<bool, Refusal> {
        self.optional(key).map_or(Ok(false), |field| field.boolean())
    }

    /// The index of one of the listed words; 0 if the key is left out.
    ///
    /// # Errors
    /// Fails if the value is of another kind or out of its range.
    pub fn choice_or_first(&self, key: &str, words: &[&str]) -> Result<usize, Refusal> {
        self.optional(key).map_or(Ok(0), |field| field.choice(words))
    }

    /// Refuses the value of `key`, which may be `a.b` for the key b of the table a. If that does not exist,
    /// it refuses as much of it as exists.
    pub fn refuse_at(&self, key: &str, found: &str, allowed: &str) -> Refusal {
        let (first, rest) = key.split_once('.').map_or((key, None), |(a, b)| (a, Some(b)));
        let Some(field) = self.optional(first) else {
            return self.source.refuse(&self.span, self.full(key), found, allowed);
        };
        match (rest, field.section("")) {
            (Some(rest), Ok(section)) => section.refuse_at(rest, found, allowed),
            _ => self.source.refuse(&field.value.span(), self.full(key), found, allowed),
        }
    }

    /// A key's name in headings, without the indices of lists: `link.forward`.
    pub fn path(&self, key: &str) -> String {
        let full = self.full(key);
        let parts = full.split('.').map(|part| part.split('[').next().unwrap_or(part));
        parts.collect::<Vec<_>>().join(".")
    }

    fn full(&self, key: &str) -> String {
        if self.name.is_empty() { key.into() } else { format!("{}.{key}", self.name) }
    }
}

/// A value with its full name and its place.
pub struct Field<'a> {
    source: &'a Source,
    bindings: &'a [Binding<'a>],
    name: String,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Field<'a> {
    /// Refuses this value, and says what is allowed in its place.
    pub fn refuse(&self, allowed: impl Into<String>) -> Refusal {
        let span = self.value.span();
        let written = self.source.text[span.clone()].lines().next().unwrap_or_default();
        self.source.refuse(&span, self.name.as_str(), format!("found {written}"), allowed)
    }

    /// The value itself.
    pub fn value(&self) -> &'a Spanned<DeValue<'a>> {
        self.value
    }

    /// A string.
    ///
    /// # Errors
    /// Refuses a value that is no string.
    pub fn text(&self, allowed: &str) -> Result<&'a str, Refusal> {
        self.value.get_ref().as_str().ok_or_else(|| self.refuse(allowed))
    }

    /// The index of one of the listed words.
    ///
    /// # Errors
    /// Refuses a value that is none of the words.
    pub fn choice(&self, words: &[&str]) -> Result<usize, Refusal> {
        let allowed = words.join(", ");
        let text = self.text(&allowed)?;
        words
            .iter()
            .position(|word| *word == text)
            .ok_or_else(|| self.refuse(format!("{allowed}{}", nearest(text, words))))
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// Refuses a value that is neither.
    pub fn boolean(&self) -> Result<bool, Refusal> {
        self.value.get_ref().as_bool().ok_or_else(|| self.refuse("true or false"))
    }

    /// A whole number.
    ///
    /// # Errors
    /// Refuses a value of another kind, or out of its range.
    pub fn whole(&self, range: RangeInclusive<u64>) -> Result<u64, Refusal> {
        let number = self.value.get_ref().as_integer().and_then(|integer| {
            let digits = integer.as_str().replace('_', "");
            u64::from_str_radix(&digits, integer.radix()).ok()
        });
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            self.refuse(format!("a whole number from {} to {}", range.start(), range.end()))
        })
    }

    /// A number. `allowed` describes the range.
    ///
    /// # Errors
    /// Refuses a value of another kind, or out of its range.
    pub fn number(&self, range: RangeInclusive<f64>, allowed: &str) -> Result<f64, Refusal> {
        let number = match self.value.get_ref() {
            DeValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
            DeValue::Integer(integer) => {
                let digits = integer.as_str().replace('_', "");
                i64::from_str_radix(&digits, integer.radix()).ok().map(|whole| whole as f64)
            }
            _ => None,
        };
        number.filter(|number| range.contains(number)).ok_or_else(|| self.refuse(allowed))
    }

    /// A quantity with its unit.
    ///
    /// # Errors
    /// Refuses a value of another kind, or out of its range.
    pub fn quantity<Q: Quantity>(&self) -> Result<Q, Refusal> {
        Q::parse(self.text(Q::ALLOWED)?).ok_or_else(|| self.refuse(Q::ALLOWED))
    }

    /// The path of a file, relative to the file in which it is named.
    ///
    /// # Errors
    /// Refuses a value that is no string.
    pub fn file(&self, allowed: &str) -> Result<PathBuf, Refusal> {
        let directory = self.source.file.parent().unwrap_or(Path::new(""));
        Ok(directory.join(self.text(allowed)?))
    }

    /// The content of such a file; `parse` reads its name and text.
    ///
    /// # Errors
    /// Refuses a value that is no string, a file that cannot be read, or the first line that `parse` refuses.
    pub fn recording<T>(
        &self,
        parse: impl FnOnce(&str, &str) -> Result<T, BadLine>,
    ) -> Result<T, Refusal> {
        const ALLOWED: &str = "a text file, named as seen from the file that names it";
        let name = self.text(ALLOWED)?;
        let file = self.file(ALLOWED)?;
        let known = self.source.named.borrow().get(name).cloned();
        let text = known.map_or_else(|| std::fs::read_to_string(&file), Ok).map_err(|error| {
            let span = self.value.span();
            let found = format!("cannot read {} ({error})", file.display());
            self.source.refuse(&span, self.name.as_str(), found, ALLOWED)
        })?;
        self.source.named.borrow_mut().insert(name.to_owned(), text.clone());
        parse(name, &text).map_err(|bad| Refusal {
            file,
            line: Some(bad.line),
            key: None,
            found: format!("found {}", bad.found),
            allowed: bad.allowed.into(),
        })
    }

    /// A table.
    ///
    /// # Errors
    /// Refuses a value that is no table.
    pub fn section(&self, allowed: &str) -> Result<Section<'a>, Refusal> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.refuse(allowed))?;
        let (source, name, span) = (self.source, self.name.clone(), self.value.span());
        Ok(Section { source, bindings: self.bindings, name, span, table })
    }

    /// Every text in the value.
    pub fn texts(self) -> Vec<Field<'a>> {
        if let Ok(section) = self.section("") {
            section.entries().flat_map(|(_, field)| field.texts()).collect()
        } else if let Ok(list) = self.list("") {
            list.into_iter().flat_map(Field::texts).collect()
        } else {
            Vec::from_iter(self.text("").is_ok().then_some(self))
        }
    }

    /// Whether it is a list, such as `[[workload]]`.
    pub fn is_list(&self) -> bool {
        self.value.get_ref().as_array().is_some()
    }

    /// The tables of a list that is not empty.
    ///
    /// # Errors
    /// Refuses a value that is no list, an empty one, or one with something else than tables.
    pub fn tables(&self, allowed: &str) -> Result<Vec<Section<'a>>, Refusal> {
        self.list(allowed)?.iter().map(|each| each.section(allowed)).collect()
    }

    /// The values of a list that is not empty.
    ///
    /// # Errors
    /// Refuses a value that is no list, or an empty one.
    pub fn list(&self, allowed: &str) -> Result<Vec<Field<'a>>, Refusal> {
        let list: &DeArray<'a> =
            self.value.get_ref().as_array().ok_or_else(|| self.refuse(allowed))?;
        if list.is_empty() {
            return Err(self.refuse(allowed));
        }
        let field = |(place, value)| Field {
            source: self.source,
            bindings: self.bindings,
            name: format!("{}[{place}]", self.name),
            value: Binding::resolve(self.bindings, value),
        };
        Ok(list.iter().enumerate().map(field).collect())
    }
}

/// Adds to a message the listed word that was probably meant.
pub fn nearest(written: &str, words: &[&str]) -> String {
    words
        .iter()
        .map(|word| (strsim::damerau_levenshtein(written, word), word))
        .filter(|(distance, _)| *distance <= 2)
        .min()
        .map_or(String::new(), |(_, word)| format!(" (did you mean {word}?)"))
}
