//! Who is to do what, and by when.
//!
//! Owns what goes from one sentence to the next: a request that the next speaker accepts is theirs, with the date they
//! name; what somebody cannot do after all, another one takes; of several words on one task the last counts. What one
//! sentence announces is `commitments`'. In reading order: what is found (`item`), the drafts of it (`draft`) and what is
//! remembered of them (`tracker`); what words say (`words`), whose something is (`owners`), what it is about (`context`) and
//! when (`times`); what is said again (`repetition`), answered (`replies`), taken on (`claims`) and announced (`announced`);
//! how words become a line of a to-do list (`phrasing`) and which words these are (`wording`); where something is settled,
//! so that it is an item (`settled`); and all steps over a meeting (`tracking`).

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
mod phrasing;
mod wording;
mod settled;
pub mod tracking;
