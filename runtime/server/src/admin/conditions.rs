//! Conditions on rows, in the syntax of the console and the command line: `title~plan`, `state!=ended`,
//! `startedAt>2026-11-01`.
//!
//! Conditions on the first keys of an index narrow the range of the index. Every condition is also checked on each row.

use std::cmp::Ordering;
use std::ops::Bound;
use std::time::UNIX_EPOCH;

use crate::archive::row::{self, CREATION_TIME};
use crate::archive::shown;
use convoke_core::error::{Error, Result};
use convoke_store::{ColumnType, IndexDef, Plan, Row, StoreError, TableDef, Value, ValueRef};

/// Largest number of conditions per request.
const CONDITIONS_MAX: usize = 20;

/// The comparison of a field with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// The signs of the comparisons. A sign precedes every prefix of it.
const SIGNS: [(&str, Comparison); 10] = [
    ("!=", Comparison::NotEqual),
    ("≠", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    ("≤", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("≥", Comparison::GreaterOrEqual),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
    ("~", Comparison::Contains),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Field(usize),
    CreationTime,
}

#[derive(Clone, Debug)]
struct Condition {
    column: Column,
    comparison: Comparison,
    /// The operand; for `Contains`, a text in lower case.
    value: Value,
}

/// Conditions that must all hold for a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions(Vec<Condition>);

impl Conditions {
    /// Parses conditions on the rows of a table.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: invalid syntax, an unknown field, or an invalid value.
    pub(super) fn read(table: &'static TableDef, texts: &[String]) -> Result<Self> {
        if texts.len() > CONDITIONS_MAX {
            return Err(refused(format!("must be at most {CONDITIONS_MAX} conditions (got {})", texts.len())));
        }
        texts.iter().map(|text| Condition::read(table, text)).collect::<Result<_>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an index whose keys all have an equality. Its matching rows are ordered by id.
    pub(super) fn index(&self, table: &'static TableDef) -> Option<&'static IndexDef> {
        let is_given = |field| self.equal(field).is_some();
        table.indexes.iter().find(|index| index.when.is_none() && index.keys.iter().all(|key| is_given(key.field)))
    }

    /// Narrows the range of the plan's index. Every condition must still be checked on the rows.
    pub(super) fn narrow(&self, plan: &mut Plan) {
        let Some(index) = plan.index else { return };
        for key in index.keys {
            match self.equal(key.field) {
                Some(value) => plan.eq.push(value.clone()),
                None => {
                    plan.range = (!key.descending).then(|| self.range(key.field)).flatten();
                    return;
                }
            }
        }
    }

    fn equal(&self, field: usize) -> Option<&Value> {
        let is_equal = |one: &&Condition| one.column == Column::Field(field) && one.comparison == Comparison::Equal;
        self.0.iter().find(is_equal).map(|one| &one.value)
    }

    /// Returns the bounds of a field, from the first condition of each side.
    fn range(&self, field: usize) -> Option<(Bound<Value>, Bound<Value>)> {
        let own = || self.0.iter().filter(|one| one.column == Column::Field(field));
        let lower = own().find_map(|one| match one.comparison {
            Comparison::Greater => Some(Bound::Excluded(one.value.clone())),
            Comparison::GreaterOrEqual => Some(Bound::Included(one.value.clone())),
            _ => None,
        });
        let upper = own().find_map(|one| match one.comparison {
            Comparison::Less => Some(Bound::Excluded(one.value.clone())),
            Comparison::LessOrEqual => Some(Bound::Included(one.value.clone())),
            _ => None,
        });
        match (lower, upper) {
            (None, None) => None,
            (lower, upper) => Some((lower.unwrap_or(Bound::Unbounded), upper.unwrap_or(Bound::Unbounded))),
        }
    }

    /// Returns true if all conditions hold for a row.
    ///
    /// # Errors
    /// An unreadable value.
    pub(super) fn hold(&self, table: &'static TableDef, stored: &dyn Row) -> std::result::Result<bool, StoreError> {
        for condition in &self.0 {
            if !condition.holds(table, stored)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Condition {
    fn read(table: &'static TableDef, text: &str) -> Result<Self> {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let (name, rest) = (&text[..end], text[end..].trim_start());
        let written = SIGNS.iter().find_map(|(sign, comparison)| Some((rest.strip_prefix(sign)?, *comparison)));
        let Some((value, comparison)) = written.filter(|_| !name.is_empty()) else {
            return Err(refused("must be field=value, or with != < <= > >= or ~ (contains) instead of =".to_owned()));
        };
        if name == CREATION_TIME {
            let time = time(value).or_else(|| value.trim().parse().ok());
            let time = time.filter(|_| comparison != Comparison::Contains);
            let value = time.map(Value::Integer).ok_or_else(|| {
                refused(format!("{name} must be compared with milliseconds or a time such as 2026-01-31T12:00:00Z"))
            })?;
            return Ok(Self { column: Column::CreationTime, comparison, value });
        }
        let field = shown(table).find(|field| field.name == name).ok_or_else(|| {
            let names: Vec<_> = shown(table).map(|field| field.name).collect();
            refused(format!("{} has no field {name}; it has {}", table.name, names.join(", ")))
        })?;
        let column = Column::Field(table.field(name).unwrap_or_default());
        if comparison == Comparison::Contains {
            return Ok(Self { column, comparison, value: Value::Text(value.to_lowercase()) });
        }
        let quoted = || serde_json::Value::from(value).to_string();
        let as_time = || match field.column {
            ColumnType::Integer => time(value).map(Value::Integer),
            _ => None,
        };
        let read = row::read_value(field, value).or_else(|_| row::read_value(field, &quoted()));
        let value = read.or_else(|reason| as_time().ok_or(reason));
        let value = value.map_err(|reason| refused(format!("{name} {reason}")))?;
        Ok(Self { column, comparison, value })
    }

    fn holds(&self, table: &'static TableDef, stored: &dyn Row) -> std::result::Result<bool, StoreError> {
        let value = match self.column {
            Column::Field(column) => stored.value(column)?,
            Column::CreationTime => ValueRef::Integer(stored.creation_time()?),
        };
        let ordering = || order(value, self.value.as_ref());
        Ok(match self.comparison {
            Comparison::Equal => value == self.value.as_ref(),
            Comparison::NotEqual => value != self.value.as_ref(),
            Comparison::Less => ordering() == Some(Ordering::Less),
            Comparison::LessOrEqual => ordering().is_some_and(Ordering::is_le),
            Comparison::Greater => ordering() == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => ordering().is_some_and(Ordering::is_ge),
            Comparison::Contains => self.is_within(table, value)?,
        })
    }

    fn is_within(&self, table: &'static TableDef, value: ValueRef<'_>) -> std::result::Result<bool, StoreError> {
        let (ValueRef::Text(wanted), Column::Field(column)) = (self.value.as_ref(), self.column) else {
            return Ok(false);
        };
        match value {
            ValueRef::Null => Ok(false),
            ValueRef::Text(text) => Ok(text.to_lowercase().contains(wanted)),
            other => {
                let mut text = Vec::new();
                row::write_value(&table.fields[column], other, &mut text)?;
                Ok(String::from_utf8_lossy(&text).to_lowercase().contains(wanted))
            }
        }
    }
}

/// Compares two values of a column; `None` if either is null.
fn order(one: ValueRef<'_>, other: ValueRef<'_>) -> Option<Ordering> {
    match (one, other) {
        (ValueRef::Bool(one), ValueRef::Bool(other)) => Some(one.cmp(&other)),
        (ValueRef::Integer(one), ValueRef::Integer(other)) => Some(one.cmp(&other)),
        (ValueRef::Float(one), ValueRef::Float(other)) => one.partial_cmp(&other),
        (ValueRef::Text(one), ValueRef::Text(other)) => Some(one.cmp(other)),
        (ValueRef::Bytes(one), ValueRef::Bytes(other)) => Some(one.cmp(other)),
        (ValueRef::Id(one), ValueRef::Id(other)) => Some(one.cmp(&other)),
        _ => None,
    }
}

/// Parses a time or a day in UTC into milliseconds since 1970.
fn time(text: &str) -> Option<i64> {
    let text = text.trim();
    let time = humantime::parse_rfc3339_weak(text).or_else(|_| humantime::parse_rfc3339(&format!("{text}T00:00:00Z")));
    let since = time.ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

fn refused(what: String) -> Error {
    Error::invalid_argument("where", format!("where: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_a_time_of_day() {
        assert_eq!(time("1970-01-02"), Some(86_400_000));
        assert_eq!(time("1970-01-01T01:00:00Z"), Some(3_600_000));
        assert_eq!(time("tomorrow"), None);
    }

    #[test]
    fn null_has_no_order() {
        assert_eq!(order(ValueRef::Null, ValueRef::Integer(1)), None);
        assert_eq!(order(ValueRef::Text("a"), ValueRef::Text("b")), Some(Ordering::Less));
    }
}
