//! Action items: tasks with owners and due times.
//!
//! State that passes from one sentence to the next: a request that the next speaker accepts belongs to that speaker,
//! with the date that the speaker names; a task that its owner gives up can be taken by another person; of several
//! statements on one task, the last counts. `commitments` reads single sentences. In reading order: results (`item`),
//! drafts (`draft`) and their state (`tracker`); the words of tasks (`words`), owners (`owners`), context (`context`)
//! and times (`times`); repetitions (`repetition`), replies (`replies`), claims (`claims`) and announcements
//! (`announced`); the referents of pronouns (`pronouns`, `recipients`), conversion to lines (`phrasing`), the things of tasks
//! (`objects`) and the choice of words (`wording`); settled items (`settled`) with corrected times (`redated`); and the
//! order of all steps (`tracking`).

pub mod item;
mod draft;
mod tracker;
mod words;
mod owners;
mod context;
mod times;
mod repetition;
mod replies;
mod claims;
mod announced;
mod pronouns;
mod recipients;
mod phrasing;
mod plausibility;
mod objects;
mod wording;
mod settled;
mod redated;
pub mod tracking;
