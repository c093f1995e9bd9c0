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

/// How transfers are committed.
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
    Grouped(SyncSender<(Transfer, oneshot::Sender<i64>)>),
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

pub(crate) fn serve(folder: &Path, commit: Commit) {
    let executor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    executor.block_on(async {
        let file = folder.join("bank.db");
        let connection = raw::open(&file);
        raw::fill(&connection);
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
            .route("/api/run/bank/total", post(total))
            .with_state(App { readers, writer });
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        announce(listener.local_addr().unwrap(), "", &[]);
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
    let left = match app.writer {
        Writer::Each(connection) => tokio::task::spawn_blocking(move || {
            let connection = connection.lock().unwrap();
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            let left = raw::transfer(&connection, envelope.args.from, envelope.args.to, envelope.args.amount);
            connection.execute_batch("COMMIT").unwrap();
            left
        })
        .await
        .unwrap(),
        Writer::Grouped(sender) => {
            let (reply, answer) = oneshot::channel();
            assert!(sender.try_send((envelope.args, reply)).is_ok(), "64 connections never fill the queue");
            answer.await.unwrap()
        }
    };
    success(left)
}

/// Takes what waits, runs it in one transaction, and answers after the commit.
fn commit_what_waits(connection: &Connection, waiting: &Receiver<(Transfer, oneshot::Sender<i64>)>) {
    while let Ok(first) = waiting.recv() {
        let mut answers = Vec::new();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut next = Some(first);
        while let Some((transfer, reply)) = next {
            answers.push((reply, raw::transfer(connection, transfer.from, transfer.to, transfer.amount)));
            next = if answers.len() < 256 { waiting.try_recv().ok() } else { None };
        }
        connection.execute_batch("COMMIT").unwrap();
        for (reply, left) in answers {
            let _ = reply.send(left);
        }
    }
}

async fn total(State(app): State<App>) -> Json<Value> {
    let connection = app.readers.get().unwrap();
    success(connection.query_row("SELECT sum(balance) FROM accounts", [], |row| row.get::<_, i64>(0)).unwrap())
}
