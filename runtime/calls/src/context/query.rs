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

    /// What a mutation has: the condition, which does not hold, says that a query has not.
    #[doc(hidden)]
    pub fn db_mut(&self) -> &mut DbMut
    where
        for<'a> &'a Self: MayWrite,
    {
        unreachable!("nothing fulfils the condition")
    }

    /// What an action has.
    #[doc(hidden)]
    #[cfg(feature = "outbound")]
    pub fn http(&self) -> convoke_core::error::Result<Http>
    where
        for<'a> &'a Self: MayWait,
    {
        unreachable!("nothing fulfils the condition")
    }
}

/// Fulfilled by nothing.
#[diagnostic::on_unimplemented(
    message = "a query and a mutation cannot wait for a service outside of the database",
    label = "only an #[action] has an HTTP client",
    note = "call the service in an #[action], which writes the answer by `ctx.run::<the_mutation>(…).await?`",
    note = "a mutation starts an action once it is committed: `ctx.schedule::<the_action>(…)`"
)]
pub trait MayWait {}

/// Fulfilled by nothing.
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
