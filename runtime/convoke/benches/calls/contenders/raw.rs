//! rusqlite as the peers by hand use it: the same durability as everybody's, prepared statements.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::bank::{BALANCE, LISTED};
use rusqlite::{Connection, params};

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
pub(crate) fn fill(connection: &Connection, accounts: i64) {
    connection
        .execute_batch(
            "CREATE TABLE accounts (id TEXT PRIMARY KEY, created INTEGER, number INTEGER, owner TEXT, balance INTEGER,
             note TEXT) STRICT;
             CREATE UNIQUE INDEX by_number ON accounts (number);
             CREATE INDEX by_owner ON accounts (owner, id);
             CREATE TABLE messages (id TEXT PRIMARY KEY, created INTEGER, author INTEGER, text TEXT) STRICT;
             CREATE INDEX by_author ON messages (author, id);
             BEGIN",
        )
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?)").unwrap();
    for number in 0..accounts {
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

/// Stores a message under a new id.
pub(crate) fn post_message(connection: &Connection, author: i64, text: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = format!("message_01h455vb4pex5vs{:011}", NEXT.fetch_add(1, Relaxed));
    let mut insert = connection.prepare_cached("INSERT INTO messages VALUES (?, ?, ?, ?)").unwrap();
    insert.execute(params![id, 1_767_225_600_000_i64, author, text]).unwrap();
    id
}
