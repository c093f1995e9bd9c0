//! The listener while the database is opened, and the server that takes its place.

use std::sync::Arc;

use convoke::http::{HttpOptions, Listening, Server};
use convoke::opening::Opening;
use tokio::sync::oneshot;

use super::harness::{Client, get, post, serve_on};

#[tokio::test]
async fn while_the_database_is_opened_the_process_is_alive_and_not_ready_and_no_connection_is_lost() {
    let options = HttpOptions::new("127.0.0.1:0".parse().unwrap());
    let listening = Listening::open(&options).unwrap();
    let opening = Arc::new(Opening::default());
    let early = Server::on(listening.share().unwrap(), options.clone(), opening.clone()).await.unwrap();
    let addr = early.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let early = tokio::spawn(early.run(async { stopped.await.unwrap_or_default() }));

    let mut client = Client::to(addr).await;
    assert_eq!(client.ask(get("/healthz")).await.status, 200);
    let ready = client.ask(get("/readyz")).await;
    assert_eq!((ready.status, &ready.json()["reason"]), (503, &"opening the database".into()));
    opening.begins("table books: making index by_title");
    let ready = client.ask(get("/readyz")).await;
    assert_eq!(ready.json()["reason"], "opening the database: table books: making index by_title");
    for request in [post("/api/query", "{}"), post("/api/run/a/b", "{}"), get("/"), get("/console/x"), get("/metrics")]
    {
        let refused = client.ask(request).await;
        assert_eq!((refused.status, &*refused.code(), refused.field("retry-after")), (503, "NOT_READY", Some("1")));
    }

    stop.send(()).unwrap();
    assert_eq!(early.await.unwrap().cut, 0);
    client.closed().await;
    // The system holds it until the next server accepts it.
    let mut between = Client::to(addr).await;
    between.send(get("/readyz")).await;
    let server = serve_on(listening, options).await;
    assert_eq!(server.addr, addr);
    assert_eq!(between.response().await.status, 200);
}
