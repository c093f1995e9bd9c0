//! Values into parameters and columns into values. Ids are `uuid`, whose order is that of their bytes, and so by time.

use std::error::Error;
use std::ops::Bound;

use bytes::BufMut as _;
use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};

use convoke_store::query::sql::Tail;
use convoke_store::{ColumnType, Plan, Row, StoreError, TableDef, Value, ValueRef};

/// A parameter of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Param {
    /// One value.
    One(Input),
    /// A list of values, without null.
    List(Vec<Input>),
}

/// A value on its way into a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Input(Value);

impl From<Value> for Param {
    fn from(value: Value) -> Self {
        Param::One(Input(value))
    }
}

impl Param {
    /// A list of ids.
    pub(crate) fn ids(ids: &[u128]) -> Self {
        Param::List(ids.iter().map(|id| Input(Value::Id(*id))).collect())
    }

    pub(crate) fn list(values: impl Iterator<Item = Value>) -> Self {
        Param::List(values.map(Input).collect())
    }

    /// Its bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Param::One(Input(Value::Text(text))) => text.len(),
            Param::One(Input(Value::Bytes(bytes))) => bytes.len(),
            Param::One(_) => 16,
            Param::List(values) => 16 * values.len(),
        }
    }

    /// The value that a statement is handed.
    pub(crate) fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Param::One(value) => value,
            Param::List(values) => values,
        }
    }
}

impl ToSql for Input {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            Value::Null => return Ok(IsNull::Yes),
            Value::Bool(truth) => out.put_u8(u8::from(*truth)),
            Value::Integer(number) => out.put_i64(*number),
            // Both zeros are one number to an index, and stored as one.
            Value::Float(number) => out.put_f64(*number + 0.0),
            Value::Text(text) => out.put_slice(text.as_bytes()),
            Value::Bytes(bytes) => out.put_slice(bytes),
            Value::Id(bits) => out.put_u128(*bits),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        // The plan's values fit the columns: a table's definition says so, and the server checks the length.
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

/// The bits of an id.
pub(crate) struct Bits(pub u128);

impl std::fmt::Debug for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl ToSql for Bits {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_u128(self.0);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::UUID
    }

    tokio_postgres::types::to_sql_checked!();
}

impl<'a> FromSql<'a> for Bits {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Bits(u128::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::UUID
    }
}

/// A row that the server sent.
pub(crate) struct PgRow<'row> {
    /// The table it is of.
    pub table: &'static TableDef,
    /// The columns: id, creation time, fields.
    pub row: &'row tokio_postgres::Row,
}

impl PgRow<'_> {
    fn corrupt(&self, field: &'static str, error: &tokio_postgres::Error) -> StoreError {
        let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        StoreError::Corrupt { table: self.table.name, field, reason }
    }
}

impl Row for PgRow<'_> {
    fn id(&self) -> Result<u128, StoreError> {
        self.row.try_get::<_, Bits>(0).map(|bits| bits.0).map_err(|error| self.corrupt("_id", &error))
    }

    fn creation_time(&self) -> Result<i64, StoreError> {
        self.row.try_get(1).map_err(|error| self.corrupt("_creationTime", &error))
    }

    fn value(&self, place: usize) -> Result<ValueRef<'_>, StoreError> {
        let field = &self.table.fields[place];
        value(self.row, place + 2, field.column).map_err(|error| self.corrupt(field.name, &error))
    }
}

/// The value at a place of a row, of a column of this type.
pub(crate) fn value(
    row: &tokio_postgres::Row,
    place: usize,
    column: ColumnType,
) -> Result<ValueRef<'_>, tokio_postgres::Error> {
    let value = match column {
        ColumnType::Bool => row.try_get::<_, Option<bool>>(place)?.map(ValueRef::Bool),
        ColumnType::Integer => row.try_get::<_, Option<i64>>(place)?.map(ValueRef::Integer),
        ColumnType::Float => row.try_get::<_, Option<f64>>(place)?.map(ValueRef::Float),
        ColumnType::Text | ColumnType::Json => row.try_get::<_, Option<&str>>(place)?.map(ValueRef::Text),
        ColumnType::Bytes => row.try_get::<_, Option<&[u8]>>(place)?.map(ValueRef::Bytes),
        ColumnType::Id => row.try_get::<_, Option<Bits>>(place)?.map(|id| ValueRef::Id(id.0)),
    };
    Ok(value.unwrap_or(ValueRef::Null))
}

/// The values of a plan, in the order in which `sql` numbers them.
pub(crate) fn bind(plan: &Plan) -> Vec<Param> {
    let mut all: Vec<Param> = plan.eq.iter().filter(|value| **value != Value::Null).cloned().map(Param::from).collect();
    if let Some(values) = &plan.any {
        let listed = values.iter().filter(|value| **value != Value::Null);
        all.push(Param::List(listed.cloned().map(Input).collect()));
    }
    if let Some((start, end)) = &plan.range {
        for bound in [start, end] {
            match bound {
                Bound::Included(Value::Null) | Bound::Excluded(Value::Null) | Bound::Unbounded => {}
                Bound::Included(value) | Bound::Excluded(value) => all.push(value.clone().into()),
            }
        }
    }
    if let Some((values, id)) = &plan.after {
        all.extend(values.iter().skip(plan.eq.len()).filter(|value| **value != Value::Null).cloned().map(Param::from));
        match Tail::of(plan.table, plan.index) {
            Tail::None => {}
            Tail::IdIfNull(nullable) if nullable.iter().all(|&key| values[key] != Value::Null) => {
                all.push(Value::Id(0).into());
            }
            Tail::Id | Tail::IdIfNull(_) => all.push(Value::Id(*id).into()),
        }
    }
    if let Some(limit) = plan.limit {
        all.push(Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX)).into());
    }
    all
}
