//! The schema in the database follows the code where no data is lost, and reports what it cannot follow.

use std::ops::ControlFlow;
use std::path::Path;

use tempfile::TempDir;

use super::support::{Account, Factory, down, field, key, open_with, start, start_as};
use crate::schema::{Definition, Schemas};
use crate::{
    Access, Condition, FieldDef, Flow, Id, IndexDef, KeyDef, LatencyClass, Literal, OpenError, Plan, State, Store,
    StoreError, Table as _, TableDef, Value,
};

/// Creates a table that lives as long as the tests.
fn table(fields: Vec<FieldDef>, indexes: Vec<IndexDef>) -> &'static TableDef {
    named("meetings", "meeting", fields, indexes)
}

fn named(name: &'static str, prefix: &'static str, fields: Vec<FieldDef>, indexes: Vec<IndexDef>) -> &'static TableDef {
    Box::leak(Box::new(TableDef {
        name,
        prefix,
        fields: fields.leak(),
        indexes: indexes.leak(),
        file: "lib.rs",
        line: 7,
    }))
}

fn index(name: &'static str, keys: Vec<KeyDef>, unique: bool) -> IndexDef {
    IndexDef { name, keys: keys.leak(), unique, when: None }
}

fn with_default(name: &'static str, default: fn() -> Value) -> FieldDef {
    FieldDef { default: Some(default), ..field::<i64>(name) }
}

fn retired(name: &'static str) -> FieldDef {
    FieldDef { retired: true, ..field::<String>(name) }
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn open(engine: &Factory, folder: &Path, tables: &[&'static TableDef]) -> Store {
    open_with(engine, folder, &super::support::patient(), tables).unwrap()
}

/// Creates a folder with two rows in `meetings`, which have a title.
fn two_meetings(engine: &Factory) -> (TempDir, &'static TableDef) {
    let folder = tempfile::tempdir().unwrap();
    let old = table(vec![field::<String>("title")], vec![index("by_title", vec![key(0)], false)]);
    let store = open(engine, folder.path(), &[old]);
    insert(&store, old, 1, vec![text("b")]).unwrap();
    insert(&store, old, 2, vec![text("a")]).unwrap();
    (folder, old)
}

fn insert(store: &Store, table: &'static TableDef, id: u128, values: Vec<Value>) -> Result<(), StoreError> {
    start(store, move |transaction| transaction.insert(table, id, 1, &values)).wait()
}

/// Returns the values of the rows of a plan.
fn rows(store: &Store, plan: &Plan) -> Vec<Vec<Value>> {
    store
        .read_blocking(Access::Everyone, |transaction| {
            let mut rows = Vec::new();
            transaction
                .select(plan, &mut |row| {
                    rows.push((0..plan.table.fields.len()).map(|place| row.value(place).unwrap().to_value()).collect());
                    Ok(ControlFlow::Continue(()))
                })
                .unwrap();
            rows
        })
        .unwrap()
}

fn reason(store: &Store) -> String {
    match store.state() {
        State::Open => "open".to_owned(),
        State::Closed { reason } => reason,
    }
}

pub fn additions_are_applied_to_existing_rows(engine: &Factory) {
    let (folder, _) = two_meetings(engine);
    let new = table(
        vec![
            with_default("size", || Value::Integer(30)),
            field::<Option<String>>("title"),
            field::<Option<bool>>("open"),
        ],
        vec![
            index("by_title", vec![down(1)], false),
            index("by_size", vec![key(0), key(1)], true),
            IndexDef { when: Some(Condition::IsNull("open")), ..index("undecided", vec![key(1)], false) },
        ],
    );
    let store = open(engine, folder.path(), &[new, Account::DEF]);
    assert_eq!(store.state(), State::Open);
    let old = |title| vec![Value::Integer(30), text(title), Value::Null];
    assert_eq!(rows(&store, &Plan::new(new, Some(&new.indexes[0]))), [old("b"), old("a")]);
    // The default is a value like any other: indexes know it.
    let mut of_size = Plan::new(new, Some(&new.indexes[1]));
    of_size.eq = vec![Value::Integer(30)];
    assert_eq!(rows(&store, &of_size), [old("a"), old("b")]);
    assert_eq!(rows(&store, &Plan::new(new, Some(&new.indexes[2]))), [old("a"), old("b")]);
    let violation = insert(&store, new, 3, old("a"));
    assert!(matches!(violation, Err(StoreError::UniqueViolation { index: "by_size", .. })), "{violation:?}");
    drop(store);
    // A second start does nothing.
    for _ in 0..2 {
        let store = open(engine, folder.path(), &[new, Account::DEF]);
        assert_eq!(store.state(), State::Open);
        let schema = store.snapshot(|_| {}).unwrap().schema(store.tables()).unwrap();
        assert_eq!((schema.version, schema.pending, schema.refused), (2, vec![], vec![]));
    }
}

pub fn lossy_change_closes_the_store_with_a_plain_reason(engine: &Factory) {
    for (new, expected) in [
        (
            table(vec![field::<i64>("title")], vec![]),
            "table meetings: field title changed from Text to Integer; \
             keep its type, write a migration that fills a new field from it, and mark it #[retired] in the next release",
        ),
        (
            table(vec![field::<Id<Account>>("title")], vec![]),
            "table meetings: field title changed from Text to Id of account; \
             keep its type, write a migration that fills a new field from it, and mark it #[retired] in the next release",
        ),
        (
            table(vec![], vec![]),
            "table meetings: field title was removed; mark it #[retired] instead, so that its values stay; \
             if another field takes its values, keep it as an Option until a migration has copied them",
        ),
        (
            table(vec![field::<String>("title"), field::<i64>("size")], vec![]),
            "table meetings: field size was added without a default; make it an Option, give it a default, or write a \
             migration that fills it",
        ),
        (
            named("meetings", "room", vec![field::<String>("title")], vec![]),
            "table meetings: the prefix of its ids changed from meeting to room, and clients hold such ids",
        ),
        (
            named("rooms", "room", vec![], vec![]),
            "table meetings is in the database with rows and not in the code; \
             write a migration that empties it before the struct goes",
        ),
    ] {
        let (folder, old) = two_meetings(engine);
        let store = open(engine, folder.path(), &[new]);
        assert_eq!(reason(&store), expected);
        assert_eq!(store.ready(), Err(expected.to_owned()));
        let read = store.read_blocking(Access::Everyone, |_| ());
        assert!(matches!(read, Err(StoreError::Closed(reason)) if reason == expected));
        assert!(matches!(insert(&store, new, 9, vec![text("c")]), Err(StoreError::Closed(_))));
        store.read_blocking(Access::Admin, |_| ()).unwrap();
        drop(store);
        // Nothing was applied: the old code still serves.
        assert_eq!(rows(&open(engine, folder.path(), &[old]), &Plan::new(old, None)).len(), 2);
    }
}

pub fn collision_in_a_new_unique_index_closes_the_store(engine: &Factory) {
    let (folder, old) = two_meetings(engine);
    insert(&open(engine, folder.path(), &[old]), old, 3, vec![text("a")]).unwrap();
    let new = table(vec![field::<String>("title")], vec![index("one_title", vec![key(0)], true)]);
    let store = open(engine, folder.path(), &[new]);
    let [first, last] = ["meeting_00000000000000000000000002", "meeting_00000000000000000000000003"];
    let index = "table meetings: index one_title added";
    assert_eq!(
        reason(&store),
        format!("{index}, but rows collide in it, such as {first} and {last}; write a migration")
    );
}

pub fn option_becomes_required_if_every_row_has_a_value(engine: &Factory) {
    let folder = tempfile::tempdir().unwrap();
    let optional = table(vec![field::<Option<String>>("title"), field::<Option<i64>>("size")], vec![]);
    let store = open(engine, folder.path(), &[optional]);
    insert(&store, optional, 1, vec![Value::Null, Value::Null]).unwrap();
    drop(store);
    let required = table(vec![field::<String>("title"), with_default("size", || Value::Integer(3))], vec![]);
    let store = open(engine, folder.path(), &[required]);
    assert_eq!(
        reason(&store),
        "table meetings: field title is no longer an Option, and rows without a value exist; \
         write a migration that fills them, or give it a default"
    );
    // The operator's migration fills the field while other callers are rejected. Then the store opens.
    let migrated = start_as(&store, Access::Admin, move |transaction| {
        transaction.update(required, 1, &[], &[(0, text("filled"))])
    });
    assert!(migrated.wait().unwrap());
    assert_eq!(store.apply_schema().unwrap(), State::Open);
    assert_eq!(rows(&store, &Plan::new(required, None)), [[text("filled"), Value::Integer(3)]]);
}

pub fn retired_field_stays_in_the_database_and_can_return(engine: &Factory) {
    let (folder, _) = two_meetings(engine);
    let without = table(vec![retired("title"), field::<Option<i64>>("size")], vec![]);
    let store = open(engine, folder.path(), &[without]);
    assert_eq!(store.state(), State::Open);
    insert(&store, without, 3, vec![Value::Null, Value::Integer(1)]).unwrap();
    assert_eq!(rows(&store, &Plan::new(without, None))[0], [Value::Null, Value::Null]);
    drop(store);
    // A retired field may leave the struct.
    let gone = table(vec![field::<Option<i64>>("size")], vec![]);
    assert_eq!(open(engine, folder.path(), &[gone]).state(), State::Open);
    let back = table(vec![field::<Option<String>>("title"), field::<Option<i64>>("size")], vec![]);
    let store = open(engine, folder.path(), &[back]);
    assert_eq!(reason(&store), "open");
    let titles: Vec<Value> = rows(&store, &Plan::new(back, None)).into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(titles, [text("b"), text("a"), Value::Null]);
    drop(store);
    // A new database has no retired fields.
    let fresh = tempfile::tempdir().unwrap();
    let store = open(engine, fresh.path(), &[without]);
    insert(&store, without, 1, vec![Value::Null, Value::Integer(1)]).unwrap();
    drop(store);
    assert_eq!(reason(&open(engine, fresh.path(), &[back])), "open");
}

pub fn stored_schema_is_reported_beside_the_schema_of_the_code(engine: &Factory) {
    let (folder, old) = two_meetings(engine);
    let schemas = |tables: &[&'static TableDef]| {
        let store = open(engine, folder.path(), tables);
        let tables = tables.to_vec();
        store.read_blocking(Access::Admin, move |transaction| transaction.schemas(&tables)).unwrap().unwrap()
    };
    let same = schemas(&[old]);
    assert_eq!(same.stored, same.code);
    assert_eq!(same.stored.tables["meetings"].fields["title"].holds, "Text");
    // The code may not fit: the content of the database is reported anyway.
    let other = table(vec![field::<i64>("title")], vec![index("by_title", vec![down(0)], true)]);
    let Schemas { stored, code } = schemas(&[other]);
    assert_eq!(stored, same.stored);
    assert_eq!(code.tables["meetings"].fields["title"].holds, "Integer");
    let text_of = |of: &Definition| of.tables["meetings"].indexes["by_title"].clone();
    assert_ne!(text_of(&stored), text_of(&code));
}

pub fn empty_table_accepts_any_change(engine: &Factory) {
    let folder = tempfile::tempdir().unwrap();
    drop(open(engine, folder.path(), &[table(vec![field::<String>("title")], vec![]), Account::DEF]));
    let new = named("meetings", "room", vec![field::<i64>("title"), field::<f64>("size")], vec![]);
    let store = open(engine, folder.path(), &[new]);
    assert_eq!(reason(&store), "open");
    insert(&store, new, 1, vec![Value::Integer(1), Value::Float(2.5)]).unwrap();
    assert_eq!(rows(&store, &Plan::new(new, None)), [[Value::Integer(1), Value::Float(2.5)]]);
}

pub fn invalid_definition_names_its_place(engine: &Factory) {
    let title = || vec![field::<String>("title")];
    for (tables, expected) in [
        (
            vec![table(title(), vec![]), table(title(), vec![])],
            "lib.rs:7: table meetings: the table at lib.rs:7 has this name too; rename one of them",
        ),
        (
            vec![table(title(), vec![]), named("rooms", "meeting", title(), vec![])],
            "lib.rs:7: table rooms: the table at lib.rs:7 has the prefix meeting too; change one of them",
        ),
        (
            vec![table(vec![retired("title")], vec![index("by_title", vec![key(0)], false)])],
            "lib.rs:7: table meetings: index by_title: field title is retired",
        ),
        (
            vec![table(
                title(),
                vec![IndexDef {
                    when: Some(Condition::Equals("title", Literal::Integer(1))),
                    ..index("some", vec![key(0)], false)
                }],
            )],
            "lib.rs:7: table meetings: index some: the value compared with field title is of another type",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let error = open_with(engine, folder.path(), &super::support::patient(), &tables).err().unwrap();
        assert!(matches!(error, OpenError::Definition { .. }));
        assert_eq!(error.to_string(), expected);
    }
}

pub fn closed_store_rejects_queries_on_the_hot_path(engine: &Factory) {
    let (folder, _) = two_meetings(engine);
    let store = open(engine, folder.path(), &[table(vec![], vec![])]);
    let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let read = |access| executor.block_on(store.read(access, Flow::SYSTEM, &LatencyClass::unknown(), |_| ()));
    assert!(matches!(read(Access::Everyone), Err(StoreError::Closed(_))));
    read(Access::Admin).unwrap();
}

pub fn runtime_tables_are_updated_while_application_tables_close_the_store(engine: &Factory) {
    let (folder, old) = two_meetings(engine);
    let own = named("_notes", "note", vec![field::<String>("text")], vec![]);
    let new = table(vec![field::<i64>("title")], vec![]);
    let store = open(engine, folder.path(), &[new, own]);
    assert!(reason(&store).starts_with("table meetings: field title changed"));
    let written =
        start_as(&store, Access::Admin, move |transaction| transaction.insert(own, 7, 1, &[text("by the operator")]));
    written.wait().unwrap();
    drop(store);
    // The application's table did not change, so that the old code can serve it.
    let store = open(engine, folder.path(), &[old, own]);
    assert_eq!((reason(&store).as_str(), rows(&store, &Plan::new(old, None)).len()), ("open", 2));
    assert_eq!(rows(&store, &Plan::new(own, None)), [[text("by the operator")]]);
}

pub fn schema_change_fails_no_concurrent_mutation(engine: &Factory) {
    let folder = tempfile::tempdir().unwrap();
    let optional = table(vec![field::<Option<String>>("title")], vec![]);
    let store = open(engine, folder.path(), &[optional]);
    for id in 1..=300 {
        insert(&store, optional, id, vec![Value::Null]).unwrap();
    }
    drop(store);
    let required = table(vec![field::<String>("title")], vec![index("by_title", vec![key(0)], false)]);
    let store = open(engine, folder.path(), &[required]);
    assert_ne!(reason(&store), "open");
    let comparing = {
        let store = store.clone();
        std::thread::spawn(move || {
            let mut compared = 0;
            while store.apply_schema().unwrap() != State::Open {
                compared += 1;
            }
            compared
        })
    };
    for id in 1..=300 {
        let filled = start_as(&store, Access::Admin, move |transaction| {
            transaction.update(required, id, &[], &[(0, text("filled"))])
        });
        assert!(filled.wait().unwrap(), "row {id}");
    }
    assert!(comparing.join().unwrap() > 0);
    assert_eq!((reason(&store).as_str(), store.difference()), ("open", None));
    assert_eq!(rows(&store, &Plan::new(required, Some(&required.indexes[0]))).len(), 300);
    insert(&store, required, 301, vec![text("new")]).unwrap();
}

pub fn possible_changes_are_applied_and_a_migration_completes_the_rest(engine: &Factory) {
    let folder = tempfile::tempdir().unwrap();
    let former = table(vec![field::<Option<String>>("title"), field::<String>("kind")], vec![]);
    let store = open(engine, folder.path(), &[former]);
    for id in 1..=2 {
        insert(&store, former, id, vec![Value::Null, text("k")]).unwrap();
    }
    drop(store);
    let fields =
        vec![field::<String>("title"), field::<String>("kind"), field::<i64>("size"), field::<Option<bool>>("open")];
    let new = table(fields, vec![index("one_kind", vec![key(1)], true)]);
    let store = open(engine, folder.path(), &[new]);
    let refused = "table meetings: field title is no longer an Option, and rows without a value exist; write a migration \
                   that fills them, or give it a default; table meetings: field size was added without a default; make \
                   it an Option, give it a default, or write a migration that fills it";
    assert_eq!(reason(&store), refused);
    let collides = "table meetings: index one_kind added, but rows collide in it, such as \
                    meeting_00000000000000000000000001 and meeting_00000000000000000000000002; write a migration";
    assert_ne!(store.apply_schema_in_part().unwrap(), State::Open);
    assert_eq!(reason(&store), format!("{refused}; {collides}"));
    // Also after a restart with an added field that rows lack.
    drop(store);
    let store = open(engine, folder.path(), &[new]);
    store.apply_schema_in_part().unwrap();
    for part in ["field title is no longer", "field size is no longer", collides] {
        assert!(reason(&store).contains(part), "{}", reason(&store));
    }
    let set = |id: u128, changes: &'static [(usize, &'static str, i64)]| {
        let filled = start_as(&store, Access::Admin, move |transaction| {
            let value = |(place, words, number): &(usize, &str, i64)| match words.is_empty() {
                true => (*place, Value::Integer(*number)),
                false => (*place, text(words)),
            };
            transaction.update(new, id, &[], &changes.iter().map(value).collect::<Vec<_>>())
        });
        assert!(filled.wait().unwrap());
    };
    set(1, &[(0, "filled", 0), (2, "", 7)]);
    set(2, &[(0, "filled", 0), (2, "", 8)]);
    store.apply_schema_in_part().unwrap();
    assert_eq!(reason(&store), collides);
    set(2, &[(1, "l", 0)]);
    assert_eq!(store.apply_schema().unwrap(), State::Open);
    let row = |kind, size| vec![text("filled"), text(kind), Value::Integer(size), Value::Null];
    assert_eq!(rows(&store, &Plan::new(new, Some(&new.indexes[0]))), [row("k", 7), row("l", 8)]);
    drop(store);
    assert_eq!(open(engine, folder.path(), &[new]).state(), State::Open);
}

pub fn default_fills_rows_without_a_value_and_their_indexes(engine: &Factory) {
    const ROWS: u128 = 2_500;
    let folder = tempfile::tempdir().unwrap();
    let optional = table(vec![field::<Option<i64>>("size"), field::<String>("title")], vec![]);
    let store = open(engine, folder.path(), &[optional]);
    start(&store, move |transaction| {
        (1..=ROWS).try_for_each(|id| {
            let size = if id % 3 == 0 { Value::Integer(7) } else { Value::Null };
            transaction.insert(optional, id, 1, &[size, text("t")])
        })
    })
    .wait()
    .unwrap();
    drop(store);
    let required = table(
        vec![with_default("size", || Value::Integer(30)), field::<String>("title"), field::<Option<bool>>("open")],
        vec![index("by_size", vec![key(0)], false)],
    );
    let store = open(engine, folder.path(), &[required]);
    assert_eq!(reason(&store), "open");
    let count = |size: i64| {
        let mut plan = Plan::new(required, Some(&required.indexes[0]));
        plan.eq = vec![Value::Integer(size)];
        store.read_blocking(Access::Everyone, |reader| reader.count(&plan).unwrap()).unwrap()
    };
    assert_eq!((count(7), count(30)), (833, 1_667));
    assert_eq!(rows(&store, &Plan::new(required, None))[0], [Value::Integer(30), text("t"), Value::Null]);
}

/// Types of values in a release.
mod release_1 {
    #[crate::value]
    pub(super) enum Severity {
        Minor,
        Major,
    }

    #[crate::value(text, max = 5)]
    pub(super) struct Code(String);

    #[crate::value]
    pub(super) struct Place {
        pub city: String,
        pub code: Option<Code>,
    }
}

/// The same types in the next release: a renamed variant, a new member, and a tighter limit. None of them accepts every
/// old value.
mod release_2 {
    #[crate::value]
    pub(super) enum Severity {
        Low,
        Major,
    }

    #[crate::value(text, max = 3)]
    pub(super) struct Code(String);

    #[crate::value]
    pub(super) struct Place {
        pub city: String,
        pub code: Option<Code>,
        pub floor: i64,
    }

    #[crate::value]
    pub(super) struct Coded {
        pub city: String,
        pub code: Option<Code>,
    }

    /// Accepts more than before.
    #[crate::value]
    pub(super) enum Wider {
        Minor,
        Low,
        Major,
    }
}

/// Returns the id of row `id` of `meetings` as text.
fn row_id(id: u128) -> String {
    format!("meeting_{}", String::from_utf8_lossy(&convoke_core::id::encode(id)))
}

pub fn values_outside_a_narrowed_type_close_the_store_until_a_migration(engine: &Factory) {
    type Old = release_1::Severity;
    let named = "if row.get::<String>(\"value\")? == \"minor\" { row.set(\"value\", &\"low\".to_owned())?; }";
    let nested = "if row.get::<New>(\"value\").is_err() { let old: Old = row.get(\"value\")?; \
                  row.set(\"value\", &New { … })?; }";
    let change = |field: FieldDef| table(vec![field, self::field::<Option<i64>>("number")], vec![]);
    for (old, new, fitting, misfit, why, code) in [
        (
            field::<Old>("value"),
            field::<release_2::Severity>("value"),
            "major",
            "minor",
            "must be one of low, major (got \"minor\")",
            named,
        ),
        (
            field::<Option<Old>>("value"),
            field::<Option<release_2::Severity>>("value"),
            "major",
            "minor",
            "must be one of low, major (got \"minor\")",
            "if row.get::<Option<String>>(\"value\")?.as_deref() == Some(\"minor\") { row.set(\"value\", \
             &\"low\".to_owned())?; }",
        ),
        (
            field::<release_1::Place>("value"),
            field::<release_2::Place>("value"),
            "{\"city\":\"Ulm\",\"floor\":1}",
            "{\"city\":\"Ulm\"}",
            "missing field `floor`",
            nested,
        ),
        (
            field::<release_1::Place>("value"),
            field::<release_2::Coded>("value"),
            "{\"city\":\"Ulm\",\"code\":\"abc\"}",
            "{\"city\":\"Ulm\",\"code\":\"abcd\"}",
            "must",
            nested,
        ),
        (
            field::<Vec<Option<Old>>>("value"),
            field::<Vec<Option<release_2::Severity>>>("value"),
            "[\"major\",null]",
            "[null,\"minor\"]",
            "must be one of low, major",
            nested,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (change(old), change(new));
        let store = open(engine, folder.path(), &[old]);
        insert(&store, old, 1, vec![text(fitting), Value::Null]).unwrap();
        insert(&store, old, 2, vec![text(misfit), Value::Null]).unwrap();
        drop(store);
        let store = open(engine, folder.path(), &[new]);
        let reason = reason(&store);
        let begin = format!("table meetings: field value: row {} holds a value that does not fit: {why}", row_id(2));
        assert!(reason.starts_with(&begin), "{reason}");
        let end = format!(
            "; write a migration that changes such rows: `ctx.migrate::<T>(&args, |row| {{ {code} Ok(()) }})`, where T is \
             the struct at lib.rs:7"
        );
        assert!(reason.ends_with(&end), "{reason}");
        assert!(store.read_blocking(Access::Everyone, |_| ()).is_err());
        // All comparisons agree: an inspection of the schema, a second comparison, and the start of a migration.
        let seen = store.snapshot(|_| {}).unwrap().schema(store.tables()).unwrap();
        assert_eq!(seen.refused, std::slice::from_ref(&reason));
        assert_eq!(store.apply_schema().unwrap(), State::Closed { reason: reason.clone() });
        store.apply_schema_in_part().unwrap();
        assert_eq!(store.difference(), Some(reason));
        let migrated =
            start_as(&store, Access::Admin, move |transaction| transaction.update(new, 2, &[], &[(0, text(fitting))]));
        assert!(migrated.wait().unwrap());
        assert_eq!(store.apply_schema().unwrap(), State::Open);
        drop(store);
        let store = open(engine, folder.path(), &[new]);
        let schema = store.snapshot(|_| {}).unwrap().schema(store.tables()).unwrap();
        assert_eq!((schema.pending, schema.refused), (vec![], vec![]));
    }
}

pub fn narrowed_type_is_recorded_if_no_row_has_a_removed_value(engine: &Factory) {
    let severity = |field: FieldDef| table(vec![field, self::field::<Option<i64>>("number")], vec![]);
    let (old, new) = (severity(field::<release_1::Severity>("value")), severity(field::<release_2::Severity>("value")));
    let folder = tempfile::tempdir().unwrap();
    let store = open(engine, folder.path(), &[old]);
    insert(&store, old, 1, vec![text("major"), Value::Null]).unwrap();
    drop(store);
    let store = open(engine, folder.path(), &[new]);
    assert_eq!(reason(&store), "open");
    let tables = store.tables().to_vec();
    let Schemas { stored, code } =
        store.read_blocking(Access::Everyone, move |transaction| transaction.schemas(&tables)).unwrap().unwrap();
    assert_eq!(stored, code);
    let shape = stored.tables["meetings"].fields["value"].shape.clone().unwrap();
    assert_eq!(shape.variants(), ["low", "major"]);
}

pub fn widened_type_can_be_reverted_while_no_row_needs_it(engine: &Factory) {
    let severity = |field: FieldDef| table(vec![field], vec![]);
    let (old, new) = (severity(field::<release_1::Severity>("value")), severity(field::<release_2::Wider>("value")));
    let folder = tempfile::tempdir().unwrap();
    let store = open(engine, folder.path(), &[old]);
    insert(&store, old, 1, vec![text("minor")]).unwrap();
    drop(store);
    let store = open(engine, folder.path(), &[new]);
    assert_eq!(reason(&store), "open");
    insert(&store, new, 2, vec![text("low")]).unwrap();
    drop(store);
    let store = open(engine, folder.path(), &[old]);
    let said = reason(&store);
    assert!(said.contains(&row_id(2)) && said.contains("must be one of minor, major"), "{said}");
    drop(store);
    let store = open(engine, folder.path(), &[new]);
    start(&store, move |transaction| transaction.delete(new, 2)).wait().unwrap();
    drop(store);
    assert_eq!(reason(&open(engine, folder.path(), &[old])), "open");
}
