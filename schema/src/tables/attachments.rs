//! Files that participants attach to meetings.

use convoke::{File, Id, table};

use super::meetings::Meeting;
use super::users::User;
use crate::values::FileName;

/// A file of a meeting.
#[table(name = "attachments", prefix = "attachment")]
#[index(by_meeting(meeting_id))]
pub struct Attachment {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The content.
    #[file(max = "100MiB")]
    pub file: File,
    /// The name that participants see, and under which browsers save the file.
    pub name: FileName,
    /// The participant who attached it.
    pub uploaded_by: Id<User>,
}
