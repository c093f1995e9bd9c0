//! Turns: what is done to one thing one at a time. Those who come meanwhile wait, each for the one before, and are told what
//! that one has left.
//!
//! In the memory of a process that serves alone. Where several nodes serve the database, a turn is also a row
//! ([`convoke_store::nodes`]): a node that has it and is not heard of loses it to another one, and what it then still wants
//! to write under it is refused ([`crate::ActionCtx::under`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as Line, OwnedMutexGuard, oneshot};

use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_store::{Db, Store, StoreError, TurnName, TurnRow};

/// Between two looks whether another node still has it, and between two tries to leave it.
const LOOK: Duration = Duration::from_millis(100);
const AGAIN: Duration = Duration::from_secs(1);

/// The turns of a runtime; by default those of a process that serves alone.
#[derive(Default)]
pub struct Turns {
    /// Where they are rows too.
    nodes: Option<Store>,
    here: Mutex<HashMap<TurnName, Arc<Line<Left>>>>,
}

/// What was left in this process.
#[derive(Default)]
struct Left {
    value: Option<String>,
    /// Until then it is kept also if nobody waits.
    until: Millis,
}

/// A turn, until it is dropped.
pub struct Turn {
    has_waited: bool,
    is_interrupted: bool,
    left: Option<String>,
    held: Held,
}

enum Held {
    Here(OwnedMutexGuard<Left>),
    Row(Claim),
}

impl Turns {
    /// Those of all nodes of a store, if it may have several.
    pub(crate) fn of(store: &Store) -> Self {
        Self { nodes: store.turns().is_some().then(|| store.clone()), here: Mutex::default() }
    }

    /// Waits for the turn to do this to the thing of this id, as long as it takes. To be called in a tokio runtime.
    ///
    /// # Errors
    /// `UNAVAILABLE` if the database that the nodes share does not answer.
    pub async fn take(&self, kind: &'static str, id: String, now: Millis) -> Result<Turn> {
        let name = TurnName { kind, id };
        let line = self.line(&name, now);
        let (mut here, mut has_waited) = match line.clone().try_lock_owned() {
            Ok(here) => (here, false),
            Err(_) => (line.lock_owned().await, true),
        };
        let Some(store) = &self.nodes else {
            let left = here.value.clone();
            return Ok(Turn { has_waited, is_interrupted: false, left, held: Held::Here(here) });
        };
        loop {
            let (store, name, handle) = (store.clone(), name.clone(), Handle::current());
            // Whoever waits may be cut off; so what is taken meanwhile leaves itself.
            let taken = tokio::task::spawn_blocking(move || match take_row(&store, &name) {
                // It may be this node's now, and nobody here knows.
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
                    Ok(Ok(Turn { has_waited: false, is_interrupted, left, held: Held::Row(claim) }))
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

    fn line(&self, name: &TurnName, now: Millis) -> Arc<Line<Left>> {
        let mut here = self.here.lock();
        // What nobody has or waits for is kept only if it was asked for.
        here.retain(|_, line| Arc::strong_count(line) > 1 || line.try_lock().is_ok_and(|left| now < left.until));
        here.entry(name.clone()).or_default().clone()
    }
}

fn take_row(store: &Store, name: &TurnName) -> Result<Option<TurnRow>, StoreError> {
    store.turns().map_or(Ok(None), |turns| turns.take(name))
}

impl Turn {
    /// Whether somebody had it when it was asked for.
    pub fn has_waited(&self) -> bool {
        self.has_waited
    }

    /// Whether the one before did not come to its end, since its node was given up.
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// What was left with it last.
    pub fn left(&self) -> Option<&str> {
        self.left.as_deref()
    }

    /// Leaves this to whoever has it next: those who wait now, and who come until then.
    pub fn leave(&mut self, value: String, until: Millis) {
        match &mut self.held {
            Held::Here(left) => **left = Left { value: Some(value), until },
            Held::Row(claim) => claim.leaves = Some(value),
        }
    }

    /// Ends it. Whoever asks for it after that has not waited for it; where it is only dropped they may have.
    pub async fn end(self) {
        match self.held {
            Held::Here(left) => drop(left),
            // It tells in any case, or is gone.
            Held::Row(mut claim) => drop(claim.leave().await),
        }
    }

    /// What must hold in each mutation that is made under it, where another node may have taken it over.
    pub(crate) fn fence(&self) -> Option<impl Fn(&Db) -> Result<()> + Send + Sync + use<>> {
        let Held::Row(Claim { name, number, .. }) = &self.held else { return None };
        let (name, number) = (name.clone(), *number);
        Some(move |db: &Db| match db.reader().has_turn(&name, number)? {
            true => Ok(()),
            false => Err(Error::conflict("This node was not heard of, and another one may be doing this now")),
        })
    }
}

/// A row that this node has.
struct Claim {
    store: Store,
    name: TurnName,
    number: i64,
    leaves: Option<String>,
    handle: Handle,
    here: Option<OwnedMutexGuard<Left>>,
}

impl Claim {
    /// Leaves the row, again and again until that is done. Others of this process follow after the first try, which is told:
    /// they would take it anew without what is left with it.
    fn leave(&mut self) -> oneshot::Receiver<()> {
        let (tried, first) = oneshot::channel();
        let Some(here) = self.here.take() else { return first };
        let (store, name, number, leaves) = (self.store.clone(), self.name.clone(), self.number, self.leaves.take());
        let leave = move || store.turns().map_or(Ok(()), |turns| turns.leave(&name, number, leaves.as_deref()));
        let mut waiting = Some((here, tried));
        self.handle.spawn(until_done(leave, move || {
            if let Some((here, tried)) = waiting.take() {
                drop(here);
                // Whoever does not wait need not be told.
                let _ = tried.send(());
            }
        }));
        first
    }
}

/// Does this again and again until it is done, and tells of each try.
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
            Ok(Err(error)) => tracing::warn!(target: "convoke::turns", "a turn is not left yet: {error}"),
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
    async fn one_after_the_other_for_a_thing_and_each_is_told_what_the_one_before_left() {
        let turns = Turns::default();
        let mut first = take(&turns, "a", NOW).await;
        assert_eq!((first.has_waited(), first.is_interrupted(), first.left()), (false, false, None));
        assert!(!take(&turns, "b", NOW).await.has_waited(), "another thing has nobody");
        let ends = async {
            tokio::time::sleep(Duration::from_secs(24)).await;
            first.leave("done".to_owned(), Millis(0));
            drop(first);
        };
        let (second, ()) = tokio::join!(take(&turns, "a", NOW), ends);
        assert_eq!((second.has_waited(), second.left()), (true, Some("done")));
        assert!(second.fence().is_none(), "nobody else can take it over");
    }

    #[tokio::test]
    async fn what_is_over_is_forgotten_unless_it_is_to_be_kept() {
        let turns = Turns::default();
        take(&turns, "a", NOW).await.leave("kept".to_owned(), Millis(NOW.0 + 60_000));
        take(&turns, "b", NOW).await.leave("not kept".to_owned(), Millis(0));
        assert_eq!(take(&turns, "a", Millis(NOW.0 + 59_999)).await.left(), Some("kept"));
        assert_eq!(take(&turns, "b", NOW).await.left(), None);
        assert_eq!(take(&turns, "c", Millis(NOW.0 + 60_000)).await.left(), None);
        assert_eq!(turns.here.lock().len(), 1);
    }
}
