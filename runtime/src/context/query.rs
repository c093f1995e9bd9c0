//! The context of a query.

use std::sync::Arc;

use super::shared::{Call, Context, Read};
use crate::error::Result;
use crate::function::QueryFn;
use crate::store::Db;

/// Reads one snapshot of the database.
pub struct QueryCtx {
    call: Arc<Call>,
    db: Db,
}

impl QueryCtx {
    pub(crate) fn new(call: Arc<Call>, db: Db) -> Self {
        Self { call, db }
    }

    /// Calls another query in the same snapshot.
    ///
    /// # Errors
    /// Those of the function.
    pub fn run<F: QueryFn>(&self, args: impl Into<F::Args>) -> Result<F::Output> {
        F::invoke(self, args.into())
    }
}

impl Context for QueryCtx {
    fn call(&self) -> &Arc<Call> {
        &self.call
    }
}

impl Read for QueryCtx {
    fn db(&self) -> &Db {
        &self.db
    }
}
