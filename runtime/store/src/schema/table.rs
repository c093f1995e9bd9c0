//! Tables: their fields, their indexes, and the conversion between a row and a Rust value.
//!
//! `#[table]` writes the implementations; this module defines their contract. The types of an index's fields are a list
//! of types (`(A, (B, ()))`), so that rustc checks each field of a query.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

use crate::error::StoreError;
use crate::file_fields::FileRule;
use crate::row::Row;
use crate::value::{ColumnType, Value, ValueRef};
use convoke_core::clock::Millis;
use convoke_core::id::{self, Id, Named};
use convoke_core::wire::object::OutMember;

/// A table: a struct with `#[table]`.
pub trait Table: Named + Clone + Serialize + Send + Sync + Sized + 'static {
    /// Its name, prefix, fields and indexes.
    const DEF: &'static TableDef;

    /// Returns the values of the fields, in the order of [`TableDef::fields`]; retired fields are null.
    fn encode(&self) -> Vec<Value>;

    /// Returns the positions and values of the fields that differ from `before`, which has the form of
    /// [`Table::encode`].
    fn changes(&self, before: &[Value]) -> Vec<(usize, Value)> {
        let fields = self.encode().into_iter().enumerate();
        fields.filter(|(place, value)| !Self::DEF.fields[*place].retired && before.get(*place) != Some(value)).collect()
    }

    /// Reads the struct from a row whose columns are the fields in their order.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`]: a value does not fit its field.
    fn decode(row: &dyn Row) -> Result<Self, StoreError>;
}

/// A table that `#[table]` submits; the start collects all of them.
pub struct SubmittedTable(pub &'static TableDef);
inventory::collect!(SubmittedTable);

/// A table as data, for the schema.
#[derive(Debug)]
pub struct TableDef {
    /// Name, in camelCase. A leading underscore marks tables of the runtime.
    pub name: &'static str,
    /// Prefix of its ids.
    pub prefix: &'static str,
    /// Its fields, in the order of the struct.
    pub fields: &'static [FieldDef],
    /// Its indexes.
    pub indexes: &'static [IndexDef],
    /// Source file of the struct.
    pub file: &'static str,
    /// Line of the struct.
    pub line: u32,
}

/// Declares a limit and its message once, for the compiler and for the engines.
macro_rules! bound {
    ($(#[$doc:meta])* $name:ident = $max:literal, $sentence:ident = $before:literal, $after:literal) => {
        $(#[$doc])*
        pub const $name: usize = $max;
        const $sentence: &str = concat!($before, $max, $after);
    };
}

bound! {
    /// Most keys of an index. SQLite and PostgreSQL allow 32 and more; a longer index costs more than it finds.
    KEYS_MAX = 16, TOO_MANY_KEYS = "an index has at most ", " fields"
}
bound! {
    /// Most fields of a table, including retired ones. SQLite and PostgreSQL allow 2,000 and 1,600 columns. More fields
    /// than this limit suggest that the data is no single row.
    FIELDS_MAX = 128, TOO_MANY_FIELDS = "a table has at most ", " fields; keep what belongs together in a #[value] struct"
}
/// Longest keys of a row in one index, in bytes. Every engine accepts them, so that rows can move between engines.
pub const INDEX_KEY_BYTES_MAX: u64 = 2_000;

impl TableDef {
    /// Checks [`FIELDS_MAX`], [`KEYS_MAX`] and the limit of a prefix, and returns the definition. `#[table]` calls it.
    ///
    /// # Panics
    /// At compile time, if a limit is exceeded.
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

    /// Rejects the values of a new row that some engine cannot store unchanged.
    ///
    /// # Errors
    /// [`StoreError::Unstorable`]: NaN, which has no order; U+0000, which ends a text in many tools; keys of more than
    /// [`INDEX_KEY_BYTES_MAX`] in an index.
    pub fn require_storable(&self, values: &[Value]) -> Result<(), StoreError> {
        values.iter().enumerate().try_for_each(|(place, value)| self.require_storable_value(place, value))?;
        let holds = |index: &&IndexDef| index.when.is_none_or(|when| when.holds(self, values));
        self.indexes.iter().filter(holds).try_for_each(|index| self.require_short(index, |field| values.get(field)))
    }

    /// Like [`TableDef::require_storable`], for changes of a row with the values `before`, some of which may be
    /// unknown.
    ///
    /// # Errors
    /// Like [`TableDef::require_storable`]. An existing key that exceeds the limit is accepted while its index entry
    /// does not change.
    pub fn require_storable_changes(&self, before: &[Value], changes: &[(usize, Value)]) -> Result<(), StoreError> {
        changes.iter().try_for_each(|(place, value)| self.require_storable_value(*place, value))?;
        let changed = |field: usize| changes.iter().find(|(place, _)| *place == field).map(|(_, value)| value);
        let new = |field: usize| changed(field).or_else(|| before.get(field));
        let changes_it = |index: &&IndexDef| {
            let condition = index.when.and_then(|when| self.field(when.field()));
            index.keys.iter().map(|key| key.field).chain(condition).any(|field| changed(field).is_some())
        };
        let may_hold = |index: &&IndexDef| {
            index.when.is_none_or(|when| when.may_hold(self, |place| new(place).map(Value::as_ref)))
        };
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

    /// Returns the position of a field by its name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

/// A field of a table.
#[derive(Debug)]
pub struct FieldDef {
    /// Name of the column and on the wire, in camelCase.
    pub name: &'static str,
    /// Type of its column.
    pub column: ColumnType,
    /// True if it may be null.
    pub nullable: bool,
    /// Returns the value, if not null, of rows that were written before the field existed.
    pub default: Option<fn() -> Value>,
    /// Prefix of the table whose ids it has, for tools.
    pub references: Option<&'static str>,
    /// Meaning of its values, for tools.
    pub meaning: Meaning,
    /// True if it was removed from the struct and exists only in old databases.
    pub retired: bool,
    /// JSON schema of its Rust type, without null.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Writes a stored value as JSON, like `Serialize` of its Rust type.
    pub write_json: fn(ValueRef<'_>, &mut Vec<u8>) -> Result<(), StoreError>,
    /// Checks if its Rust type accepts a stored value; returns the reason if not.
    pub check: fn(ValueRef<'_>) -> Result<(), String>,
    /// Converts a value from a caller by the rules of its Rust type; returns the reason if it is rejected.
    pub accept: fn(ValueRef<'_>) -> Result<Value, String>,
}

impl FieldDef {
    /// Returns a field of a type without a default.
    pub const fn of<C: Column>(name: &'static str, schema: fn(&mut SchemaGenerator) -> Schema) -> Self {
        Self {
            name,
            column: C::TYPE,
            nullable: C::NULLABLE,
            default: None,
            references: C::REFERENCES,
            meaning: C::MEANING,
            retired: false,
            schema,
            write_json: C::write_json,
            check: C::check,
            accept: C::accept,
        }
    }
}

/// The meaning of the values of a field beyond its column type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// No further meaning.
    Plain,
    /// A time, in milliseconds since 1970.
    Time,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A file that this rule accepts.
    File(FileRule),
}

impl Meaning {
    /// Returns the meaning of a field of files with this rule. `#[table]` calls it for `#[file(…)]`.
    ///
    /// # Panics
    /// At compile time, if the type of the field is not a file.
    pub const fn with_file_rule(self, rule: FileRule) -> Self {
        match self {
            Meaning::File(_) => Meaning::File(rule),
            Meaning::Plain | Meaning::Time | Meaning::Choice(_) => {
                panic!("#[file(…)] is for a field of type `File` or `Option<File>`")
            }
        }
    }
}

/// An index of a table; `_id` is always its last key.
#[derive(Debug)]
pub struct IndexDef {
    /// Name, unique within the table.
    pub name: &'static str,
    /// Fields of the table, in the order of the index.
    pub keys: &'static [KeyDef],
    /// True if two rows cannot agree on all keys. Rows with a null key never conflict.
    pub unique: bool,
    /// Condition for rows in the index.
    pub when: Option<Condition>,
}

/// One key of an index.
#[derive(Debug)]
pub struct KeyDef {
    /// Position of the field in [`TableDef::fields`].
    pub field: usize,
    /// True for greatest first.
    pub descending: bool,
}

/// The condition for rows in an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// The field equals this value.
    Equals(&'static str, Literal),
    /// The field is null.
    IsNull(&'static str),
    /// The field is not null.
    NotNull(&'static str),
}

impl Condition {
    /// Returns the field of the condition.
    pub fn field(self) -> &'static str {
        match self {
            Condition::Equals(field, _) | Condition::IsNull(field) | Condition::NotNull(field) => field,
        }
    }

    /// Returns true if a row with these values fulfils the condition.
    pub fn holds(self, table: &TableDef, values: &[Value]) -> bool {
        self.may_hold(table, |place| values.get(place).map(Value::as_ref))
    }

    /// Returns true if a row fulfils the condition or may fulfil it, because some values are unknown.
    pub(crate) fn may_hold<'a>(self, table: &TableDef, value: impl Fn(usize) -> Option<ValueRef<'a>>) -> bool {
        table.field(self.field()).and_then(value).is_none_or(|value| match self {
            Condition::Equals(_, literal) => literal.is(value),
            Condition::IsNull(_) => value == ValueRef::Null,
            Condition::NotNull(_) => value != ValueRef::Null,
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
    /// Returns the constant if a column of this type can have it. `#[table]` calls it for a condition.
    ///
    /// # Panics
    /// At compile time, if the column cannot have it.
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

    /// Returns true if the value equals the constant.
    fn is(self, value: ValueRef<'_>) -> bool {
        match self {
            Literal::Text(text) => value == ValueRef::Text(text),
            Literal::Integer(number) => value == ValueRef::Integer(number),
            Literal::Float(number) => value == ValueRef::Float(number),
            Literal::Bool(truth) => value == ValueRef::Bool(truth),
        }
    }

    /// Returns the constant as a value.
    pub fn value(self) -> Value {
        match self {
            Literal::Text(text) => Value::Text(text.to_owned()),
            Literal::Integer(number) => Value::Integer(number),
            Literal::Float(number) => Value::Float(number),
            Literal::Bool(truth) => Value::Bool(truth),
        }
    }
}

/// An index as a type. `query` takes its value (`Participant::by_user`).
pub trait Index: Copy {
    /// Its table.
    type Table: Table;
    /// Its fields as a list: `(A, (B, ()))`.
    type Fields;
    /// The index as data.
    const DEF: &'static IndexDef;
}

/// The fields of an index as a list, and how to read their values from a row.
pub trait Keys {
    /// Their values as a list: `(A, (B, ()))`.
    type Values;

    /// Reads the values of a row; `keys` are the positions of the fields, as in [`IndexDef::keys`].
    ///
    /// # Errors
    /// [`StoreError::Corrupt`]: a value does not fit its field.
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

/// An index with at most one row per combination of keys.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a unique index",
    label = "this needs a unique index",
    note = "write `unique` in its #[index(…)]; or read with `first()` or `take(n)`, and add with `insert`"
)]
pub trait Unique: Index {}

/// A field of a table as a type, for the check of keys.
pub trait Field {
    /// The field's Rust type.
    type Type: Column;
    /// Its wire name.
    const NAME: &'static str;
}

/// A Rust type that a column can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a table",
    note = "fields are i64, i32, u32, f64, bool, String, Id<T>, Millis, Option and Vec of them, or types with #[value]"
)]
pub trait Column: Sized {
    /// Type of the column.
    const TYPE: ColumnType;
    /// True if null is one of the values.
    const NULLABLE: bool = false;
    /// Prefix of the table whose ids it has.
    const REFERENCES: Option<&'static str> = None;
    /// Meaning of its values.
    const MEANING: Meaning = Meaning::Plain;

    /// Returns the stored form.
    fn to_value(&self) -> Value;

    /// Returns true if `value` is the stored form.
    fn is(&self, value: &Value) -> bool {
        self.to_value() == *value
    }

    /// Converts a stored value to the Rust value; returns the reason if it does not fit.
    fn from_value(value: ValueRef<'_>) -> Result<Self, String>;

    /// Reads the field at `place` of a row.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`]: the value does not fit.
    fn decode(row: &dyn Row, table: &'static TableDef, place: usize) -> Result<Self, StoreError> {
        let corrupt = |reason| StoreError::Corrupt { table: table.name, field: table.fields[place].name, reason };
        match row.value(place)? {
            // Rows older than a column with a default read as the default.
            ValueRef::Null if !Self::NULLABLE => match table.fields[place].default {
                Some(default) => Self::from_value(default().as_ref()).map_err(corrupt),
                None => Err(corrupt("null where a value is needed".to_owned())),
            },
            value => Self::from_value(value).map_err(corrupt)?.located(row, table, place),
        }
    }

    /// Adds the field of a row from which the value was read, for types that need it.
    ///
    /// # Errors
    /// The row cannot be read.
    fn located(self, _row: &dyn Row, _table: &'static TableDef, _place: usize) -> Result<Self, StoreError> {
        Ok(self)
    }

    /// Adds the field at `place` to the changes of a row if its value differs.
    fn add_change(&self, changes: &mut Vec<(usize, Value)>, before: &[Value], place: usize) {
        if !before.get(place).is_some_and(|value| self.is(value)) {
            changes.push((place, self.to_value()));
        }
    }

    /// Checks if [`Column::from_value`] accepts a value; returns the reason if not.
    fn check(value: ValueRef<'_>) -> Result<(), String> {
        Self::from_value(value).map(drop)
    }

    /// Converts an external value to the stored form by the rules of the type, which do not apply to stored values.
    /// Returns the reason if it is rejected.
    fn accept(value: ValueRef<'_>) -> Result<Value, String> {
        Self::check(value)?;
        Ok(value.to_value())
    }

    /// Writes a stored value like `Serialize` of the Rust type, without creating the Rust value.
    fn write_json(value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match (Self::REFERENCES, value) {
            (_, ValueRef::Null) => out.extend_from_slice(b"null"),
            (_, ValueRef::Bool(truth)) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
            (_, ValueRef::Integer(number)) => json(&number, out)?,
            (_, ValueRef::Float(number)) => json(&number, out)?,
            // Text that is copied into a response must be JSON, even if another program wrote it into the database.
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

/// Implements columns whose Rust value converts without loss into one variant.
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
    fn located(self, row: &dyn Row, table: &'static TableDef, place: usize) -> Result<Self, StoreError> {
        self.map(|value| value.located(row, table, place)).transpose()
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

/// Returns the stored form of a nested value: JSON text.
pub fn json_to_value<T: Serialize>(value: &T) -> Value {
    Value::Text(serde_json::to_string(value).expect("a column's value serializes: its maps have text keys"))
}

/// Reads a nested value from its stored text.
pub fn json_from_value<T: DeserializeOwned>(value: ValueRef<'_>) -> Result<T, String> {
    match value {
        ValueRef::Text(text) => serde_json::from_str(text).map_err(|error| error.to_string()),
        other => unfit("JSON", other),
    }
}

/// Returns the stored form of a text.
pub fn text_to_value(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Returns the position of a stored text in a list of names.
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

/// A stored row: its fields, its id and its creation time.
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
    /// [`StoreError::Corrupt`]: a value does not fit its field.
    pub(crate) fn read(row: &dyn Row) -> Result<Self, StoreError> {
        Ok(Self::new(Id::from_bits(row.id()?), Millis(row.creation_time()?), T::decode(row)?))
    }

    /// Returns `_id`.
    pub fn id(&self) -> Id<T> {
        self.id
    }

    /// Returns `_creationTime`.
    pub fn creation_time(&self) -> Millis {
        self.creation_time
    }

    pub(crate) fn fields_mut(&mut self) -> &mut T {
        &mut self.fields
    }

    /// Returns the fields without id and creation time.
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

/// The members that every row has, and then the fields.
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

/// Returns the JSON schema of a field's type; `#[table]` names it for every field.
pub fn field_schema<T: OutMember>(generator: &mut SchemaGenerator) -> Schema {
    T::schema(generator, false)
}

/// A key for a value of `T` in a query: `T`, `&T`, `&str` for text, `T` for `Option<T>`.
#[diagnostic::on_unimplemented(
    message = "the index has a field of type `{T}` here, which cannot be compared with `{Self}`",
    label = "this key has another type",
    note = "give the keys in the order of the index: the first `eq` is for its first field"
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

/// Text columns, for which a query accepts `&str`.
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

    /// Returns a table with this number of fields and one index over this number of fields.
    fn table(fields: usize, keys: usize) -> TableDef {
        let field = |_| FieldDef::of::<i64>("f", field_schema::<i64>);
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
    fn too_many_fields_or_keys_do_not_compile() {
        assert_eq!(refusal(|| table(FIELDS_MAX, KEYS_MAX)), None);
        let fields = refusal(|| table(FIELDS_MAX + 1, 1)).unwrap();
        assert!(fields.starts_with(&format!("a table has at most {FIELDS_MAX} fields; ")), "{fields}");
        assert_eq!(refusal(|| table(100, KEYS_MAX + 1)), Some(format!("an index has at most {KEYS_MAX} fields")));
    }
}
