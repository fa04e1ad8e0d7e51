//! Over TCP nobody but the agent's own page, and programs, are answered: not the page of another origin that a
//! browser of this host has open. And no answer is of use elsewhere.

use std::net::{IpAddr, Ipv4Addr};

use axum::extract::{Extension, Request};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::net::TcpStream;

/// The address of this host to which a client has connected.
#[derive(Clone, Copy, Debug)]
pub struct Reached(IpAddr);

impl Reached {
    pub fn by(stream: &TcpStream) -> Reached {
        Reached(stream.local_addr().map_or(Ipv4Addr::UNSPECIFIED.into(), |it| it.ip()))
    }
}

/// Refuses what a page of another origin makes a browser ask, also if that page uses a name of its own that
/// resolves to this address.
pub async fn refuse_others(
    Extension(Reached(address)): Extension<Reached>,
    request: Request,
    next: Next,
) -> Response {
    if is_ours(address, request.headers()) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "asked from another origin, or by a name that is not this host's")
        .into_response()
}

fn is_ours(reached: IpAddr, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let Some(host) = text(header::HOST) else { return false };
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    // A request that names the address at which it arrived cannot have been led here by a name, and loopback is
    // this host for everybody. 0.0.0.0 is neither, and browsers let any page ask it.
    let is_here = |it: IpAddr| it.is_loopback() || it.to_canonical() == reached.to_canonical();
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_own_name = address.is_ok_and(is_here) || name.eq_ignore_ascii_case("localhost");
    let is_own_page = text(header::ORIGIN).is_none_or(|origin| origin == format!("http://{host}"));
    // A request for a script or an image has no Origin header, but browsers send Sec-Fetch-Site with it.
    // Links may lead here from anywhere.
    let is_own_part = text(HeaderName::from_static("sec-fetch-site"))
        .is_none_or(|site| matches!(site, "same-origin" | "none"))
        || text(HeaderName::from_static("sec-fetch-mode")) == Some("navigate");
    is_own_name && is_own_page && is_own_part
}

/// Has browsers keep no answer, give it to no other origin, and take it for nothing that it does not say it is.
/// Only code in the page's own files is run, and nothing comes from elsewhere.
pub async fn confine(mut answer: Response) -> Response {
    const CSP: &str = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'";
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CSP),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_answered(reached: &str, headers: &[(&'static str, &str)]) -> bool {
        let named = |&(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        is_ours(reached.parse().unwrap(), &headers.iter().map(named).collect())
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        let asked = |host, origin| is_answered("127.0.0.1", &[("host", host), ("origin", origin)]);
        assert!(asked("localhost:8425", "http://localhost:8425"));
        assert!(asked("[::1]:8425", "http://[::1]:8425"));
        assert!(!asked("127.0.0.1:8425", "https://example.com"));
        assert!(!asked("127.0.0.1:8425", "null"));
        let fetched = |site, mode| {
            let headers =
                [("host", "127.0.0.1:8425"), ("sec-fetch-site", site), ("sec-fetch-mode", mode)];
            is_answered("127.0.0.1", &headers)
        };
        assert!(fetched("same-origin", "cors"));
        assert!(fetched("none", "navigate"));
        assert!(fetched("cross-site", "navigate"));
        assert!(!fetched("cross-site", "no-cors"));
        assert!(!fetched("same-site", "no-cors"));
    }

    #[test]
    fn only_names_of_the_address_are_answered() {
        let asked = |reached, host| is_answered(reached, &[("host", host)]);
        for host in ["127.0.0.1:8425", "localhost", "LOCALHOST:9000", "[::1]:8425", "[::1]"] {
            assert!(asked("127.0.0.1", host), "{host}");
        }
        for host in ["0.0.0.0:8425", "8.8.8.8", "rebound.example.com:8425", "[::]:8425", ""] {
            assert!(!asked("127.0.0.1", host), "{host}");
        }
        assert!(asked("192.0.2.7", "192.0.2.7:8425"));
        assert!(asked("::ffff:192.0.2.7", "192.0.2.7:8425"));
        assert!(!asked("192.0.2.7", "192.0.2.8:8425"));
        assert!(!is_answered("127.0.0.1", &[]));
    }
}
