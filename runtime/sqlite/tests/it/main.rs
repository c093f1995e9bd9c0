//! The engine on SQLite: it passes the suite of every engine, and what is its own (a file, a log, pages) holds too.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

// The attributes speak of `convoke`.
extern crate convoke_store as convoke;

mod batches;
mod crash;
mod followed;
mod folder;
mod log;
mod parts;
mod replaced;
mod shapes;

use std::sync::Arc;

use convoke_core::Id;
use convoke_core::id::Named;
use convoke_sqlite::Sqlite;
use convoke_store::conformance::support::{Account, Factory, field};
use convoke_store::table::Bytes;
use convoke_store::{Column, DbMut, NamedStat, Row, Store, StoreError, Table, TableDef, Value};

convoke_store::conformance_tests!(crate::sqlite());

/// Engines with the default settings.
fn sqlite() -> Factory {
    made(Sqlite::default())
}

/// Engines with these settings.
fn made(settings: Sqlite) -> Factory {
    Arc::new(settings)
}

/// A figure that only this engine has.
fn own(store: &Store, name: &str) -> u64 {
    NamedStat::find(&store.own_stats(), name).unwrap()
}

/// Something of any size.
#[derive(Clone, Debug, serde::Serialize)]
struct Blob {
    bytes: Bytes,
}

impl Named for Blob {
    const NAME: &'static str = "blobs";
    const PREFIX: &'static str = "blob";
}

impl Table for Blob {
    const DEF: &'static TableDef = &TableDef {
        name: "blobs",
        prefix: "blob",
        fields: &[field::<Bytes>("bytes")],
        indexes: &[],
        file: file!(),
        line: line!(),
    };

    fn encode(&self) -> Vec<Value> {
        vec![self.bytes.to_value()]
    }

    fn decode(row: &dyn Row) -> Result<Self, StoreError> {
        Ok(Self { bytes: Column::decode(row, Self::DEF, 0)? })
    }
}

fn blob(db: &mut DbMut, size: usize) -> Result<Id<Blob>, StoreError> {
    db.insert(Blob { bytes: Bytes(vec![7; size]) })
}

fn tables() -> Vec<&'static TableDef> {
    vec![Account::DEF, Blob::DEF]
}
