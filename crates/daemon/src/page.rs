//! The web page.

use axum::Router;
use axum::http::header;
use axum::routing::get;

use crate::service::Handle;

/// The page and what it consists of. Everything comes from here, nothing from elsewhere, and nothing
/// that is not in its own files is run.
pub(crate) fn routes() -> Router<Handle> {
    const CSP: &str = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'";
    let file = |kind: &'static str, text: &'static str| {
        get(move || async move {
            let headers = [
                (header::CONTENT_TYPE, kind),
                (header::CONTENT_SECURITY_POLICY, CSP),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            ];
            (headers, text)
        })
    };
    Router::new().route("/", file("text/html; charset=utf-8", include_str!("page.html")))
}
