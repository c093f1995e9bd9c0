//! Data in and out: a table's rows as JSON, an archive of all of them, and the way back.
//!
//! An archive is a tar file, gzipped: `manifest.json` (what is in it, with counts and checksums), `schema.json` (tables,
//! columns, indexes), and `tables/<name>.jsonl`, one row a line, by id. The same rows give the same bytes. It is written
//! from a finished copy of the database, and so as of one commit. In reading order: a row, the schema, the archive's
//! members, writing one, reading one, and room for it on the disk.

pub mod row;
pub mod csv;
pub mod shape;
pub mod members;
pub mod writer;
pub mod reader;
pub mod space;

/// Tables whose rows never leave an installation: what opens the door of one must not open another's.
pub const KEPT_BACK: &[&str] = &["_deployKeys", "_consoleSessions"];

/// Columns that are shown to nobody, by table and name.
const HIDDEN: &[(&str, &str)] = &[
    ("_deployKeys", "secrets"),
    ("_consoleSessions", "cookie"),
    ("_consoleSessions", "secret"),
    ("_consoleSessions", "proof"),
];

/// Whether a column is shown to nobody, as a key's hash.
pub fn is_hidden(table: &convoke_store::TableDef, field: &convoke_store::FieldDef) -> bool {
    HIDDEN.contains(&(table.name, field.name))
}

/// The fields of a table that are shown.
pub fn shown(table: &'static convoke_store::TableDef) -> impl Iterator<Item = &'static convoke_store::FieldDef> {
    table.fields.iter().filter(|field| !field.retired && !is_hidden(table, field))
}

/// Whether a table is one of the runtime's own.
pub fn is_system(table: &convoke_store::TableDef) -> bool {
    table.name.starts_with('_')
}

/// Whether a table's rows leave the installation at all.
pub fn leaves(table: &convoke_store::TableDef) -> bool {
    !KEPT_BACK.contains(&table.name)
}
