//! Who depends on what: for each table the rows and the ranges of indexes that somebody has read, to be found by a
//! change of a row.

use std::ops::Range;
use std::sync::Arc;

use interavl::IntervalTree;
use rustc_hash::{FxHashMap, FxHashSet};

use convoke_store::index_key::{self, Edge};
use convoke_store::{ChangeSet, Commits, ReadSet, RowChange};

/// Whose result it is that depends on what was read.
pub(crate) type Dependent = usize;

/// What all dependents have read.
pub(crate) struct Dependents {
    tables: FxHashMap<&'static str, Table>,
    /// Those that have read anything at all.
    all: FxHashSet<Dependent>,
    commits: Arc<Commits>,
}

#[derive(Default)]
struct Table {
    /// Those that have read anything of it.
    all: FxHashSet<Dependent>,
    /// Those that have read so much of it that any change counts.
    whole: FxHashSet<Dependent>,
    ids: FxHashMap<u128, Vec<Dependent>>,
    /// By the index's place in the table; none = by id.
    ranges: FxHashMap<Option<usize>, IntervalTree<Edge, Vec<Dependent>>>,
}

impl Dependents {
    /// Nobody's. The rows of tables that somebody depends on are asked for from `commits`.
    pub(crate) fn new(commits: Arc<Commits>) -> Self {
        Self { tables: FxHashMap::default(), all: FxHashSet::default(), commits }
    }

    /// `dependent` has read this.
    pub(crate) fn insert(&mut self, dependent: Dependent, reads: &ReadSet) {
        self.all.insert(dependent);
        for (name, reads) in &reads.tables {
            self.commits.watch(name);
            let table = self.tables.entry(name).or_default();
            table.all.insert(dependent);
            if reads.whole {
                table.whole.insert(dependent);
            }
            for id in &reads.ids {
                table.ids.entry(*id).or_default().push(dependent);
            }
            for (index, ranges) in &reads.ranges {
                let tree = table.ranges.entry(*index).or_default();
                for range in ranges {
                    let range = range.start.clone()..range.end.clone();
                    match tree.get_mut(&range) {
                        Some(dependents) => dependents.push(dependent),
                        None => drop(tree.insert(range, vec![dependent])),
                    }
                }
            }
        }
    }

    /// `dependent` depends no longer on this, which it was inserted with.
    pub(crate) fn remove(&mut self, dependent: Dependent, reads: &ReadSet) {
        self.all.remove(&dependent);
        for (name, reads) in &reads.tables {
            self.commits.unwatch(name);
            let Some(table) = self.tables.get_mut(name) else { continue };
            table.all.remove(&dependent);
            table.whole.remove(&dependent);
            for id in &reads.ids {
                if let Some(dependents) = table.ids.get_mut(id) {
                    leave(dependents, dependent);
                    if dependents.is_empty() {
                        table.ids.remove(id);
                    }
                }
            }
            for (index, ranges) in &reads.ranges {
                let Some(tree) = table.ranges.get_mut(index) else { continue };
                for range in ranges {
                    let range = range.start.clone()..range.end.clone();
                    let Some(dependents) = tree.get_mut(&range) else { continue };
                    leave(dependents, dependent);
                    if dependents.is_empty() {
                        tree.remove(&range);
                    }
                }
            }
            if table.all.is_empty() {
                self.tables.remove(name);
            }
        }
    }

    /// `dependent`, which was inserted with `former`, has read something else.
    pub(crate) fn replace(&mut self, dependent: Dependent, former: &ReadSet, reads: &ReadSet) {
        // In this order, the rows of no table cease to be told in between.
        reads.tables.keys().for_each(|table| self.commits.watch(table));
        self.remove(dependent, former);
        self.insert(dependent, reads);
        reads.tables.keys().for_each(|table| self.commits.unwatch(table));
    }

    /// Those whose results these changes may have changed.
    pub(crate) fn touched(&self, changes: &ChangeSet) -> FxHashSet<Dependent> {
        if changes.everything {
            return self.all.clone();
        }
        let mut touched = FxHashSet::default();
        for table in changes.tables.iter().filter_map(|table| self.tables.get(table)) {
            touched.extend(&table.all);
        }
        for row in &changes.rows {
            if let Some(table) = self.tables.get(row.table) {
                table.touched(row, &mut touched);
            }
        }
        touched
    }
}

impl Table {
    fn touched(&self, row: &RowChange, touched: &mut FxHashSet<Dependent>) {
        touched.extend(&self.whole);
        touched.extend(self.ids.get(&row.id).into_iter().flatten());
        if let Some(tree) = self.ranges.get(&None) {
            touched.extend(at(tree, &index_key::of_id(row.id)));
        }
        for (index, place) in &row.places {
            if let Some(tree) = self.ranges.get(&Some(*index)) {
                touched.extend(at(tree, place));
            }
        }
    }
}

/// Those whose range has this place.
fn at(tree: &IntervalTree<Edge, Vec<Dependent>>, place: &[u8]) -> Vec<Dependent> {
    let only: Range<Edge> = Edge::At(place.into())..index_key::after(place);
    tree.iter_overlaps(&only).flat_map(|(_, dependents)| dependents.iter().copied()).collect()
}

fn leave(dependents: &mut Vec<Dependent>, dependent: Dependent) {
    if let Some(place) = dependents.iter().position(|other| *other == dependent) {
        dependents.swap_remove(place);
    }
}
