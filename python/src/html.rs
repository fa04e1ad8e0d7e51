//! What a notebook shows.

/// A text as HTML that shows it as it is.
pub fn preformatted(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<pre>{text}</pre>")
}
