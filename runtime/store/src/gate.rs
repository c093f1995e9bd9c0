//! Whether the store serves, and whom: asked before each call, closed and opened by the engine.

use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;

/// Who is served while the store is closed to some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Any call: refused while the schema does not fit, and a write also while the disk has too little room.
    Everyone,
    /// The runtime's own work, and calls of the operator: refused while the schema does not fit.
    System,
    /// Calls of the operator, such as a migration.
    Admin,
}

/// Whether the store serves, and why not.
#[derive(Default)]
pub struct Gate {
    state: AtomicU8,
    reasons: Mutex<Reasons>,
}

#[derive(Default)]
struct Reasons {
    /// The schema does not fit: nothing is served but the operator.
    schema: Option<String>,
    /// A commit failed: writes wait for the check.
    writes: Option<String>,
    /// The disk has too little room: calls of users write nothing.
    room: Option<String>,
    shut: bool,
}

const OPEN: u8 = 0;
const WRITES_CLOSED: u8 = 1;
const SCHEMA_CLOSED: u8 = 2;
const SHUT: u8 = 3;
const ROOM_CLOSED: u8 = 4;

impl Gate {
    /// Refuses writes.
    pub fn close_writes(&self, reason: &str) {
        self.change(|reasons| reasons.writes = Some(reason.to_owned()));
    }

    /// Takes writes again.
    pub fn reopen_writes(&self) {
        self.change(|reasons| reasons.writes = None);
    }

    /// Serves the operator only, for this difference between the schema and the database; `None` = everybody.
    pub fn set_schema(&self, difference: Option<String>) {
        self.change(|reasons| reasons.schema = difference);
    }

    /// The difference of [`Gate::set_schema`].
    pub fn difference(&self) -> Option<String> {
        self.reasons.lock().schema.clone()
    }

    /// Takes no writes of users, since the disk has too little room; `None` = there is enough.
    pub fn set_room(&self, reason: Option<String>) {
        self.change(|reasons| reasons.room = reason);
    }

    /// Serves nobody any more.
    pub fn shut(&self) {
        self.change(|reasons| reasons.shut = true);
    }

    fn change(&self, change: impl FnOnce(&mut Reasons)) {
        let mut reasons = self.reasons.lock();
        change(&mut reasons);
        let state = match &*reasons {
            Reasons { shut: true, .. } => SHUT,
            Reasons { writes: Some(_), .. } => WRITES_CLOSED,
            Reasons { schema: Some(_), .. } => SCHEMA_CLOSED,
            Reasons { room: Some(_), .. } => ROOM_CLOSED,
            _ => OPEN,
        };
        self.state.store(state, Ordering::Release);
    }

    /// Why the store is closed, if it is: to writes, or to everything.
    pub fn closed(&self) -> Option<String> {
        if self.state.load(Ordering::Acquire) == OPEN {
            return None;
        }
        let reasons = self.reasons.lock();
        if reasons.shut {
            return Some("it is shutting down".to_owned());
        }
        reasons.writes.clone().or_else(|| reasons.schema.clone()).or_else(|| reasons.room.clone())
    }

    /// Why a read is refused, if it is.
    pub fn refuses_read(&self, access: Access) -> Option<String> {
        if self.state.load(Ordering::Acquire) == OPEN {
            return None;
        }
        let reasons = self.reasons.lock();
        match (&*reasons, access) {
            (Reasons { shut: true, .. }, _) => Some("it is shutting down".to_owned()),
            (Reasons { schema, .. }, Access::Everyone | Access::System) => schema.clone(),
            (_, Access::Admin) => None,
        }
    }

    /// Why a write is refused, if it is.
    pub fn refuses_write(&self, access: Access) -> Option<String> {
        match (self.state.load(Ordering::Acquire), access) {
            (OPEN, _) | (SCHEMA_CLOSED, Access::Admin) | (ROOM_CLOSED, Access::Admin | Access::System) => None,
            _ => self.closed(),
        }
    }
}
