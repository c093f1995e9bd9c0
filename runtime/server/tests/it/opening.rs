//! The listener while the database is opened, and the server that takes its place.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use convoke_http::{HttpOptions, Listening, Server};
use convoke_server::opening::Opening;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// One connection, on which requests follow each other.
struct Connection {
    requests: SendRequest<Full<Bytes>>,
    /// Ends with the connection.
    end: JoinHandle<()>,
}

impl Connection {
    async fn to(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).await.unwrap();
        let (requests, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        let end = tokio::spawn(async { connection.await.unwrap() });
        Self { requests, end }
    }

    /// Sends a request. The future of its response does not borrow the connection.
    fn send(&mut self, method: Method, path: &str) -> impl Future<Output = Response<Value>> + use<> {
        let body = if method == Method::POST { "{}" } else { "" };
        let request = Request::builder().method(method).uri(path).header("host", "test");
        let request = request.header("content-type", "application/json").body(body.into()).unwrap();
        let response = self.requests.send_request(request);
        async {
            let (head, body) = response.await.unwrap().into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            Response::from_parts(head, serde_json::from_slice(&body).unwrap_or_default())
        }
    }
}

#[tokio::test]
async fn opening_process_is_alive_but_not_ready_and_keeps_connections() {
    let options = HttpOptions::new("127.0.0.1:0".parse().unwrap());
    let listening = Listening::open(&options).unwrap();
    let opening = Arc::new(Opening::default());
    let early = Server::on(listening.share().unwrap(), options.clone(), opening.clone()).await.unwrap();
    let addr = early.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let early = tokio::spawn(early.run(async { stopped.await.unwrap_or_default() }));

    let mut connection = Connection::to(addr).await;
    assert_eq!(connection.send(Method::GET, "/healthz").await.status(), 200);
    let ready = connection.send(Method::GET, "/readyz").await;
    assert_eq!((ready.status().as_u16(), &ready.body()["reason"]), (503, &"opening the database".into()));
    opening.begins("table books: making index by_title");
    let ready = connection.send(Method::GET, "/readyz").await;
    assert_eq!(ready.body()["reason"], "opening the database: table books: making index by_title");
    for (method, path) in [
        (Method::POST, "/api/query"),
        (Method::POST, "/api/run/a/b"),
        (Method::GET, "/"),
        (Method::GET, "/console/x"),
        (Method::GET, "/metrics"),
    ] {
        let refused = connection.send(method, path).await;
        assert_eq!(
            (refused.status().as_u16(), &refused.body()["errorData"]["code"]),
            (503, &"NOT_READY".into()),
            "{path}"
        );
        assert_eq!(refused.headers()["retry-after"], "1");
    }

    stop.send(()).unwrap();
    assert_eq!(early.await.unwrap().cut, 0);
    connection.end.await.unwrap();
    // The system holds the connection until the next server accepts it.
    let mut between = Connection::to(addr).await;
    let response = between.send(Method::GET, "/readyz");
    let next = Server::on(listening, options, Arc::new(Opening::default())).await.unwrap();
    assert_eq!(next.local_addr(), addr);
    let next = tokio::spawn(next.run(std::future::pending()));
    assert_eq!(response.await.body()["reason"], "opening the database");
    next.abort();
}
