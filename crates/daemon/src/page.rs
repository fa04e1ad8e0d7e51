//! The web page. Its sources are in web/; what `make web` makes of them is in page/.

use axum::Router;
use axum::http::header;
use axum::routing::get;

/// The routes of the page and its files.
pub fn page_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let file = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], text) })
    };
    Router::new()
        .route("/", file("text/html; charset=utf-8", include_str!("page/page.html")))
        .route("/page.css", file("text/css; charset=utf-8", include_str!("page/page.css")))
        .route("/page.js", file("text/javascript; charset=utf-8", include_str!("page/page.js")))
}
