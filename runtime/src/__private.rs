//! What the attributes' expansions name, so that a crate with functions depends on `convoke` alone.
//!
//! Nothing here is for authors, and nothing here is stable.

pub use {inventory, schemars, serde};

pub use crate::context::{ActionCtx, MutationCtx, QueryCtx};
pub use crate::error::Result;
pub use crate::function::{
    ActionFn, Args, Entry, Function, IsAction, IsMutation, IsQuery, IsResult, Kind, MutationFn, NoArgs, QueryFn,
    Submitted, SubmittedTable, Visibility, args_schema, erase_action, erase_mutation, erase_query, output_schema,
};
pub use crate::store::table::{
    Column, Condition, Field, FieldDef, Index, IndexDef, KeyDef, Literal, Table, TableDef, TextColumn, Unique,
    choice_from_value, decode_field, json_from_value, json_to_value, text_to_value,
};
pub use crate::store::{ColumnType, Row, StoreError, Value, ValueRef};
pub use crate::wire::number::{IntegerRule, NumberRule, integer, number};
pub use crate::wire::object::{AsPlain, Place, Unwrap, choice, fill, fill_plain, given, given_plain, skip, write};
pub use crate::wire::schema::{ObjectSchema, one_of as schema_one_of};
pub use crate::wire::text::{Pattern, TextRule, text};
pub use crate::wire::{Invalid, one_of};
