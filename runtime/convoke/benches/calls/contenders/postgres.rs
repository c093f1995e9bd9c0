//! The work on PostgreSQL: Convoke's node on it, and axum with tokio-postgres, written by hand.
//!
//! By hand is a pool of as many connections as a node has, prepared statements, explicit serializable transactions that are
//! run again where PostgreSQL asks for it, an answer that waits for COMMIT, and the row from which other nodes would learn
//! what was changed.

use std::fs::{read_dir, read_to_string};
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use deadpool_postgres::{Config, Object, Pool, Runtime};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use super::{Server, Started, announce, convoke};
use crate::bank::{BALANCE, LISTED, OPENED_AT_ONCE};

/// Which server, as `e2e/postgres.sh` says it.
const ADDRESS: &str = "CONVOKE_TEST_POSTGRES";
/// Folder of its data, which identifies the process.
const DATA: &str = "CONVOKE_TEST_POSTGRES_DATA";
/// Connections: what a node has for its writes and its reads.
const CONNECTIONS: usize = 20;
/// The same account of everybody's, as its id.
const ID: &str = "00000000-0000-7000-8000-";

/// The server to measure on, where one was started.
pub(crate) fn address() -> Option<String> {
    std::env::var(ADDRESS).ok()
}

/// The ids of the accounts of the peer by hand.
pub(crate) fn ids(accounts: i64) -> Vec<String> {
    (0..accounts).map(|number| format!("{ID}{number:012}")).collect()
}

/// Returns the resources that the server has used so far.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    /// CPU time of all its processes.
    pub cpu: Duration,
    /// Bytes of its log.
    pub log_bytes: f64,
}

impl Spent {
    pub(crate) async fn so_far() -> Self {
        let (client, connection) = tokio_postgres::connect(&address().unwrap(), NoTls).await.unwrap();
        tokio::spawn(connection);
        let row = client.query_one("SELECT (pg_current_wal_lsn() - '0/0')::float8", &[]).await.unwrap();
        Self { cpu: cpu(), log_bytes: row.get(0) }
    }
}

fn cpu() -> Duration {
    let data = std::env::var(DATA).unwrap();
    let first = read_to_string(format!("{data}/postmaster.pid")).unwrap().lines().next().unwrap().to_owned();
    let processes = read_dir("/proc").unwrap().filter_map(|entry| read_to_string(entry.ok()?.path().join("stat")).ok());
    let ticks = processes.map(|stat| {
        // As in `Server::cpu`; the parent is field 4.
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let of = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
        if fields.get(1) == Some(&&*first) { of(11) + of(12) } else { 0 }
    });
    Duration::from_millis(10 * ticks.sum::<u64>())
}

impl Server {
    /// Starts a node on an empty schema of the server, and fills it.
    pub(crate) fn node(accounts: i64) -> Self {
        let schema = format!("bench_{}", std::process::id());
        let store = format!("{}?schema={schema}&sslmode=disable", address().expect("a server was started"));
        let mut node = Self::of(accounts, |folder| {
            // Accounts are opened by the thousand, each in a unique index: one way to the server for each.
            let config = folder.join("convoke.toml");
            std::fs::write(&config, "[limits]\nmutation_timeout = \"1m\"\n").unwrap();
            let settings = [
                ("CONVOKE_STORE", &*store),
                ("CONVOKE_SECRET_STORE_KEY", "a key of thirty-two characters or more"),
                ("CONVOKE_CONFIG", config.to_str().unwrap()),
            ];
            let (process, address) = convoke::serve(folder, &settings);
            Started { process, address, token: String::new(), ids: Vec::new() }
        });
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (client, url) = (reqwest::Client::new(), format!("http://{}/api/run/bank/openAccounts", node.address));
        for first in (0..accounts).step_by(usize::try_from(OPENED_AT_ONCE).unwrap()) {
            let args = json!({ "args": { "first": first } }).to_string();
            let request = client.post(&url).header("content-type", "application/json").body(args);
            let answer = executor.block_on(async { request.send().await.unwrap().bytes().await.unwrap() });
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            let opened = answer["value"].as_array().unwrap_or_else(|| panic!("{answer}"));
            node.ids.extend(opened.iter().map(|id| id.as_str().unwrap().to_owned()));
        }
        node
    }
}

#[derive(Deserialize)]
struct Envelope<T> {
    args: T,
}

#[derive(Deserialize)]
struct Get {
    id: String,
}

#[derive(Deserialize)]
struct Transfer {
    from: i64,
    to: i64,
    amount: i64,
}

#[derive(Deserialize)]
struct Part {
    first: i64,
    count: i64,
}

/// Serves so many accounts by hand.
pub(crate) fn serve(accounts: i64) {
    let executor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    executor.block_on(async {
        let mut config = Config { url: address(), ..Config::default() };
        config.pool = Some(deadpool_postgres::PoolConfig::new(CONNECTIONS));
        let pool = config.create_pool(Some(Runtime::Tokio1), NoTls).unwrap();
        fill(&pool, accounts).await;
        let app = Router::new()
            .route("/api/run/bank/getAccountOnce", post(get_account))
            .route("/api/run/bank/transfer", post(transfer))
            .route("/api/run/bank/total", post(total))
            .with_state(pool);
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        announce(listener.local_addr().unwrap());
        axum::serve(axum::serve::ListenerExt::tap_io(listener, |stream| stream.set_nodelay(true).unwrap()), app)
            .await
            .unwrap();
    });
}

async fn fill(pool: &Pool, accounts: i64) {
    let client = pool.get().await.unwrap();
    client
        .batch_execute(&format!(
            "DROP SCHEMA IF EXISTS by_hand CASCADE; CREATE SCHEMA by_hand;
             CREATE TABLE by_hand.accounts (id uuid PRIMARY KEY, created bigint NOT NULL, number bigint NOT NULL,
               owner text NOT NULL COLLATE \"C\", balance bigint NOT NULL, note text NOT NULL COLLATE \"C\");
             INSERT INTO by_hand.accounts SELECT ('{ID}' || lpad(number::text, 12, '0'))::uuid, 1767225600000, number,
               'owner-' || number / {LISTED}, {BALANCE}, 'an account like every other' FROM generate_series(0, {accounts} - 1) AS number;
             CREATE UNIQUE INDEX ON by_hand.accounts (number);
             CREATE INDEX ON by_hand.accounts (owner, id);
             CREATE TABLE by_hand.commits (id uuid PRIMARY KEY, xid xid8 NOT NULL, node uuid NOT NULL, changes text NOT NULL,
               at timestamptz NOT NULL DEFAULT now());
             CREATE INDEX ON by_hand.commits (xid);
             CREATE INDEX ON by_hand.commits (at);
             ANALYZE by_hand.accounts"
        ))
        .await
        .unwrap();
}

fn success(value: impl Serialize) -> Json<Value> {
    Json(json!({ "status": "success", "value": value, "errorMessage": "", "errorData": {} }))
}

async fn get_account(State(pool): State<Pool>, Json(envelope): Json<Envelope<Get>>) -> Json<Value> {
    let mut client = pool.get().await.unwrap();
    loop {
        match read(&mut client, &envelope.args.id).await {
            Ok(balance) => return success(balance),
            Err(error) => require_conflict(&error),
        }
    }
}

async fn read(client: &mut Object, id: &str) -> Result<i64, tokio_postgres::Error> {
    let sql = "SELECT balance FROM by_hand.accounts WHERE id = $1::text::uuid";
    let statement = client.prepare_cached(sql).await?;
    let builder = client.build_transaction();
    let transaction = builder.isolation_level(tokio_postgres::IsolationLevel::Serializable).read_only(true);
    let transaction = transaction.start().await?;
    let balance = transaction.query_one(&statement, &[&id]).await?.get(0);
    transaction.commit().await?;
    Ok(balance)
}

async fn transfer(State(pool): State<Pool>, Json(envelope): Json<Envelope<Transfer>>) -> Json<Value> {
    let mut client = pool.get().await.unwrap();
    loop {
        match try_transfer(&mut client, &envelope.args).await {
            Ok(left) => return success(left),
            Err(error) => require_conflict(&error),
        }
    }
}

async fn try_transfer(client: &mut Object, asked: &Transfer) -> Result<i64, tokio_postgres::Error> {
    let select = client.prepare_cached("SELECT id, balance FROM by_hand.accounts WHERE number = $1").await?;
    let update = client.prepare_cached("UPDATE by_hand.accounts SET balance = $2 WHERE number = $1").await?;
    let sql = "INSERT INTO by_hand.commits (id, xid, node, changes) \
               VALUES (gen_random_uuid(), pg_current_xact_id(), '00000000-0000-0000-0000-000000000000', $1)";
    let mark = client.prepare_cached(sql).await?;
    let builder = client.build_transaction().isolation_level(tokio_postgres::IsolationLevel::Serializable);
    let transaction = builder.start().await?;
    let from: i64 = transaction.query_one(&select, &[&asked.from]).await?.get(1);
    let to: i64 = transaction.query_one(&select, &[&asked.to]).await?.get(1);
    assert!(from >= asked.amount);
    transaction.execute(&update, &[&asked.from, &(from - asked.amount)]).await?;
    transaction.execute(&update, &[&asked.to, &(to + asked.amount)]).await?;
    transaction.execute(&mark, &[&r#"{"tables":["accounts"]}"#]).await?;
    transaction.commit().await?;
    Ok(from - asked.amount)
}

async fn total(State(pool): State<Pool>, Json(envelope): Json<Envelope<Part>>) -> Json<Value> {
    let Part { first, count } = envelope.args;
    let client = pool.get().await.unwrap();
    let sql = "SELECT sum(balance)::bigint FROM by_hand.accounts WHERE number >= $1 AND number < $2";
    success(client.query_one(sql, &[&first, &(first + count)]).await.unwrap().get::<_, i64>(0))
}

/// Another transaction was in the way: once more. Anything else stops the run.
fn require_conflict(error: &tokio_postgres::Error) {
    let code = error.code().cloned();
    let is_conflict = matches!(code, Some(SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED));
    assert!(is_conflict, "{error}");
}
