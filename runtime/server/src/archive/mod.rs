//! Export and import: rows as JSON, and an archive of all rows.
//!
//! An archive is a gzipped tar file: `manifest.json` (the table of contents, with counts and checksums), `schema.json`
//! (tables, columns, indexes), and `tables/<name>.jsonl` (one row per line, by id). The same rows give the same bytes.
//! An archive is written from a copy of the database, so it is as of one commit. In reading order: rows, the schema,
//! the members of an archive, the writer, the reader, and the check of free space.

pub mod row;
pub mod csv;
pub mod shape;
pub mod members;
pub mod writer;
pub mod reader;
pub mod space;

/// Tables whose rows are never exported: credentials of one installation must not be valid in another.
pub const KEPT_BACK: &[&str] = &["_deployKeys", "_consoleSessions"];

/// Columns that are never shown, by table and name.
const HIDDEN: &[(&str, &str)] = &[
    ("_deployKeys", "secrets"),
    ("_consoleSessions", "cookie"),
    ("_consoleSessions", "secret"),
    ("_consoleSessions", "proof"),
];

/// Returns true if a column is never shown, for example the hash of a key.
pub fn is_hidden(table: &convoke_store::TableDef, field: &convoke_store::FieldDef) -> bool {
    HIDDEN.contains(&(table.name, field.name))
}

/// Returns the visible fields of a table.
pub fn shown(table: &'static convoke_store::TableDef) -> impl Iterator<Item = &'static convoke_store::FieldDef> {
    table.fields.iter().filter(|field| !field.retired && !is_hidden(table, field))
}

/// Returns true if a table is one of the runtime's own.
pub fn is_system(table: &convoke_store::TableDef) -> bool {
    table.name.starts_with('_')
}

/// Returns true if a table's rows are exported.
pub fn leaves(table: &convoke_store::TableDef) -> bool {
    !KEPT_BACK.contains(&table.name)
}
