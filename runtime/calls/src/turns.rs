//! Turns: exclusive locks on things, taken in order. A turn also passes a value to the next one.
//!
//! In a process that serves alone, turns are in memory. If several nodes serve the database, a turn is also a row
//! ([`convoke_store::nodes`]). An unreachable node loses its turn to another node, and its later writes under that turn
//! are rejected ([`crate::ActionCtx::under`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as Line, OwnedMutexGuard, oneshot};

use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_store::{Db, Store, StoreError, TurnName, TurnRow};

/// Interval between two checks of a row that another node holds, and interval between two attempts to release a row.
const LOOK: Duration = Duration::from_millis(100);
const AGAIN: Duration = Duration::from_secs(1);

/// The turns of a runtime. The default is for a process that serves alone.
#[derive(Default)]
pub struct Turns {
    /// The store, if turns are rows too.
    nodes: Option<Store>,
    here: Mutex<HashMap<TurnName, Arc<Line<LeftValue>>>>,
}

/// The value that was left in this process.
#[derive(Default)]
struct LeftValue {
    value: Option<String>,
    /// Time until which it is stored without a waiting task.
    until: Millis,
}

/// A turn, until it is dropped.
pub struct Turn {
    has_waited: bool,
    is_interrupted: bool,
    left: Option<String>,
    held: Hold,
}

enum Hold {
    Local(OwnedMutexGuard<LeftValue>),
    Row(Claim),
}

impl Turns {
    /// Creates the turns that all nodes of a store share, if it may have several.
    pub(crate) fn of(store: &Store) -> Self {
        Self { nodes: store.turns().is_some().then(|| store.clone()), here: Mutex::default() }
    }

    /// Waits for the turn on the thing with this id, without a time limit. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// `UNAVAILABLE` if the shared database is unreachable.
    pub async fn take(&self, kind: &'static str, id: String, now: Millis) -> Result<Turn> {
        let name = TurnName { kind, id };
        let line = self.line(&name, now);
        let (mut here, mut has_waited) = match line.clone().try_lock_owned() {
            Ok(here) => (here, false),
            Err(_) => (line.lock_owned().await, true),
        };
        let Some(store) = &self.nodes else {
            let left = here.value.clone();
            return Ok(Turn { has_waited, is_interrupted: false, left, held: Hold::Local(here) });
        };
        loop {
            let (store, name, handle) = (store.clone(), name.clone(), Handle::current());
            // The waiting task may be cancelled, so a row that is taken in the meantime is released on drop.
            let taken = tokio::task::spawn_blocking(move || match take_row(&store, &name) {
                // This node may hold the row without knowing it.
                Err(error @ StoreError::Unreachable(_)) => {
                    handle.spawn(async move {
                        until_done(move || store.turns().map_or(Ok(()), |turns| turns.give_up(&name)), || {}).await;
                        drop(here);
                    });
                    Err(error)
                }
                Ok(Some(TurnRow { number, left, is_interrupted })) => {
                    let leaves = left.clone();
                    let claim = Claim { store, name, number, leaves, handle, here: Some(here) };
                    Ok(Ok(Turn { has_waited: false, is_interrupted, left, held: Hold::Row(claim) }))
                }
                Ok(None) => Ok(Err(here)),
                Err(error) => Err(error),
            });
            match taken.await.map_err(Error::internal)?? {
                Ok(turn) => return Ok(Turn { has_waited, ..turn }),
                Err(back) => (here, has_waited) = (back, true),
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn line(&self, name: &TurnName, now: Millis) -> Arc<Line<LeftValue>> {
        let mut here = self.here.lock();
        // A line without a holder or a waiting task stays only while its value is valid.
        here.retain(|_, line| Arc::strong_count(line) > 1 || line.try_lock().is_ok_and(|left| now < left.until));
        here.entry(name.clone()).or_default().clone()
    }
}

fn take_row(store: &Store, name: &TurnName) -> Result<Option<TurnRow>, StoreError> {
    store.turns().map_or(Ok(None), |turns| turns.take(name))
}

impl Turn {
    /// Returns true if the turn was held when it was requested.
    pub fn has_waited(&self) -> bool {
        self.has_waited
    }

    /// Returns true if the previous holder did not end its turn, because its node was given up.
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// Returns the value that was left last.
    pub fn left(&self) -> Option<&str> {
        self.left.as_deref()
    }

    /// Leaves a value for the next holders: for tasks that wait now, and tasks that ask before `until`.
    pub fn leave(&mut self, value: String, until: Millis) {
        match &mut self.held {
            Hold::Local(left) => **left = LeftValue { value: Some(value), until },
            Hold::Row(claim) => claim.leaves = Some(value),
        }
    }

    /// Releases the turn and waits until it is released. A dropped turn is released later, and a request in between may
    /// have to wait.
    pub async fn end(self) {
        match self.held {
            Hold::Local(left) => drop(left),
            // The sender always sends or is dropped.
            Hold::Row(mut claim) => drop(claim.leave().await),
        }
    }

    /// Returns a check for each mutation under the turn, if another node may take it over.
    pub(crate) fn fence(&self) -> Option<impl Fn(&Db) -> Result<()> + Send + Sync + use<>> {
        let Hold::Row(Claim { name, number, .. }) = &self.held else { return None };
        let (name, number) = (name.clone(), *number);
        Some(move |db: &Db| match db.reader().has_turn(&name, number)? {
            true => Ok(()),
            false => Err(Error::conflict("This node was unreachable, and another node may have taken over this work")),
        })
    }
}

/// A row that this node holds.
struct Claim {
    store: Store,
    name: TurnName,
    number: i64,
    leaves: Option<String>,
    handle: Handle,
    here: Option<OwnedMutexGuard<LeftValue>>,
}

impl Claim {
    /// Releases the row, and retries until it is released. Other tasks of this process continue after the first
    /// attempt, which the receiver reports: otherwise they could take the row without the value that was left.
    fn leave(&mut self) -> oneshot::Receiver<()> {
        let (tried, first) = oneshot::channel();
        let Some(here) = self.here.take() else { return first };
        let (store, name, number, leaves) = (self.store.clone(), self.name.clone(), self.number, self.leaves.take());
        let leave = move || store.turns().map_or(Ok(()), |turns| turns.leave(&name, number, leaves.as_deref()));
        let mut waiting = Some((here, tried));
        self.handle.spawn(until_done(leave, move || {
            if let Some((here, tried)) = waiting.take() {
                drop(here);
                // The receiver may be dropped.
                let _ = tried.send(());
            }
        }));
        first
    }
}

/// Runs `work` until it succeeds, and reports each attempt.
async fn until_done(
    work: impl Fn() -> Result<(), StoreError> + Send + Sync + 'static,
    mut tried: impl FnMut() + Send + 'static,
) {
    let work = Arc::new(work);
    loop {
        let work = work.clone();
        let done = tokio::task::spawn_blocking(move || work()).await;
        tried();
        match done {
            Ok(Err(error)) => tracing::warn!(target: "convoke::turns", "cannot release a turn yet; retrying: {error}"),
            Ok(Ok(())) | Err(_) => return,
        }
        tokio::time::sleep(AGAIN).await;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        drop(self.leave());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    async fn take(turns: &Turns, id: &str, now: Millis) -> Turn {
        turns.take("test", id.to_owned(), now).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn turns_on_a_thing_are_sequential_and_each_gets_the_value_of_the_previous_one() {
        let turns = Turns::default();
        let mut first = take(&turns, "a", NOW).await;
        assert_eq!((first.has_waited(), first.is_interrupted(), first.left()), (false, false, None));
        assert!(!take(&turns, "b", NOW).await.has_waited(), "another thing is free");
        let ends = async {
            tokio::time::sleep(Duration::from_secs(24)).await;
            first.leave("done".to_owned(), Millis(0));
            drop(first);
        };
        let (second, ()) = tokio::join!(take(&turns, "a", NOW), ends);
        assert_eq!((second.has_waited(), second.left()), (true, Some("done")));
        assert!(second.fence().is_none(), "no other node can take it over");
    }

    #[tokio::test]
    async fn value_is_dropped_after_its_time() {
        let turns = Turns::default();
        take(&turns, "a", NOW).await.leave("kept".to_owned(), Millis(NOW.0 + 60_000));
        take(&turns, "b", NOW).await.leave("not kept".to_owned(), Millis(0));
        assert_eq!(take(&turns, "a", Millis(NOW.0 + 59_999)).await.left(), Some("kept"));
        assert_eq!(take(&turns, "b", NOW).await.left(), None);
        assert_eq!(take(&turns, "c", Millis(NOW.0 + 60_000)).await.left(), None);
        assert_eq!(turns.here.lock().len(), 1);
    }
}
