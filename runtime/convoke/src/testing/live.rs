//! Live queries in a test: their results, one after the other, without sleeping.

use std::time::Duration;

use serde_json::Value;

use super::app::{Reply, TestApp, TestCaller};
use convoke_calls::call::Format;
use convoke_calls::live::{AskedQuery, LiveConnection, QueryResult, Update};
use convoke_core::error::Result;

/// Timeout of a test for an expected result.
const PATIENCE: Duration = Duration::from_secs(60);

/// A live query of a [`TestCaller`]. It ends when this value is dropped.
pub struct Watch<'app> {
    app: &'app TestApp,
    connection: LiveConnection,
}

impl<'app> TestCaller<'app> {
    /// Subscribes to a query: [`Watch::next`] returns its first result and then each later one.
    ///
    /// # Panics
    /// If the caller has reached the limit of live connections.
    pub fn watch(&self, path: &str, args: Value) -> Watch<'app> {
        let mut connection = self.live().unwrap_or_else(|error| panic!("{error:?}"));
        let (path, args) = (path.to_owned(), args.to_string());
        let asked = AskedQuery { path, args, format: Format::Json, journal: None };
        self.app().block_on(connection.subscribe(0, asked));
        Watch { app: self.app(), connection }
    }

    /// Returns a connection for live queries, like that of a transport.
    ///
    /// # Errors
    /// `OVERLOADED`.
    pub fn live(&self) -> Result<LiveConnection> {
        let runtime = self.app().runtime();
        self.app().block_on(async {
            runtime.live().open(self.caller().clone(), convoke_store::Flow::SYSTEM, Some("test".into()))
        })
    }
}

impl Watch<'_> {
    /// Returns the next result that differs from the previous one. The first result comes immediately.
    ///
    /// # Panics
    /// If no result comes within one minute.
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "it never ends, and waits")]
    pub fn next(&mut self) -> Reply {
        let next = self.app.block_on(async { tokio::time::timeout(PATIENCE, self.connection.next()).await });
        let update = next.expect("a result comes").unwrap_or_else(|error| panic!("the live query ended: {error:?}"));
        only(update)
    }

    /// Returns the result as of the latest commit, if it differs from the previous one.
    ///
    /// # Panics
    /// If the live query has ended.
    #[track_caller]
    pub fn now(&mut self) -> Option<Reply> {
        let update = self.app.block_on(self.connection.catch_up());
        update.unwrap_or_else(|error| panic!("the live query ended: {error:?}")).map(only)
    }
}

fn only(update: Update) -> Reply {
    let [result] = &*update.results else { panic!("one query has one result: {update:?}") };
    reply(result)
}

/// Returns a result of a live query as the reply of a call.
///
/// # Panics
/// If it is not a result.
pub fn reply(result: &QueryResult) -> Reply {
    let json = [b"{", &*result.json].concat();
    Reply::of_json(&serde_json::from_slice(&json).expect("the runtime writes valid JSON"))
}
