//! The index of dependents: for each table the rows and index ranges that each dependent has read. A change of a row
//! finds its dependents here.

use std::ops::Range;
use std::sync::Arc;

use interavl::IntervalTree;
use rustc_hash::{FxHashMap, FxHashSet};

use convoke_store::index_key::{self, Edge};
use convoke_store::{ChangeSet, Commits, ReadSet, RowChange};

/// A result that depends on reads.
pub(crate) type Dependent = usize;

/// The reads of all dependents.
pub(crate) struct Dependents {
    tables: FxHashMap<&'static str, Table>,
    /// Dependents with any reads.
    all: FxHashSet<Dependent>,
    commits: Arc<Commits>,
}

#[derive(Default)]
struct Table {
    /// Dependents with any reads of the table.
    all: FxHashSet<Dependent>,
    /// Dependents that have read so much of the table that any change affects them.
    whole: FxHashSet<Dependent>,
    ids: FxHashMap<u128, Vec<Dependent>>,
    /// By the index's position in the table; none: by id.
    ranges: FxHashMap<Option<usize>, IntervalTree<Edge, Vec<Dependent>>>,
}

impl Dependents {
    /// Creates an empty index. It subscribes to row-level changes of the tables with dependents from `commits`.
    pub(crate) fn new(commits: Arc<Commits>) -> Self {
        Self { tables: FxHashMap::default(), all: FxHashSet::default(), commits }
    }

    /// Records the reads of `dependent`.
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

    /// Removes the reads of `dependent`, which are those of its insertion.
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

    /// Replaces the reads of `dependent`, which was inserted with `former`.
    pub(crate) fn replace(&mut self, dependent: Dependent, former: &ReadSet, reads: &ReadSet) {
        // In this order, the row-level changes of each table are recorded without a gap.
        reads.tables.keys().for_each(|table| self.commits.watch(table));
        self.remove(dependent, former);
        self.insert(dependent, reads);
        reads.tables.keys().for_each(|table| self.commits.unwatch(table));
    }

    /// Returns the dependents whose results these changes may have changed.
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

/// Returns the dependents whose range contains this key.
fn at(tree: &IntervalTree<Edge, Vec<Dependent>>, place: &[u8]) -> Vec<Dependent> {
    let only: Range<Edge> = Edge::At(place.into())..index_key::after(place);
    tree.iter_overlaps(&only).flat_map(|(_, dependents)| dependents.iter().copied()).collect()
}

fn leave(dependents: &mut Vec<Dependent>, dependent: Dependent) {
    if let Some(place) = dependents.iter().position(|other| *other == dependent) {
        dependents.swap_remove(place);
    }
}
