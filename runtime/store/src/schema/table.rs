//! What a table is: its fields, its indexes, the codec between a row and a Rust value.
//!
//! `#[table]` writes the implementations; this module says what they must hold. The types of an index's fields are a
//! list of types (`(A, (B, ()))`), so that rustc checks a query field by field.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

use crate::error::StoreError;
use crate::row::Row;
use crate::value::{ColumnType, Value, ValueRef};
use convoke_core::clock::Millis;
use convoke_core::id::{self, Id, Named};
use convoke_core::wire::object::OutMember;

/// A table: a struct with `#[table]` above it.
pub trait Table: Named + Clone + Serialize + Send + Sync + Sized + 'static {
    /// Name, prefix, fields, indexes.
    const DEF: &'static TableDef;

    /// The values of the fields, in the order of [`TableDef::fields`], retired ones as null.
    fn encode(&self) -> Vec<Value>;

    /// The fields that have another value than in `before`, which is of the form of [`Table::encode`]: places and values.
    fn changes(&self, before: &[Value]) -> Vec<(usize, Value)> {
        let fields = self.encode().into_iter().enumerate();
        fields.filter(|(place, value)| !Self::DEF.fields[*place].retired && before.get(*place) != Some(value)).collect()
    }

    /// The struct of a row whose columns are the fields in their order.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if a value does not fit its field.
    fn decode(row: &dyn Row) -> Result<Self, StoreError>;
}

/// A table that `#[table]` submits; collected at start.
pub struct SubmittedTable(pub &'static TableDef);
inventory::collect!(SubmittedTable);

/// A table as data: what the schema is made and compared from.
#[derive(Debug)]
pub struct TableDef {
    /// The name, in camelCase; a leading underscore marks the runtime's own.
    pub name: &'static str,
    /// The prefix of its ids.
    pub prefix: &'static str,
    /// Its fields, in the order of the struct.
    pub fields: &'static [FieldDef],
    /// Its indexes.
    pub indexes: &'static [IndexDef],
    /// Where the struct stands.
    pub file: &'static str,
    /// The line there.
    pub line: u32,
}

/// A bound, and the sentence that names it: written once for the compiler's message and the engines.
macro_rules! bound {
    ($(#[$doc:meta])* $name:ident = $max:literal, $sentence:ident = $before:literal, $after:literal) => {
        $(#[$doc])*
        pub const $name: usize = $max;
        const $sentence: &str = concat!($before, $max, $after);
    };
}

bound! {
    /// Keys of an index at most. SQLite and PostgreSQL take 32 and more; a longer index costs more than it finds.
    KEYS_MAX = 16, TOO_MANY_KEYS = "an index has at most ", " fields"
}
bound! {
    /// Fields of a table at most, retired ones too. SQLite and PostgreSQL end at 2,000 and 1,600 columns; more fields than
    /// this are a sign of something else than a row.
    FIELDS_MAX = 128, TOO_MANY_FIELDS = "a table has at most ", " fields; keep what belongs together in a #[value] struct"
}
/// Bytes of a row's keys in one index at most: what every engine takes, so that rows can go from each to each.
pub const INDEX_KEY_BYTES_MAX: u64 = 2_000;

impl TableDef {
    /// The definition, if it keeps [`FIELDS_MAX`], [`KEYS_MAX`] and the bound on a prefix: what `#[table]` calls.
    ///
    /// # Panics
    /// At compile time, if it does not.
    pub const fn checked(self) -> Self {
        id::assert_prefix(self.prefix);
        assert!(self.fields.len() <= FIELDS_MAX, "{}", TOO_MANY_FIELDS);
        let mut place = 0;
        while place < self.indexes.len() {
            assert!(self.indexes[place].keys.len() <= KEYS_MAX, "{}", TOO_MANY_KEYS);
            place += 1;
        }
        self
    }

    /// Refuses a new row, by its values, that some engine could not store as it is.
    ///
    /// # Errors
    /// [`StoreError::Unstorable`]: NaN, which has no place in an order; U+0000, which ends a text for many tools; keys of
    /// more than [`INDEX_KEY_BYTES_MAX`] in an index.
    pub fn require_storable(&self, values: &[Value]) -> Result<(), StoreError> {
        values.iter().enumerate().try_for_each(|(place, value)| self.require_storable_value(place, value))?;
        let holds = |index: &&IndexDef| index.when.is_none_or(|when| when.holds(self, values));
        self.indexes.iter().filter(holds).try_for_each(|index| self.require_short(index, |field| values.get(field)))
    }

    /// As [`TableDef::require_storable`], of changes to a row with the values `before`, of which some may not be known.
    ///
    /// # Errors
    /// As [`TableDef::require_storable`]. A key that was too long before it was bounded is no reason as long as its index
    /// stays as it is.
    pub fn require_storable_changes(&self, before: &[Value], changes: &[(usize, Value)]) -> Result<(), StoreError> {
        changes.iter().try_for_each(|(place, value)| self.require_storable_value(*place, value))?;
        let changed = |field: usize| changes.iter().find(|(place, _)| *place == field).map(|(_, value)| value);
        let new = |field: usize| changed(field).or_else(|| before.get(field));
        let changes_it = |index: &&IndexDef| {
            let condition = index.when.and_then(|when| self.field(when.field()));
            index.keys.iter().map(|key| key.field).chain(condition).any(|field| changed(field).is_some())
        };
        let may_hold = |index: &&IndexDef| index.when.is_none_or(|when| when.may_hold(self, new));
        let mut concerned = self.indexes.iter().filter(changes_it).filter(may_hold);
        concerned.try_for_each(|index| self.require_short(index, new))
    }

    fn require_short<'a>(
        &self,
        index: &IndexDef,
        value: impl Fn(usize) -> Option<&'a Value>,
    ) -> Result<(), StoreError> {
        let bytes = |key: &KeyDef| value(key.field).map_or(0, Value::bytes);
        if index.keys.iter().map(bytes).sum::<u64>() <= INDEX_KEY_BYTES_MAX {
            return Ok(());
        }
        let longest = index.keys.iter().max_by_key(|key| bytes(key)).map_or("_id", |key| self.fields[key.field].name);
        const { assert!(INDEX_KEY_BYTES_MAX == 2_000, "the sentence below names the bound") };
        let reason = "must have at most 2,000 bytes, together with the other keys of its index";
        Err(StoreError::Unstorable { table: self.name, field: longest, reason })
    }

    fn require_storable_value(&self, place: usize, value: &Value) -> Result<(), StoreError> {
        let reason = match value {
            Value::Float(number) if number.is_nan() => "must be a number",
            Value::Text(text) if text.as_bytes().contains(&0) => "must not contain U+0000",
            Value::Null
            | Value::Bool(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Bytes(_)
            | Value::Id(_) => return Ok(()),
        };
        Err(StoreError::Unstorable { table: self.name, field: self.fields[place].name, reason })
    }

    /// The place of a field by its name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

/// A field of a table.
#[derive(Debug)]
pub struct FieldDef {
    /// The column and wire name, in camelCase.
    pub name: &'static str,
    /// What it holds.
    pub column: ColumnType,
    /// Whether it may be null.
    pub nullable: bool,
    /// Returns what rows written before this field existed hold, if not null.
    pub default: Option<fn() -> Value>,
    /// The table whose ids it holds, by prefix: for tools that show them.
    pub references: Option<&'static str>,
    /// The meaning of its values, for tools that show them.
    pub meaning: Meaning,
    /// Whether it was removed from the struct and stays in old databases only.
    pub retired: bool,
    /// The JSON schema of its Rust type, without null: what its values may be.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Writes a stored value as JSON, as `Serialize` of its Rust type would.
    pub write_json: fn(ValueRef<'_>, &mut Vec<u8>) -> Result<(), StoreError>,
    /// Whether its Rust type takes a stored value; says why not.
    pub check: fn(ValueRef<'_>) -> Result<(), String>,
    /// The value as its Rust type would have it if it came from a caller; says why not.
    pub accept: fn(ValueRef<'_>) -> Result<Value, String>,
}

/// The meaning of the values of a field beyond the type of their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing more.
    Plain,
    /// A time, in milliseconds since 1970.
    Time,
    /// One of these texts.
    Choice(&'static [&'static str]),
}

/// An index of a table; `_id` is always its last key.
#[derive(Debug)]
pub struct IndexDef {
    /// The name, unique within the table.
    pub name: &'static str,
    /// The table's fields it orders by.
    pub keys: &'static [KeyDef],
    /// Whether two rows may not agree on all keys. Rows with a null key never collide.
    pub unique: bool,
    /// Which rows are in it.
    pub when: Option<Condition>,
}

/// One key of an index.
#[derive(Debug)]
pub struct KeyDef {
    /// The place of the field in [`TableDef::fields`].
    pub field: usize,
    /// Greatest first.
    pub descending: bool,
}

/// Which rows a conditional index holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// Those whose field equals this.
    Equals(&'static str, Literal),
    /// Those whose field is null.
    IsNull(&'static str),
    /// Those whose field is not null.
    NotNull(&'static str),
}

impl Condition {
    /// The field that it asks about.
    pub fn field(self) -> &'static str {
        match self {
            Condition::Equals(field, _) | Condition::IsNull(field) | Condition::NotNull(field) => field,
        }
    }

    /// Whether it holds for a row with these values.
    pub fn holds(self, table: &TableDef, values: &[Value]) -> bool {
        self.may_hold(table, |place| values.get(place))
    }

    /// Whether it holds for a row of which some values may not be known, or can hold.
    fn may_hold<'a>(self, table: &TableDef, value: impl Fn(usize) -> Option<&'a Value>) -> bool {
        table.field(self.field()).and_then(value).is_none_or(|value| match self {
            Condition::Equals(_, literal) => *value == literal.value(),
            Condition::IsNull(_) => *value == Value::Null,
            Condition::NotNull(_) => *value != Value::Null,
        })
    }
}

/// A constant in a schema.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// Text.
    Text(&'static str),
    /// An integer.
    Integer(i64),
    /// A double.
    Float(f64),
    /// True or false.
    Bool(bool),
}

impl Literal {
    /// The constant, if a column of this type can hold it: what `#[table]` calls for a condition.
    ///
    /// # Panics
    /// At compile time, if it cannot.
    pub const fn checked(self, column: ColumnType) -> Self {
        match (self, column) {
            (Literal::Text(_), ColumnType::Text | ColumnType::Json)
            | (Literal::Integer(_), ColumnType::Integer)
            | (Literal::Float(_), ColumnType::Float)
            | (Literal::Bool(_), ColumnType::Bool) => self,
            (Literal::Integer(_), ColumnType::Float) => {
                panic!("the column holds doubles: write the number with a point")
            }
            (Literal::Text(_), _) => panic!("the column does not hold texts"),
            (Literal::Integer(_), _) => panic!("the column does not hold integers"),
            (Literal::Float(_), _) => panic!("the column does not hold doubles"),
            (Literal::Bool(_), _) => panic!("the column does not hold truth values"),
        }
    }

    /// The constant as a value.
    pub fn value(self) -> Value {
        match self {
            Literal::Text(text) => Value::Text(text.to_owned()),
            Literal::Integer(number) => Value::Integer(number),
            Literal::Float(number) => Value::Float(number),
            Literal::Bool(truth) => Value::Bool(truth),
        }
    }
}

/// An index as a type; its value is what `query` takes (`Participant::by_user`).
pub trait Index: Copy {
    /// The table it belongs to.
    type Table: Table;
    /// Its fields as a list: `(A, (B, ()))`.
    type Fields;
    /// The index as data.
    const DEF: &'static IndexDef;
}

/// The fields of an index as a list, and what a row of the index has of them.
pub trait Keys {
    /// Their values as a list: `(A, (B, ()))`.
    type Values;

    /// The values of a row; `keys` are the places of the fields, as [`IndexDef::keys`] has them.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if a value does not fit its field.
    fn read(row: &dyn Row, table: &'static TableDef, keys: &[KeyDef]) -> Result<Self::Values, StoreError>;
}

impl Keys for () {
    type Values = ();

    fn read(_row: &dyn Row, _table: &'static TableDef, _keys: &[KeyDef]) -> Result<(), StoreError> {
        Ok(())
    }
}

impl<F: Field, Rest: Keys> Keys for (F, Rest) {
    type Values = (F::Type, Rest::Values);

    fn read(row: &dyn Row, table: &'static TableDef, keys: &[KeyDef]) -> Result<Self::Values, StoreError> {
        let Some((first, rest)) = keys.split_first() else {
            return Err(StoreError::Engine(format!("an index of {} has fewer keys than fields", table.name)));
        };
        Ok((F::Type::decode(row, table, first.field)?, Rest::read(row, table, rest)?))
    }
}

/// An index that holds at most one row for all its keys.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a unique index",
    label = "this needs a unique index",
    note = "say `unique` in its #[index(…)]; or read with `first()` or `take(n)`, and add with `insert`"
)]
pub trait Unique: Index {}

/// A field of a table as a type, for the check of keys.
pub trait Field {
    /// The field's Rust type.
    type Type: Column;
    /// Its wire name.
    const NAME: &'static str;
}

/// A Rust type that a column can hold.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a table",
    note = "fields are numbers, bool, String, Id<T>, Millis, Option and Vec of them, or types with #[value]"
)]
pub trait Column: Sized {
    /// What the column holds.
    const TYPE: ColumnType;
    /// Whether null is one of the values.
    const NULLABLE: bool = false;
    /// The prefix of the table whose ids it holds.
    const REFERENCES: Option<&'static str> = None;
    /// The meaning of its values.
    const MEANING: Meaning = Meaning::Plain;

    /// The stored form.
    fn to_value(&self) -> Value;

    /// Whether this is the stored form.
    fn is(&self, value: &Value) -> bool {
        self.to_value() == *value
    }

    /// The Rust value of a stored one, or why it does not fit.
    fn from_value(value: ValueRef<'_>) -> Result<Self, String>;

    /// Reads field `place` of a row.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the value does not fit.
    fn decode(row: &dyn Row, table: &'static TableDef, place: usize) -> Result<Self, StoreError> {
        let corrupt = |reason| StoreError::Corrupt { table: table.name, field: table.fields[place].name, reason };
        match row.value(place)? {
            // A column that was added with a default reads as it in the rows that were there before.
            ValueRef::Null if !Self::NULLABLE => match table.fields[place].default {
                Some(default) => Self::from_value(default().as_ref()).map_err(corrupt),
                None => Err(corrupt("null where a value is needed".to_owned())),
            },
            value => Self::from_value(value).map_err(corrupt),
        }
    }

    /// Adds field `place` to the changes of a row if it has another value than before.
    fn add_change(&self, changes: &mut Vec<(usize, Value)>, before: &[Value], place: usize) {
        if !before.get(place).is_some_and(|value| self.is(value)) {
            changes.push((place, self.to_value()));
        }
    }

    /// Whether [`Column::from_value`] takes a value; says why not.
    fn check(value: ValueRef<'_>) -> Result<(), String> {
        Self::from_value(value).map(drop)
    }

    /// The stored form of a value that comes from outside, by the rules of the type, which a stored value is not held
    /// against; says why not.
    fn accept(value: ValueRef<'_>) -> Result<Value, String> {
        Self::check(value)?;
        Ok(value.to_value())
    }

    /// Writes a stored value as `Serialize` of the Rust type would, without making one.
    fn write_json(value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match (Self::REFERENCES, value) {
            (_, ValueRef::Null) => out.extend_from_slice(b"null"),
            (_, ValueRef::Bool(truth)) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
            (_, ValueRef::Integer(number)) => json(&number, out)?,
            (_, ValueRef::Float(number)) => json(&number, out)?,
            // What goes into an answer unread must be JSON, no matter who wrote it into the database.
            (_, ValueRef::Text(text)) if Self::TYPE == ColumnType::Json => {
                serde_json::from_str::<serde::de::IgnoredAny>(text)
                    .map_err(|error| StoreError::Engine(format!("a stored value is not JSON: {error}")))?;
                out.extend_from_slice(text.as_bytes());
            }
            (_, ValueRef::Text(text)) => json(text, out)?,
            (_, ValueRef::Bytes(bytes)) => json(&bytes, out)?,
            (prefix, ValueRef::Id(bits)) => write_id(prefix.unwrap_or("id"), bits, out),
        }
        Ok(())
    }
}

/// Writes an id as JSON. TypeIDs need no escaping.
pub fn write_id(prefix: &str, bits: u128, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(prefix.as_bytes());
    out.push(b'_');
    out.extend_from_slice(&id::encode(bits));
    out.push(b'"');
}

/// Writes a value as JSON.
pub fn json<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), StoreError> {
    serde_json::to_writer(out, value).map_err(|error| StoreError::Engine(error.to_string()))
}

fn unfit<T>(expected: &str, value: ValueRef<'_>) -> Result<T, String> {
    Err(format!("expected {expected}, found {value:?}"))
}

/// Columns whose Rust value converts without loss into one variant.
macro_rules! scalar_columns {
    ($($type:ty, $column:ident $(($meaning:ident))?, $expected:literal, |$self:ident| $to:expr, $pattern:pat => $from:expr;)*) => {
        $(impl Column for $type {
            const TYPE: ColumnType = ColumnType::$column;
            $(const MEANING: Meaning = Meaning::$meaning;)?
            fn to_value(&self) -> Value {
                let $self = self;
                $to
            }
            fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
                match value {
                    $pattern => $from,
                    other => unfit($expected, other),
                }
            }
        })*
    };
}

scalar_columns! {
    bool, Bool, "true or false", |v| Value::Bool(*v), ValueRef::Bool(v) => Ok(v);
    i64, Integer, "an integer", |v| Value::Integer(*v), ValueRef::Integer(v) => Ok(v);
    i32, Integer, "an integer", |v| Value::Integer(i64::from(*v)),
        ValueRef::Integer(v) => i32::try_from(v).map_err(|error| error.to_string());
    u32, Integer, "an integer", |v| Value::Integer(i64::from(*v)),
        ValueRef::Integer(v) => u32::try_from(v).map_err(|error| error.to_string());
    f64, Float, "a number", |v| Value::Float(*v), ValueRef::Float(v) => Ok(v);
    Millis, Integer (Time), "an integer", |v| Value::Integer(v.0), ValueRef::Integer(v) => Ok(Millis(v));
}

impl Column for String {
    const TYPE: ColumnType = ColumnType::Text;
    fn to_value(&self) -> Value {
        Value::Text(self.clone())
    }
    fn is(&self, value: &Value) -> bool {
        matches!(value, Value::Text(text) if text == self)
    }
    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        match value {
            ValueRef::Text(text) => Ok(text.to_owned()),
            other => unfit("a text", other),
        }
    }
}

impl<T: Table> Column for Id<T> {
    const TYPE: ColumnType = ColumnType::Id;
    const REFERENCES: Option<&'static str> = Some(T::PREFIX);
    fn to_value(&self) -> Value {
        Value::Id(self.bits())
    }
    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        match value {
            ValueRef::Id(bits) => Ok(Id::from_bits(bits)),
            other => unfit("an id", other),
        }
    }
}

impl<T: Column> Column for Option<T> {
    const TYPE: ColumnType = T::TYPE;
    const NULLABLE: bool = true;
    const REFERENCES: Option<&'static str> = T::REFERENCES;
    const MEANING: Meaning = T::MEANING;
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_value)
    }
    fn is(&self, value: &Value) -> bool {
        self.as_ref().map_or(*value == Value::Null, |some| some.is(value))
    }
    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        match value {
            ValueRef::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
    fn accept(value: ValueRef<'_>) -> Result<Value, String> {
        match value {
            ValueRef::Null => Ok(Value::Null),
            value => T::accept(value),
        }
    }
    fn write_json(value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        T::write_json(value, out)
    }
}

impl<T: Serialize + DeserializeOwned> Column for Vec<T> {
    const TYPE: ColumnType = ColumnType::Json;
    fn to_value(&self) -> Value {
        json_to_value(self)
    }
    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        json_from_value(value)
    }
}

/// A nested value as it is stored: text of JSON.
pub fn json_to_value<T: Serialize>(value: &T) -> Value {
    Value::Text(serde_json::to_string(value).expect("a column's value serializes: its maps have text keys"))
}

/// A nested value from its stored text.
pub fn json_from_value<T: DeserializeOwned>(value: ValueRef<'_>) -> Result<T, String> {
    match value {
        ValueRef::Text(text) => serde_json::from_str(text).map_err(|error| error.to_string()),
        other => unfit("JSON", other),
    }
}

/// A text as it is stored.
pub fn text_to_value(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// The place of a stored text in a list of names.
pub fn choice_from_value(value: ValueRef<'_>, names: &[&str]) -> Result<usize, String> {
    match value {
        ValueRef::Text(text) => convoke_core::wire::one_of(text, names).map_err(|invalid| invalid.to_string()),
        other => unfit("a text", other),
    }
}

/// Bytes of any kind; base64 on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Column for Bytes {
    const TYPE: ColumnType = ColumnType::Bytes;
    fn to_value(&self) -> Value {
        Value::Bytes(self.0.clone())
    }
    fn is(&self, value: &Value) -> bool {
        matches!(value, Value::Bytes(bytes) if *bytes == self.0)
    }
    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        match value {
            ValueRef::Bytes(bytes) => Ok(Bytes(bytes.to_owned())),
            other => unfit("bytes", other),
        }
    }
    fn write_json(value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match value {
            ValueRef::Bytes(bytes) => json(&Bytes(bytes.to_owned()), out),
            _ => {
                out.extend_from_slice(b"null");
                Ok(())
            }
        }
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::Engine as _;
        serializer.serialize_str(&base64::engine::general_purpose::STANDARD.encode(&self.0))
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "contentEncoding": "base64" })
    }
}

impl<'de> serde::Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use base64::Engine as _;
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        base64::engine::general_purpose::STANDARD
            .decode(text.as_bytes())
            .map(Bytes)
            .map_err(|_| serde::de::Error::custom("must be bytes in base64"))
    }
}

/// A stored row: its fields, its id and when it was made.
#[derive(Clone)]
pub struct Doc<T: Table> {
    id: Id<T>,
    creation_time: Millis,
    fields: T,
}

impl<T: Table> Doc<T> {
    pub(crate) fn new(id: Id<T>, creation_time: Millis, fields: T) -> Self {
        Self { id, creation_time, fields }
    }

    /// Reads a row of the table.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if a value does not fit its field.
    pub(crate) fn read(row: &dyn Row) -> Result<Self, StoreError> {
        Ok(Self::new(Id::from_bits(row.id()?), Millis(row.creation_time()?), T::decode(row)?))
    }

    /// `_id`.
    pub fn id(&self) -> Id<T> {
        self.id
    }

    /// `_creationTime`.
    pub fn creation_time(&self) -> Millis {
        self.creation_time
    }

    pub(crate) fn fields_mut(&mut self) -> &mut T {
        &mut self.fields
    }

    /// The fields alone.
    pub fn into_inner(self) -> T {
        self.fields
    }
}

impl<T: Table> Deref for Doc<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.fields
    }
}

impl<T: Table + fmt::Debug> fmt::Debug for Doc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.id, self.fields)
    }
}

impl<T: Table> Serialize for Doc<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a, T: Table> {
            #[serde(rename = "_id")]
            id: Id<T>,
            #[serde(rename = "_creationTime")]
            creation_time: Millis,
            #[serde(flatten)]
            fields: &'a T,
        }
        Wire { id: self.id, creation_time: self.creation_time, fields: &self.fields }.serialize(serializer)
    }
}

/// The fields, and before them those that every row has.
impl<T: Table + JsonSchema> JsonSchema for Doc<T> {
    fn schema_name() -> Cow<'static, str> {
        convoke_core::wire::schema::row_type_name(T::NAME).into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("Doc<{}>", T::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        properties.insert("_id".to_owned(), generator.subschema_for::<Id<T>>().to_value());
        properties.insert("_creationTime".to_owned(), generator.subschema_for::<Millis>().to_value());
        let mut required = vec![Json::from("_id"), Json::from("_creationTime")];
        let mut schema = T::json_schema(generator);
        if let Some(Json::Object(fields)) = schema.remove("properties") {
            properties.extend(fields);
        }
        if let Some(Json::Array(fields)) = schema.remove("required") {
            required.extend(fields);
        }
        schema.insert("properties".to_owned(), properties.into());
        schema.insert("required".to_owned(), required.into());
        schema
    }
}

/// The JSON schema of a field's type: what `#[table]` names for every field.
pub fn field_schema<T: OutMember>(generator: &mut SchemaGenerator) -> Schema {
    T::schema(generator, false)
}

/// What may stand for a value of `T` in a query: `T`, `&T`, `&str` for text, `T` for `Option<T>`.
#[diagnostic::on_unimplemented(
    message = "the index has a `{T}` here, which cannot be compared with `{Self}`",
    label = "a key of another type",
    note = "the keys of an index are given in its order: the first `eq` is for its first field"
)]
pub trait KeyOf<T> {
    /// The key as a value.
    fn key_of(&self) -> Value;
}

#[diagnostic::do_not_recommend]
impl<T: Column> KeyOf<T> for T {
    fn key_of(&self) -> Value {
        self.to_value()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Column> KeyOf<T> for &T {
    fn key_of(&self) -> Value {
        (*self).to_value()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Column> KeyOf<Option<T>> for T {
    fn key_of(&self) -> Value {
        self.to_value()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Column> KeyOf<Option<T>> for &T {
    fn key_of(&self) -> Value {
        (*self).to_value()
    }
}

/// Text columns, which a `&str` may stand for.
pub trait TextColumn: Column {}
impl TextColumn for String {}
impl<T: TextColumn> TextColumn for Option<T> {}

#[diagnostic::do_not_recommend]
impl<T: TextColumn> KeyOf<T> for &str {
    fn key_of(&self) -> Value {
        Value::Text((*self).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with so many fields, and one index over so many of them.
    fn table(fields: usize, keys: usize) -> TableDef {
        let field = |_| FieldDef {
            name: "f",
            column: ColumnType::Integer,
            nullable: false,
            default: None,
            references: None,
            retired: false,
            meaning: Meaning::Plain,
            schema: field_schema::<i64>,
            write_json: i64::write_json,
            check: i64::check,
            accept: i64::accept,
        };
        let keys = (0..keys).map(|field| KeyDef { field, descending: false }).collect::<Vec<_>>().leak();
        let index = IndexDef { name: "by_all", keys, unique: false, when: None };
        TableDef {
            name: "rows",
            prefix: "row",
            fields: (0..fields).map(field).collect::<Vec<_>>().leak(),
            indexes: vec![index].leak(),
            file: "lib.rs",
            line: 1,
        }
    }

    fn refusal(table: impl FnOnce() -> TableDef + std::panic::UnwindSafe) -> Option<String> {
        let panic = std::panic::catch_unwind(|| table().checked()).err()?;
        Some(
            panic
                .downcast_ref::<String>()
                .cloned()
                .unwrap_or_else(|| (*panic.downcast_ref::<&str>().unwrap()).to_owned()),
        )
    }

    #[test]
    fn a_definition_with_too_many_fields_or_keys_does_not_compile_and_names_the_bound_of_the_store() {
        assert_eq!(refusal(|| table(FIELDS_MAX, KEYS_MAX)), None);
        let fields = refusal(|| table(FIELDS_MAX + 1, 1)).unwrap();
        assert!(fields.starts_with(&format!("a table has at most {FIELDS_MAX} fields; ")), "{fields}");
        assert_eq!(refusal(|| table(100, KEYS_MAX + 1)), Some(format!("an index has at most {KEYS_MAX} fields")));
    }
}
