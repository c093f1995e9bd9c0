//! What a query does not take, in words.
//!
//! Without these, rustc looks further for a method of the name and reports what it finds last: a key too many would be
//! "not an iterator". Here the name exists, and a condition that nothing fulfils says the rule.

use super::error::StoreError;
use super::query::{Query, Ranged};
use super::table::{Doc, Table};

/// Fulfilled by nothing: every field of the index has its key.
#[diagnostic::on_unimplemented(
    message = "every field of this index has its key already",
    label = "a key too many",
    note = "end the query: `take`, `page`, `first`, `unique`, `count` or `encode`; or choose an index with more fields"
)]
pub trait HasFieldLeft {}

/// Fulfilled by nothing: a range was given.
#[diagnostic::on_unimplemented(
    message = "after `range` or `any` a query takes no further key",
    label = "a key too late",
    note = "keys are given in the index's order: `eq` for the first ones, then at most one `range` or `any`"
)]
pub trait HasNoRangeYet {}

/// Fulfilled by nothing: keys are missing.
#[diagnostic::on_unimplemented(
    message = "`unique()` needs a key for every field of the index",
    label = "a key is missing",
    note = "give the missing keys with `eq`, or read with `first()` or `take(n)`"
)]
pub trait HasEveryKey {}

/// The same methods as a query that waits for a key, each under a condition that does not hold.
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
