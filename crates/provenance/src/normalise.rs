//! What of a file counts: comments and layout do not, so that whoever mends a comment need not measure
//! anything again.

use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The part of a file that counts, by the ending of its name.
///
/// # Errors
/// What is wrong with a file that cannot be read as what it should be.
pub fn normalised(name: &str, text: &str) -> Result<String, String> {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("rs") => rust(text).map_err(|problem| format!("{name}: {problem}")),
        Some("c" | "h") => Ok(c(text)),
        _ => Ok(lines(text)),
    }
}

/// Lines that are neither empty nor comments with `#`: of TOML and CSV.
pub fn lines(text: &str) -> String {
    let counts = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    text.lines().filter(counts).flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// Tokens of Rust; neither comments nor what is compiled for tests only.
fn rust(text: &str) -> Result<String, String> {
    let tokens = TokenStream::from_str(text).map_err(|error| error.to_string())?;
    let mut out = String::new();
    write(&without_tests_and_docs(tokens.into_iter().collect()), &mut out);
    Ok(out)
}

/// Drops `#[doc ...]`, as which a comment of documentation is read, and items behind `#[cfg(test)]`.
fn without_tests_and_docs(tokens: Vec<TokenTree>) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if !is(&token, '#') {
            kept.push(token);
            continue;
        }
        let inner = tokens.next_if(|next| is(next, '!'));
        let attribute = tokens.next_if(|next| bracketed(next).is_some());
        match attribute.as_ref().and_then(bracketed).unwrap_or_default().as_str() {
            doc if doc.starts_with("doc ") || doc.starts_with("doc=") => {}
            "cfg (test)" | "cfg(test)" => {
                let ends = |token: &TokenTree| is(token, ';') || braced(token);
                while tokens.next().is_some_and(|token| !ends(&token)) {}
            }
            _ => kept.extend([Some(token), inner, attribute].into_iter().flatten()),
        }
    }
    kept
}

fn is(token: &TokenTree, punctuation: char) -> bool {
    matches!(token, TokenTree::Punct(it) if it.as_char() == punctuation)
}

fn braced(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(it) if it.delimiter() == Delimiter::Brace)
}

fn bracketed(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Group(it) if it.delimiter() == Delimiter::Bracket => {
            Some(it.stream().to_string())
        }
        _ => None,
    }
}

/// Each token on a line of its own.
fn write(tokens: &[TokenTree], out: &mut String) {
    for token in tokens {
        if let TokenTree::Group(group) = token {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::None => ("", ""),
            };
            out.push_str(open);
            out.push('\n');
            write(&without_tests_and_docs(group.stream().into_iter().collect()), out);
            out.push_str(close);
        } else {
            out.push_str(&token.to_string());
        }
        out.push('\n');
    }
}

/// C without comments, and with one space where there is any; directives have lines of their own.
fn c(text: &str) -> String {
    let mut out = String::new();
    for line in uncommented(text).replace("\\\n", " ").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first() else { continue };
        let directive = first.starts_with('#');
        if directive && !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&words.join(" "));
        out.push(if directive { '\n' } else { ' ' });
    }
    out
}

/// A space in place of each comment.
fn uncommented(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => quoted(rest, first),
            other => other.len_utf8(),
        };
        let (taken, left) = rest.split_at(length);
        match taken.starts_with("/*") || taken.starts_with("//") {
            true => out.push(' '),
            false => out.push_str(taken),
        }
        rest = left;
    }
    out
}

/// Length of the literal that a text begins with.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            it if it == quote => return place + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_layout_of_c_do_not_count() {
        let one = "/* What it is. */\n#define A(x) \\\n\t((x) + 1)\nint f(void)\n{\n\treturn A(1); // two\n}\n";
        let other =
            "#define A(x) ((x) + 1)\n/* Another\n * word. */ int f(void) { return A(1); }\n";
        assert_eq!(c(one), c(other));
        assert_ne!(c(one), c(&one.replace("A(1)", "A(2)")));
        assert_ne!(c("#define A\nB"), c("#define A B"));
        assert_eq!(c(r#"s = "a /* b";"#), r#"s = "a /* b"; "#);
        assert_eq!(c(r#"s = '"'; /* " */ t"#), r#"s = '"'; t "#);
    }

    #[test]
    fn comments_layout_and_tests_of_rust_do_not_count() {
        let one = "//! Of a module.\n/// Doubles.\npub fn f(x: u32) -> u32 { x * 2 } // so\n\
                   #[cfg(test)]\nmod tests { fn g() {} }\nstruct S { /// A field.\n a: u8 }";
        let other = "pub fn f(x: u32) -> u32 {\n    x * 2\n}\nstruct S {\n a: u8 }\n\
                     #[cfg(test)] use x::y;\n";
        assert_eq!(rust(one).unwrap(), rust(other).unwrap());
        assert_ne!(rust(one).unwrap(), rust(&one.replace("* 2", "* 3")).unwrap());
        let kept = "#[derive(Debug)]\nstruct S;";
        assert_ne!(rust(kept).unwrap(), rust("struct S;").unwrap());
        assert!(rust("fn f( {").is_err());
    }

    #[test]
    fn comments_and_empty_lines_of_data_do_not_count() {
        assert_eq!(lines("# so\nseed = 1\n\n  # and so\nrtt = 2 # a\n"), "seed = 1\nrtt = 2 # a\n");
    }
}
