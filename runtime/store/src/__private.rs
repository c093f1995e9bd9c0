//! What the attributes' expansions name of this crate and those below it.
//!
//! Nothing here is for authors, and nothing here is stable.

pub use convoke_core::__private::*;

pub use crate::schema::table::{
    Column, Condition, Field, FieldDef, Index, IndexDef, KeyDef, Literal, Meaning, Table, TableDef, TextColumn, Unique,
    choice_from_value, field_schema, json_from_value, json_to_value, text_to_value,
};
pub use crate::{ColumnType, Row, StoreError, SubmittedTable, Value, ValueRef};
