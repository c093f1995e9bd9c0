//! The tables.
//!
//! Every row also has `_id` and `_creationTime`, and every index ends with `_id`. Changes follow "expand, migrate,
//! contract": new fields are optional or have a default, and removed fields are retired first.

mod attachments;
mod audit;
mod insights;
mod interests;
mod matching;
mod media;
mod meetings;
mod notes;
mod offline;
mod transcripts;
mod users;

pub use attachments::*;
pub use audit::*;
pub use insights::*;
pub use interests::*;
pub use matching::*;
pub use media::*;
pub use meetings::*;
pub use notes::*;
pub use offline::*;
pub use transcripts::*;
pub use users::*;
