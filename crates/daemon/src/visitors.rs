//! Limits who may ask over HTTP at a time, and for how long: nobody can keep others from being answered by
//! asking slowly, or not at all.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The number of connections at the same time. With it a process that may open 1024 files, as is usual, has
/// some left. A further client waits until one of them ends.
const AT_ONCE: usize = 256;
/// How many of these are kept for privileged clients, where there are some.
const KEPT: usize = 16;
/// How long a request's headers may take, and a connection be idle.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// How long a connection may take in all, however slowly the client reads. A browser then opens another.
const LONGEST: Duration = Duration::from_secs(60);

/// Answers every client, for ever. `routes` gives the routes for a connection.
pub async fn receive<L: Listener>(mut listener: L, routes: impl Fn(&L::Io) -> Router) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let place = Arc::clone(&places).acquire_owned().await.expect("it is never closed");
        let (stream, _) = listener.accept().await;
        let routes = routes(&stream);
        tokio::spawn(answer(stream, routes, place));
    }
}

/// Answers as [`receive`] does, but keeps places for privileged clients: when the others are taken, only such
/// a one is let in. Who is not is let go at once, since nobody can be looked at before he has come in.
pub async fn receive_keeping_places<L: Listener>(
    mut listener: L,
    is_privileged: impl Fn(&L::Io) -> bool,
    routes: impl Fn(bool) -> Router,
) {
    let places = Arc::new(Semaphore::new(AT_ONCE - KEPT));
    let kept = Arc::new(Semaphore::new(KEPT));
    loop {
        let (stream, _) = listener.accept().await;
        let is_privileged = is_privileged(&stream);
        let place = Arc::clone(&places).try_acquire_owned().ok();
        let of_kept = || is_privileged.then(|| Arc::clone(&kept).try_acquire_owned().ok());
        if let Some(place) = place.or_else(|| of_kept().flatten()) {
            tokio::spawn(answer(stream, routes(is_privileged), place));
        }
    }
}

/// Answers a client until it has gone, or has had its time.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    routes: Router,
    _place: OwnedSemaphorePermit,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    let mut connection = pin!(connection);
    // It does not matter here how the connection ends.
    if timeout(LONGEST, connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        let _ = timeout(HEADERS_WITHIN, connection).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    use super::*;

    /// Bytes that a connection holds which nobody has read yet.
    const BUFFER: usize = 4096;

    /// A listener whose connections come from this channel.
    struct Door(mpsc::UnboundedReceiver<DuplexStream>);

    impl Listener for Door {
        type Io = DuplexStream;
        type Addr = ();

        async fn accept(&mut self) -> (DuplexStream, ()) {
            match self.0.recv().await {
                Some(stream) => (stream, ()),
                None => std::future::pending().await,
            }
        }

        fn local_addr(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Starts a server, and returns a function that connects to it.
    fn server() -> impl Fn() -> DuplexStream {
        let (sender, receiver) = mpsc::unbounded_channel();
        let routes = Router::new()
            .route("/", get(|| async { "here" }))
            .route("/long", get(|| async { "x".repeat(100 * BUFFER) }));
        tokio::spawn(receive(Door(receiver), move |_| routes.clone()));
        move || {
            let (ours, theirs) = duplex(BUFFER);
            sender.send(theirs).unwrap();
            ours
        }
    }

    async fn asked(stream: &mut DuplexStream) -> String {
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 1024];
        let read = stream.read(&mut answer).await.unwrap();
        String::from_utf8(answer[..read].to_vec()).unwrap()
    }

    /// Waits until the other end, which sends nothing more, has closed the connection.
    async fn closed_after(mut stream: DuplexStream) -> Duration {
        let start = Instant::now();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_never_ends_is_ended() {
        let connect = server();
        let mut half = connect();
        half.write_all(b"GET / HTTP/1.1\r\nhost:").await.unwrap();
        assert_eq!(closed_after(half).await.as_secs(), HEADERS_WITHIN.as_secs());
        assert_eq!(
            closed_after(connect()).await.as_secs(),
            HEADERS_WITHIN.as_secs(),
            "said nothing"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_ended() {
        let mut stream = server()();
        assert!(asked(&mut stream).await.ends_with("here"));
        assert_eq!(closed_after(stream).await.as_secs(), HEADERS_WITHIN.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_reads_is_ended() {
        let mut stream = server()();
        stream.write_all(b"GET /long HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        tokio::time::sleep(LONGEST + HEADERS_WITHIN + Duration::from_secs(1)).await;
        let mut read = Vec::new();
        stream.read_to_end(&mut read).await.unwrap();
        assert!(read.len() <= 2 * BUFFER, "{} bytes", read.len());
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_behind_many_that_say_nothing_is_answered() {
        let connect = server();
        let silent: Vec<_> = (0..900).map(|_| connect()).collect();
        let start = Instant::now();
        assert!(asked(&mut connect()).await.ends_with("here"));
        assert_eq!(start.elapsed().as_secs(), 3 * HEADERS_WITHIN.as_secs(), "256 each ten seconds");
        drop(silent);
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_kept_for_who_is_privileged() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let has_come = Arc::new(AtomicBool::new(false));
        let is_privileged = Arc::clone(&has_come);
        let routes = |name| Router::new().route("/", get(move || async move { name }));
        tokio::spawn(receive_keeping_places(
            Door(receiver),
            move |_| is_privileged.load(Ordering::Relaxed),
            move |is_privileged| routes(if is_privileged { "all here" } else { "here" }),
        ));
        let connect = || {
            let (ours, theirs) = duplex(BUFFER);
            sender.send(theirs).unwrap();
            ours
        };
        let silent: Vec<_> = (0..AT_ONCE - KEPT).map(|_| connect()).collect();
        assert_eq!(closed_after(connect()).await.as_secs(), 0, "who finds no place is let go");
        has_come.store(true, Ordering::Relaxed);
        assert!(asked(&mut connect()).await.ends_with("all here"));
        drop(silent);
    }
}
