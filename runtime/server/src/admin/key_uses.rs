//! The record of key uses: each request of a deploy key or of the operator, with its outcome and request id.
//!
//! It is independent of an application's own audit log: it also contains queries, admin requests and rejections, which
//! change no row. Entries are written in batches, shortly after the use. A request that changes data waits for its
//! entry; a request that only reads does not. At most [`WAITING_MAX`] entries wait. If the queue is full or the store
//! rejects an entry, the entry is logged and counted instead.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use convoke_macros::table;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use convoke_calls::function::Kind;
use convoke_calls::observe::{CallObserver, Called, CompletedCall};
use convoke_calls::services::SubmittedObserver;
use convoke_core::clock::Millis;
use convoke_core::error::Code;
use convoke_store::Database;

/// Largest number of entries that wait to be written.
pub const WAITING_MAX: usize = 4_096;
/// Retention of entries.
pub const KEPT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Largest number of entries per transaction.
const BATCH_MAX: usize = 256;
/// Longest time that the response to a change waits for the entry.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// A use of a deploy key.
#[table(name = "_keyUses", prefix = "keyuse")]
#[index(by_key(key, at))]
#[index(by_time(at))]
pub struct KeyUse {
    /// The key's name, or `operator`.
    pub key: String,
    /// The kind and path of a function, or the method and path of an admin request.
    pub what: String,
    /// `OK` or the error code.
    pub outcome: String,
    /// The id of the request.
    pub request_id: String,
    /// The user that the key acted as: `issuer|subject`.
    pub acting_as: Option<String>,
    /// The client's address.
    pub peer: Option<String>,
    /// Time of the response.
    pub at: Millis,
}

/// The queue of entries and the number of entries that could not be written.
#[derive(Default)]
pub struct Audit {
    queue: Mutex<Queue>,
    unwritten: AtomicU64,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(KeyUse, Option<oneshot::Sender<()>>)>,
    /// True if a task is writing the entries.
    writing: bool,
}

impl Queue {
    /// Returns true if the queue is not full.
    fn has_room(&self) -> bool {
        self.waiting.len() < WAITING_MAX
    }
}

impl Audit {
    pub(crate) fn record(self: &Arc<Self>, database: &Database, used: KeyUse) {
        self.push(database, used, None);
    }

    /// Records a use that changes data. The future resolves when the entry is written, at the latest after a timeout.
    pub(crate) fn record_change(
        self: &Arc<Self>,
        database: &Database,
        used: KeyUse,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (written, is_written) = oneshot::channel();
        self.push(database, used, Some(written));
        async move {
            // After the timeout, the entry is written later or logged; the outcome of the request does not depend on
            // it.
            let _ = tokio::time::timeout(WRITE_TIMEOUT, is_written).await;
        }
    }

    fn push(self: &Arc<Self>, database: &Database, used: KeyUse, written: Option<oneshot::Sender<()>>) {
        let mut queue = self.queue.lock();
        if !queue.has_room() {
            drop(queue);
            return self.discard(&used, "the queue is full");
        }
        queue.waiting.push_back((used, written));
        if !queue.writing
            && let Ok(executor) = Handle::try_current()
        {
            queue.writing = true;
            executor.spawn(write_all(self.clone(), database.clone()));
        }
    }

    /// Logs and counts an entry that cannot be written.
    fn discard(&self, used: &KeyUse, why: &str) {
        self.unwritten.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            target: "convoke::audit",
            key = used.key,
            what = used.what,
            outcome = used.outcome,
            request_id = used.request_id,
            acting_as = used.acting_as,
            "a use of a deploy key is only in this log, not in the record: {why}"
        );
    }

    /// Returns the number of uses that are only in the log.
    pub fn unwritten(&self) -> u64 {
        self.unwritten.load(Ordering::Relaxed)
    }

    /// Waits until every queued entry is written or discarded, with a timeout.
    pub(crate) async fn flush(&self) {
        let flushed = async {
            while self.queue.lock().writing {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(2 * WRITE_TIMEOUT, flushed).await;
    }
}

/// An observer that records the calls of deploy keys and of the operator.
struct KeyUses {
    audit: Arc<Audit>,
    database: Database,
}

inventory::submit! {
    SubmittedObserver(|services| {
        Arc::new(KeyUses { audit: services.memory::<Audit>(), database: services.database().clone() })
    })
}

impl CallObserver for KeyUses {
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>> {
        let used = call.key?;
        let (what, changes) = match call.called {
            Called::Function(function) => {
                (format!("{} {}", function.kind().as_str(), function.path), function.kind() != Kind::Query)
            }
            Called::Rejected(rejection) => (format!("run {}", rejection.asked_in_short()), false),
        };
        let used = KeyUse {
            key: used.key.name.clone(),
            what,
            outcome: call.outcome().map_or("OK", Code::as_str).to_owned(),
            request_id: call.request_id.to_string(),
            acting_as: used.key.acting_as.as_ref().map(|identity| identity.token_identifier()),
            peer: used.peer.map(|peer| peer.to_string()),
            at: call.at,
        };
        if changes {
            return Some(Box::pin(self.audit.record_change(&self.database, used)));
        }
        self.audit.record(&self.database, used);
        None
    }
}

/// Writes the queued entries in batches until the queue is empty.
async fn write_all(audit: Arc<Audit>, database: Database) {
    loop {
        let batch: Vec<_> = {
            let mut queue = audit.queue.lock();
            let some = queue.waiting.len().min(BATCH_MAX);
            if some == 0 {
                queue.writing = false;
                return;
            }
            queue.waiting.drain(..some).collect()
        };
        let (uses, waiters): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let uses = Arc::new(uses);
        let rows = uses.clone();
        let written = database.write_admin("record uses of deploy keys", move |db| {
            for used in &*rows {
                db.insert(used.clone())?;
            }
            Ok(())
        });
        if let Err(error) = written.await {
            let why = error.chain();
            uses.iter().for_each(|used| audit.discard(used, &why));
        }
        for waiter in waiters.into_iter().flatten() {
            let _ = waiter.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used() -> KeyUse {
        KeyUse {
            key: "ci".to_owned(),
            what: "query a/b".to_owned(),
            outcome: "OK".to_owned(),
            request_id: "r".to_owned(),
            acting_as: None,
            peer: None,
            at: Millis(0),
        }
    }

    #[test]
    fn queue_is_bounded_and_discarded_entries_are_counted() {
        let audit = Audit::default();
        let mut queue = Queue::default();
        for _ in 0..WAITING_MAX {
            assert!(queue.has_room());
            queue.waiting.push_back((used(), None));
        }
        assert!(!queue.has_room() && audit.unwritten() == 0);
        audit.discard(&used(), "the queue is full");
        assert_eq!(audit.unwritten(), 1);
    }
}
