//! Recorded reads: a commit that changes none of them does not change the result.

use std::cell::Cell;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::support::{Account, ByOwner, Factory, TestStore, balance, db, field, open, reads, start};
use crate::schema::table::Bytes;
use crate::{
    Access, Commit, Condition, DbMut, FieldDef, Id, IndexDef, KeyDef, Literal, Plan, ReadSet, Reader, RecordingReader,
    Row, StoreError, Table as _, TableDef, Transaction, Value,
};
use convoke_core::clock::Millis;

const FIELDS: &[FieldDef] = &[
    field::<Option<i64>>("a"),
    field::<Option<String>>("b"),
    field::<i64>("c"),
    field::<Option<f64>>("d"),
    field::<bool>("e"),
    field::<Option<Bytes>>("f"),
    field::<Option<Id<Account>>>("g"),
];

/// A value from a small set, so that rows conflict.
fn value(field: usize, choice: u8) -> Value {
    let pick = |values: &[Value]| values[usize::from(choice) % values.len()].clone();
    let text = |text: &str| Value::Text(text.to_owned());
    match field {
        0 => pick(&[Value::Null, Value::Integer(i64::MIN), Value::Integer(0), Value::Integer(7)]),
        1 => pick(&[Value::Null, text(""), text("a"), text("a\u{1}"), text("ab"), text("ä")]),
        2 => pick(&[Value::Integer(-1), Value::Integer(0), Value::Integer(1), Value::Integer(i64::MAX)]),
        3 => pick(&[
            Value::Null,
            Value::Float(f64::NEG_INFINITY),
            Value::Float(-0.5),
            Value::Float(-0.0),
            Value::Float(0.0),
        ]),
        4 => pick(&[Value::Bool(false), Value::Bool(true)]),
        5 => pick(&[
            Value::Null,
            Value::Bytes(vec![]),
            Value::Bytes(vec![0]),
            Value::Bytes(vec![0, 0]),
            Value::Bytes(vec![255]),
        ]),
        _ => pick(&[Value::Null, Value::Id(1), Value::Id(u128::MAX), Value::Id(1 << 64)]),
    }
}

/// Ids in an order other than that of insertion.
fn id(choice: u8) -> u128 {
    u128::from(choice.reverse_bits()) << 100 | u128::from(choice)
}

const IDS: std::ops::Range<u8> = 0..20;

/// A table with indexes of all forms. It lives as long as the test process.
fn table() -> impl Strategy<Value = &'static TableDef> {
    let keys = subsequence((0..FIELDS.len()).collect::<Vec<_>>(), 1..4).prop_shuffle();
    let condition = prop_oneof![
        6 => Just(None),
        1 => Just(Some(Condition::NotNull("b"))),
        1 => Just(Some(Condition::IsNull("a"))),
        1 => Just(Some(Condition::Equals("e", Literal::Bool(true)))),
    ];
    let index = (keys, any::<u8>(), prop::bool::weighted(0.2), condition);
    vec(index, 1..6).prop_map(|indexes| {
        let index = |(number, (keys, downward, unique, when)): (usize, (Vec<usize>, u8, bool, Option<Condition>))| {
            let key = |(place, field)| KeyDef { field, descending: downward >> place & 1 == 1 };
            let keys: Vec<KeyDef> = keys.into_iter().enumerate().map(key).collect();
            IndexDef { name: format!("by_{number}").leak(), keys: keys.leak(), unique, when }
        };
        let indexes: Vec<IndexDef> = indexes.into_iter().enumerate().map(index).collect();
        let (file, line) = (file!(), line!());
        &*Box::leak(Box::new(TableDef {
            name: "mixed",
            prefix: "mixed",
            fields: FIELDS,
            indexes: indexes.leak(),
            file,
            line,
        }))
    })
}

/// A query in numbers that are valid for any table.
#[derive(Clone, Debug)]
enum Ask {
    Get(u8),
    GetMany(Vec<u8>),
    Select { plan: AskedPlan, stop_after: Option<u8>, keys_only: bool },
    Count(AskedPlan),
}

#[derive(Clone, Debug)]
struct AskedPlan {
    index: u8,
    eq: Vec<u8>,
    next: Next,
    reverse: bool,
    limit: Option<u8>,
    after: Option<([u8; 7], u8)>,
}

#[derive(Clone, Debug)]
enum Next {
    Nothing,
    Any(Vec<u8>),
    Range(Bound<u8>, Bound<u8>),
}

fn ask() -> impl Strategy<Value = Ask> {
    let stop = prop::option::of(0..4u8);
    prop_oneof![
        1 => IDS.prop_map(Ask::Get),
        1 => vec(IDS, 0..5).prop_map(Ask::GetMany),
        6 => (asked_plan(), stop, any::<bool>()).prop_map(|(plan, stop_after, keys_only)| Ask::Select { plan, stop_after, keys_only }),
        2 => asked_plan().prop_map(Ask::Count),
    ]
}

fn asked_plan() -> impl Strategy<Value = AskedPlan> {
    let bound = || {
        prop_oneof![
            any::<u8>().prop_map(Bound::Included),
            any::<u8>().prop_map(Bound::Excluded),
            Just(Bound::Unbounded)
        ]
    };
    let next = prop_oneof![
        3 => Just(Next::Nothing),
        1 => vec(any::<u8>(), 0..4).prop_map(Next::Any),
        2 => (bound(), bound()).prop_map(|(start, end)| Next::Range(start, end)),
    ];
    let after = prop::option::of((any::<[u8; 7]>(), IDS));
    (any::<u8>(), vec(any::<u8>(), 0..3), next, any::<bool>(), prop::option::of(0..5u8), after)
        .prop_map(|(index, eq, next, reverse, limit, after)| AskedPlan { index, eq, next, reverse, limit, after })
}

impl AskedPlan {
    fn plan(&self, table: &'static TableDef) -> Plan {
        let index = table.indexes.get(usize::from(self.index) % (table.indexes.len() + 1));
        let mut plan = Plan::new(table, index);
        plan.reverse = self.reverse;
        plan.limit = self.limit.map(u64::from);
        let keys = index.map_or(&[][..], |index| index.keys);
        plan.eq = keys.iter().zip(&self.eq).map(|(key, choice)| value(key.field, *choice)).collect();
        plan.after = self.after.map(|(values, at)| {
            let place = keys.iter().enumerate().map(|(number, key)| {
                plan.eq.get(number).cloned().unwrap_or_else(|| value(key.field, values[key.field]))
            });
            (place.collect(), id(at))
        });
        let Some(next) = keys.get(plan.eq.len()) else { return plan };
        match &self.next {
            Next::Nothing => {}
            Next::Any(choices) => {
                let mut values: Vec<Value> = Vec::new();
                for choice in choices {
                    let value = value(next.field, *choice);
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
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

/// Returns the result of a query as bytes.
fn told(reader: &dyn Reader, table: &'static TableDef, ask: &Ask) -> Vec<u8> {
    let mut rows = Vec::new();
    let stop_after = match ask {
        Ask::Select { stop_after: Some(rows), .. } => usize::from(*rows),
        Ask::Get(_) | Ask::GetMany(_) | Ask::Select { .. } | Ask::Count(_) => usize::MAX,
    };
    let mut visit = |row: &dyn Row| -> Result<ControlFlow<()>, StoreError> {
        let values = (0..FIELDS.len()).map(|place| row.value(place).map(|value| value.to_value()));
        rows.push(format!("{:x} {:?}\n", row.id()?, values.collect::<Result<Vec<_>, _>>()?));
        Ok(if rows.len() >= stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    match ask {
        Ask::Get(at) => drop(reader.get(table, id(*at), &mut visit).unwrap()),
        Ask::GetMany(ids) => {
            let ids: Vec<u128> = ids.iter().map(|at| id(*at)).collect();
            reader.get_many(table, &ids, &mut visit).unwrap();
            // Their order is undefined.
            rows.sort();
        }
        Ask::Select { plan, keys_only, .. } => {
            let plan = Plan { keys_only: *keys_only, ..plan.plan(table) };
            reader.select(&plan, &mut visit).unwrap();
        }
        Ask::Count(plan) => return reader.count(&plan.plan(table)).unwrap().to_string().into_bytes(),
    }
    rows.concat().into_bytes()
}

#[derive(Clone, Debug)]
enum Write {
    Insert { id: u8, values: [u8; 7] },
    Update { id: u8, changes: Vec<(u8, u8)> },
    Delete { id: u8 },
    Attempt { writes: Vec<Write>, kept: bool },
}

fn write() -> impl Strategy<Value = Write> {
    let one = prop_oneof![
        4 => (IDS, any::<[u8; 7]>()).prop_map(|(id, values)| Write::Insert { id, values }),
        3 => (IDS, vec((0..7u8, any::<u8>()), 0..3)).prop_map(|(id, changes)| Write::Update { id, changes }),
        2 => IDS.prop_map(|id| Write::Delete { id }),
    ];
    one.prop_recursive(2, 4, 3, |one| {
        (vec(one, 0..3), any::<bool>()).prop_map(|(writes, kept)| Write::Attempt { writes, kept })
    })
}

fn carry_out(writer: &Transaction, table: &'static TableDef, writes: &[Write]) -> Result<(), StoreError> {
    for write in writes {
        let done = match write {
            Write::Insert { id: at, values } => {
                let values: Vec<Value> = (0..7).map(|field| value(field, values[field])).collect();
                writer.insert(table, id(*at), 5, &values)
            }
            Write::Update { id: at, changes } => {
                let changes: Vec<(usize, Value)> =
                    changes.iter().map(|(field, choice)| ((*field).into(), value((*field).into(), *choice))).collect();
                writer.update(table, id(*at), &[], &changes).map(drop)
            }
            Write::Delete { id: at } => writer.delete(table, id(*at)).map(drop),
            Write::Attempt { writes, kept } => {
                writer.savepoint()?;
                carry_out(writer, table, writes)?;
                if *kept { writer.release() } else { writer.rollback() }
            }
        };
        match done {
            Ok(()) | Err(StoreError::UniqueViolation { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn mutate(store: &TestStore, table: &'static TableDef, writes: &[Write]) {
    let writes = writes.to_vec();
    start(store, move |writer: Rc<Transaction>| carry_out(&writer, table, &writes)).wait().unwrap();
}

struct Known {
    ask: Ask,
    bytes: Vec<u8>,
    reads: ReadSet,
    commit: Commit,
}

fn run(store: &TestStore, table: &'static TableDef, ask: &Ask, noted_max: usize) -> Known {
    let read = |reader: Rc<dyn Reader>| {
        let commit = reader.pin().unwrap();
        let recorder = RecordingReader::new(reader, noted_max);
        let bytes = told(&recorder, table, ask);
        Known { ask: ask.clone(), bytes, reads: recorder.take(), commit }
    };
    store.read_blocking(Access::Everyone, read).unwrap()
}

/// Number of runs of queries: caused by a commit; of these, with other bytes; not caused.
#[derive(Default)]
struct Runs {
    caused: Cell<u32>,
    different: Cell<u32>,
    untouched: Cell<u32>,
}

fn add(count: &Cell<u32>, more: u32) {
    count.set(count.get() + more);
}

/// A sequence of changes of a table and queries between them.
#[derive(Clone, Debug)]
struct History {
    table: &'static TableDef,
    rows: Vec<(u8, [u8; 7])>,
    asks: Vec<Ask>,
    commits: Vec<Vec<Write>>,
    is_watched: bool,
    noted_max: usize,
}

fn history() -> impl Strategy<Value = History> {
    let rows = vec((IDS, any::<[u8; 7]>()), 0..16);
    let commits = vec(vec(write(), 1..4), 1..12);
    let noted_max = prop_oneof![5 => Just(1_000_usize), 1 => Just(2)];
    (table(), rows, vec(ask(), 1..24), commits, prop::bool::weighted(0.9), noted_max).prop_map(
        |(table, rows, asks, commits, is_watched, noted_max)| History {
            table,
            rows,
            asks,
            commits,
            is_watched,
            noted_max,
        },
    )
}

fn follow(engine: &Factory, history: History, runs: &Runs) -> Result<(), TestCaseError> {
    let History { table, rows, asks, commits, is_watched, noted_max } = history;
    let store = TestStore::new(engine, &[table]);
    if is_watched {
        store.commits().watch(table.name);
    }
    let rows: Vec<Write> = rows.into_iter().map(|(id, values)| Write::Insert { id, values }).collect();
    mutate(&store, table, &rows);
    let mut known: Vec<Known> = asks.iter().map(|ask| run(&store, table, ask, noted_max)).collect();
    for writes in &commits {
        mutate(&store, table, writes);
        for known in &mut known {
            let since = store.commits().since(known.commit).expect("the log goes back so far");
            let is_touched = since.iter().any(|committed| known.reads.is_touched_by(&committed.changes));
            let now = run(&store, table, &known.ask, noted_max);
            let is_different = now.bytes != known.bytes;
            prop_assert!(
                is_touched || !is_different,
                "{:?} was {:?} and is {:?}, untouched by {since:?}; it had read {:?}",
                known.ask,
                String::from_utf8_lossy(&known.bytes),
                String::from_utf8_lossy(&now.bytes),
                known.reads
            );
            if is_touched {
                add(&runs.caused, 1);
                add(&runs.different, u32::from(is_different));
                *known = now;
            } else {
                add(&runs.untouched, 1);
            }
        }
    }
    Ok(())
}

pub fn read_without_a_commit_keeps_its_bytes_and_most_others_change(engine: &Factory) {
    let config = ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    let runs = Runs::default();
    let ran = TestRunner::new(config).run(&history(), |history| follow(engine, history, &runs));
    ran.unwrap_or_else(|failed| panic!("{failed}"));
    let [caused, different, untouched] = [&runs.caused, &runs.different, &runs.untouched].map(Cell::get);
    assert!(different * 4 > caused && untouched > caused / 4, "{different} of {caused} differ, {untouched} not caused");
}

pub fn pinned_snapshot_shows_its_commit_and_later_rows_are_published_later(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    store.mutate(|db| open(db, "a", 0)).unwrap();
    let first = store.commits().newest();
    let writing = store.store.clone();
    let (ids, reads) = (store.ids.clone(), reads());
    let writer = std::thread::spawn(move || {
        for balance in 1..=300 {
            let ids = ids.clone();
            let written = start(&writing, move |writer| {
                let mut db = DbMut::new(writer, reads, ids.clone(), Millis(1_000));
                let account = db.query(ByOwner).eq("a").unique()?.unwrap();
                db.patch(account.id(), |account| account.balance = balance).map(drop)
            });
            written.wait().unwrap();
        }
    });
    let mut seen = Vec::new();
    while !writer.is_finished() {
        let read = |reader: Rc<dyn Reader>| {
            let commit = reader.pin().unwrap();
            (commit, balance(&db(reader), "a").unwrap())
        };
        seen.push(store.read_blocking(Access::Everyone, read).unwrap());
    }
    writer.join().unwrap();
    let commits: Vec<Commit> = store.commits().since(first).unwrap().iter().map(|committed| committed.commit).collect();
    assert_eq!(commits.len(), 300);
    assert!(commits.is_sorted_by(|one, next| one < next));
    for (commit, balance) in seen {
        let number = commits.partition_point(|other| *other <= commit);
        assert!(i64::try_from(number).unwrap() <= balance, "{balance} after {number} commits");
    }
}

pub fn commit_numbers_grow_over_a_restart_and_failed_commits_are_not_published(engine: &Factory) {
    let tables = [Account::DEF];
    let store = TestStore::new(engine, &tables);
    store.commits().watch("accounts");
    let before = store.commits().newest();
    store.mutate(|db| open(db, "a", 1)).unwrap();
    let written = store.commits().newest();
    assert!(written > before);
    let refused = store.mutate(|db| {
        open(db, "b", 1)?;
        open(db, "a", 2)
    });
    assert!(refused.is_err());
    store.mutate(|db| Ok(balance(db, "a"))).unwrap();
    assert_eq!(store.commits().newest(), written, "nothing was written");
    let rows = |commit| -> usize {
        store.commits().since(commit).unwrap().iter().map(|committed| committed.changes.rows.len()).sum()
    };
    assert_eq!(rows(before), 1);
    // Commits continue from the time of the start, in milliseconds. No process restarts within the millisecond of its
    // last commit, but an engine in memory would.
    std::thread::sleep(Duration::from_millis(2));
    let store = store.reopened(&tables);
    assert!(store.commits().newest() >= written);
    assert!(store.commits().since(written).is_none_or(|since| since.is_empty()));
    store.mutate(|db| open(db, "c", 1)).unwrap();
    assert!(store.commits().newest() > written);
}

pub fn write_outside_the_writer_invalidates_every_read(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    let before = store.commits().newest();
    store.apply_schema().unwrap();
    let since = store.commits().since(before).unwrap();
    assert!(since.iter().any(|committed| committed.changes.everything));
}
