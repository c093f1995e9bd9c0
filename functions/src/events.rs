//! What happens to a meeting, told inside the transaction in which it happens.
//!
//! Who makes something of it (prompts, insights, subscriptions) listens by [`listener!`](crate::listener); who tells it
//! knows none of them. A listener that fails undoes the whole transaction, as any other step of it would.

use std::sync::LazyLock;

use convoke::prelude::*;
use schema::{Meeting, User};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It was made, or somebody was added or invited to it.
    PeopleCame,
    /// This user is no participant any more.
    ParticipantRemoved(Id<User>),
    /// Something new was said in it.
    Spoken,
    /// It is over.
    Concluded,
}

/// Hears of every event.
pub struct Listener {
    /// The folder that listens.
    pub name: &'static str,
    pub hear: fn(&mut MutationCtx, &Doc<Meeting>, Event) -> Result<()>,
}

inventory::collect!(Listener);

/// Has a function of a folder hear of every event: `listener!(on_event);`.
#[macro_export]
macro_rules! listener {
    ($hear:path) => {
        inventory::submit! { $crate::events::Listener { name: module_path!(), hear: $hear } }
    };
}

/// Tells everybody who listens, always in the same order: a mutation that runs again does the same again.
///
/// # Errors
/// Those of the listeners.
pub fn emit(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, event: Event) -> Result<()> {
    static LISTENERS: LazyLock<Vec<&Listener>> = LazyLock::new(|| {
        let mut all: Vec<_> = inventory::iter::<Listener>().collect();
        all.sort_by_key(|listener| listener.name);
        all
    });
    LISTENERS.iter().try_for_each(|listener| (listener.hear)(ctx, meeting, event))
}
