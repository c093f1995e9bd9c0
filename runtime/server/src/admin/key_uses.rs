//! The record of every use of a deploy key, and of the operator's: who, what, how it ended, under which request id.
//!
//! It is the runtime's own, beside whatever record the application keeps of deeds on its rows: it knows of queries, of
//! admin requests and of refusals, which change no row. Entries are written together, a moment after the use. What
//! changes something waits for its entry; what only reads does not. At most [`WAITING_MAX`] entries wait: beyond that,
//! and where the store takes none, they go to the operator's log instead and are counted.

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

/// Entries that wait to be written.
pub const WAITING_MAX: usize = 4_096;
/// How long entries are kept: as long as the application's own record.
pub const KEPT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Entries of one transaction.
const BATCH_MAX: usize = 256;
/// How long a change waits for its entry before it is answered all the same.
const PATIENCE: Duration = Duration::from_secs(1);

/// One use of a deploy key.
#[table(name = "_keyUses", prefix = "keyuse")]
#[index(by_key(key, at))]
#[index(by_time(at))]
pub struct KeyUse {
    /// The key's name, or `operator`.
    pub key: String,
    /// What was asked: a function's kind and path, or an admin request's method and path.
    pub what: String,
    /// `OK`, or the code of the refusal.
    pub outcome: String,
    /// The id of the request.
    pub request_id: String,
    /// Whom the key acted as: `issuer|subject`.
    pub acting_as: Option<String>,
    /// The address it came from.
    pub peer: Option<String>,
    /// When it was answered.
    pub at: Millis,
}

/// The entries that wait, and the count of those that were never written.
#[derive(Default)]
pub struct Audit {
    line: Mutex<Line>,
    unwritten: AtomicU64,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<(KeyUse, Option<oneshot::Sender<()>>)>,
    /// Whether a task is writing them.
    writing: bool,
}

impl Line {
    /// Whether one more may wait.
    fn has_room(&self) -> bool {
        self.waiting.len() < WAITING_MAX
    }
}

impl Audit {
    /// Records a use.
    pub(crate) fn record(self: &Arc<Self>, database: &Database, used: KeyUse) {
        self.push(database, used, None);
    }

    /// Records a use that changes something; the future ends when its entry is written, or soon.
    pub(crate) fn record_change(
        self: &Arc<Self>,
        database: &Database,
        used: KeyUse,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (written, is_written) = oneshot::channel();
        self.push(database, used, Some(written));
        async move {
            // The entry is written later, or stands in the log: a caller who waits longer learns nothing more.
            let _ = tokio::time::timeout(PATIENCE, is_written).await;
        }
    }

    fn push(self: &Arc<Self>, database: &Database, used: KeyUse, written: Option<oneshot::Sender<()>>) {
        let mut line = self.line.lock();
        if !line.has_room() {
            drop(line);
            return self.give_up(&used, "too many wait");
        }
        line.waiting.push_back((used, written));
        if !line.writing
            && let Ok(executor) = Handle::try_current()
        {
            line.writing = true;
            executor.spawn(write_all(self.clone(), database.clone()));
        }
    }

    /// What could not be written stands in the log at least.
    fn give_up(&self, used: &KeyUse, why: &str) {
        self.unwritten.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            target: "convoke::audit",
            key = used.key,
            what = used.what,
            outcome = used.outcome,
            request_id = used.request_id,
            acting_as = used.acting_as,
            "this use of a deploy key is not in the record: {why}"
        );
    }

    /// Uses that are not in the record, only in the log.
    pub fn unwritten(&self) -> u64 {
        self.unwritten.load(Ordering::Relaxed)
    }

    /// Waits until every entry so far is written or given up; a store that hangs is not waited for long.
    pub(crate) async fn settle(&self) {
        let settled = async {
            while self.line.lock().writing {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(2 * PATIENCE, settled).await;
    }
}

/// Records the calls that a deploy key, or the operator, has made.
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

/// Writes what waits, some together, until nothing does.
async fn write_all(audit: Arc<Audit>, database: Database) {
    loop {
        let batch: Vec<_> = {
            let mut line = audit.line.lock();
            let some = line.waiting.len().min(BATCH_MAX);
            if some == 0 {
                line.writing = false;
                return;
            }
            line.waiting.drain(..some).collect()
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
            uses.iter().for_each(|used| audit.give_up(used, &why));
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
    fn so_many_wait_and_no_more_and_what_is_not_written_is_counted() {
        let audit = Audit::default();
        let mut line = Line::default();
        for _ in 0..WAITING_MAX {
            assert!(line.has_room());
            line.waiting.push_back((used(), None));
        }
        assert!(!line.has_room() && audit.unwritten() == 0);
        audit.give_up(&used(), "too many wait");
        assert_eq!(audit.unwritten(), 1);
    }
}
