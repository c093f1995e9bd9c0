//! A schema that is applied in parts: what may be refused comes before what the former release does not read.

use std::path::Path;

use convoke_sqlite::Sqlite;
use convoke_store::conformance::support::{field, key, open_with, patient, start};
use convoke_store::{Access, FieldDef, IndexDef, Plan, State, Store, TableDef, Value};

use super::made;

const ROWS: u128 = 50;

fn table(fields: Vec<FieldDef>, indexes: Vec<IndexDef>) -> &'static TableDef {
    Box::leak(Box::new(TableDef {
        name: "meetings",
        prefix: "meeting",
        fields: fields.leak(),
        indexes: indexes.leak(),
        file: "lib.rs",
        line: 7,
    }))
}

fn index(name: &'static str, place: usize, unique: bool) -> IndexDef {
    IndexDef { name, keys: vec![key(place)].leak(), unique, when: None }
}

/// Every table with ten rows is large.
fn opened(folder: &Path, table: &'static TableDef) -> Store {
    open_with(&made(Sqlite { large_rows: 10, ..Sqlite::default() }), folder, &patient(), &[table]).unwrap()
}

/// A folder with rows of a table that has titles, of which two are the same, and numbers, which are all different.
fn filled() -> (tempfile::TempDir, &'static TableDef) {
    let folder = tempfile::tempdir().unwrap();
    let old = table(vec![field::<String>("title"), field::<i64>("number")], vec![]);
    let store = opened(folder.path(), old);
    let filled = start(&store, move |transaction| {
        (1..=ROWS).try_for_each(|id| {
            let number = i64::try_from(id).unwrap();
            let title = Value::Text(format!("t{}", number % (i64::try_from(ROWS).unwrap() - 1)));
            transaction.insert(old, id, 1, &[title, Value::Integer(number)])
        })
    });
    filled.wait().unwrap();
    drop(store);
    (folder, old)
}

/// The columns and indexes that the file has.
fn made_of(folder: &Path) -> (Vec<String>, Vec<String>) {
    let file = rusqlite::Connection::open(folder.join("convoke.db")).unwrap();
    let all = |sql: &str| {
        let mut statement = file.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        names.collect::<Result<Vec<_>, _>>().unwrap()
    };
    let columns = all("SELECT name FROM pragma_table_info('meetings')");
    (columns, all("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'meetings' ORDER BY name"))
}

fn with_size() -> Vec<FieldDef> {
    let size = FieldDef { default: Some(|| Value::Integer(30)), ..field::<i64>("size") };
    vec![field::<String>("title"), field::<i64>("number"), size]
}

#[test]
fn collision_in_a_large_table_keeps_the_former_schema() {
    for (indexes, expected) in [
        // Of a field that is there: it is found before anything of the release is applied.
        (vec![index("by_number", 1, false), index("one_title", 0, true), index("by_size", 2, false)], "one_title"),
        // Of a field that is added: it is refused together with the field.
        (vec![index("by_number", 1, false), index("one_size", 2, true)], "one_size"),
    ] {
        let (folder, old) = filled();
        let store = opened(folder.path(), table(with_size(), indexes));
        let State::Closed { reason } = store.state() else { panic!("the store is open") };
        assert!(
            reason.starts_with(&format!("table meetings: index {expected} added, but rows collide in it")),
            "{reason}"
        );
        drop(store);
        assert_eq!(made_of(folder.path()).0, ["_id", "_creationTime", "title", "number"]);
        let store = opened(folder.path(), old);
        assert_eq!(store.state(), State::Open);
        drop(store);
        // The index that was made is of no use to the former release.
        assert_eq!(made_of(folder.path()).1, ["meetings._id"]);
    }
}

#[test]
fn open_large_table_has_all_fields_and_indexes() {
    let (folder, _) = filled();
    let indexes = vec![
        index("by_number", 1, false),
        index("one_number", 1, true),
        index("by_size", 2, false),
        index("by_title", 0, false),
    ];
    let new = table(with_size(), indexes);
    let store = opened(folder.path(), new);
    assert_eq!(store.state(), State::Open);
    let mut of_size = Plan::new(new, new.indexes.iter().find(|index| index.name == "by_size"));
    of_size.eq = vec![Value::Integer(30)];
    let count = store.read_blocking(Access::Everyone, |reader| reader.count(&of_size).unwrap()).unwrap();
    assert_eq!(u128::from(count), ROWS);
    let schema = store.snapshot(|_| {}).unwrap().schema(store.tables()).unwrap();
    assert_eq!((schema.pending, schema.refused), (vec![], vec![]));
    drop(store);
    let (columns, indexes) = made_of(folder.path());
    assert_eq!(columns.last().unwrap(), "size");
    let names = ["_id", "by_number", "by_size", "by_title", "one_number"].map(|name| format!("meetings.{name}"));
    assert_eq!(indexes, names);
}
