/// Lists the participants of a meeting.
///
/// # Errors
/// - `FORBIDDEN`: the caller does not.
#[query]
pub fn list_participants(ctx: &QueryCtx, args: ListParticipants) -> Result<Vec<Participant>> {
    ctx.db().query(Participant::by_meeting).eq(args.meeting_id).take(10)
}
