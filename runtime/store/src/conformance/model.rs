//! Compares every operation of a transaction with a plain list of rows.

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::support::{Account, Factory, Pending, TestStore, down, field, key, start, together};
use crate::schema::table::Bytes;
use crate::{Condition, Id, IndexDef, Literal, Plan, Reader, Row, StoreError, TableDef, Transaction, Value};

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const D: usize = 3;
const E: usize = 4;
const F: usize = 5;
const G: usize = 6;
/// These two fields are in no index.
const H: usize = 7;
const I: usize = 8;
const FIELDS: usize = 9;

static TABLE: TableDef = TableDef {
    name: "mixed",
    prefix: "mixed",
    fields: &[
        field::<Option<i64>>("a"),
        field::<Option<String>>("order"),
        field::<i64>("c"),
        field::<Option<f64>>("d"),
        field::<bool>("e"),
        field::<Option<Bytes>>("f"),
        field::<Option<Id<Account>>>("g"),
        field::<Option<String>>("h"),
        field::<f64>("i"),
    ],
    indexes: &[
        index("by_a_b", &[key(A), key(B)]),
        index("by_a_down", &[down(A), key(C)]),
        index("by_b_down_d", &[down(B), key(D)]),
        index("by_d_b_down", &[key(D), down(B)]),
        index("by_e", &[key(E)]),
        index("by_f_e", &[key(F), key(E)]),
        index("by_all", &[key(E), down(C), key(A), key(G)]),
        IndexDef { name: "one_c_e", keys: &[key(C), key(E), key(D)], unique: true, when: None },
        IndexDef { name: "one_c_b", keys: &[key(C), down(E)], unique: true, when: Some(Condition::NotNull("order")) },
        IndexDef { name: "one_a_g", keys: &[key(A), down(G)], unique: true, when: None },
        IndexDef {
            name: "one_b_while_e",
            keys: &[key(B)],
            unique: true,
            when: Some(Condition::Equals("e", Literal::Bool(true))),
        },
        IndexDef {
            name: "by_c_while_quote",
            keys: &[key(C)],
            unique: false,
            when: Some(Condition::Equals("order", Literal::Text("it's"))),
        },
        IndexDef { name: "by_g_without_a", keys: &[key(G)], unique: false, when: Some(Condition::IsNull("a")) },
    ],
    file: file!(),
    line: line!(),
};

/// The committed mutations, in order.
static STEPS: TableDef = TableDef {
    name: "steps",
    prefix: "step",
    fields: &[field::<i64>("number")],
    indexes: &[],
    file: file!(),
    line: line!(),
};

const fn index(name: &'static str, keys: &'static [crate::KeyDef]) -> IndexDef {
    IndexDef { name, keys, unique: false, when: None }
}

/// A value from a small set, so that rows conflict.
fn value(field: usize, choice: u8) -> Value {
    let pick = |values: &[Value]| values[usize::from(choice) % values.len()].clone();
    let text = |text: &str| Value::Text(text.to_owned());
    let integers = [Value::Integer(-1), Value::Integer(0), Value::Integer(1), Value::Integer(i64::MAX)];
    match field {
        A => pick(&[Value::Null, Value::Integer(i64::MIN), Value::Integer(0), Value::Integer(7)]),
        B => pick(&[Value::Null, text(""), text("Z"), text("a"), text("it's"), text("ä")]),
        C => pick(&integers),
        D => pick(&[
            Value::Null,
            Value::Float(f64::NEG_INFINITY),
            Value::Float(-0.5),
            Value::Float(0.0),
            Value::Float(3.0),
        ]),
        E => pick(&[Value::Bool(false), Value::Bool(true)]),
        F => pick(&[Value::Null, Value::Bytes(vec![]), Value::Bytes(vec![0]), Value::Bytes(vec![255, 1])]),
        G => pick(&[Value::Null, Value::Id(1), Value::Id(u128::MAX), Value::Id(1 << 64)]),
        H => pick(&[Value::Null, text(""), text("one"), text("other")]),
        _ => pick(&[Value::Float(-0.0), Value::Float(1.0), Value::Float(1e300), Value::Float(0.5)]),
    }
}

/// Ids in an order other than that of insertion.
fn id(choice: u8) -> u128 {
    u128::from(choice.reverse_bits()) << 100 | u128::from(choice)
}

#[derive(Clone, Debug)]
enum Op {
    Insert { id: u8, values: [u8; FIELDS] },
    Update { id: u8, changes: Vec<(usize, u8)> },
    Delete { id: u8 },
    Get { id: u8 },
    GetMany { ids: Vec<u8> },
    Select(Ask),
    Savepoint,
    Release,
    Rollback,
}

/// A plan in numbers that are always valid.
#[derive(Clone, Debug)]
struct Ask {
    index: u8,
    eq: Vec<u8>,
    next: Next,
    reverse: bool,
    limit: Option<u8>,
    after: Option<([u8; FIELDS], u8)>,
}

#[derive(Clone, Debug)]
enum Next {
    Nothing,
    Any(Vec<u8>),
    Range(Bound<u8>, Bound<u8>),
}

/// An operation on one of this number of rows.
fn op(rows: u8) -> impl Strategy<Value = Op> {
    let few = 0..rows;
    prop_oneof![
        6 => (few.clone(), any::<[u8; FIELDS]>()).prop_map(|(id, values)| Op::Insert { id, values }),
        2 => (few.clone(), vec((0..FIELDS, any::<u8>()), 0..4)).prop_map(|(id, changes)| Op::Update { id, changes }),
        2 => (few.clone(), vec((H..=I, any::<u8>()), 1..3)).prop_map(|(id, changes)| Op::Update { id, changes }),
        1 => few.clone().prop_map(|id| Op::Delete { id }),
        2 => few.clone().prop_map(|id| Op::Get { id }),
        1 => vec(few, 0..9).prop_map(|ids| Op::GetMany { ids }),
        8 => ask().prop_map(Op::Select),
        1 => Just(Op::Savepoint),
        1 => Just(Op::Release),
        1 => Just(Op::Rollback),
    ]
}

fn ask() -> impl Strategy<Value = Ask> {
    let bound = || {
        prop_oneof![
            any::<u8>().prop_map(Bound::Included),
            any::<u8>().prop_map(Bound::Excluded),
            Just(Bound::Unbounded)
        ]
    };
    let next = prop_oneof![
        3 => Just(Next::Nothing),
        1 => vec(any::<u8>(), 0..6).prop_map(Next::Any),
        2 => (bound(), bound()).prop_map(|(start, end)| Next::Range(start, end)),
    ];
    (
        any::<u8>(),
        vec(any::<u8>(), 0..4),
        next,
        any::<bool>(),
        proptest::option::of(0..6u8),
        proptest::option::of((any::<[u8; FIELDS]>(), 0..24u8)),
    )
        .prop_map(|(index, eq, next, reverse, limit, after)| Ask { index, eq, next, reverse, limit, after })
}

impl Ask {
    fn plan(&self) -> Plan {
        let choice = usize::from(self.index) % (TABLE.indexes.len() + 1);
        let index = TABLE.indexes.get(choice);
        let mut plan = Plan::new(&TABLE, index);
        plan.reverse = self.reverse;
        plan.limit = self.limit.map(u64::from);
        let keys = index.map_or(&[][..], |index| index.keys);
        plan.after = self
            .after
            .map(|(values, at)| (keys.iter().map(|key| value(key.field, values[key.field])).collect(), id(at)));
        for (key, choice) in keys.iter().zip(&self.eq) {
            plan.eq.push(value(key.field, *choice));
        }
        // The values of the cursor must match the fixed keys.
        if let Some((values, _)) = &mut plan.after {
            values.splice(..plan.eq.len(), plan.eq.iter().cloned());
        }
        let Some(next) = keys.get(plan.eq.len()) else { return plan };
        match &self.next {
            Next::Nothing => {}
            Next::Any(choices) => {
                let mut values: Vec<Value> = choices.iter().map(|choice| value(next.field, *choice)).collect();
                values.dedup();
                plan.any = Some(values);
            }
            Next::Range(start, end) => {
                let bound = |bound: &Bound<u8>| bound.map(|choice| value(next.field, choice));
                plan.range = Some((bound(start), bound(end)));
            }
        }
        plan
    }
}

/// The rows, in no order.
#[derive(Clone, Debug, Default)]
struct Model {
    rows: Vec<(u128, Vec<Value>)>,
}

fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Integer(one), Value::Integer(other)) => one.cmp(other),
        (Value::Float(one), Value::Float(other)) => one.partial_cmp(other).unwrap(),
        (Value::Text(one), Value::Text(other)) => one.as_bytes().cmp(other.as_bytes()),
        (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
        (Value::Id(one), Value::Id(other)) => one.cmp(other),
        _ => panic!("{one:?} and {other:?} are of two types"),
    }
}

fn holds(when: Option<Condition>, values: &[Value]) -> bool {
    let of = |name: &str| &values[TABLE.field(name).unwrap()];
    match when {
        None => true,
        Some(Condition::Equals(name, literal)) => *of(name) == literal.value(),
        Some(Condition::IsNull(name)) => *of(name) == Value::Null,
        Some(Condition::NotNull(name)) => *of(name) != Value::Null,
    }
}

impl Model {
    fn row(&self, id: u128) -> Option<&Vec<Value>> {
        self.rows.iter().find(|(other, _)| *other == id).map(|(_, values)| values)
    }

    /// Returns the unique indexes that reject these values, for a new row or as a replacement of the row `id`.
    fn violations(&self, id: Option<u128>, values: &[Value]) -> Vec<&'static str> {
        let mut violated = Vec::new();
        for index in TABLE.indexes.iter().filter(|index| index.unique && holds(index.when, values)) {
            let keys = |values: &[Value]| index.keys.iter().map(|key| values[key.field].clone()).collect::<Vec<_>>();
            let mine = keys(values);
            let collides = |(other, theirs): &(u128, Vec<Value>)| {
                Some(*other) != id && holds(index.when, theirs) && keys(theirs) == mine
            };
            if !mine.contains(&Value::Null) && self.rows.iter().any(collides) {
                violated.push(index.name);
            }
        }
        violated
    }

    fn select(&self, plan: &Plan) -> Vec<(u128, Vec<Value>)> {
        let keys = plan.index.map_or(&[][..], |index| index.keys);
        let unique = plan.index.is_some_and(|index| index.unique);
        let order = |one: (&[Value], u128), other: (&[Value], u128)| {
            let by_keys = keys.iter().enumerate().fold(Ordering::Equal, |so_far, (place, key)| {
                let next = compare(&one.0[place], &other.0[place]);
                so_far.then(if key.descending { next.reverse() } else { next })
            });
            let alike = unique && !one.0.contains(&Value::Null);
            let order = by_keys.then(if alike { Ordering::Equal } else { one.1.cmp(&other.1) });
            if plan.reverse { order.reverse() } else { order }
        };
        let of = |values: &[Value]| keys.iter().map(|key| values[key.field].clone()).collect::<Vec<_>>();
        let mut rows: Vec<_> = self
            .rows
            .iter()
            .filter(|(id, values)| {
                let mine = of(values);
                let next = mine.get(plan.eq.len());
                plan.index.is_none_or(|index| holds(index.when, values))
                    && mine.starts_with(&plan.eq)
                    && plan.any.as_ref().is_none_or(|any| any.contains(next.unwrap()))
                    && plan.range.as_ref().is_none_or(|range| within(range, next.unwrap()))
                    && plan
                        .after
                        .as_ref()
                        .is_none_or(|(place, at)| order((&mine, *id), (place, *at)) == Ordering::Greater)
            })
            .cloned()
            .collect();
        rows.sort_by(|(one, ones), (other, others)| order((&of(ones), *one), (&of(others), *other)));
        rows.truncate(plan.limit.map_or(usize::MAX, |limit| limit as usize));
        rows
    }
}

fn within((start, end): &(Bound<Value>, Bound<Value>), value: &Value) -> bool {
    let after = match start {
        Bound::Unbounded => true,
        Bound::Included(start) => compare(value, start).is_ge(),
        Bound::Excluded(start) => compare(value, start).is_gt(),
    };
    let before = match end {
        Bound::Unbounded => true,
        Bound::Included(end) => compare(value, end).is_le(),
        Bound::Excluded(end) => compare(value, end).is_lt(),
    };
    *value != Value::Null && after && before
}

fn read(row: &dyn Row) -> Result<(u128, Vec<Value>), StoreError> {
    let values = (0..TABLE.fields.len()).map(|place| row.value(place).map(|value| value.to_value()));
    Ok((row.id()?, values.collect::<Result<_, _>>()?))
}

/// Returns all rows of a visit.
fn gather(
    visit: impl FnOnce(&mut crate::reader::Visit<'_>) -> Result<(), StoreError>,
) -> Result<Vec<(u128, Vec<Value>)>, StoreError> {
    let mut rows = Vec::new();
    visit(&mut |row| {
        rows.push(read(row)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

/// Compares the result of each operation. An engine may report a write as valid before it knows, and fail the next
/// operation if that was wrong: then the mutation runs again.
///
/// # Errors
/// The transaction is lost.
fn run(transaction: &Transaction, mut model: Model, ops: &[Op]) -> Result<Model, StoreError> {
    let is_known = || transaction.count(&Plan::new(&TABLE, None)).map(drop);
    let mut saved = Vec::new();
    for op in ops {
        match op {
            Op::Insert { id: at, values } => {
                let values: Vec<Value> = (0..FIELDS).map(|field| value(field, values[field])).collect();
                let mut violated = model.violations(None, &values);
                if model.row(id(*at)).is_some() {
                    violated.push("_id");
                }
                match transaction.insert(&TABLE, id(*at), 5, &values) {
                    Ok(()) if violated.is_empty() => model.rows.push((id(*at), values)),
                    Ok(()) => {
                        is_known()?;
                        panic!("{violated:?} did not refuse {values:?}");
                    }
                    Err(StoreError::UniqueViolation { index, .. }) => {
                        assert!(violated.contains(&index), "{index} refused {values:?}, not {violated:?}");
                    }
                    Err(error) => return Err(error),
                }
            }
            Op::Update { id: at, changes } => {
                let mut changes: Vec<(usize, Value)> =
                    changes.iter().map(|(field, choice)| (*field, value(*field, *choice))).collect();
                changes.sort_by_key(|(field, _)| *field);
                changes.dedup_by_key(|(field, _)| *field);
                let old = model.row(id(*at)).cloned();
                let new = old.clone().map(|mut values| {
                    changes.iter().for_each(|(field, value)| values[*field] = value.clone());
                    values
                });
                let violated = new.as_ref().map_or(vec![], |new| model.violations(Some(id(*at)), new));
                changes.reverse();
                match transaction.update(&TABLE, id(*at), &[], &changes) {
                    Ok(found) => {
                        if !violated.is_empty() {
                            is_known()?;
                            panic!("{violated:?} did not refuse {changes:?}");
                        }
                        assert_eq!(found, old.is_some());
                        if let Some(new) = new {
                            model.rows.iter_mut().find(|(other, _)| *other == id(*at)).unwrap().1 = new;
                        }
                    }
                    Err(StoreError::UniqueViolation { index, .. }) => assert!(violated.contains(&index)),
                    Err(error) => return Err(error),
                }
            }
            Op::Delete { id: at } => {
                let found = transaction.delete(&TABLE, id(*at))?;
                assert_eq!(found, model.row(id(*at)).is_some());
                model.rows.retain(|(other, _)| *other != id(*at));
            }
            Op::Get { .. } | Op::GetMany { .. } | Op::Select(_) => check(transaction, &model, op)?,
            Op::Savepoint => {
                transaction.savepoint()?;
                saved.push(model.clone());
            }
            Op::Release => match saved.pop() {
                Some(_) => transaction.release()?,
                None => assert!(transaction.release().is_err()),
            },
            Op::Rollback => match saved.pop() {
                Some(old) => {
                    transaction.rollback()?;
                    model = old;
                }
                None => assert!(transaction.rollback().is_err()),
            },
        }
    }
    Ok(model)
}

/// Compares the result of one reading operation.
///
/// # Errors
/// The transaction is lost.
fn check(transaction: &dyn Reader, model: &Model, op: &Op) -> Result<(), StoreError> {
    match op {
        Op::Get { id: at } => {
            let rows = gather(|visit| transaction.get(&TABLE, id(*at), visit).map(|_| ()))?;
            assert_eq!(rows.first().map(|(_, values)| values), model.row(id(*at)));
        }
        Op::GetMany { ids } => {
            let ids: Vec<u128> = ids.iter().map(|at| id(*at)).collect();
            let mut rows = gather(|visit| transaction.get_many(&TABLE, &ids, visit))?;
            let mut expected: Vec<_> = model.rows.iter().filter(|(id, _)| ids.contains(id)).cloned().collect();
            rows.sort_by_key(|(id, _)| *id);
            expected.sort_by_key(|(id, _)| *id);
            assert_eq!(rows, expected);
        }
        Op::Select(ask) => {
            let plan = ask.plan();
            let expected = model.select(&plan);
            assert_eq!(gather(|visit| transaction.select(&plan, visit))?, expected, "{plan:?}");
            assert_eq!(transaction.count(&plan)?, expected.len() as u64, "{plan:?}");
        }
        _ => {}
    }
    Ok(())
}

fn cases(count: u32) -> TestRunner {
    TestRunner::new(ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() })
}

fn remove_all(store: &TestStore) {
    let removed = start(store, |transaction: Rc<Transaction>| {
        [&TABLE, &STEPS].into_iter().try_for_each(|table| {
            let mut ids = Vec::new();
            transaction.select(&Plan::new(table, None), &mut |row| {
                ids.push(row.id()?);
                Ok(ControlFlow::Continue(()))
            })?;
            ids.into_iter().try_for_each(|id| transaction.delete(table, id).map(drop))
        })
    });
    removed.wait().unwrap();
}

/// Returns the position of the last committed mutation, and its number; zeros before the first one.
///
/// # Errors
/// The transaction is lost.
fn last_step(transaction: &dyn Reader) -> Result<(u128, usize), StoreError> {
    let mut last = (0, 0);
    let plan = Plan { reverse: true, limit: Some(1), ..Plan::new(&STEPS, None) };
    transaction.select(&plan, &mut |row| {
        let Value::Integer(number) = row.value(0)?.to_value() else { panic!("a step without a number") };
        last = (row.id()?, usize::try_from(number).unwrap());
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(last)
}

pub fn every_operation_matches_a_plain_list(engine: &Factory) {
    let store = TestStore::new(engine, &[&TABLE, &STEPS]);
    let ran = cases(300).run(&vec(op(24), 1..120), |ops| {
        remove_all(&store);
        let (writes, reads) = (ops.clone(), ops);
        let pending = start(&store, move |transaction: Rc<Transaction>| run(&transaction, Model::default(), &writes));
        let model = pending.wait().unwrap();
        store.read(|db| reads.iter().for_each(|op| check(db.reader(), &model, op).unwrap()));
        Ok(())
    });
    ran.unwrap_or_else(|failed| panic!("{failed}"));
}

/// What becomes of a mutation after its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Rejected,
    Panicked,
}

/// Mutations that wait together, and then the next ones over their rows.
type History = Vec<Vec<(Fate, Vec<Op>)>>;

fn history() -> impl Strategy<Value = History> {
    let fate = prop_oneof![8 => Just(Fate::Kept), 2 => Just(Fate::Rejected), 1 => Just(Fate::Panicked)];
    vec(vec((fate, vec(op(6), 1..30)), 1..6), 1..6)
}

/// Number of operations in a history, on average.
const HISTORY_OPERATIONS: u64 = 3 * 3 * 15;

pub fn random_mutations_over_stored_rows_match_a_plain_list(engine: &Factory) {
    let operations = std::env::var("CONVOKE_TEST_MODEL_OPERATIONS").map(|count| count.parse::<u64>().unwrap());
    let histories = operations.unwrap_or(15_000).div_ceil(HISTORY_OPERATIONS);
    let store = TestStore::new(engine, &[&TABLE, &STEPS]);
    let ran = cases(u32::try_from(histories).unwrap()).run(&history(), |history| {
        remove_all(&store);
        // The rows after each committed mutation, by its number. The store itself records the last committed one, since
        // an engine may run mutations in any order and concurrently if they are serializable.
        let count = history.iter().map(Vec::len).sum::<usize>();
        let after = Arc::new(Mutex::new(vec![Model::default(); count + 1]));
        let (mut number, mut kept) = (0, 0);
        for mutations in history {
            let reads: Vec<Op> = mutations.iter().flat_map(|(_, ops)| ops.clone()).collect();
            let pending: Vec<_> = together(&store, || {
                let line_up = |(fate, ops): (Fate, Vec<Op>)| {
                    number += 1;
                    (fate, start_with_fate(&store, after.clone(), number, fate, ops))
                };
                mutations.into_iter().map(line_up).collect()
            });
            for (fate, one) in pending {
                match (fate, one.wait()) {
                    (Fate::Kept, Ok(())) => kept += 1,
                    (Fate::Rejected, Err(StoreError::BadCursor)) => {}
                    (Fate::Panicked, Err(StoreError::Panicked(text))) if text == ON_PURPOSE => {}
                    (_, answer) => panic!("{answer:?}"),
                }
            }
            let after = after.lock().unwrap();
            store.read(|db| {
                let (place, last) = last_step(db.reader()).unwrap();
                assert_eq!(place, kept);
                reads.iter().for_each(|op| check(db.reader(), &after[last], op).unwrap());
            });
        }
        Ok(())
    });
    ran.unwrap_or_else(|failed| panic!("{failed}"));
}

/// The message of a panic of a mutation.
const ON_PURPOSE: &str = "on purpose";

/// Queues the mutation with this number.
fn start_with_fate(
    store: &TestStore,
    after: Arc<Mutex<Vec<Model>>>,
    number: usize,
    fate: Fate,
    ops: Vec<Op>,
) -> Pending<()> {
    start(store, move |transaction: Rc<Transaction>| {
        let (place, last) = last_step(&*transaction)?;
        let before = after.lock().unwrap()[last].clone();
        let own = run(&transaction, before, &ops)?;
        match fate {
            Fate::Kept => {}
            Fate::Rejected => return Err(StoreError::BadCursor),
            // Without the message of the panic hook.
            Fate::Panicked => std::panic::resume_unwind(Box::new(ON_PURPOSE)),
        }
        after.lock().unwrap()[number] = own;
        transaction.insert(&STEPS, place + 1, 5, &[Value::Integer(number as i64)])
    })
}
