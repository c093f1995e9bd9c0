//! Events of meetings, emitted in the transaction in which they happen.
//!
//! Modules such as prompts, insights and subscriptions listen by [`listener!`](crate::listener); the emitting functions
//! do not depend on them. If a listener fails, the whole transaction rolls back.

use std::sync::LazyLock;

use convoke::prelude::*;
use schema::{Meeting, User};

/// An event of a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The meeting was created, or a participant was added or invited.
    PeopleCame,
    /// This user is no longer a participant.
    ParticipantRemoved(Id<User>),
    /// A transcript chunk was added.
    Spoken,
    /// The meeting has ended.
    Concluded,
}

/// A function that receives every event.
pub struct Listener {
    /// Folder of the listener.
    pub name: &'static str,
    pub hear: fn(&mut MutationCtx, &Doc<Meeting>, Event) -> Result<()>,
}

inventory::collect!(Listener);

/// Registers a function of a folder for every event: `listener!(on_event);`.
#[macro_export]
macro_rules! listener {
    ($hear:path) => {
        inventory::submit! { $crate::events::Listener { name: module_path!(), hear: $hear } }
    };
}

/// Calls all listeners in a fixed order, so that a mutation that runs again has the same effects.
///
/// # Errors
/// Errors of the listeners.
pub fn emit(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, event: Event) -> Result<()> {
    static LISTENERS: LazyLock<Vec<&Listener>> = LazyLock::new(|| {
        let mut all: Vec<_> = inventory::iter::<Listener>().collect();
        all.sort_by_key(|listener| listener.name);
        all
    });
    LISTENERS.iter().try_for_each(|listener| (listener.hear)(ctx, meeting, event))
}
