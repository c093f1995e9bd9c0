//! rusqlite alone: no HTTP, no JSON, one thread, as many transfers a transaction as there are connections elsewhere.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use tempfile::TempDir;

use crate::bank::{ACCOUNTS, BALANCE, LISTED};
use crate::report::Turn;

/// Opens a database with the same durability as everybody's.
pub(crate) fn open(file: &Path) -> Connection {
    let connection = Connection::open(file).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000;",
        )
        .unwrap();
    connection
}

/// Makes the table and the accounts.
pub(crate) fn fill(connection: &Connection) {
    connection
        .execute_batch(
            "CREATE TABLE accounts (id TEXT PRIMARY KEY, created INTEGER, number INTEGER, owner TEXT, balance INTEGER,
             note TEXT) STRICT;
             CREATE UNIQUE INDEX by_number ON accounts (number);
             CREATE INDEX by_owner ON accounts (owner, id);
             BEGIN",
        )
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?)").unwrap();
    for number in 0..ACCOUNTS {
        let (id, owner) = (format!("account_01h455vb4pex5vsknk{number:08}"), format!("owner-{}", number / LISTED));
        let note = "an account like every other";
        insert.execute(params![id, 1_767_225_600_000_i64, number, owner, BALANCE, note]).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
}

/// Two reads, two writes.
pub(crate) fn transfer(connection: &Connection, from: i64, to: i64, amount: i64) -> i64 {
    let read = |number: i64| -> (i64, i64) {
        let sql = "SELECT rowid, balance FROM accounts WHERE number = ?";
        let mut statement = connection.prepare_cached(sql).unwrap();
        statement.query_row([number], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    let write = |rowid: i64, balance: i64| {
        let sql = "UPDATE accounts SET balance = ? WHERE rowid = ?";
        connection.prepare_cached(sql).unwrap().execute([balance, rowid]).unwrap();
    };
    let ((from, from_balance), (to, to_balance)) = (read(from), read(to));
    assert!(from_balance >= amount);
    write(from, from_balance - amount);
    write(to, to_balance + amount);
    from_balance - amount
}

/// Transfers for a while, `batch` a transaction.
pub(crate) fn transfers(time: Duration, batch: usize) -> Turn {
    let folder = TempDir::new().unwrap();
    let connection = open(&folder.path().join("raw.db"));
    fill(&connection);
    let start = Instant::now();
    let mut done = 0;
    while start.elapsed() < time {
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        for _ in 0..batch {
            let from = done * 7_919 % ACCOUNTS;
            transfer(&connection, from, (from + 1 + done % 97) % ACCOUNTS, 1);
            done += 1;
        }
        connection.execute_batch("COMMIT").unwrap();
    }
    let total: i64 = connection.query_row("SELECT sum(balance) FROM accounts", [], |row| row.get(0)).unwrap();
    assert_eq!(total, ACCOUNTS * BALANCE);
    Turn { rate: done as f64 / start.elapsed().as_secs_f64(), cpu_us: f64::NAN }
}
