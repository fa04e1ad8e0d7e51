//! The agent's state over HTTP: on a socket in the file system for the commands, and where the policy
//! wants it, for browsers and Prometheus.
//!
//! The mode of the socket decides who may connect to it, and only root may change something. Over TCP nothing
//! can be changed, and requests from pages of another origin are refused.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use axum::Router;
use axum::extract::{Extension, Query, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use ipnet::IpNet;
use kirikae_agent::PathFilter;
use nix::unistd::{Gid, Group, chown};
use serde::Deserialize;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::oneshot;

use crate::metrics;
use crate::page::page_routes;
use crate::policy_file::Readers;
use crate::selection::Selection;
use crate::service::{Answer, Handle, Request, Service};
use crate::status::{Switches, monotonic_ns};
use crate::visitors::receive;

/// The socket for the commands, below [`kirikae_agent::DIRECTORY`].
pub fn socket() -> PathBuf {
    Path::new(kirikae_agent::DIRECTORY).join("control")
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {cause}")]
pub struct ServeError {
    doing: String,
    cause: String,
}

fn failed<T, E: ToString>(
    result: Result<T, E>,
    doing: impl FnOnce() -> String,
) -> Result<T, ServeError> {
    result.map_err(|cause| ServeError { doing: doing(), cause: cause.to_string() })
}

/// Serves the commands, from a thread that ends with the process.
///
/// # Errors
/// Fails if the socket cannot be made, or if there is no such group.
pub fn serve_commands(service: &Service, readers: &Readers) -> Result<(), ServeError> {
    let path = socket();
    let doing = || format!("listening on {}", path.display());
    let listener = failed(std::os::unix::net::UnixListener::bind(&path), doing)?;
    let_read(&path, readers)?;
    failed(listener.set_nonblocking(true), doing)?;
    let changes = Router::new()
        .route("/reload", post(reload))
        .route("/resume", post(resume))
        .route("/paths/forget", post(forget_paths))
        .layer(middleware::from_fn(only_root));
    let commands = status_routes().merge(changes).with_state(service.handle());
    run(async move {
        let of = |stream: &UnixStream| commands.clone().layer(Extension(Peer::of(stream)));
        receive(UnixListener::from_std(listener)?, of).await;
        Ok(())
    });
    Ok(())
}

/// Sets the socket's mode and group. It has to be called again when the policy has changed.
///
/// # Errors
/// Fails if there is no such group, or if the mode cannot be set.
pub fn let_read(socket: &Path, readers: &Readers) -> Result<(), ServeError> {
    let doing = || format!("letting others read {}", socket.display());
    let (group, mode) = match readers {
        Readers::Root => (Gid::from_raw(0), 0o600),
        Readers::Everyone => (Gid::from_raw(0), 0o666),
        Readers::Group(name) => {
            let group = failed(Group::from_name(name), doing)?;
            let group = failed(group.ok_or_else(|| format!("there is no group {name}")), doing)?;
            (group.gid, 0o660)
        }
    };
    failed(chown(socket, None, Some(group)), doing)?;
    failed(fs::set_permissions(socket, Permissions::from_mode(mode)), doing)
}

/// Serves page and metrics, from a thread that ends with the process.
///
/// # Errors
/// Fails if the server cannot listen on the address.
pub fn serve_page(service: &Service, address: SocketAddr) -> Result<(), ServeError> {
    let doing = || format!("listening on {address}");
    let listener = failed(std::net::TcpListener::bind(address), doing)?;
    failed(listener.set_nonblocking(true), doing)?;
    let local = failed(listener.local_addr(), doing)?;
    let routes = status_routes()
        .merge(page_routes())
        .with_state(service.handle())
        .layer(middleware::from_fn(move |request, next| same_origin(local, request, next)));
    run(async move {
        receive(TcpListener::from_std(listener)?, |_| routes.clone()).await;
        Ok(())
    });
    Ok(())
}

fn run(server: impl Future<Output = std::io::Result<()>> + Send + 'static) {
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Err(error) = runtime.and_then(|runtime| runtime.block_on(server)) {
            eprintln!("kirikae: a server ended: {error}");
        }
    });
}

fn status_routes() -> Router<Handle> {
    Router::new()
        .route("/status", get(status))
        .route("/connections", get(connections))
        .route("/switches", get(switches))
        .route("/paths", get(paths))
        .route("/metrics", get(measured))
}

/// The user at the other end of the socket.
#[derive(Clone, Copy, Debug)]
struct Peer {
    uid: Option<u32>,
}

impl Peer {
    fn of(stream: &UnixStream) -> Peer {
        Peer { uid: stream.peer_cred().ok().map(|peer| peer.uid()) }
    }
}

/// Sends a request to the agent's thread and waits for the answer.
async fn ask<T>(
    handle: &Handle,
    request: impl FnOnce(oneshot::Sender<Answer<T>>) -> Request,
) -> Result<T, Response> {
    let gone = || (StatusCode::SERVICE_UNAVAILABLE, "the agent is stopping".to_owned());
    let _turn = handle.turn.lock().await;
    let (sender, answer) = oneshot::channel();
    handle.requests.send(request(sender)).map_err(|_| gone().into_response())?;
    let answer = answer.await.map_err(|_| gone().into_response())?;
    answer.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error).into_response())
}

async fn status(State(handle): State<Handle>) -> Response {
    ask(&handle, Request::Status)
        .await
        .map_or_else(|refusal| refusal, |it| Json(it).into_response())
}

async fn connections(State(handle): State<Handle>, Query(selection): Query<Selection>) -> Response {
    let answer = ask(&handle, Request::Connections).await;
    let told = |all| Json(selection.of(Arc::unwrap_or_clone(all))).into_response();
    answer.map_or_else(|refusal| refusal, told)
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: u64,
}

async fn switches(State(handle): State<Handle>, Query(After { after }): Query<After>) -> Response {
    let switches = handle.log.lock().expect("no panic while it is held").after(after);
    Json(Switches { now_ns: monotonic_ns(), switches }).into_response()
}

async fn measured(State(handle): State<Handle>) -> Response {
    let answer = ask(&handle, Request::Measured).await;
    let text =
        |it| ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::text(&it)).into_response();
    answer.map_or_else(|refusal| refusal, text)
}

async fn reload(State(handle): State<Handle>) -> Response {
    done(ask(&handle, Request::Reload).await)
}

#[derive(Deserialize)]
struct Which {
    scope: Option<String>,
}

async fn resume(State(handle): State<Handle>, Query(Which { scope }): Query<Which>) -> Response {
    done(ask(&handle, |answer| Request::Resume(scope, answer)).await)
}

#[derive(Deserialize)]
struct To {
    to: Option<IpNet>,
}

impl To {
    fn filter(self) -> PathFilter {
        PathFilter { remote: self.to, ..PathFilter::default() }
    }
}

async fn paths(State(handle): State<Handle>, Query(to): Query<To>) -> Response {
    let answer = ask(&handle, |answer| Request::Paths(to.filter(), answer)).await;
    answer.map_or_else(|refusal| refusal, |it| Json(it).into_response())
}

async fn forget_paths(State(handle): State<Handle>, Query(to): Query<To>) -> Response {
    let answer = ask(&handle, |answer| Request::ForgetPaths(to.filter(), answer)).await;
    answer.map_or_else(|refusal| refusal, |it| Json(it).into_response())
}

fn done(answer: Result<(), Response>) -> Response {
    answer.map_or_else(|refusal| refusal, |()| StatusCode::NO_CONTENT.into_response())
}

async fn only_root(Extension(peer): Extension<Peer>, request: HttpRequest, next: Next) -> Response {
    if peer.uid == Some(0) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "only root can change anything").into_response()
}

/// Refuses what a page of another origin makes a browser ask, also if that page uses a name of its own that
/// resolves to this address.
async fn same_origin(local: SocketAddr, request: HttpRequest, next: Next) -> Response {
    if is_ours(local, request.headers()) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "asked from another origin, or by a name that is not this host's")
        .into_response()
}

fn is_ours(local: SocketAddr, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let Some(host) = text(header::HOST) else { return false };
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    // A request that names an address cannot have been led here by a name.
    let is_own_name = address.is_ok() || (name == "localhost" && local.ip().is_loopback());
    let is_own_page = text(header::ORIGIN).is_none_or(|origin| origin == format!("http://{host}"));
    // A request for a script or an image has no Origin header, but browsers send Sec-Fetch-Site with it.
    // Links may lead here from anywhere.
    let is_own_part = text(HeaderName::from_static("sec-fetch-site"))
        .is_none_or(|site| matches!(site, "same-origin" | "none"))
        || text(HeaderName::from_static("sec-fetch-mode")) == Some("navigate");
    is_own_name && is_own_page && is_own_part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        is_ours("127.0.0.1:8425".parse().unwrap(), &headers)
    }

    fn fetched(site: &str, mode: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "127.0.0.1:8425".parse().unwrap());
        headers.insert("sec-fetch-site", site.parse().unwrap());
        headers.insert("sec-fetch-mode", mode.parse().unwrap());
        is_ours("127.0.0.1:8425".parse().unwrap(), &headers)
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        assert!(asked("127.0.0.1:8425", None));
        assert!(asked("localhost:8425", Some("http://localhost:8425")));
        assert!(asked("[::1]:8425", Some("http://[::1]:8425")));
        assert!(!asked("127.0.0.1:8425", Some("https://example.com")));
        assert!(!asked("127.0.0.1:8425", Some("null")));
        assert!(!asked("rebound.example.com:8425", None));
        assert!(!is_ours("127.0.0.1:8425".parse().unwrap(), &HeaderMap::new()));
        assert!(fetched("same-origin", "cors"));
        assert!(fetched("none", "navigate"));
        assert!(fetched("cross-site", "navigate"));
        assert!(!fetched("cross-site", "no-cors"));
        assert!(!fetched("same-site", "no-cors"));
    }
}
