//! All forms of plans: orders of values, lists, ranges, and positions to continue from.

use std::ops::{Bound, ControlFlow};

use schemars::JsonSchema;

use super::support::{Factory, TestStore, down, field, key, start};
use crate::query::LIST_MAX;
use crate::schema::table::Bytes;
use crate::{Column, FieldDef, IndexDef, Plan, Reader, StoreError, TableDef, Value};

/// A table with one field, an ascending index and a descending index.
fn of<C: Column + JsonSchema>() -> &'static TableDef {
    let fields: &[FieldDef] = Box::leak(Box::new([field::<C>("value")]));
    let index = |name, key| IndexDef { name, keys: Vec::leak(vec![key]), unique: false, when: None };
    let indexes = Vec::leak(vec![index("up", key(0)), index("down", down(0))]);
    Box::leak(Box::new(TableDef { name: "values", prefix: "value", fields, indexes, file: file!(), line: line!() }))
}

/// A store with these values, in rows with ascending ids.
fn with_values<C: Column + JsonSchema>(engine: &Factory, values: &[Value]) -> (TestStore, &'static TableDef) {
    let table = of::<C>();
    let (store, values) = (TestStore::new(engine, &[table]), values.to_vec());
    start(&store, move |transaction| {
        let numbered = values.iter().zip(1..);
        numbered.into_iter().try_for_each(|(value, id)| transaction.insert(table, id, 1, std::slice::from_ref(value)))
    })
    .wait()
    .unwrap();
    (store, table)
}

fn found(reader: &dyn Reader, plan: &Plan) -> Vec<Value> {
    let mut found = Vec::new();
    let visit = &mut |row: &dyn crate::Row| {
        found.push(row.value(0)?.to_value());
        Ok(ControlFlow::Continue(()))
    };
    reader.select(plan, visit).unwrap();
    found
}

/// Checks this order of values in the ascending index, the reverse order in the descending index, and both in reverse.
fn ordered<C: Column + JsonSchema>(engine: &Factory, ascending: &[Value]) {
    let mut mixed = ascending.to_vec();
    // An order other than that of the ids.
    mixed.sort_by_key(|value| format!("{value:?}").bytes().rev().collect::<Vec<_>>());
    let (store, table) = with_values::<C>(engine, &mixed);
    let descending: Vec<Value> = ascending.iter().rev().cloned().collect();
    store.read(|db| {
        for (index, reverse, expected) in
            [(0, false, ascending), (0, true, &descending), (1, false, &descending), (1, true, ascending)]
        {
            let mut plan = Plan::new(table, Some(&table.indexes[index]));
            plan.reverse = reverse;
            assert_eq!(found(db.reader(), &plan), expected, "{} reverse: {reverse}", table.indexes[index].name);
        }
    });
}

pub fn texts_are_ordered_by_bytes_after_null(engine: &Factory) {
    let text = |text: &str| Value::Text(text.to_owned());
    let texts = ["", " ", "10", "9", "A", "Z", "a", "aa", "b", "z", "~", "ß", "ä", "€", "\u{1f600}"].map(text);
    ordered::<Option<String>>(engine, &[&[Value::Null], &texts[..]].concat());
}

pub fn numbers_are_ordered_by_size(engine: &Factory) {
    let integers = [i64::MIN, -10, -9, -1, 0, 1, 9, 10, 1 << 53, (1 << 53) + 1, i64::MAX].map(Value::Integer);
    ordered::<Option<i64>>(engine, &[&[Value::Null], &integers[..]].concat());
    let floats = [f64::NEG_INFINITY, f64::MIN, -1.5, -f64::MIN_POSITIVE, 0.0, f64::MIN_POSITIVE, 0.1, 1e300];
    let floats = floats.into_iter().chain([f64::INFINITY]).map(Value::Float);
    ordered::<Option<f64>>(engine, &std::iter::once(Value::Null).chain(floats).collect::<Vec<_>>());
}

pub fn bytes_ids_and_booleans_are_ordered_by_their_bits(engine: &Factory) {
    let bytes = [vec![], vec![0], vec![0, 0], vec![0, 255], vec![1], vec![127], vec![128], vec![255]];
    ordered::<Option<Bytes>>(engine, &[&[Value::Null], &bytes.map(Value::Bytes)[..]].concat());
    let ids = [0, 1, 255, 256, 1 << 63, 1 << 64, 1 << 127, u128::MAX].map(Value::Id);
    ordered::<Option<crate::Id<super::support::Account>>>(engine, &[&[Value::Null], &ids[..]].concat());
    ordered::<Option<bool>>(engine, &[Value::Null, Value::Bool(false), Value::Bool(true)]);
}

pub fn null_matches_equality_and_lists_but_no_range(engine: &Factory) {
    let (store, table) = with_values::<Option<i64>>(engine, &[Value::Null, Value::Integer(1), Value::Null]);
    store.read(|db| {
        let asked = |shape: &dyn Fn(&mut Plan)| {
            let mut plan = Plan::new(table, Some(&table.indexes[0]));
            shape(&mut plan);
            let rows = found(db.reader(), &plan);
            assert_eq!(db.reader().count(&plan).unwrap(), rows.len() as u64);
            rows
        };
        let (null, one) = (Value::Null, Value::Integer(1));
        assert_eq!(asked(&|plan| plan.eq = vec![Value::Null]), [null.clone(), null.clone()]);
        assert_eq!(
            asked(&|plan| plan.any = Some(vec![Value::Integer(1), Value::Null])),
            [null.clone(), null, one.clone()]
        );
        assert_eq!(asked(&|plan| plan.any = Some(vec![])), []);
        assert_eq!(asked(&|plan| plan.range = Some((Bound::Unbounded, Bound::Unbounded))), std::slice::from_ref(&one));
        assert_eq!(asked(&|plan| plan.range = Some((Bound::Included(Value::Null), Bound::Unbounded))), [one]);
        assert_eq!(asked(&|plan| plan.range = Some((Bound::Unbounded, Bound::Excluded(Value::Null)))), []);
        assert_eq!(asked(&|plan| plan.limit = Some(0)), []);
    });
}

pub fn read_of_keys_reads_no_other_field(engine: &Factory) {
    static TABLE: TableDef = TableDef {
        name: "pairs",
        prefix: "pair",
        fields: &[field::<i64>("key"), field::<String>("rest")],
        indexes: &[IndexDef { name: "by_key", keys: &[key(0)], unique: false, when: None }],
        file: file!(),
        line: line!(),
    };
    let store = TestStore::new(engine, &[&TABLE]);
    start(&store, |transaction| {
        (1..=3).try_for_each(|id| {
            let key = i64::try_from(id).unwrap_or_default();
            transaction.insert(&TABLE, id, 1, &[Value::Integer(-key), Value::Text("rest".to_owned())])
        })
    })
    .wait()
    .unwrap();
    store.read(|db| {
        let mut plan = Plan::new(&TABLE, Some(&TABLE.indexes[0]));
        plan.keys_only = true;
        let (before, mut seen) = (db.reader().rows_visited(), Vec::new());
        let visit = &mut |row: &dyn crate::Row| {
            seen.push((row.id()?, row.value(0)?.to_value(), row.value(1)?.to_value()));
            Ok(ControlFlow::Continue(()))
        };
        db.reader().select(&plan, visit).unwrap();
        let key = |id, key| (id, Value::Integer(key), Value::Null);
        assert_eq!(seen, [key(3, -3), key(2, -2), key(1, -1)]);
        assert_eq!((db.reader().rows_visited() - before, db.reader().keys_visited()), (0, 3));
    });
}

pub fn list_condition_has_a_length_limit(engine: &Factory) {
    let (store, table) = with_values::<i64>(engine, &[Value::Integer(5), Value::Integer(-1)]);
    store.read(|db| {
        let mut plan = Plan::new(table, Some(&table.indexes[0]));
        let list = |count: usize| (0..count as i64).map(Value::Integer).collect::<Vec<_>>();
        plan.any = Some(list(LIST_MAX));
        assert_eq!(found(db.reader(), &plan), [Value::Integer(5)]);
        plan.any = Some(list(LIST_MAX + 1));
        let refused = db.reader().select(&plan, &mut |_| Ok(ControlFlow::Continue(())));
        assert!(matches!(refused, Err(StoreError::Engine(_))), "{refused:?}");
        // More ids than one statement can look up.
        let ids: Vec<u128> = (0..=2 * LIST_MAX as u128).collect();
        let mut seen = Vec::new();
        let visit = &mut |row: &dyn crate::Row| {
            seen.push(row.id()?);
            Ok(ControlFlow::Continue(()))
        };
        db.reader().get_many(table, &ids, visit).unwrap();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
    });
}

pub fn visitor_can_stop_and_its_error_is_returned(engine: &Factory) {
    let values: Vec<Value> = (0..10).map(Value::Integer).collect();
    let (store, table) = with_values::<i64>(engine, &values);
    store.read(|db| {
        let (plan, mut seen) = (Plan::new(table, Some(&table.indexes[1])), 0);
        let visit = &mut |_: &dyn crate::Row| {
            seen += 1;
            Ok(if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        db.reader().select(&plan, visit).unwrap();
        assert_eq!(seen, 3);
        let failed = db.reader().select(&plan, &mut |_| Err(StoreError::BadCursor));
        assert!(matches!(failed, Err(StoreError::BadCursor)));
        assert_eq!(db.reader().count(&plan).unwrap(), 10);
    });
}
