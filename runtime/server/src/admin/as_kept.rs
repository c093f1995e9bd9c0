//! Tables as the database has them, while its schema does not fit the code: so that the operator sees the rows that a
//! migration is to change.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Admin;
use convoke_core::error::Result;
use convoke_store::schema::{FieldShape, TableShape};
use convoke_store::table::Bytes;
use convoke_store::{Column, ColumnType, FieldDef, IndexDef, Meaning, TableDef};

/// Definitions that were made, and what the database says of each: one is made once, since it lasts as long as the process.
#[derive(Default)]
struct Made(Mutex<Vec<(TableShape, &'static TableDef)>>);

/// The table of the code if the schema fits; else with the fields and indexes that the database has. None if it has no such
/// table.
///
/// # Errors
/// A failure of the store.
pub(super) async fn table(admin: &Admin, table: &'static TableDef) -> Result<Option<&'static TableDef>> {
    if admin.runtime.store().difference().is_none() {
        return Ok(Some(table));
    }
    let made: Arc<Made> = admin.runtime.memory::<Made>();
    let schemas = admin.read(move |source| source.schemas(&[table])).await?;
    let (Some(kept), Some(code)) = (schemas.stored.tables.get(table.name), schemas.code.tables.get(table.name)) else {
        return Ok(None);
    };
    let mut made = made.0.lock();
    let found = made.iter().find(|(shape, own)| own.name == table.name && shape == kept).map(|(_, own)| *own);
    Ok(Some(found.unwrap_or_else(|| {
        let new: &'static TableDef = Box::leak(Box::new(definition(table, kept, code)));
        made.push((kept.clone(), new));
        new
    })))
}

fn definition(table: &'static TableDef, kept: &TableShape, code: &TableShape) -> TableDef {
    let of_code = table.fields.iter().map(|field| match kept.fields.get(field.name) {
        // Retired fields are read as null, and not shown.
        None => FieldDef { retired: true, ..*field },
        Some(kept) => match as_stored(field.name, kept) {
            Some(stored) if FieldShape::holds(field) != kept.holds => FieldDef { retired: field.retired, ..stored },
            Some(_) | None => FieldDef { ..*field },
        },
    });
    let gone = kept.fields.iter().filter(|(name, field)| !field.retired && table.field(name).is_none());
    let gone = gone.filter_map(|(name, field)| as_stored(name.clone().leak(), field));
    let is_there =
        |index: &&IndexDef| kept.indexes.get(index.name).is_some_and(|text| Some(text) == code.indexes.get(index.name));
    let indexes = table.indexes.iter().filter(is_there).map(|index| IndexDef { ..*index });
    TableDef {
        fields: of_code.chain(gone).collect::<Vec<_>>().leak(),
        indexes: indexes.collect::<Vec<_>>().leak(),
        ..*table
    }
}

/// A field by what the database says that it holds.
fn as_stored(name: &'static str, kept: &FieldShape) -> Option<FieldDef> {
    let (column, _) = kept.holds.split_once(" of ").unwrap_or((&kept.holds, ""));
    let of = |column| -> FieldDef {
        FieldDef {
            name,
            column,
            nullable: kept.nullable,
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
