//! Items of this crate and of the crates below it that expanded attributes name.
//!
//! Authors must not use them; they are not stable.

pub use convoke_core::__private::*;

pub use crate::schema::table::{
    Column, Condition, Field, FieldDef, Index, IndexDef, KeyDef, Literal, Meaning, Table, TableDef, TextColumn, Unique,
    choice_from_value, field_schema, json_from_value, json_to_value, text_to_value,
};
pub use crate::{ColumnType, FileRule, Row, StoreError, SubmittedTable, Value, ValueRef};
