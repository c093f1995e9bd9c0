//! The position of a row in an index, as bytes in the order of the index.
//!
//! The bytes are the encoded keys and then the id. No encoding is a prefix of another encoding. The bytes of a
//! descending key are inverted. Every engine uses this order, whatever it stores, so positions can be compared without
//! the engine.

use std::ops::Bound;

use super::plan::Plan;
use crate::error::StoreError;
use crate::row::Row;
use crate::schema::table::{IndexDef, TableDef};
use crate::value::{ColumnType, Value, ValueRef};

/// One end of a [`Range`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edge {
    /// At this position.
    At(Box<[u8]>),
    /// Behind all positions.
    End,
}

/// Positions from `start` inclusive to `end` exclusive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first position in the range.
    pub start: Edge,
    /// The first position behind the range.
    pub end: Edge,
}

impl Range {
    /// Returns the range of all positions.
    pub fn whole() -> Self {
        Self { start: at(&[]), end: Edge::End }
    }

    /// Returns true if the range contains no position.
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Returns true if the range contains `place`.
    pub fn has(&self, place: &[u8]) -> bool {
        let reaches = match &self.end {
            Edge::At(end) => place < &**end,
            Edge::End => true,
        };
        let begins = match &self.start {
            Edge::At(start) => place >= &**start,
            Edge::End => false,
        };
        begins && reaches
    }

    /// Returns the intersection.
    pub fn within(self, other: &Range) -> Range {
        Range { start: self.start.max(other.start.clone()), end: self.end.min(other.end.clone()) }
    }

    /// Returns the positions of rows whose first keys are encoded as `prefix`.
    pub fn under(prefix: &[u8]) -> Self {
        Self { start: at(prefix), end: behind(prefix) }
    }
}

fn at(place: &[u8]) -> Edge {
    Edge::At(place.into())
}

/// Returns the first position behind all positions with this prefix.
fn behind(prefix: &[u8]) -> Edge {
    let Some(last) = prefix.iter().rposition(|byte| *byte != u8::MAX) else { return Edge::End };
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Edge::At(next.into())
}

/// Returns the first position behind this one.
pub fn after(place: &[u8]) -> Edge {
    Edge::At([place, &[0]].concat().into())
}

/// Returns the position of a row by its id alone.
pub fn of_id(id: u128) -> [u8; 16] {
    id.to_be_bytes()
}

/// Returns the position of a row with these values, by the positions of the table's fields. None: the index does not
/// contain the row.
pub fn of_row<'a>(
    table: &TableDef,
    index: &IndexDef,
    value: impl Fn(usize) -> ValueRef<'a>,
    id: u128,
) -> Option<Vec<u8>> {
    let mut place = keys_of_row(table, index, value)?;
    place.extend_from_slice(&of_id(id));
    Some(place)
}

/// Returns the keys of a row in a unique index: no other row has a position that begins with them. None: the index does
/// not contain the row, or a key is null, so that any number of rows may have these keys.
pub fn of_unique_row<'a>(table: &TableDef, index: &IndexDef, value: impl Fn(usize) -> ValueRef<'a>) -> Option<Vec<u8>> {
    let is_unique = index.unique && index.keys.iter().all(|key| value(key.field) != ValueRef::Null);
    if is_unique { keys_of_row(table, index, value) } else { None }
}

fn keys_of_row<'a>(table: &TableDef, index: &IndexDef, value: impl Fn(usize) -> ValueRef<'a>) -> Option<Vec<u8>> {
    if !index.when.is_none_or(|when| when.may_hold(table, |place| Some(value(place)))) {
        return None;
    }
    let mut keys = Vec::with_capacity(bytes_of(index.keys.len()));
    for key in 0..index.keys.len() {
        encode(table, index, key, value(index.keys[key].field), &mut keys)?;
    }
    Some(keys)
}

/// Returns the bytes of a position with this number of short keys.
fn bytes_of(keys: usize) -> usize {
    16 + 10 * keys
}

/// Appends one key of a position. None: the value does not fit the column.
fn encode(table: &TableDef, index: &IndexDef, key: usize, value: ValueRef<'_>, out: &mut Vec<u8>) -> Option<()> {
    let from = out.len();
    let key = &index.keys[key];
    match (value, table.fields[key.field].column) {
        (ValueRef::Null, _) => out.push(0),
        (ValueRef::Bool(truth), ColumnType::Bool) => out.extend_from_slice(&[1, u8::from(truth)]),
        (ValueRef::Integer(number), ColumnType::Integer) => {
            out.push(1);
            out.extend_from_slice(&(number.cast_unsigned() ^ (1 << 63)).to_be_bytes());
        }
        (ValueRef::Float(number), ColumnType::Float) => {
            // An index treats negative and positive zero as the same number.
            let bits = if number == 0.0 { 0 } else { number.to_bits() };
            let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            out.push(1);
            out.extend_from_slice(&ordered.to_be_bytes());
        }
        (ValueRef::Text(text), ColumnType::Text | ColumnType::Json) => encode_bytes(text.as_bytes(), out),
        (ValueRef::Bytes(bytes), ColumnType::Bytes) => encode_bytes(bytes, out),
        (ValueRef::Id(bits), ColumnType::Id) => {
            out.push(1);
            out.extend_from_slice(&bits.to_be_bytes());
        }
        _ => return None,
    }
    if key.descending {
        out[from..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Some(())
}

/// Zero bytes are escaped, so that the end sorts below any continuation.
fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(1);
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(u8::MAX);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// Returns the positions that a complete run of a plan reads, in no order. The result is a superset if the values of
/// the plan do not fit the index.
pub fn of_plan(plan: &Plan) -> Vec<Range> {
    let ranges = match plan.index {
        None => vec![Range::whole()],
        Some(index) => of_keys(plan, index).unwrap_or_else(|| vec![Range::whole()]),
    };
    let behind = place_after(plan).map(|place| match plan.reverse {
        false => Range { start: after(&place), end: Edge::End },
        true => Range { start: at(&[]), end: at(&place) },
    });
    let cut = |range: Range| behind.iter().fold(range, Range::within);
    ranges.into_iter().map(cut).filter(|range| !range.is_empty()).collect()
}

fn place_after(plan: &Plan) -> Option<Vec<u8>> {
    let (values, id) = plan.after.as_ref()?;
    // Among unique keys, no row with the same keys is behind the position, whatever id it has.
    let is_unique = plan.index.is_some_and(|index| index.unique) && !values.contains(&Value::Null);
    let id = match (is_unique, plan.reverse) {
        (true, false) => u128::MAX,
        (true, true) => 0,
        (false, _) => *id,
    };
    of_place(plan, values, id)
}

/// Returns the position of a row with these values of a plan's keys. None: they do not fit the index.
pub fn of_place(plan: &Plan, values: &[Value], id: u128) -> Option<Vec<u8>> {
    let mut place = Vec::new();
    if let Some(index) = plan.index {
        for (key, value) in values.iter().enumerate() {
            encode(plan.table, index, key, value.as_ref(), &mut place)?;
        }
    }
    place.extend_from_slice(&of_id(id));
    Some(place)
}

/// Returns the position of a row that a plan visits. None: a value does not fit the index.
///
/// # Errors
/// A failure of the store.
pub fn of_visited(plan: &Plan, row: &dyn Row) -> Result<Option<Vec<u8>>, StoreError> {
    let keys = plan.index.map_or(&[][..], |index| index.keys);
    let values = keys.iter().map(|key| row.value(key.field).map(|value| value.to_value()));
    Ok(of_place(plan, &values.collect::<Result<Vec<_>, _>>()?, row.id()?))
}

/// Returns the fixed keys of a plan: the positions of its rows begin with them. None: a value does not fit the index.
pub fn of_fixed(plan: &Plan, index: &IndexDef) -> Option<Vec<u8>> {
    let mut keys = Vec::with_capacity(bytes_of(plan.eq.len()));
    for (key, value) in plan.eq.iter().enumerate() {
        encode(plan.table, index, key, value.as_ref(), &mut keys)?;
    }
    Some(keys)
}

fn of_keys(plan: &Plan, index: &IndexDef) -> Option<Vec<Range>> {
    let prefix = of_fixed(plan, index)?;
    let next = plan.eq.len();
    let with = |value: &Value| {
        let mut place = prefix.clone();
        encode(plan.table, index, next, value.as_ref(), &mut place)?;
        Some(place)
    };
    if let Some(values) = &plan.any {
        return values.iter().map(|value| with(value).map(|prefix| Range::under(&prefix))).collect();
    }
    let Some((start, end)) = &plan.range else { return Some(vec![Range::under(&prefix)]) };
    if matches!(end, Bound::Included(Value::Null) | Bound::Excluded(Value::Null)) {
        return Some(Vec::new());
    }
    let (start, end) = match index.keys[next].descending {
        false => (lower(start, &with)?, upper(end, &with)?.unwrap_or_else(|| behind(&prefix))),
        // In a descending index the bounds change sides, and rows without a value come last.
        true => {
            let beyond = |bound: &Bound<Value>| match bound {
                Bound::Included(value) | Bound::Excluded(value) if *value == Value::Null => Bound::Unbounded,
                bound => bound.clone(),
            };
            let first = match end {
                Bound::Unbounded => at(&prefix),
                Bound::Included(value) => at(&with(value)?),
                Bound::Excluded(value) => behind(&with(value)?),
            };
            let last = match beyond(start) {
                Bound::Unbounded => at(&with(&Value::Null)?),
                Bound::Included(value) => behind(&with(&value)?),
                Bound::Excluded(value) => at(&with(&value)?),
            };
            (first, last)
        }
    };
    Some(vec![Range { start, end }])
}

/// Returns the first position of an ascending range. Rows without a value come before any bound.
fn lower(bound: &Bound<Value>, with: &impl Fn(&Value) -> Option<Vec<u8>>) -> Option<Edge> {
    Some(match bound {
        Bound::Included(value) if *value != Value::Null => at(&with(value)?),
        Bound::Included(value) | Bound::Excluded(value) => behind(&with(value)?),
        Bound::Unbounded => behind(&with(&Value::Null)?),
    })
}

/// Returns the first position behind an ascending range. An inner None: the range ends where the earlier keys end.
#[expect(clippy::option_option, reason = "a value that does not fit is one thing, and no bound another")]
fn upper(bound: &Bound<Value>, with: &impl Fn(&Value) -> Option<Vec<u8>>) -> Option<Option<Edge>> {
    Some(match bound {
        Bound::Included(value) => Some(behind(&with(value)?)),
        Bound::Excluded(value) => Some(at(&with(value)?)),
        Bound::Unbounded => None,
    })
}
