//! axum and rusqlite, written by hand as their users write it.
//!
//! The same durability (WAL, `synchronous=FULL`), the same table and indexes, prepared statements, a pool of readers,
//! `spawn_blocking` around the database. Transfers either commit one by one behind a lock, or go to a thread that
//! commits what waits.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::{announce, raw};
use crate::bank::LISTED;

/// The commit policy of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    Each,
    Grouped,
}

#[derive(Clone)]
struct App {
    readers: r2d2::Pool<SqliteConnectionManager>,
    writer: Writer,
}

#[derive(Clone)]
enum Writer {
    Each(Arc<Mutex<Connection>>),
    Grouped(SyncSender<(Change, oneshot::Sender<Value>)>),
}

#[derive(Deserialize)]
struct Envelope<T> {
    args: T,
}

#[derive(Clone, Copy, Deserialize)]
struct Transfer {
    from: i64,
    to: i64,
    amount: i64,
}

#[derive(Deserialize)]
struct Post {
    author: i64,
    text: String,
}

/// Work of the writer.
enum Change {
    Transfer(Transfer),
    Post(Post),
}

impl Change {
    fn make(self, connection: &Connection) -> Value {
        match self {
            Change::Transfer(Transfer { from, to, amount }) => json!(raw::transfer(connection, from, to, amount)),
            Change::Post(Post { author, text }) => json!(raw::post_message(connection, author, &text)),
        }
    }
}

#[derive(Deserialize)]
struct Part {
    first: i64,
    count: i64,
}

#[derive(Deserialize)]
struct List {
    owner: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Account {
    #[serde(rename = "_id")]
    id: String,
    #[serde(rename = "_creationTime")]
    creation_time: i64,
    number: i64,
    owner: String,
    balance: i64,
    note: String,
}

pub(crate) fn serve(folder: &Path, commit: Commit, accounts: i64) {
    let executor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    executor.block_on(async {
        let file = folder.join("bank.db");
        let connection = raw::open(&file);
        raw::fill(&connection, accounts);
        let manager = SqliteConnectionManager::file(&file)
            .with_init(|connection| connection.execute_batch("PRAGMA query_only = 1; PRAGMA cache_size = -16000"));
        let readers = r2d2::Pool::builder().max_size(8).test_on_check_out(false).build(manager).unwrap();
        let writer = match commit {
            Commit::Each => Writer::Each(Arc::new(Mutex::new(connection))),
            Commit::Grouped => {
                let (sender, receiver) = sync_channel(1_024);
                std::thread::spawn(move || commit_what_waits(&connection, &receiver));
                Writer::Grouped(sender)
            }
        };
        let app = Router::new()
            .route("/api/run/bank/listAccounts", post(list_accounts))
            .route("/api/run/bank/transfer", post(transfer))
            .route("/api/run/bank/postMessage", post(post_message))
            .route("/api/run/bank/total", post(total))
            .with_state(App { readers, writer });
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        announce(listener.local_addr().unwrap());
        axum::serve(axum::serve::ListenerExt::tap_io(listener, |stream| stream.set_nodelay(true).unwrap()), app)
            .await
            .unwrap();
    });
}

fn success(value: impl Serialize) -> Json<Value> {
    Json(json!({ "status": "success", "value": value, "errorMessage": "", "errorData": {} }))
}

async fn list_accounts(State(app): State<App>, Json(envelope): Json<Envelope<List>>) -> Json<Value> {
    let accounts = tokio::task::spawn_blocking(move || {
        let connection = app.readers.get().unwrap();
        let sql = "SELECT id, created, number, owner, balance, note FROM accounts WHERE owner = ? ORDER BY id LIMIT ?";
        let mut statement = connection.prepare_cached(sql).unwrap();
        let rows = statement.query_map(params![envelope.args.owner, LISTED], |row| {
            Ok(Account {
                id: row.get(0)?,
                creation_time: row.get(1)?,
                number: row.get(2)?,
                owner: row.get(3)?,
                balance: row.get(4)?,
                note: row.get(5)?,
            })
        });
        rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap()
    });
    success(accounts.await.unwrap())
}

async fn transfer(State(app): State<App>, Json(envelope): Json<Envelope<Transfer>>) -> Json<Value> {
    success(app.change(Change::Transfer(envelope.args)).await)
}

async fn post_message(State(app): State<App>, Json(envelope): Json<Envelope<Post>>) -> Json<Value> {
    success(app.change(Change::Post(envelope.args)).await)
}

impl App {
    async fn change(self, change: Change) -> Value {
        match self.writer {
            Writer::Each(connection) => tokio::task::spawn_blocking(move || {
                let connection = connection.lock().unwrap();
                connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                let value = change.make(&connection);
                connection.execute_batch("COMMIT").unwrap();
                value
            })
            .await
            .unwrap(),
            Writer::Grouped(sender) => {
                let (reply, answer) = oneshot::channel();
                assert!(sender.try_send((change, reply)).is_ok(), "64 connections never fill the queue");
                answer.await.unwrap()
            }
        }
    }
}

/// Takes what waits, runs it in one transaction, and answers after the commit.
fn commit_what_waits(connection: &Connection, waiting: &Receiver<(Change, oneshot::Sender<Value>)>) {
    while let Ok(first) = waiting.recv() {
        let mut answers = Vec::new();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut next = Some(first);
        while let Some((change, reply)) = next {
            answers.push((reply, change.make(connection)));
            next = if answers.len() < 256 { waiting.try_recv().ok() } else { None };
        }
        connection.execute_batch("COMMIT").unwrap();
        for (reply, value) in answers {
            let _ = reply.send(value);
        }
    }
}

async fn total(State(app): State<App>, Json(envelope): Json<Envelope<Part>>) -> Json<Value> {
    let connection = app.readers.get().unwrap();
    let Part { first, count } = envelope.args;
    let sql = "SELECT sum(balance) FROM accounts WHERE number >= ? AND number < ?";
    success(connection.query_row(sql, [first, first + count], |row| row.get::<_, i64>(0)).unwrap())
}
