//! Tables of a former release, for tests of migrations.

use std::sync::Arc;

use serde_json::Value as Json;

use convoke_calls::runtime::RuntimeOptions;
use convoke_core::id::{self, IdGenerator};
use convoke_core::wire::object::OutMember;
use convoke_store::__private::inventory;
use convoke_store::table::field_schema;
use convoke_store::{
    Column, ColumnType, Database, FieldDef, ReadLimits, Store, StoreOptions, SubmittedTable, TableDef, Value,
};

/// A table of a former release, with rows.
///
/// ```
/// # use convoke::testing::FormerTable; use serde_json::json;
/// let books = FormerTable::new("books", "book")
///     .field::<String>("title")
///     .field::<Option<i64>>("pages")
///     .row(json!({ "title": "Emma", "pages": 474 }))
///     .row(json!({ "title": "Persuasion" }));
/// ```
pub struct FormerTable {
    name: &'static str,
    prefix: &'static str,
    fields: Vec<FieldDef>,
    rows: Vec<Json>,
}

impl FormerTable {
    /// Returns a table of this name, with this prefix of ids.
    pub fn new(name: &'static str, prefix: &'static str) -> Self {
        Self { name, prefix, fields: Vec::new(), rows: Vec::new() }
    }

    /// Adds a field by its name in the database, in camelCase.
    #[must_use]
    pub fn field<T: Column + OutMember>(mut self, name: &'static str) -> Self {
        self.fields.push(FieldDef::of::<T>(name, field_schema::<T>));
        self
    }

    /// Adds a row, as the object of its fields. An absent field is null. Ids are texts.
    #[must_use]
    pub fn row(mut self, fields: Json) -> Self {
        self.rows.push(fields);
        self
    }

    /// Returns the definition, which lives as long as the process, and the rows.
    fn into_parts(self) -> (&'static TableDef, Vec<Vec<Value>>) {
        let Self { name, prefix, fields, rows } = self;
        let table: &'static TableDef =
            Box::leak(Box::new(TableDef { name, prefix, fields: fields.leak(), indexes: &[], file: "", line: 0 }));
        let rows = rows.iter().map(|row| {
            let unknown = row.as_object().into_iter().flatten().find(|(name, _)| table.field(name).is_none());
            assert!(unknown.is_none(), "table {name} had no such field: {unknown:?}");
            table.fields.iter().map(|field| stored(field, &row[field.name])).collect()
        });
        (table, rows.collect())
    }
}

/// Returns the stored form of a value.
fn stored(field: &FieldDef, value: &Json) -> Value {
    let number = value.as_i64().map(Value::Integer);
    let text = value.as_str();
    let stored = match field.column {
        _ if value.is_null() => Some(Value::Null),
        ColumnType::Bool => value.as_bool().map(Value::Bool),
        ColumnType::Integer => number,
        ColumnType::Float => value.as_f64().map(Value::Float),
        ColumnType::Text => text.map(|text| Value::Text(text.to_owned())),
        ColumnType::Json => Some(Value::Text(value.to_string())),
        ColumnType::Bytes => text.map(|text| Value::Bytes(text.as_bytes().to_owned())),
        ColumnType::Id => text.and_then(|text| id::parse(field.references?, text)).map(Value::Id),
    };
    stored.unwrap_or_else(|| panic!("field {} held no {value}", field.name))
}

/// Creates the database of a former release: the given tables, and the unchanged tables of the code.
pub(super) async fn make(options: &RuntimeOptions, former: impl IntoIterator<Item = FormerTable>) {
    let former: Vec<_> = former.into_iter().map(FormerTable::into_parts).collect();
    let mut tables: Vec<_> = inventory::iter::<SubmittedTable>().map(|table| table.0).collect();
    tables.retain(|table| former.iter().all(|(former, _)| former.name != table.name));
    tables.extend(former.iter().map(|(table, _)| *table));
    let store = StoreOptions { disk: options.disk.clone(), ..StoreOptions::new(&options.data) };
    let (limits, clock) = (&options.limits, options.clock.clone());
    let store = Store::open(options.engine.clone(), store, limits, clock.clone(), tables)
        .unwrap_or_else(|error| panic!("the former database cannot be made: {error}"));
    let (ids, now) = (Arc::new(IdGenerator::predictable()), clock.now());
    let database = Database::new(store.clone(), IdGenerator::predictable(), clock, ReadLimits::from(limits));
    for (table, rows) in former {
        for values in rows {
            let id = ids.next(now);
            let added = database.write("former rows", move |db| Ok(db.writer().insert(table, id, now.0, &values)?));
            added.await.unwrap_or_else(|error| panic!("a row of table {} cannot be added: {error:?}", table.name));
        }
    }
    store.close();
}
