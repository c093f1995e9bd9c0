//! Files that participants attach to a meeting.

use std::time::Duration;

use convoke::prelude::*;
use convoke::{StorageId, Upload, args, mutation, query, value};
use schema::{Actor, Attachment, Details, FileName, Meeting, User};

use crate::access::{self, Membership};
use crate::audit;

/// Most attachments of a meeting, so that the list is complete.
const ATTACHMENTS_MAX: usize = 200;
/// Life of a link in the list. The list is live, and its links are replaced before they expire.
const LINK: Duration = Duration::from_mins(10);

/// Arguments of [`begin_upload`] and [`list`].
#[args]
pub struct OfMeeting {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
}

/// Returns an address for the upload of a file, of any type and at most 100 MiB. `add` attaches the file.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `FAILED_PRECONDITION`: the meeting has 200 attachments.
#[mutation(rights = access::participant(args.meeting_id))]
pub fn begin_upload(ctx: &mut MutationCtx, membership: Membership, _: OfMeeting) -> Result<Upload> {
    require_room(ctx, membership.meeting.id())?;
    ctx.files().upload::<Attachment>()
}

/// Arguments of [`add`].
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "upload": "fileupload_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "name": "plan.pdf"}
/// ```
#[args]
pub struct Add {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The `storageId` of an upload of the caller.
    pub upload: StorageId,
    /// The name that participants see.
    pub name: FileName,
}

/// Attaches an uploaded file to a meeting. Returns the id of the attachment.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `NOT_FOUND`: the caller has no such upload, or has used it.
/// - `FAILED_PRECONDITION`: the meeting has 200 attachments, or the bytes of the upload have not arrived.
#[mutation(rights = contributor(args.meeting_id))]
pub fn add(ctx: &mut MutationCtx, membership: Membership, args: Add) -> Result<Id<Attachment>> {
    let file = ctx.files().take(args.upload)?;
    let (meeting, user) = (&membership.meeting, membership.user.id());
    let row = Attachment { meeting_id: meeting.id(), file, name: args.name, uploaded_by: user };
    let id = ctx.db_mut().insert(row)?;
    let details = Details::new().with("attachmentId", id);
    audit::meeting(ctx, &Actor::user(user), "attachment.added", meeting, details)?;
    Ok(id)
}

/// An attachment in the list.
///
/// ```json
/// {"_id": "attachment_01jgfjs5r2a4n8w7k0q3d6m9vt", "name": "plan.pdf", "contentType": "application/pdf",
///  "size": 48213, "uploadedBy": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "createdAt": 1767225600000,
///  "url": "https://api.example.com/files/eyJyIjoi…"}
/// ```
#[value(output)]
pub struct AttachmentShown {
    #[value(rename = "_id")]
    pub id: Id<Attachment>,
    pub name: FileName,
    /// Type of the content, determined by the server.
    pub content_type: String,
    /// Length in bytes.
    pub size: u64,
    /// The participant who attached it.
    pub uploaded_by: Id<User>,
    pub created_at: Millis,
    /// A link to the content, valid for at most 10 minutes.
    pub url: String,
}

/// Returns the attachments of a meeting, in the order in which they were added.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[query(tool, rights = access::participant(args.meeting_id))]
pub fn list(ctx: &QueryCtx, membership: Membership, _: OfMeeting) -> Result<Vec<AttachmentShown>> {
    let rows = ctx.db().query(Attachment::by_meeting).eq(membership.meeting.id()).take(ATTACHMENTS_MAX)?;
    let files: Vec<_> = rows.iter().map(|row| row.file).collect();
    let infos = ctx.files().infos(&files)?;
    let show = |(row, info): (Doc<Attachment>, convoke::FileInfo)| {
        Ok(AttachmentShown {
            id: row.id(),
            content_type: info.content_type,
            size: info.bytes,
            uploaded_by: row.uploaded_by,
            created_at: row.creation_time(),
            url: ctx.files().link(&row.file, LINK).named(row.name.as_str()).url()?,
            name: row.into_inner().name,
        })
    };
    rows.into_iter().zip(infos).map(show).collect()
}

/// Arguments of [`remove`].
#[args]
pub struct Remove {
    /// The attachment.
    pub attachment_id: Id<Attachment>,
}

/// Removes an attachment. Links to it end immediately.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting, or has neither attached the file nor hosts the meeting; or there is no
/// such attachment.
#[mutation(rights = keeper(args.attachment_id))]
pub fn remove(ctx: &mut MutationCtx, kept: Kept, _: Remove) -> Result<()> {
    let Kept { attachment, membership } = kept;
    ctx.db_mut().delete(attachment.id())?;
    let details = Details::new().with("attachmentId", attachment.id());
    audit::meeting(ctx, &Actor::user(membership.user.id()), "attachment.removed", &membership.meeting, details)
}

/// Returns the caller as a participant of a meeting with room for another attachment.
fn contributor(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Membership> {
    let membership = access::participant(ctx, meeting)?;
    require_room(ctx, meeting)?;
    Ok(membership)
}

/// Checks the limit of attachments of one meeting.
fn require_room(ctx: &impl Read, meeting: Id<Meeting>) -> Result<()> {
    let attachments = ctx.db().query(Attachment::by_meeting).eq(meeting).count()?;
    if attachments >= ATTACHMENTS_MAX as u64 {
        return Err(Error::failed_precondition(format!("Too many attachments (max {ATTACHMENTS_MAX})")));
    }
    Ok(())
}

/// An attachment that the caller may remove.
pub struct Kept {
    /// The row.
    pub attachment: Doc<Attachment>,
    /// The caller in its meeting.
    pub membership: Membership,
}

/// Returns an attachment that the caller has added, or of a meeting that the caller hosts.
fn keeper(ctx: &impl Read, id: Id<Attachment>) -> Result<Kept> {
    let user = access::user(ctx)?;
    let stranger = || Error::forbidden("Access denied: Not a meeting participant");
    let attachment = ctx.db().get(id)?.ok_or_else(stranger)?;
    let membership = access::membership_of(ctx, user, attachment.meeting_id)?;
    if attachment.uploaded_by != membership.user.id() {
        access::require_host(&membership)?;
    }
    Ok(Kept { attachment, membership })
}
