//! A database of a release that recorded no shapes of values: its rows are read once, and the shapes are recorded.

use std::path::Path;

use convoke_sqlite::Sqlite;
use convoke_store::conformance::support::{open_with, patient};
use convoke_store::{State, Store, Table, value};

use super::made;

mod release_1 {
    use super::*;

    #[value]
    pub(super) enum Severity {
        Minor,
        Major,
    }

    #[convoke::table(name = "defects", prefix = "defect")]
    pub(super) struct Defect {
        pub severity: Severity,
        pub title: String,
    }
}

mod release_2 {
    use super::*;

    #[value]
    pub(super) enum Severity {
        Low,
        Major,
    }

    #[convoke::table(name = "defects", prefix = "defect")]
    pub(super) struct Defect {
        pub severity: Severity,
        pub title: String,
    }
}

fn opened<T: Table>(folder: &Path) -> Store {
    open_with(&made(Sqlite::default()), folder, &patient(), &[T::DEF]).unwrap()
}

fn file(folder: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(folder.join("convoke.db")).unwrap()
}

/// The recorded schema; `forget` removes its shapes, as in a database of a former release.
fn definition(folder: &Path, forget: bool) -> serde_json::Value {
    let (file, last) = (file(folder), "SELECT definition FROM _schema ORDER BY version DESC LIMIT 1");
    let text: String = file.query_row(last, [], |row| row.get(0)).unwrap();
    let mut definition: serde_json::Value = serde_json::from_str(&text).unwrap();
    if forget {
        for field in definition["tables"]["defects"]["fields"].as_object_mut().unwrap().values_mut() {
            field.as_object_mut().unwrap().remove("shape").unwrap();
        }
        file.execute("UPDATE _schema SET definition = ?1", [definition.to_string()]).unwrap();
    }
    definition
}

#[test]
fn database_without_shapes_is_checked_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(opened::<release_1::Defect>(folder));
    let add = "INSERT INTO defects (_id, _creationTime, severity, title) VALUES (?1, 1, 'minor', 't')";
    file(folder).execute(add, [&[7_u8; 16][..]]).unwrap();
    definition(folder, true);

    let schema = |store: &Store| store.snapshot(|_| {}).unwrap().schema(store.tables()).unwrap();
    let store = opened::<release_2::Defect>(folder);
    assert_eq!(schema(&store).refused.len(), 1);
    let State::Closed { reason } = store.state() else { panic!("a row does not fit") };
    assert!(reason.starts_with("table defects: field severity: row defect_"), "{reason}");
    drop(store);
    assert_eq!(definition(folder, false)["tables"]["defects"]["fields"]["severity"].get("shape"), None);

    // The release of before starts, and keeps what its values may be.
    let store = opened::<release_1::Defect>(folder);
    assert_eq!((store.state(), schema(&store).pending), (State::Open, vec![]));
    drop(store);
    let kept = definition(folder, false);
    assert_eq!(
        kept["tables"]["defects"]["fields"]["severity"]["shape"],
        serde_json::json!({ "type": "string", "enum": ["major", "minor"] })
    );
    let changes = "SELECT changes FROM _schema ORDER BY version DESC LIMIT 1";
    let changes: String = file(folder).query_row(changes, [], |row| row.get(0)).unwrap();
    assert_eq!(changes, "table defects: its possible values are recorded");
}
