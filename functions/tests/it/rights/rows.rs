//! The table: what every kind of caller is answered by every function, with arguments that are right. It follows from
//! the rights that each function declares; only what a right means is written here.

use serde_json::{Value, json};

use super::calls::{Call, Product, name_things, products};
use super::fixture::{Ids, Who};

/// What a caller is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// He is let in.
    Yes,
    /// `UNAUTHENTICATED`.
    Login,
    /// `FORBIDDEN`: no place in the meeting.
    NoPlace,
    /// `FORBIDDEN`: a place, and no host's.
    NoHost,
    /// `FORBIDDEN`: no rights over the person or the thing.
    NoRight,
    /// `FORBIDDEN`: a deploy key that acts as nobody.
    ActAs,
    /// `NOT_FOUND`: it can only be one's own, and it is not.
    Absent(&'static str),
}

impl Cell {
    /// Code and sentence of the refusal.
    pub(super) fn refusal(self) -> Option<(&'static str, &'static str)> {
        match self {
            Yes => None,
            Login => Some(("UNAUTHENTICATED", "Authentication required")),
            NoPlace => Some(("FORBIDDEN", "Access denied: Not a meeting participant")),
            NoHost => Some(("FORBIDDEN", "Requires host role")),
            NoRight => Some(("FORBIDDEN", "Access denied: Insufficient permissions")),
            ActAs => Some(("FORBIDDEN", "Deploy key must act as a user")),
            Absent(message) => Some(("NOT_FOUND", message)),
        }
    }
}

use Cell::{Absent, ActAs, Login, NoHost, NoPlace, NoRight, Yes};

/// A function, a call of it, and what each of [`Who::ALL`] is answered.
pub(super) struct Row {
    pub path: &'static str,
    pub args: Value,
    cells: Cells,
    /// What the same caller calls first, so that there is something of his own.
    pub before: Option<(&'static str, Value)>,
}

impl Row {
    /// What this caller is answered.
    pub(super) fn cell(&self, who: Who) -> Cell {
        let place = Who::ALL.iter().position(|one| *one == who).expect("all are listed");
        self.cells[place]
    }
}

type Cells = [Cell; Who::ALL.len()];

// The cells stand in this order:
//                      nobody stranger  participant former  removed  host  admin    of another org  deploy key
const USERS: Cells = [Login, Yes, Yes, Yes, Yes, Yes, Yes, Yes, ActAs];
const USERS_AND_KEYS: Cells = [Login, Yes, Yes, Yes, Yes, Yes, Yes, Yes, Yes];
const PLACED: Cells = [Login, NoPlace, Yes, Yes, NoPlace, Yes, NoPlace, NoPlace, ActAs];
const HOSTS: Cells = [Login, NoPlace, NoHost, NoHost, NoPlace, Yes, NoPlace, NoPlace, ActAs];
const ADMINS: Cells = [Login, NoRight, NoRight, NoRight, NoRight, NoRight, Yes, NoRight, Yes];
const KEYS: Cells = [Login, NoRight, NoRight, NoRight, NoRight, NoRight, NoRight, NoRight, Yes];
/// For what an admin may ask about his own organization, whichever that is.
const ALL_ADMINS: Cells = [Login, NoRight, NoRight, NoRight, NoRight, NoRight, Yes, Yes, Yes];
/// For a profile of the participant's.
const OWNER_AND_ADMINS: Cells = [Login, NoRight, Yes, NoRight, NoRight, NoRight, Yes, NoRight, Yes];
/// For the public profile of the participant: who is in his organization, or was in the meeting with him.
const ACQUAINTED: Cells = [Login, NoRight, Yes, Yes, NoRight, Yes, Yes, NoRight, ActAs];
/// For a transcript chunk of the participant's.
const SPEAKER: Cells = [Login, NoPlace, Yes, NoHost, NoPlace, Yes, NoPlace, NoPlace, Yes];
/// For closing a session of the participant's.
const SESSION_OR_HOST: Cells = [Login, NoPlace, Yes, NoHost, NoPlace, Yes, NoPlace, NoPlace, ActAs];
const SESSION: Cells = own_in_meeting(Absent("Media session not found"));
const INSIGHT: Cells = own(Absent("Insight not found"));
const PROMPT: Cells = own(Absent("Prompt not found"));
const MATCH: Cells = {
    let mut cells = own(Absent("Match not found"));
    cells[5] = Yes;
    cells
};

/// For a thing of the participant's, wherever it is.
const fn own(absent: Cell) -> Cells {
    [Login, absent, Yes, absent, absent, absent, absent, absent, ActAs]
}

/// For a thing of the participant's in the meeting.
const fn own_in_meeting(absent: Cell) -> Cells {
    [Login, NoPlace, Yes, absent, NoPlace, absent, NoPlace, NoPlace, ActAs]
}

/// The answers that each right means.
pub(super) const RIGHTS: [(&str, Cells); 19] = [
    ("user", USERS),
    ("user_or_key", USERS_AND_KEYS),
    ("participant", PLACED),
    ("batch_participant", PLACED),
    ("host", HOSTS),
    ("admin", ALL_ADMINS),
    ("administered", ADMINS),
    ("administered_pair", ADMINS),
    ("administered_place", ADMINS),
    ("deploy_key", KEYS),
    ("profile_owner", OWNER_AND_ADMINS),
    ("acquaintance", ACQUAINTED),
    ("recorder", SPEAKER),
    ("batch_recorder", SPEAKER),
    ("own_session", SESSION),
    ("reported_session", SESSION_OR_HOST),
    ("own_insight", INSIGHT),
    ("own_prompt", PROMPT),
    ("matched", MATCH),
];

/// All rows, for the things of one fixture.
pub(super) fn rows(ids: &Ids) -> Vec<Row> {
    products().iter().flat_map(|product| rows_of(product, ids)).collect()
}

fn rows_of(product: &'static Product, ids: &Ids) -> Vec<Row> {
    let row = |rights: Option<&str>, args, before| {
        let (_, cells) = RIGHTS.iter().find(|(name, _)| Some(*name) == rights)?;
        Some(Row { path: &product.path, args, cells: *cells, before })
    };
    let submitted = Call::of(&product.path).filter_map(|call| {
        let before = call.before.map(|(path, args)| (path, args(ids)));
        row(call.rights.or(product.rights), (call.args)(ids), before)
    });
    let mut rows: Vec<Row> = submitted.collect();
    if rows.is_empty() {
        let mut args = product.examples.last().cloned().unwrap_or_else(|| json!({}));
        name_things(&mut args, &json!({}), ids);
        rows.extend(row(product.rights, args, None));
    }
    rows
}
