//! Connections that are cut in every phase of a mutation, while several nodes work: nothing acknowledged is lost, and
//! nothing is done twice. What was read and written fits one order: histories of lists that are appended to are checked
//! for it, and the checker finds the mistake of an isolation that is too low.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use convoke_core::id::Named;
use convoke_store::conformance::support::{
    Account, Factory, TestStore, field, key, open, open_with, patient, reads, start,
};
use convoke_store::{Column, DbMut, IndexDef, Row, Store, StoreError, Table, TableDef, Value};

use crate::postgres;

/// One thing that was appended to a list.
#[derive(Clone, Debug, serde::Serialize)]
struct Entry {
    list: i64,
    what: i64,
}

impl Named for Entry {
    const NAME: &'static str = "entries";
    const PREFIX: &'static str = "entry";
}

impl Table for Entry {
    const DEF: &'static TableDef = &TableDef {
        name: "entries",
        prefix: "entry",
        fields: &[field::<i64>("list"), field::<i64>("place"), field::<i64>("what")],
        indexes: &[IndexDef { name: "by_list", keys: &[key(0), key(1)], unique: false, when: None }],
        file: file!(),
        line: line!(),
    };

    fn encode(&self) -> Vec<Value> {
        vec![self.list.to_value(), 0_i64.to_value(), self.what.to_value()]
    }

    fn decode(row: &dyn Row) -> Result<Self, StoreError> {
        Ok(Self { list: Column::decode(row, Self::DEF, 0)?, what: Column::decode(row, Self::DEF, 2)? })
    }
}

/// The operations of one transaction: lists as it read them, and its appends.
#[derive(Clone, Debug)]
struct Done {
    read: Vec<(i64, Vec<i64>)>,
    appended: Vec<(i64, i64)>,
    /// Times of start and end, by one counter.
    span: (u64, u64),
}

/// Why a history fits no order.
#[derive(Debug, PartialEq, Eq)]
enum Anomaly {
    /// Two reads of one list do not agree about its beginning.
    Torn,
    /// Something was read that no one appended, or twice.
    Foreign,
    /// Each of these transactions must come before the next one, and the last before the first.
    Cycle,
}

/// Holds a history against every order: by what was read, what was written, and what was answered before another began.
fn check(history: &[Done], last: &BTreeMap<i64, Vec<i64>>) -> Result<(), Anomaly> {
    let mut writer: HashMap<i64, usize> = HashMap::new();
    for (number, done) in history.iter().enumerate() {
        for (_, what) in &done.appended {
            writer.insert(*what, number);
        }
    }
    let mut edges: Vec<HashSet<usize>> = vec![HashSet::new(); history.len()];
    for list in last.values() {
        if list.iter().collect::<HashSet<_>>().len() != list.len() || list.iter().any(|what| !writer.contains_key(what))
        {
            return Err(Anomaly::Foreign);
        }
        // Each append follows the one before it.
        for pair in list.windows(2) {
            edges[writer[&pair[0]]].insert(writer[&pair[1]]);
        }
    }
    for (number, done) in history.iter().enumerate() {
        for (list, seen) in &done.read {
            let whole = last.get(list).map_or(&[][..], Vec::as_slice);
            if !whole.starts_with(seen) {
                return Err(Anomaly::Torn);
            }
            // It read what its last append had made, and before the next one.
            if let Some(before) = seen.last() {
                edges[writer[before]].insert(number);
            }
            if let Some(next) = whole.get(seen.len()) {
                edges[number].insert(writer[next]);
            }
        }
        // What was answered before it was asked for comes before it.
        for (other, earlier) in history.iter().enumerate() {
            if earlier.span.1 < done.span.0 {
                edges[other].insert(number);
            }
        }
    }
    // Those that nothing precedes go first; what is left over goes round in a circle.
    let mut before = vec![0_usize; history.len()];
    for (from, to) in edges.iter().enumerate().flat_map(|(from, all)| all.iter().map(move |to| (from, *to))) {
        before[to] += usize::from(from != to);
    }
    let mut free: Vec<usize> = (0..history.len()).filter(|number| before[*number] == 0).collect();
    let mut placed = 0;
    while let Some(number) = free.pop() {
        placed += 1;
        for to in edges[number].iter().filter(|to| **to != number) {
            before[*to] -= 1;
            if before[*to] == 0 {
                free.push(*to);
            }
        }
    }
    if placed == history.len() { Ok(()) } else { Err(Anomaly::Cycle) }
}

/// A list as a transaction sees it.
fn read_list(db: &DbMut, list: i64) -> Result<Vec<i64>, StoreError> {
    let mut plan = convoke_store::Plan::new(Entry::DEF, Some(&Entry::DEF.indexes[0]));
    plan.eq = vec![Value::Integer(list)];
    let mut seen = Vec::new();
    db.reader().select(&plan, &mut |row| {
        seen.push(Column::decode(row, Entry::DEF, 2)?);
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    Ok(seen)
}

/// Reads one list and appends to another, which it has read as well.
fn step(db: &mut DbMut, (one, other): (i64, i64), what: i64) -> Result<Vec<(i64, Vec<i64>)>, StoreError> {
    let read = vec![(one, read_list(db, one)?), (other, read_list(db, other)?)];
    let place = i64::try_from(read[1].1.len()).unwrap_or(i64::MAX);
    let id = db.insert(Entry { list: other, what })?;
    db.writer().update(Entry::DEF, id.bits(), &[], &[(1, Value::Integer(place))])?;
    Ok(read)
}

/// Ends connections to the schema's tables again and again, from outside.
fn cut(stop: &AtomicBool, cuts: &AtomicU64) {
    let url = std::env::var("CONVOKE_TEST_POSTGRES").unwrap();
    while !stop.load(SeqCst) {
        let ended = std::process::Command::new("psql")
            .args([&*url, "-Atqc"])
            .arg(
                "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE \
                 application_name = 'convoke-cut' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 2) AS few",
            )
            .output()
            .unwrap();
        let count = String::from_utf8_lossy(&ended.stdout).trim().parse().unwrap_or(0);
        cuts.fetch_add(count, SeqCst);
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// A history of three nodes, with connections cut meanwhile or not.
fn history(engine: &Factory, is_cut: bool) -> (Vec<Done>, BTreeMap<i64, Vec<i64>>, u64) {
    let tables = [Entry::DEF, Account::DEF];
    let first = TestStore::new(engine, &tables);
    let others: Vec<Store> =
        (0..2).map(|_| open_with(engine, first.folder.path(), &patient(), &tables).unwrap()).collect();
    let nodes: Vec<&Store> = std::iter::once(&first.store).chain(&others).collect();
    first.mutate(|db| open(db, "warm", 1)).unwrap();
    let (clock, numbers, cuts, stop) =
        (AtomicU64::new(0), AtomicU64::new(1), AtomicU64::new(0), AtomicBool::new(false));
    let history = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let cutting = is_cut.then(|| scope.spawn(|| cut(&stop, &cuts)));
        let working: Vec<_> = (0..6_usize)
            .map(|thread| {
                let (node, ids) = (nodes[thread % 3], first.ids.clone());
                let (clock, numbers, history) = (&clock, &numbers, &history);
                scope.spawn(move || {
                    for round in 0..30_i64 {
                        let what = i64::try_from(numbers.fetch_add(1, SeqCst)).unwrap();
                        let lists = (round % 3, (round + i64::try_from(thread).unwrap()) % 3);
                        let began = clock.fetch_add(1, SeqCst);
                        let ids = ids.clone();
                        let ran = start(node, move |writer| {
                            let now = convoke_core::clock::Millis(1_000);
                            step(&mut DbMut::new(writer, reads(), ids.clone(), now), lists, what)
                        })
                        .wait();
                        let span = (began, clock.fetch_add(1, SeqCst));
                        match ran {
                            Ok(read) => {
                                history.lock().unwrap().push(Done { read, appended: vec![(lists.1, what)], span });
                            }
                            // It says that nothing was done.
                            Err(StoreError::Unreachable(_) | StoreError::Contended(_)) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        let worked: Vec<_> = working.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        stop.store(true, SeqCst);
        if let Some(cutting) = cutting {
            cutting.join().unwrap();
        }
        worked.into_iter().for_each(|worked| worked.unwrap());
    });
    let ids = first.ids.clone();
    let last = start(&first.store, move |writer| {
        let db = DbMut::new(writer, reads(), ids.clone(), convoke_core::clock::Millis(1_000));
        (0..3).map(|list| Ok((list, read_list(&db, list)?))).collect::<Result<BTreeMap<_, _>, StoreError>>()
    });
    let last = last.wait().unwrap();
    (history.into_inner().unwrap(), last, cuts.into_inner())
}

#[test]
fn reads_and_appends_of_three_nodes_are_serializable() {
    let (history, last, _) = history(&postgres(), false);
    assert_eq!(check(&history, &last), Ok(()));
    assert_eq!(history.len(), 180);
    assert_eq!(last.values().map(Vec::len).sum::<usize>(), 180);
}

#[test]
fn cut_connections_neither_lose_nor_duplicate_acknowledged_writes() {
    let (history, last, cuts) = history(&crate::named("convoke-cut"), true);
    assert!(cuts >= 5, "only {cuts} connections were cut");
    let stored: Vec<i64> = last.values().flatten().copied().collect();
    let acknowledged: Vec<i64> = history.iter().flat_map(|done| &done.appended).map(|(_, what)| *what).collect();
    let lost = acknowledged.iter().filter(|what| !stored.contains(what)).count();
    let doubled = stored.len() - stored.iter().collect::<HashSet<_>>().len();
    let denied = stored.iter().filter(|what| !acknowledged.contains(what)).count();
    println!("{cuts} connections cut, {} acknowledged, {lost} lost, {doubled} doubled", acknowledged.len());
    assert_eq!((lost, doubled, denied), (0, 0, 0));
    assert_eq!(check(&history, &last), Ok(()));
}

#[test]
fn checker_detects_weak_isolation() {
    // A real one: snapshots alone let two transactions each append what the other one should have read.
    let found = (0..20).any(|_| {
        let (history, last, _) = history(&crate::lowered(), false);
        check(&history, &last).is_err()
    });
    assert!(found, "twenty histories of snapshot isolation had no anomaly");
    // Two transactions that each read what the other one is about to append to: one snapshot isolation lets both through.
    let skew = |one: i64, other: i64, what: i64| Done {
        read: vec![(one, vec![]), (other, vec![])],
        appended: vec![(other, what)],
        span: (0, 9),
    };
    let last = BTreeMap::from([(1, vec![10]), (2, vec![20])]);
    assert_eq!(check(&[skew(1, 2, 20), skew(2, 1, 10)], &last), Err(Anomaly::Cycle));
    // What was answered before is not seen.
    let write = Done { read: vec![], appended: vec![(1, 10)], span: (0, 1) };
    let stale = Done { read: vec![(1, vec![])], appended: vec![], span: (2, 3) };
    assert_eq!(check(&[write, stale], &BTreeMap::from([(1, vec![10])])), Err(Anomaly::Cycle));
    let torn = Done { read: vec![(1, vec![7])], appended: vec![(1, 10), (1, 7)], span: (0, 1) };
    assert_eq!(check(&[torn], &BTreeMap::from([(1, vec![10, 7])])), Err(Anomaly::Torn));
}
