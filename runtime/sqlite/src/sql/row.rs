//! Conversion between values, parameters and columns. Ids are 16 bytes, most significant first, so that they sort by
//! time.

use std::ops::Bound;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef as Raw};
use rusqlite::{Result, Statement};

use super::statement_key::places;
use super::text::limit;
use convoke_store::query::sql::Tail;
use convoke_store::{ColumnType, PackedRow, Plan, Row, StoreError, TableDef, Value, ValueRef};

/// The current row of a statement.
pub(crate) struct SqliteRow<'row> {
    /// Its table.
    pub table: &'static TableDef,
    /// The columns: id, creation time, fields.
    pub row: &'row rusqlite::Row<'row>,
}

impl SqliteRow<'_> {
    #[inline]
    fn raw(&self, column: usize) -> std::result::Result<Raw<'_>, StoreError> {
        self.row.get_ref(column).map_err(|error| StoreError::Engine(error.to_string()))
    }

    /// The row number, if the statement selects it behind the fields ([`sql::NUMBER`]).
    ///
    /// [`sql::NUMBER`]: super::text::NUMBER
    fn number(&self) -> Option<i64> {
        match self.row.get_ref(2 + self.table.fields.len()) {
            Ok(Raw::Integer(number)) => Some(number),
            Ok(_) | Err(_) => None,
        }
    }

    fn corrupt(&self, field: &'static str, found: Raw<'_>) -> StoreError {
        StoreError::Corrupt { table: self.table.name, field, reason: format!("found {found:?}") }
    }
}

impl Row for SqliteRow<'_> {
    fn id(&self) -> std::result::Result<u128, StoreError> {
        let raw = self.raw(0)?;
        id(raw).ok_or_else(|| self.corrupt("_id", raw))
    }

    fn creation_time(&self) -> std::result::Result<i64, StoreError> {
        match self.raw(1)? {
            Raw::Integer(time) => Ok(time),
            other => Err(self.corrupt("_creationTime", other)),
        }
    }

    fn value(&self, place: usize) -> std::result::Result<ValueRef<'_>, StoreError> {
        let raw = self.raw(place + 2)?;
        let field = &self.table.fields[place];
        value(field.column, raw).ok_or_else(|| self.corrupt(field.name, raw))
    }

    fn packed(&self, fields: usize, bytes_max: usize) -> std::result::Result<Option<PackedRow>, StoreError> {
        PackedRow::pack((self.creation_time()?, self.number()), fields, bytes_max, |place| self.value(place))
    }
}

/// Converts the value of a column of this type to the stored form.
pub(crate) fn value(column: ColumnType, raw: Raw<'_>) -> Option<ValueRef<'_>> {
    match (column, raw) {
        (_, Raw::Null) => Some(ValueRef::Null),
        (ColumnType::Bool, Raw::Integer(number)) => Some(ValueRef::Bool(number != 0)),
        (ColumnType::Integer, Raw::Integer(number)) => Some(ValueRef::Integer(number)),
        (ColumnType::Float, Raw::Real(number)) => Some(ValueRef::Float(number)),
        (ColumnType::Text | ColumnType::Json, Raw::Text(text)) => std::str::from_utf8(text).ok().map(ValueRef::Text),
        (ColumnType::Bytes, Raw::Blob(bytes)) => Some(ValueRef::Bytes(bytes)),
        (ColumnType::Id, raw) => id(raw).map(ValueRef::Id),
        _ => None,
    }
}

/// Returns the bits of a stored id.
pub(crate) fn id(raw: Raw<'_>) -> Option<u128> {
    match raw {
        Raw::Blob(bytes) => bytes.try_into().ok().map(u128::from_be_bytes),
        _ => None,
    }
}

/// A value for a parameter, without a copy of its text.
struct Parameter<'value>(ValueRef<'value>);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            ValueRef::Null => Raw::Null,
            ValueRef::Bool(truth) => Raw::Integer(i64::from(truth)),
            ValueRef::Integer(number) => Raw::Integer(number),
            ValueRef::Float(number) => Raw::Real(number),
            ValueRef::Text(text) => Raw::Text(text.as_bytes()),
            ValueRef::Bytes(bytes) => Raw::Blob(bytes),
            // `bind` handles ids itself.
            ValueRef::Id(_) => Raw::Null,
        }))
    }
}

pub(crate) fn bind(statement: &mut Statement<'_>, number: usize, value: ValueRef<'_>) -> Result<()> {
    match value {
        ValueRef::Id(bits) => bind_id(statement, number, bits),
        value => statement.raw_bind_parameter(number, Parameter(value)),
    }
}

pub(crate) fn bind_id(statement: &mut Statement<'_>, number: usize, bits: u128) -> Result<()> {
    statement.raw_bind_parameter(number, &bits.to_be_bytes()[..])
}

/// Binds a list of ids from parameter 1; remaining parameters stay null.
pub(crate) fn bind_ids(statement: &mut Statement<'_>, ids: &[u128]) -> Result<()> {
    ids.iter().enumerate().try_for_each(|(place, id)| bind_id(statement, place + 1, *id))
}

/// Binds the values of a plan, in the order of the parameters in `sql`.
pub(crate) fn bind_plan(statement: &mut Statement<'_>, plan: &Plan) -> Result<()> {
    let mut next = Next { statement, last: 0 };
    for value in plan.eq.iter().filter(|value| **value != Value::Null) {
        next.bind(value)?;
    }
    if let Some(values) = &plan.any {
        let start = next.last;
        let mut count = 0;
        for value in values.iter().filter(|value| **value != Value::Null) {
            next.bind(value)?;
            count += 1;
        }
        next.last = start + places(count);
    }
    if let Some((start, end)) = &plan.range {
        for bound in [start, end] {
            match bound {
                Bound::Included(Value::Null) | Bound::Excluded(Value::Null) | Bound::Unbounded => {}
                Bound::Included(value) | Bound::Excluded(value) => next.bind(value)?,
            }
        }
    }
    if let Some((values, id)) = &plan.after {
        for value in values.iter().skip(plan.eq.len()).filter(|value| **value != Value::Null) {
            next.bind(value)?;
        }
        next.bind_tail(plan, values, *id)?;
    }
    if let Some(limit) = limit(plan) {
        next.bind(&Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX)))?;
    }
    Ok(())
}

struct Next<'a, 'connection> {
    statement: &'a mut Statement<'connection>,
    last: usize,
}

impl Next<'_, '_> {
    fn bind(&mut self, value: &Value) -> Result<()> {
        self.last += 1;
        bind(self.statement, self.last, value.as_ref())
    }

    fn bind_tail(&mut self, plan: &Plan, values: &[Value], id: u128) -> Result<()> {
        match Tail::of(plan.table, plan.index) {
            Tail::None => Ok(()),
            Tail::Id => self.bind(&Value::Id(id)),
            Tail::IdIfNull(nullable) if nullable.iter().any(|&key| values[key] == Value::Null) => {
                self.bind(&Value::Id(id))
            }
            Tail::IdIfNull(_) => self.bind(&Value::Bytes(Vec::new())),
        }
    }
}
