//! Compile errors for methods that a query does not have.
//!
//! Without these methods, rustc searches further and reports the last method that it finds: for a key too many, "not an
//! iterator". With them, an unfulfilled bound explains the rule.

use super::builder::{Query, Ranged};
use super::db::{Db, Inserted};
use crate::error::StoreError;
use crate::schema::table::{Doc, Table, Unique};
use convoke_core::id::Id;

/// Implemented by no type: every field of the index has a key.
#[diagnostic::on_unimplemented(
    message = "every field of this index already has a key",
    label = "this key is one too many",
    note = "end the query: `take`, `page`, `first`, `unique`, `count` or `encode`; or choose an index with more fields"
)]
pub trait HasFieldLeft {}

/// Implemented by no type: the query has a range.
#[diagnostic::on_unimplemented(
    message = "no key can follow `range` or `any`",
    label = "this key is too late",
    note = "give the keys in the order of the index: `eq` for the first ones, then at most one `range` or `any`"
)]
pub trait HasNoRangeYet {}

/// Implemented by no type: keys are missing.
#[diagnostic::on_unimplemented(
    message = "`unique()` needs a key for every field of the index",
    label = "a key is missing",
    note = "give the missing keys with `eq`, or read with `first()` or `take(n)`"
)]
pub trait HasEveryKey {}

/// Implemented by no type: a query finds its rows by an index.
#[diagnostic::on_unimplemented(
    message = "a query has no `filter`: it finds its rows by the keys of an index",
    label = "no condition over all rows",
    note = "declare an index on the fields, `#[index(by_state(state))]`, and write `.query(T::by_state).eq(…)`",
    note = "or choose among the rows of a bounded read: `.take(100)?.into_iter().filter(…)`"
)]
pub trait HasFilter {}

/// Implemented by no type: a query ends in a read with a bound.
#[diagnostic::on_unimplemented(
    message = "a query is not an iterator: end it with a bounded read",
    label = "this does not end a query",
    note = "end it with `take(n)?`, `page(…)?`, `first()?`, `unique()?`, `count()?` or `encode(n)?`"
)]
pub trait IsIterator {}

/// Implemented by no type: `ctx.db()` only reads.
#[diagnostic::on_unimplemented(
    message = "`ctx.db()` only reads and cannot write",
    label = "a write through a reader",
    note = "a #[mutation] writes through `ctx.db_mut()`; a #[query] cannot write: make it a #[mutation]"
)]
pub trait CanWrite {}

/// The writes of `DbMut`, each under a bound that never holds. The `for` keeps rustc from checking it here.
impl Db {
    #[doc(hidden)]
    pub fn insert<T: Table>(&self, _: T) -> Result<Id<T>, StoreError>
    where
        for<'a> &'a Self: CanWrite,
    {
        unreachable!("nothing fulfils the condition")
    }

    #[doc(hidden)]
    pub fn insert_unique<I: Unique>(&self, _: I, _: I::Table) -> Result<Inserted<I::Table>, StoreError>
    where
        for<'a> &'a Self: CanWrite,
    {
        unreachable!("nothing fulfils the condition")
    }

    #[doc(hidden)]
    pub fn patch<T: Table>(&self, _: Id<T>, _: impl FnOnce(&mut T)) -> Result<Doc<T>, StoreError>
    where
        for<'a> &'a Self: CanWrite,
    {
        unreachable!("nothing fulfils the condition")
    }

    #[doc(hidden)]
    pub fn patch_doc<T: Table>(&self, _: Doc<T>, _: impl FnOnce(&mut T)) -> Result<Doc<T>, StoreError>
    where
        for<'a> &'a Self: CanWrite,
    {
        unreachable!("nothing fulfils the condition")
    }

    #[doc(hidden)]
    pub fn replace<T: Table>(&self, _: Id<T>, _: T) -> Result<(), StoreError>
    where
        for<'a> &'a Self: CanWrite,
    {
        unreachable!("nothing fulfils the condition")
    }

    #[doc(hidden)]
    pub fn delete<T: Table>(&self, _: Id<T>) -> Result<bool, StoreError>
    where
        for<'a> &'a Self: CanWrite,
    {
        unreachable!("nothing fulfils the condition")
    }
}

/// The methods of a query that expects a key, each under a bound that never holds.
macro_rules! refuse {
    ($rest:ty, $rule:ident: $($method:ident)*) => {
        impl<T: Table, I> Query<'_, T, I, $rest> {
            $(
                #[doc(hidden)]
                pub fn $method<K>(self, _: K) -> Self
                where
                    Self: $rule,
                {
                    self
                }
            )*
        }
    };
}

refuse!((), HasFieldLeft: eq any range);
refuse!(Ranged, HasNoRangeYet: eq any range);

impl<T: Table, I> Query<'_, T, I, Ranged> {
    #[doc(hidden)]
    pub fn unique(self) -> Result<Option<Doc<T>>, StoreError>
    where
        Self: HasEveryKey,
    {
        self.first()
    }
}

impl<T: Table, I, F, Rest> Query<'_, T, I, (F, Rest)> {
    #[doc(hidden)]
    pub fn unique(self) -> Result<Option<Doc<T>>, StoreError>
    where
        Self: HasEveryKey,
    {
        self.first()
    }
}

impl<T: Table, I, Rest> Query<'_, T, I, Rest> {
    #[doc(hidden)]
    pub fn filter<F>(self, _: F) -> Self
    where
        F: FnMut(&Doc<T>) -> bool,
        Self: HasFilter,
    {
        self
    }

    #[doc(hidden)]
    pub fn collect<C>(self) -> Result<Vec<Doc<T>>, StoreError>
    where
        Self: IsIterator,
    {
        Ok(Vec::new())
    }

    #[doc(hidden)]
    pub fn limit(self, _: usize) -> Self
    where
        Self: IsIterator,
    {
        self
    }
}
