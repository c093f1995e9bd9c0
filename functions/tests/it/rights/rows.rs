//! The table: the response to every kind of caller from every function, with valid arguments. It follows from the
//! rights that each function declares; this module defines only the meaning of a right.

use serde_json::{Value, json};

use super::calls::{Call, Product, name_things, products};
use super::fixture::{Ids, Who};

/// A response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// Permitted.
    Yes,
    /// `UNAUTHENTICATED`.
    Login,
    /// `FORBIDDEN`: not in the meeting.
    NoPlace,
    /// `FORBIDDEN`: in the meeting, but not a host.
    NoHost,
    /// `FORBIDDEN`: no rights on the user or the object.
    NoRight,
    /// `FORBIDDEN`: a deploy key without a user.
    ActAs,
    /// `NOT_FOUND`: only the owner can see it.
    Absent(&'static str),
}

impl Cell {
    /// Returns code and message of the error.
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

/// A function, a call of it, and the response to each of [`Who::ALL`].
pub(super) struct Row {
    pub path: &'static str,
    pub args: Value,
    cells: Cells,
    /// A prior call of the same caller, which creates an object of the caller.
    pub before: Option<(&'static str, Value)>,
}

impl Row {
    /// Returns the response to this caller.
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
/// For requests of an admin about the own organization, whichever that is.
const ALL_ADMINS: Cells = [Login, NoRight, NoRight, NoRight, NoRight, NoRight, Yes, Yes, Yes];
/// For a webhook endpoint of the admin's organization.
const ENDPOINT: Cells = {
    let absent = Absent("No webhook endpoint has this id");
    [Login, NoRight, NoRight, NoRight, NoRight, NoRight, Yes, absent, Yes]
};
/// For a profile of the participant.
const OWNER_AND_ADMINS: Cells = [Login, NoRight, Yes, NoRight, NoRight, NoRight, Yes, NoRight, Yes];
/// For the public profile of the participant: visible to the same organization and to participants of a common meeting.
const ACQUAINTED: Cells = [Login, NoRight, Yes, Yes, NoRight, Yes, Yes, NoRight, ActAs];
/// For a transcript chunk of the participant.
const SPEAKER: Cells = [Login, NoPlace, Yes, NoHost, NoPlace, Yes, NoPlace, NoPlace, Yes];
/// For closing a session of the participant.
const SESSION_OR_HOST: Cells = [Login, NoPlace, Yes, NoHost, NoPlace, Yes, NoPlace, NoPlace, ActAs];
/// For adding an upload of the participant.
const CONTRIBUTOR: Cells = {
    let lost = Absent("There is no such upload of yours, or its file was taken already; upload the file again");
    [Login, NoPlace, Yes, lost, NoPlace, lost, NoPlace, NoPlace, ActAs]
};
const SESSION: Cells = own_in_meeting(Absent("Media session not found"));
const INSIGHT: Cells = own(Absent("Insight not found"));
const PROMPT: Cells = own(Absent("Prompt not found"));
const MATCH: Cells = {
    let mut cells = own(Absent("Match not found"));
    cells[5] = Yes;
    cells
};

/// For an object of the participant, anywhere.
const fn own(absent: Cell) -> Cells {
    [Login, absent, Yes, absent, absent, absent, absent, absent, ActAs]
}

/// For an object of the participant in the meeting.
const fn own_in_meeting(absent: Cell) -> Cells {
    [Login, NoPlace, Yes, absent, NoPlace, absent, NoPlace, NoPlace, ActAs]
}

/// Returns the responses of each right.
pub(super) const RIGHTS: [(&str, Cells); 23] = [
    ("user", USERS),
    ("user_or_key", USERS_AND_KEYS),
    ("participant", PLACED),
    ("batch_participant", PLACED),
    ("host", HOSTS),
    ("admin", ALL_ADMINS),
    ("organization", ALL_ADMINS),
    ("own_endpoint", ENDPOINT),
    ("administered", ADMINS),
    ("administered_pair", ADMINS),
    ("administered_place", ADMINS),
    ("deploy_key", KEYS),
    ("profile_owner", OWNER_AND_ADMINS),
    ("acquaintance", ACQUAINTED),
    ("recorder", SPEAKER),
    ("batch_recorder", SPEAKER),
    ("contributor", CONTRIBUTOR),
    ("keeper", SESSION_OR_HOST),
    ("own_session", SESSION),
    ("reported_session", SESSION_OR_HOST),
    ("own_insight", INSIGHT),
    ("own_prompt", PROMPT),
    ("matched", MATCH),
];

/// Returns all rows, for the objects of one fixture.
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
