//! Functions of the tests: writes of other components in production, and costs of functions.

use convoke::prelude::*;
use convoke::store::{Column as _, Table, Value, ValueRef};
use convoke::{args, mutation, query};
use functions::meetings::lifecycle::OneMeeting;
use functions::meetings::presence;
use functions::meetings::queries::{ListUserMeetings, get_meeting, list_meeting_participants, list_user_meetings};
use schema::{
    ClientToken, EmailAddress, List, MediaSession, Meeting, OfflineOperation, Role, SessionState, User, VideoProvider,
};

/// Runs the query and returns how many statements it took.
#[query]
pub(crate) fn cost_of_listing_participants(ctx: &QueryCtx, args: OneMeeting) -> Result<u64> {
    ctx.run::<list_meeting_participants>(args)?;
    Ok(ctx.db().statements())
}

/// Runs the query and returns how many statements it took.
#[query]
pub(crate) fn cost_of_listing_meetings(ctx: &QueryCtx, args: ListUserMeetings) -> Result<u64> {
    ctx.run::<list_user_meetings>(args)?;
    Ok(ctx.db().statements())
}

/// Runs the query and returns how many statements it took.
#[query]
pub(crate) fn cost_of_a_meeting(ctx: &QueryCtx, args: OneMeeting) -> Result<u64> {
    ctx.run::<get_meeting>(args)?;
    Ok(ctx.db().statements())
}

/// Moves a meeting to a media server, as if there had been one at its creation.
#[mutation]
pub(crate) fn move_to_server(ctx: &mut MutationCtx, args: OneMeeting) -> Result<()> {
    ctx.db_mut().patch(args.meeting_id, |row| row.video_provider = VideoProvider::LiveKit)?;
    Ok(())
}

/// Arguments of [`put_session`].
#[args]
pub(crate) struct PutSession {
    pub meeting_id: Id<Meeting>,
    pub user_id: Id<User>,
    pub session_id: ClientToken,
    pub state: SessionState,
}

/// Inserts a media session in the form of a client's report.
#[mutation]
pub(crate) fn put_session(ctx: &mut MutationCtx, args: PutSession) -> Result<()> {
    let updated_at = ctx.now();
    let found = ctx.db().query(MediaSession::by_meeting_session).eq(args.meeting_id).eq(&args.session_id).unique()?;
    match found {
        Some(session) => {
            ctx.db_mut().patch_doc(session, |row| {
                row.state = args.state;
                row.updated_at = updated_at;
            })?;
        }
        None => {
            ctx.db_mut().insert(MediaSession {
                meeting_id: args.meeting_id,
                session_id: args.session_id,
                user_id: args.user_id,
                state: args.state,
                metadata: None,
                connection_quality: None,
                last_metrics_at: None,
                updated_at,
            })?;
        }
    }
    presence::update_empty_since(ctx, args.meeting_id)?;
    Ok(())
}

/// Arguments of [`report_presence`].
#[args]
pub(crate) struct ReportPresence {
    pub meeting_id: Id<Meeting>,
    pub presence: schema::PresenceChange,
    pub metadata: Option<schema::Metadata>,
}

/// The transition of `batchUpdatePresence`.
#[mutation]
pub(crate) fn report_presence(ctx: &mut MutationCtx, args: ReportPresence) -> Result<()> {
    let seat = functions::access::participant(ctx, args.meeting_id)?;
    match args.presence {
        schema::PresenceChange::Joined => presence::join(ctx, seat, args.metadata)?,
        schema::PresenceChange::Left => presence::leave(ctx, seat, args.metadata)?,
    };
    Ok(())
}

/// Arguments of [`put_offline_operation`].
#[args]
pub(crate) struct PutOfflineOperation {
    pub meeting_id: Id<Meeting>,
    pub user_id: Id<User>,
    pub operation_id: ClientToken,
    pub status: schema::OfflineStatus,
}

/// Inserts a row of the offline queue.
#[mutation]
pub(crate) fn put_offline_operation(ctx: &mut MutationCtx, args: PutOfflineOperation) -> Result<()> {
    let queued_at = ctx.now();
    ctx.db_mut().insert(OfflineOperation {
        meeting_id: args.meeting_id,
        author_id: args.user_id,
        client_id: ClientToken::new("client").map_err(|error| Error::internal(error.to_string()))?,
        queue_id: "q".to_owned(),
        ordinal: 1,
        fingerprint: schema::Fingerprint::of(&args.operation_id),
        operation_id: args.operation_id,
        operation: None,
        base_sequence: 0,
        status: args.status,
        cleared: false,
        attempts: 0,
        last_attempt: None,
        error: None,
        queued_at,
        synced_at: None,
    })?;
    Ok(())
}

/// Arguments of [`put_people`].
#[args]
pub(crate) struct PutPeople {
    pub meeting_id: Id<Meeting>,
    /// Subjects of users, who are created as by their first call.
    pub subjects: List<schema::ShortText, 0, 2000>,
}

/// Adds users to a meeting, each with a connected session.
#[mutation]
pub(crate) fn put_people(ctx: &mut MutationCtx, args: PutPeople) -> Result<()> {
    for subject in args.subjects {
        let name = subject.as_str();
        let identity = convoke::Identity {
            issuer: convoke::testing::ISSUER.to_owned(),
            subject: name.to_owned(),
            name: Some(name.to_owned()),
            ..convoke::Identity::default()
        };
        functions::users::claims::admit(ctx, &identity)?;
        let user = ctx.db().query(User::by_identity).eq(convoke::testing::ISSUER).eq(name).unique()?;
        let user = user.ok_or_else(|| Error::internal("the user was made"))?.id();
        let row = functions::meetings::participants::add(ctx, args.meeting_id, user, Role::Participant)?;
        presence::write(ctx, row, schema::Presence::Joined, None)?;
        put_session(
            ctx,
            PutSession {
                meeting_id: args.meeting_id,
                user_id: user,
                session_id: ClientToken::new(name).map_err(|error| Error::internal(error.to_string()))?,
                state: SessionState::Connected,
            },
        )?;
    }
    Ok(())
}

/// Arguments of [`put_waiting_entry`].
#[args]
pub(crate) struct PutWaitingEntry {
    pub user_id: Id<User>,
    pub status: schema::QueueStatus,
}

/// Inserts an entry of the matching queue that is open for an hour.
#[mutation]
pub(crate) fn put_queue_entry(ctx: &mut MutationCtx, args: PutWaitingEntry) -> Result<()> {
    let now = ctx.now();
    ctx.db_mut().insert(schema::QueueEntry { status: args.status, ..waiting(args.user_id, now)? })?;
    Ok(())
}

/// Returns an entry that waits for an hour.
fn waiting(user_id: Id<User>, now: Millis) -> Result<schema::QueueEntry> {
    Ok(schema::QueueEntry {
        user_id,
        available_from: now,
        available_to: now + std::time::Duration::from_secs(3_600),
        constraints: serde_json::from_str(r#"{"interests": [], "roles": []}"#).map_err(Error::internal)?,
        status: schema::QueueStatus::Waiting,
        match_id: None,
        updated_at: now,
        ticket: None,
    })
}

/// A number of rows for a test.
#[args]
pub(crate) struct Many {
    pub user_id: Id<User>,
    pub count: i64,
}

/// Enters many users without rows into the matching queue; their ids start at this one.
#[mutation]
pub(crate) fn fill_queue(ctx: &mut MutationCtx, args: Many) -> Result<()> {
    for number in 0..args.count {
        let user = Id::from_bits(args.user_id.bits() + number.unsigned_abs() as u128);
        let entry = waiting(user, ctx.now())?;
        functions::matching::line::join(ctx, entry)?;
    }
    Ok(())
}

/// The reads of a function: statements and complete rows.
#[convoke::value(output)]
pub(crate) struct Cost {
    pub statements: u64,
    pub rows: u64,
}

/// Reads the caller's queue position and returns the cost.
#[query]
pub(crate) fn cost_of_a_place(ctx: &QueryCtx) -> Result<Cost> {
    ctx.run::<functions::matching::queue::get_queue_status>(NoArgs {})?;
    Ok(Cost { statements: ctx.db().statements(), rows: ctx.db().rows_read() })
}

/// Adds a user to many active meetings.
#[mutation]
pub(crate) fn put_meetings(ctx: &mut MutationCtx, args: Many) -> Result<()> {
    let mut blank = ctx.db().scan::<Meeting>().first()?.ok_or_else(|| Error::internal("no meeting"))?.into_inner();
    for number in 0..args.count {
        blank.room_id = format!("room-{number}");
        let meeting = ctx.db_mut().insert(blank.clone())?;
        let place = functions::meetings::participants::add(ctx, meeting, args.user_id, Role::Host)?;
        presence::write(ctx, place, schema::Presence::Joined, None)?;
    }
    Ok(())
}

/// Arguments of [`put_former_interest`].
#[args]
pub(crate) struct PutFormerInterest {
    pub key: schema::InterestKey,
    pub label: schema::InterestName,
    pub created_by: Option<Id<User>>,
    /// Users who chose it.
    pub users: List<Id<User>, 0, 100>,
}

/// Inserts an entry of the catalog and its users, in the form of a release without label keys.
#[mutation]
pub(crate) fn put_former_interest(ctx: &mut MutationCtx, args: PutFormerInterest) -> Result<()> {
    let PutFormerInterest { key, label, created_by, users } = args;
    ctx.db_mut().insert(schema::Interest {
        key: key.clone(),
        label,
        category: schema::InterestCategory::Personal,
        icon_name: None,
        usage_count: i64::try_from(users.len()).map_err(Error::internal)?,
        created_by,
        label_key: None,
    })?;
    for user_id in users.into_vec() {
        ctx.db_mut().insert(schema::UserInterest { user_id, key: key.clone() })?;
    }
    Ok(())
}

/// Removes the label keys of the whole catalog.
#[mutation]
pub(crate) fn forget_labels(ctx: &mut MutationCtx) -> Result<()> {
    for row in ctx.db().scan::<schema::Interest>().take(10_000)? {
        ctx.db_mut().patch_doc(row, |row| row.label_key = None)?;
    }
    Ok(())
}

/// Arguments of [`put_former_address`].
#[args]
pub(crate) struct PutFormerAddress {
    /// The stored form.
    pub email: String,
    pub user_id: Option<Id<User>>,
    pub meeting_id: Option<Id<Meeting>>,
}

/// Gives a user this address, or invites it to a meeting, in the form of a former release.
#[mutation]
pub(crate) fn put_former_address(ctx: &mut MutationCtx, args: PutFormerAddress) -> Result<()> {
    let email = EmailAddress::from_value(ValueRef::Text(&args.email)).map_err(Error::internal)?;
    if let Some(user) = args.user_id {
        ctx.db_mut().patch(user, |user| user.email = Some(email.clone()))?;
    }
    if let Some(meeting_id) = args.meeting_id {
        ctx.db_mut().insert(schema::Invitation { meeting_id, email, inviter_id: None })?;
    }
    Ok(())
}

/// Arguments of [`put_former_free_form`].
#[args]
pub(crate) struct PutFormerFreeForm {
    /// The JSON of the objects, in the stored form.
    pub json: String,
}

/// Stores this object in every presence, session and signal, in the form of a release that accepted any key.
#[mutation]
pub(crate) fn put_former_free_form(ctx: &mut MutationCtx, args: PutFormerFreeForm) -> Result<()> {
    fn put<T: Table>(ctx: &mut MutationCtx, field: &str, json: &str) -> Result<()> {
        let place = T::DEF.field(field).ok_or_else(|| Error::internal("no such field"))?;
        for row in ctx.db().scan::<T>().take(1_000)? {
            let changes = [(place, Value::Text(json.to_owned()))];
            ctx.db_mut().writer().update(T::DEF, row.id().bits(), &row.encode(), &changes)?;
        }
        Ok(())
    }
    put::<schema::Participant>(ctx, "presenceMetadata", &args.json)?;
    put::<MediaSession>(ctx, "metadata", &args.json)?;
    put::<schema::Signal>(ctx, "payload", &args.json)
}
