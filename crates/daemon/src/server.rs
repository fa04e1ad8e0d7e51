//! The agent's state over HTTP: on a socket in the file system for the commands, and where the policy
//! wants it, for browsers and Prometheus.
//!
//! The mode of the socket decides who may connect to it, and only root may change something. Over TCP nothing
//! can be changed, and requests from pages of another origin are refused.

use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Query, State};
use axum::http::{StatusCode, header};
use axum::middleware::{from_fn, map_response};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{any, get, post};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Gid, Group, chown};
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::metrics;
use crate::origin::{Reached, confine, refuse_others};
use crate::page::page_routes;
use crate::policy_file::Readers;
use crate::selection::{PathSelection, Selection};
use crate::service::{Answer, Handle, Request, Service};
use crate::status::{Switches, monotonic_ns};
use crate::visitors::{receive, receive_keeping_places};

/// How many connections the page is told of at most, of however many.
const LISTED: usize = 2000;
/// How many lists a server has in memory at a time, until their clients have read them.
const LISTS: usize = 4;
/// How long a client waits for one of these places.
const LIST_WITHIN: Duration = Duration::from_secs(5);

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

/// The group and the mode that let those read the socket whom the policy lets.
pub(crate) struct Access {
    group: Gid,
    mode: u32,
}

impl Access {
    /// Fails if there is no such group.
    pub fn of(readers: &Readers) -> Result<Access, ServeError> {
        let doing = || "letting others read the status".to_owned();
        let root = Gid::from_raw(0);
        Ok(match readers {
            Readers::Root => Access { group: root, mode: 0o600 },
            Readers::Everyone => Access { group: root, mode: 0o666 },
            Readers::Group(name) => {
                let group = failed(Group::from_name(name), doing)?;
                let group = group.ok_or_else(|| format!("there is no group {name}"));
                Access { group: failed(group, doing)?.gid, mode: 0o660 }
            }
        })
    }

    /// Sets them. Fails if the file system refuses.
    pub fn set(&self, socket: &Path) -> Result<(), ServeError> {
        let doing = || format!("letting others read {}", socket.display());
        failed(chown(socket, None, Some(self.group)), doing)?;
        failed(fs::set_permissions(socket, Permissions::from_mode(self.mode)), doing)
    }
}

/// Serves the commands, from a thread that ends with the process.
///
/// # Errors
/// Fails if the socket cannot be made, or if there is no such group.
pub fn serve_commands(service: &Service, readers: &Readers) -> Result<(), ServeError> {
    let access = Access::of(readers)?;
    let path = socket();
    let doing = || format!("listening on {}", path.display());
    // Nobody else may connect before the socket has its mode.
    let before = umask(Mode::from_bits_truncate(0o177));
    let listener = std::os::unix::net::UnixListener::bind(&path);
    umask(before);
    let listener = failed(listener, doing)?;
    access.set(&path)?;
    failed(listener.set_nonblocking(true), doing)?;
    // Root's requests do not wait for those of others.
    let for_root = status_routes()
        .merge(path_routes())
        .merge(changes())
        .with_state(service.handle(usize::MAX));
    let for_others = status_routes()
        .merge(path_routes())
        .merge(refused_changes())
        .with_state(service.handle(usize::MAX));
    let started = start(|| {
        let listener = UnixListener::from_std(listener)?;
        let is_root = |stream: &UnixStream| stream.peer_cred().is_ok_and(|peer| peer.uid() == 0);
        let routes = move |is_root| if is_root { for_root.clone() } else { for_others.clone() };
        Ok(receive_keeping_places(listener, is_root, routes))
    });
    failed(started, doing).map(drop)
}

/// Serves page and metrics, from a thread that is returned and ends with the process.
pub(crate) fn serve_page(
    service: &Service,
    address: SocketAddr,
) -> Result<JoinHandle<()>, ServeError> {
    let doing = || format!("listening on {address}");
    let listener = failed(std::net::TcpListener::bind(address), doing)?;
    failed(listener.set_nonblocking(true), doing)?;
    let routes = status_routes()
        .merge(page_routes())
        .with_state(service.handle(LISTED))
        .layer(from_fn(refuse_others))
        .layer(map_response(confine));
    let started = start(|| {
        let listener = TcpListener::from_std(listener)?;
        Ok(receive(listener, move |stream| routes.clone().layer(Extension(Reached::by(stream)))))
    });
    failed(started, doing)
}

/// Starts a thread with a server that never ends.
fn start<F>(server: impl FnOnce() -> io::Result<F>) -> io::Result<JoinHandle<()>>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = {
        let _inside = runtime.enter();
        server()?
    };
    thread::Builder::new().name("server".into()).spawn(move || runtime.block_on(server))
}

/// What everybody is told who may ask at all.
fn status_routes() -> Router<Handle> {
    Router::new()
        .route("/status", get(status))
        .route("/connections", get(connections))
        .route("/switches", get(switches))
        .route("/metrics", get(measured))
}

/// What is told on the socket alone, since it is of more than the connections there are.
fn path_routes() -> Router<Handle> {
    Router::new().route("/paths", get(paths))
}

fn changes() -> Router<Handle> {
    Router::new()
        .route("/reload", post(reload))
        .route("/resume", post(resume))
        .route("/paths/forget", post(forget_paths))
}

fn refused_changes() -> Router<Handle> {
    let refuse = || any(|| async { (StatusCode::FORBIDDEN, "only root can change anything") });
    let routes = Router::new().route("/reload", refuse()).route("/resume", refuse());
    routes.route("/paths/forget", refuse())
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

/// The places for lists of one more server.
pub(crate) fn places_for_lists() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(LISTS))
}

/// Text in memory, and the place that it takes for as long as it is there.
struct Held {
    text: Vec<u8>,
    _place: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// Answers with a list, which may be long, as soon as few enough others are under way.
async fn answer_with<T: Serialize>(
    places: &Arc<Semaphore>,
    list: impl Future<Output = Result<T, Response>>,
) -> Response {
    let place = timeout(LIST_WITHIN, Arc::clone(places).acquire_owned()).await;
    let Ok(Ok(place)) = place else {
        let busy = "too many ask for lists, and do not read them";
        return (StatusCode::SERVICE_UNAVAILABLE, busy).into_response();
    };
    let list = match list.await {
        Ok(list) => list,
        Err(refusal) => return refusal,
    };
    match serde_json::to_vec(&list) {
        Ok(mut text) => {
            text.shrink_to_fit();
            let body = Body::from(Bytes::from_owner(Held { text, _place: place }));
            ([(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn status(State(handle): State<Handle>) -> Response {
    ask(&handle, Request::Status)
        .await
        .map_or_else(|refusal| refusal, |it| Json(it).into_response())
}

async fn connections(State(handle): State<Handle>, Query(selection): Query<Selection>) -> Response {
    let listed = async {
        let all = ask(&handle, Request::Connections).await?;
        Ok(selection.of(&all, handle.most_listed))
    };
    answer_with(&handle.lists, listed).await
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: u64,
}

async fn switches(State(handle): State<Handle>, Query(After { after }): Query<After>) -> Response {
    let logged = async {
        let switches = handle.log.lock().expect("no panic while it is held").after(after);
        Ok(Switches { now_ns: monotonic_ns(), switches })
    };
    answer_with(&handle.lists, logged).await
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

async fn paths(State(handle): State<Handle>, Query(which): Query<PathSelection>) -> Response {
    answer_with(&handle.lists, ask(&handle, |answer| Request::Paths(which.filter(), answer))).await
}

async fn forget_paths(
    State(handle): State<Handle>,
    Query(which): Query<PathSelection>,
) -> Response {
    let answer = ask(&handle, |answer| Request::ForgetPaths(which.filter(), answer)).await;
    answer.map_or_else(|refusal| refusal, |it| Json(it).into_response())
}

fn done(answer: Result<(), Response>) -> Response {
    answer.map_or_else(|refusal| refusal, |()| StatusCode::NO_CONTENT.into_response())
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn few_lists_are_in_memory_until_they_are_read() {
        let places = places_for_lists();
        let list = || answer_with(&places, async { Ok(vec![7; 100_000]) });
        let mut unread = Vec::new();
        for _ in 0..LISTS {
            let answer = list().await;
            assert_eq!(answer.status(), StatusCode::OK);
            unread.push(answer);
        }
        let begun = Instant::now();
        assert_eq!(list().await.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(begun.elapsed(), LIST_WITHIN);
        let read = axum::body::to_bytes(unread.pop().unwrap().into_body(), usize::MAX).await;
        assert_eq!(list().await.status(), StatusCode::SERVICE_UNAVAILABLE, "it is in memory still");
        assert_eq!(read.unwrap().len(), 200_001);
        assert_eq!(list().await.status(), StatusCode::OK);
    }
}
