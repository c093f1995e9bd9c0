//! The form of a statement without its values: the key under which a connection caches the SQL text.
//!
//! With `prepare_cached` alone, each call builds its text first. A read by id of a table with eight fields then takes
//! 6 µs instead of 3.5 µs.

use std::ops::Bound;

use convoke_store::query::LIST_MAX;
use convoke_store::table::{FIELDS_MAX, KEYS_MAX};
use convoke_store::{Fields, Plan, TableDef, Value};

/// The form of a statement, without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StatementKey {
    verb: Verb,
    /// Addresses of the definitions. Two definitions at one address are equal, so they have the same text.
    table: usize,
    index: usize,
    detail: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Verb {
    Get,
    GetMany,
    Select,
    Count,
    Insert,
    Update,
    UpdateNumbered,
    Delete,
}

// Masks of the fields of a table and of the keys of an index fit into a key, and a list fits into a statement.
const _: () = assert!(FIELDS_MAX <= 128 && KEYS_MAX <= 32 && LIST_MAX <= 32_766);

impl StatementKey {
    fn of(verb: Verb, table: &'static TableDef, detail: u128) -> Self {
        Self { verb, table: std::ptr::from_ref(table).addr(), index: 0, detail }
    }

    /// A read of a row by its id.
    pub(crate) fn get(table: &'static TableDef) -> Self {
        Self::of(Verb::Get, table, 0)
    }

    /// A read of rows by a list of ids.
    pub(crate) fn get_many(table: &'static TableDef, places: usize) -> Self {
        Self::of(Verb::GetMany, table, places as u128)
    }

    pub(crate) fn insert(table: &'static TableDef) -> Self {
        Self::of(Verb::Insert, table, 0)
    }

    /// An update of some fields of a row.
    pub(crate) fn update(table: &'static TableDef, fields: Fields) -> Self {
        Self::of(Verb::Update, table, fields.bits())
    }

    /// The same for a row with a known number.
    pub(crate) fn update_numbered(table: &'static TableDef, fields: Fields) -> Self {
        Self::of(Verb::UpdateNumbered, table, fields.bits())
    }

    pub(crate) fn delete(table: &'static TableDef) -> Self {
        Self::of(Verb::Delete, table, 0)
    }

    /// A read of the rows of a plan.
    pub(crate) fn select(plan: &Plan) -> Self {
        Self::of_plan(Verb::Select, plan)
    }

    /// A count of the rows of a plan.
    pub(crate) fn count(plan: &Plan) -> Self {
        Self::of_plan(Verb::Count, plan)
    }

    fn of_plan(verb: Verb, plan: &Plan) -> Self {
        let mut detail = Detail::default();
        detail.push(6, plan.eq.len());
        detail.push(KEYS_MAX as u32, nulls(&plan.eq));
        detail.push(1, usize::from(plan.reverse));
        detail.push(1, usize::from(plan.limit.is_some()));
        detail.push(1, usize::from(plan.keys_only));
        match &plan.any {
            None => detail.push(6, 0),
            Some(values) => {
                let (null, others) = split(values);
                detail.push(1, usize::from(null));
                detail.push(5, 1 + places(others).ilog2() as usize);
            }
        }
        let (start, end) = plan.range.as_ref().map_or((0, 0), |(start, end)| (side(start), side(end)));
        detail.push(1, usize::from(plan.range.is_some()));
        detail.push(2, start);
        detail.push(2, end);
        detail.push(1, usize::from(plan.after.is_some()));
        detail.push(KEYS_MAX as u32, plan.after.as_ref().map_or(0, |(values, _)| nulls(values)));
        Self {
            verb,
            table: std::ptr::from_ref(plan.table).addr(),
            index: plan.index.map_or(0, |index| std::ptr::from_ref(index).addr()),
            detail: detail.0,
        }
    }
}

#[derive(Default)]
struct Detail(u128);

impl Detail {
    fn push(&mut self, bits: u32, value: usize) {
        debug_assert!(bits == 64 || value < 1 << bits);
        self.0 = self.0 << bits | value as u128;
    }
}

/// Returns a mask of the values that are null.
fn nulls(values: &[Value]) -> usize {
    values.iter().enumerate().fold(0, |mask, (place, value)| mask | usize::from(*value == Value::Null) << place)
}

/// Returns true if one of the values is null, and the number of the others.
pub(crate) fn split(values: &[Value]) -> (bool, usize) {
    let nulls = values.iter().filter(|value| **value == Value::Null).count();
    (nulls > 0, values.len() - nulls)
}

/// Returns the number of parameters for a list of `values`: the next power of four, so that few texts serve all
/// lengths. Remaining parameters are null, and no value equals null.
pub(crate) fn places(values: usize) -> usize {
    let mut places = 1;
    while places < values {
        places *= 4;
    }
    places
}

/// The form of one end of a range.
fn side(bound: &Bound<Value>) -> usize {
    match bound {
        Bound::Unbounded => 0,
        Bound::Included(Value::Null) | Bound::Excluded(Value::Null) => 3,
        Bound::Included(_) => 1,
        Bound::Excluded(_) => 2,
    }
}
