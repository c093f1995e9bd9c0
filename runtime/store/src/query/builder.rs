//! Queries whose fields rustc checks.
//!
//! A query names an index, gives its keys in order (`eq`), at most one `any` or `range` for the next key, and ends in
//! `take`, `page`, `first`, `unique`, `count` or `encode`. Each of these runs one statement.

use std::collections::HashSet;
use std::marker::PhantomData;
use std::ops::{Bound, ControlFlow, RangeBounds};

use super::db::Db;
use super::plan::Plan;
use crate::error::StoreError;
use crate::schema::table::{Doc, Field, Index, KeyOf, Keys, Table, Unique};
use crate::value::Value;
use convoke_core::id::Id;

impl Db {
    /// Starts a query on an index: `db.query(Participant::by_user).eq(user).take(10)`.
    pub fn query<I: Index>(&self, _index: I) -> Query<'_, I::Table, I, I::Fields> {
        Query::new(self, Plan::new(I::Table::DEF, Some(I::DEF)))
    }

    /// Starts a query on all rows of a table, in the order of their ids. The cost grows with the table; the separate
    /// name makes it visible.
    pub fn scan<T: Table>(&self) -> Query<'_, T, (), ()> {
        Query::new(self, Plan::new(T::DEF, None))
    }
}

/// An unfinished query of a table `T` on an index `I`, with the list of fields that have no key yet.
#[must_use = "a query does nothing until it ends in take, page, first, unique, count or encode"]
pub struct Query<'db, T, I, Rest> {
    pub(super) db: &'db Db,
    pub(super) plan: Plan,
    table: PhantomData<fn() -> T>,
    index: PhantomData<fn() -> I>,
    rest: PhantomData<fn() -> Rest>,
}

/// The fields of an index after a `range` or `any`: no further key can be given.
pub struct Ranged;

/// The direction in which an index is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order of the index: ascending, unless a key of it is `desc`.
    Asc,
    /// The reverse order of the index.
    Desc,
}

impl<'db, T: Table, I, Rest> Query<'db, T, I, Rest> {
    fn new(db: &'db Db, plan: Plan) -> Self {
        Self { db, plan, table: PhantomData, index: PhantomData, rest: PhantomData }
    }

    fn retyped<NewRest>(self) -> Query<'db, T, I, NewRest> {
        Query::new(self.db, self.plan)
    }

    /// Sets the direction. The default is [`Order::Asc`].
    pub fn order(mut self, order: Order) -> Self {
        self.plan.reverse = order == Order::Desc;
        self
    }

    /// Returns the first `rows_max` rows.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn take(mut self, rows_max: usize) -> Result<Vec<Doc<T>>, StoreError> {
        self.plan.limit = Some(rows_max as u64);
        self.db.rows(&self.plan)
    }

    /// Returns the first row.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn first(self) -> Result<Option<Doc<T>>, StoreError> {
        Ok(self.take(1)?.pop())
    }

    /// Counts the rows. The cost grows with their number, since it reads the index entry of each row.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn count(self) -> Result<u64, StoreError> {
        self.db.reader.count(&self.plan)
    }
}

/// An entry of an index: the id of the row and, as a list, the values of the keys.
pub type Keyed<T, I> = (Id<T>, <<I as Index>::Fields as Keys>::Values);

impl<T: Table, I: Index<Table = T, Fields: Keys>, Rest> Query<'_, T, I, Rest> {
    /// Returns the ids and keys of the first `rows_max` rows from the index alone. The size of a row does not matter.
    /// The index must not be `unique`: a unique index does not contain the ids.
    ///
    /// ```text
    /// for (id, (user, (status, ()))) in db.query(QueueEntry::by_user_status).eq(user).keys(100)? { … }
    /// ```
    ///
    /// # Errors
    /// A failure of the store.
    pub fn keys(mut self, rows_max: usize) -> Result<Vec<Keyed<T, I>>, StoreError> {
        self.plan.limit = Some(rows_max as u64);
        self.plan.keys_only = true;
        let mut found = Vec::new();
        self.db.reader.select(&self.plan, &mut |row| {
            found.push((Id::from_bits(row.id()?), I::Fields::read(row, T::DEF, I::DEF.keys)?));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }
}

impl<'db, T: Table, I: Index<Table = T>, F: Field, Rest> Query<'db, T, I, (F, Rest)> {
    /// Requires a value of the next key. `None` matches rows without a value.
    pub fn eq<K: KeyOf<F::Type>>(mut self, key: K) -> Query<'db, T, I, Rest> {
        self.plan.eq.push(key.key_of());
        self.retyped()
    }

    /// Requires that the next key has one of these values. One statement returns the rows in the order of the index.
    pub fn any<K: KeyOf<F::Type>>(mut self, keys: impl IntoIterator<Item = K>) -> Query<'db, T, I, Ranged> {
        let mut values: Vec<Value> = keys.into_iter().map(|key| key.key_of()).collect();
        // Lists may be long, so a linear search per value would take quadratic time.
        let mut seen = HashSet::with_capacity(values.len());
        values.retain(|value| seen.insert(value.identity()));
        self.plan.any = Some(values);
        self.retyped()
    }

    /// Requires that the next key lies within these bounds. Rows without a value lie outside any bound.
    pub fn range<K: KeyOf<F::Type>>(mut self, bounds: impl RangeBounds<K>) -> Query<'db, T, I, Ranged> {
        let bound = |bound: Bound<&K>| bound.map(KeyOf::key_of);
        self.plan.range = Some((bound(bounds.start_bound()), bound(bounds.end_bound())));
        self.retyped()
    }
}

impl<T: Table, I: Index<Table = T>> Query<'_, T, I, ()> {
    /// Returns the row with these keys.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn unique(self) -> Result<Option<Doc<T>>, StoreError>
    where
        I: Unique,
    {
        self.first()
    }
}
