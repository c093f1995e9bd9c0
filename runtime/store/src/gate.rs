//! The gate decides which calls are served. The store checks it before each call; the engine closes and opens it.

use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;

/// The access class of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Calls of users. They are rejected while the schema does not fit. Their writes are also rejected while the disk
    /// has too little space.
    Everyone,
    /// Work of the runtime and calls of the operator. They are rejected while the schema does not fit.
    System,
    /// Calls of the operator, such as a migration.
    Admin,
}

/// The state of the gate, with the reasons.
#[derive(Default)]
pub struct Gate {
    state: AtomicU8,
    reasons: Mutex<Reasons>,
}

#[derive(Default)]
struct Reasons {
    /// The schema does not fit: only calls of the operator are served.
    schema: Option<String>,
    /// A commit failed: writes are rejected until the database is checked.
    writes: Option<String>,
    /// The disk has too little space: calls of users cannot write.
    room: Option<String>,
    shut: bool,
}

const OPEN: u8 = 0;
const WRITES_CLOSED: u8 = 1;
const SCHEMA_CLOSED: u8 = 2;
const SHUT: u8 = 3;
const ROOM_CLOSED: u8 = 4;

impl Gate {
    /// Rejects writes.
    pub fn close_writes(&self, reason: &str) {
        self.change(|reasons| reasons.writes = Some(reason.to_owned()));
    }

    /// Accepts writes again.
    pub fn reopen_writes(&self) {
        self.change(|reasons| reasons.writes = None);
    }

    /// Serves only the operator, because of this difference between the schema and the database. `None`: serves all
    /// callers.
    pub fn set_schema(&self, difference: Option<String>) {
        self.change(|reasons| reasons.schema = difference);
    }

    /// Returns the difference of [`Gate::set_schema`].
    pub fn difference(&self) -> Option<String> {
        self.reasons.lock().schema.clone()
    }

    /// Rejects writes of users because the disk has too little space. `None`: there is enough space.
    pub fn set_room(&self, reason: Option<String>) {
        self.change(|reasons| reasons.room = reason);
    }

    /// Rejects all calls from now on.
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

    /// Returns the reason why writes or all calls are rejected, if they are.
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

    /// Returns the reason why a read is rejected, if it is.
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

    /// Returns the reason why a write is rejected, if it is.
    pub fn refuses_write(&self, access: Access) -> Option<String> {
        match (self.state.load(Ordering::Acquire), access) {
            (OPEN, _) | (SCHEMA_CLOSED, Access::Admin) | (ROOM_CLOSED, Access::Admin | Access::System) => None,
            _ => self.closed(),
        }
    }
}
