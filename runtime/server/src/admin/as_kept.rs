//! The definitions of tables in the database while its schema differs from the code, so that the operator sees the rows
//! before a migration changes them.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Admin;
use convoke_core::error::Result;
use convoke_store::schema::{FieldShape, TableShape};
use convoke_store::table::Bytes;
use convoke_store::{Column, ColumnType, FieldDef, IndexDef, Meaning, TableDef};

/// A cache of leaked definitions by shape. A definition lives as long as the process, so each is created only once.
#[derive(Default)]
struct Definitions(Mutex<Vec<(TableShape, &'static TableDef)>>);

/// Returns the table of the code if the schemas match, else a table with the fields and indexes of the database.
/// Returns `None` if the database has no such table.
pub(super) async fn table(admin: &Admin, table: &'static TableDef) -> Result<Option<&'static TableDef>> {
    if admin.runtime.store().difference().is_none() {
        return Ok(Some(table));
    }
    let definitions: Arc<Definitions> = admin.runtime.memory::<Definitions>();
    let schemas = admin.read(move |source| source.schemas(&[table])).await?;
    let (Some(in_database), Some(code)) = (schemas.stored.tables.get(table.name), schemas.code.tables.get(table.name))
    else {
        return Ok(None);
    };
    let mut definitions = definitions.0.lock();
    let found =
        definitions.iter().find(|(shape, own)| own.name == table.name && shape == in_database).map(|(_, own)| *own);
    Ok(Some(found.unwrap_or_else(|| {
        let new: &'static TableDef = Box::leak(Box::new(definition(table, in_database, code)));
        definitions.push((in_database.clone(), new));
        new
    })))
}

fn definition(table: &'static TableDef, in_database: &TableShape, code: &TableShape) -> TableDef {
    let of_code = table.fields.iter().map(|field| match in_database.fields.get(field.name) {
        // Retired fields read as null and are not shown.
        None => FieldDef { retired: true, ..*field },
        Some(in_database) => match as_stored(field.name, in_database) {
            Some(stored) if FieldShape::holds(field) != in_database.holds => {
                FieldDef { retired: field.retired, ..stored }
            }
            Some(_) | None => FieldDef { ..*field },
        },
    });
    let gone = in_database.fields.iter().filter(|(name, field)| !field.retired && table.field(name).is_none());
    let gone = gone.filter_map(|(name, field)| as_stored(name.clone().leak(), field));
    let is_there = |index: &&IndexDef| {
        in_database.indexes.get(index.name).is_some_and(|text| Some(text) == code.indexes.get(index.name))
    };
    let indexes = table.indexes.iter().filter(is_there).map(|index| IndexDef { ..*index });
    TableDef {
        fields: of_code.chain(gone).collect::<Vec<_>>().leak(),
        indexes: indexes.collect::<Vec<_>>().leak(),
        ..*table
    }
}

/// Returns the field that the database describes; `None` for an unknown type.
fn as_stored(name: &'static str, in_database: &FieldShape) -> Option<FieldDef> {
    let (column, _) = in_database.holds.split_once(" of ").unwrap_or((&in_database.holds, ""));
    let of = |column| -> FieldDef {
        FieldDef {
            name,
            column,
            nullable: in_database.nullable,
            default: None,
            references: None,
            retired: false,
            meaning: Meaning::Plain,
            schema: |_| true.into(),
            write_json: Vec::<String>::write_json,
            check: |_| Ok(()),
            accept: |value| Ok(value.to_value()),
        }
    };
    Some(match column {
        "Bool" => of(ColumnType::Bool),
        "Integer" => of(ColumnType::Integer),
        "Float" => of(ColumnType::Float),
        "Text" => FieldDef { write_json: String::write_json, ..of(ColumnType::Text) },
        "Json" => of(ColumnType::Json),
        "Bytes" => FieldDef { write_json: Bytes::write_json, ..of(ColumnType::Bytes) },
        "Id" => of(ColumnType::Id),
        _ => return None,
    })
}
