//! The context of a query.

use std::sync::Arc;

use super::shared::{Call, Context, Read};
#[cfg(feature = "outbound")]
use crate::outbound::Http;
use convoke_store::{Db, DbMut};

/// Reads one snapshot of the database.
pub struct QueryCtx {
    call: Arc<Call>,
    db: Db,
}

impl QueryCtx {
    pub(crate) fn new(call: Arc<Call>, db: Db) -> Self {
        Self { call, db }
    }

    /// Exists on the context of a mutation only: the bound, which no type implements, gives a helpful compile error.
    #[doc(hidden)]
    pub fn db_mut(&self) -> &mut DbMut
    where
        for<'a> &'a Self: MayWrite,
    {
        unreachable!("no type implements the bound")
    }

    /// Exists on the context of an action only; here it gives a helpful compile error.
    #[doc(hidden)]
    #[cfg(feature = "outbound")]
    pub fn http(&self) -> convoke_core::error::Result<Http>
    where
        for<'a> &'a Self: MayWait,
    {
        unreachable!("no type implements the bound")
    }
}

/// Implemented by no type.
#[diagnostic::on_unimplemented(
    message = "a query or mutation cannot call a service outside the database",
    label = "only an #[action] has an HTTP client",
    note = "call the service in an #[action], which writes the response with `ctx.run::<the_mutation>(…).await?`",
    note = "a mutation can start an action after its commit: `ctx.schedule::<the_action>(…)`"
)]
pub trait MayWait {}

/// Implemented by no type.
#[diagnostic::on_unimplemented(
    message = "a query cannot write",
    label = "a #[query] only reads",
    note = "make it a #[mutation] with `ctx: &mut MutationCtx`, which has `db_mut()`"
)]
pub trait MayWrite {}

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
