//! Queries that rustc checks field by field.
//!
//! A query names an index, gives its keys in order (`eq`), at most one `any` or `range` for the next one, and ends in
//! `take`, `page`, `first`, `unique`, `count` or `encode`. Every ending is one statement.

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

    /// Starts a query on all rows of a table, by id. Its cost grows with the table, hence a name of its own.
    pub fn scan<T: Table>(&self) -> Query<'_, T, (), ()> {
        Query::new(self, Plan::new(T::DEF, None))
    }
}

/// A query under way: a table `T`, an index `I`, and the list of its fields that have no key yet.
#[must_use = "a query does nothing until it ends in take, page, first, unique, count or encode"]
pub struct Query<'db, T, I, Rest> {
    pub(super) db: &'db Db,
    pub(super) plan: Plan,
    table: PhantomData<fn() -> T>,
    index: PhantomData<fn() -> I>,
    rest: PhantomData<fn() -> Rest>,
}

/// What is left of an index after a `range` or `any`: nothing that a key could be given for.
pub struct Ranged;

/// In which direction an index is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As the index lies: ascending, unless a key of it is `desc`.
    Asc,
    /// From its end.
    Desc,
}

impl<'db, T: Table, I, Rest> Query<'db, T, I, Rest> {
    fn new(db: &'db Db, plan: Plan) -> Self {
        Self { db, plan, table: PhantomData, index: PhantomData, rest: PhantomData }
    }

    fn retyped<NewRest>(self) -> Query<'db, T, I, NewRest> {
        Query::new(self.db, self.plan)
    }

    /// Sets the direction; [`Order::Asc`] by default.
    pub fn order(mut self, order: Order) -> Self {
        self.plan.reverse = order == Order::Desc;
        self
    }

    /// The first `rows_max` rows.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn take(mut self, rows_max: usize) -> Result<Vec<Doc<T>>, StoreError> {
        self.plan.limit = Some(rows_max as u64);
        self.db.rows(&self.plan)
    }

    /// The first row.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn first(self) -> Result<Option<Doc<T>>, StoreError> {
        Ok(self.take(1)?.pop())
    }

    /// How many rows there are. Costs a walk over them in the index.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn count(self) -> Result<u64, StoreError> {
        self.db.reader.count(&self.plan)
    }
}

/// What an index says of a row: the id and, as a list, the values of its keys.
pub type Keyed<T, I> = (Id<T>, <<I as Index>::Fields as Keys>::Values);

impl<T: Table, I: Index<Table = T, Fields: Keys>, Rest> Query<'_, T, I, Rest> {
    /// The ids and keys of the first `rows_max` rows, out of the index: what else a row holds costs nothing, however
    /// large it is. For an index that is not `unique`; one that is does not hold the ids.
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
    /// The next key of the index has this value; `None` matches the rows without one.
    pub fn eq<K: KeyOf<F::Type>>(mut self, key: K) -> Query<'db, T, I, Rest> {
        self.plan.eq.push(key.key_of());
        self.retyped()
    }

    /// The next key has one of these values; rows come in the index's order, in one statement.
    pub fn any<K: KeyOf<F::Type>>(mut self, keys: impl IntoIterator<Item = K>) -> Query<'db, T, I, Ranged> {
        let mut values: Vec<Value> = keys.into_iter().map(|key| key.key_of()).collect();
        // Lists may be long: asking each time whether a value is there would take the square of their length.
        let mut seen = HashSet::with_capacity(values.len());
        values.retain(|value| seen.insert(value.identity()));
        self.plan.any = Some(values);
        self.retyped()
    }

    /// The next key lies within these bounds (rows without a value are outside any bound).
    pub fn range<K: KeyOf<F::Type>>(mut self, bounds: impl RangeBounds<K>) -> Query<'db, T, I, Ranged> {
        let bound = |bound: Bound<&K>| bound.map(KeyOf::key_of);
        self.plan.range = Some((bound(bounds.start_bound()), bound(bounds.end_bound())));
        self.retyped()
    }
}

impl<T: Table, I: Index<Table = T>> Query<'_, T, I, ()> {
    /// The one row with these keys.
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
