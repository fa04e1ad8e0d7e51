//! Asking the agent that runs on this host.

use std::io;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use crate::server::socket;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No agent runs.
    #[error("no agent is running here; `kirikae run` starts one")]
    NotRunning,
    /// The policy does not let this user read.
    #[error("only root may read this; `readers` in the policy's [status] lets others")]
    NotAllowed,
    /// The agent refuses, or cannot answer.
    #[error("{0}")]
    Refused(String),
}

/// Returns what the agent answers to GET `path`.
///
/// # Errors
/// Fails if no agent runs, if this user may not ask, or if the agent refuses or cannot answer.
pub fn get<T: DeserializeOwned>(path: &str) -> Result<T, AskError> {
    read(&ask(Method::GET, path)?)
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, AskError> {
    serde_json::from_slice(body)
        .map_err(|error| AskError::Refused(format!("the agent is of another version: {error}")))
}

/// Has the agent change something by POST `path`, and returns what it answers.
///
/// # Errors
/// Fails if no agent runs, if this user may not ask, or if the agent refuses or cannot answer.
pub fn change<T: DeserializeOwned>(path: &str) -> Result<T, AskError> {
    read(&ask(Method::POST, path)?)
}

/// Sends POST `path` to the agent.
///
/// # Errors
/// Fails if no agent runs, if this user may not ask, or if the agent refuses.
pub fn post(path: &str) -> Result<(), AskError> {
    ask(Method::POST, path).map(drop)
}

fn ask(method: Method, path: &str) -> Result<Bytes, AskError> {
    let told = |error: &dyn std::fmt::Display| AskError::Refused(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (status, body) = runtime.map_err(|it| told(&it))?.block_on(async {
        let stream = UnixStream::connect(socket()).await.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => AskError::NotAllowed,
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NotRunning,
            _ => told(&error),
        })?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|it| told(&it))?;
        let connection = tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(hyper::header::HOST, "kirikae")
            .body(Empty::<Bytes>::new())
            .map_err(|it| told(&it))?;
        let response = sender.send_request(request).await.map_err(|it| told(&it))?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|it| told(&it))?.to_bytes();
        connection.abort();
        Ok::<_, AskError>((status, body))
    })?;
    if status.is_success() {
        Ok(body)
    } else if status == StatusCode::FORBIDDEN {
        Err(AskError::NotAllowed)
    } else {
        Err(AskError::Refused(String::from_utf8_lossy(&body).into_owned()))
    }
}
