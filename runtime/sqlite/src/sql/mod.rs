//! SQL: the text of every operation, the key of each prepared statement, and the storage of values.

pub(crate) mod row;
mod single_row;
mod statement_key;
mod text;

pub(crate) use row::SqliteRow;
pub(crate) use single_row::unique_index;
pub(crate) use statement_key::{StatementKey, places};
pub(crate) use text::{
    ID, LAST_SCHEMA, TREE_BYTES, add_field, count, create_id_index, create_index, create_table, delete, get, get_many,
    index_name, insert, quoted, select, span_of_rows, trees, update, update_numbered,
};
