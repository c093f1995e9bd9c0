//! Everything under `notes/`.

mod batch;
#[path = "../../properties/drafts.rs"]
mod drafts;
mod editing;
mod far;
mod offline;
mod reading;
mod rollback;
mod room;
mod thinning;
mod together;
