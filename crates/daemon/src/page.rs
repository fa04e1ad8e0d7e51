//! The web page. Its sources are in web/; what `make web` makes of them is in page/.

use axum::Router;
use axum::http::header;
use axum::routing::get;

/// The routes of the page and its files. Everything comes from here and nothing from elsewhere, and only code
/// in its own files is run.
pub fn page_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    const CSP: &str = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'";
    let file = |kind: &'static str, text: &'static str| {
        get(move || async move {
            let headers = [
                (header::CONTENT_TYPE, kind),
                (header::CONTENT_SECURITY_POLICY, CSP),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
                // An agent of another version serves another page.
                (header::CACHE_CONTROL, "no-cache"),
            ];
            (headers, text)
        })
    };
    Router::new()
        .route("/", file("text/html; charset=utf-8", include_str!("page/page.html")))
        .route("/page.css", file("text/css; charset=utf-8", include_str!("page/page.css")))
        .route("/page.js", file("text/javascript; charset=utf-8", include_str!("page/page.js")))
}
