//! The calendar of a user: a secret link under which calendar programs read the coming meetings.

use aws_lc_rs::{digest, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use convoke::prelude::*;
use icalendar::{Calendar, Component as _, Event, EventLike as _, EventStatus, Property};
use schema::{CalendarLink, Meeting, MeetingState, Participant, User};

/// Most meetings in a calendar, and rows that are read to find them.
const MEETINGS_MAX: usize = 500;
const READ_MAX: usize = 5_000;

/// Length of a token, bytes.
const TOKEN_BYTES: usize = 32;

/// Creates the link of a user in place of an earlier one, and returns its address.
///
/// # Errors
/// A failure of the store.
pub fn create(ctx: &mut MutationCtx, user: &Doc<User>) -> Result<String> {
    revoke(ctx, user)?;
    let mut token = [0; TOKEN_BYTES];
    rand::fill(&mut token).map_err(|_| Error::internal("the system has no random bytes"))?;
    let token = URL_SAFE_NO_PAD.encode(token);
    let created_at = ctx.now();
    ctx.db_mut().insert(CalendarLink { user_id: user.id(), token_hash: hash(&token), created_at })?;
    Ok(ctx.url(&format!("/calendar/{token}.ics")))
}

/// Deletes the link of a user, if there is one.
///
/// # Errors
/// A failure of the store.
pub fn revoke(ctx: &mut MutationCtx, user: &Doc<User>) -> Result<()> {
    if let Some(link) = ctx.db().query(CalendarLink::by_user).eq(user.id()).unique()? {
        ctx.db_mut().delete(link.id())?;
    }
    Ok(())
}

/// Only the hash of a token is stored: a backup of the database opens no calendar.
fn hash(token: &str) -> String {
    hex::encode(digest::digest(&digest::SHA256, token.as_bytes()))
}

/// Returns the coming meetings of a user as iCalendar (RFC 5545).
///
/// The link is the credential. Meetings that are scheduled or active are listed, at most 500.
///
/// # Errors
/// `NOT_FOUND` with HTTP status 404: there is no such link, it was revoked, or the account is deactivated.
#[route(GET, "/calendar/{token}.ics")]
pub fn show(ctx: &QueryCtx, token: Path<String>) -> Result<Response> {
    let not_found = || Error::not_found("No such calendar").with_status(404);
    let link = ctx.db().query(CalendarLink::by_token).eq(hash(&token)).unique()?.ok_or_else(not_found)?;
    let user = ctx.db().get::<User>(link.user_id)?.filter(|user| user.is_active).ok_or_else(not_found)?;
    let mut calendar = Calendar::empty();
    calendar.append_property(Property::new("VERSION", "2.0"));
    calendar.append_property(Property::new("PRODID", "-//Convoke//Meetings//EN"));
    calendar.append_property(Property::new("CALSCALE", "GREGORIAN"));
    calendar.name("Meetings");
    for meeting in coming(ctx, user.id())? {
        calendar.push(event(&meeting)?);
    }
    Response::text(calendar.to_string()).header("content-type", "text/calendar; charset=utf-8")
}

/// Returns the coming meetings of a user, earliest first.
fn coming(ctx: &QueryCtx, user: Id<User>) -> Result<Vec<Doc<Meeting>>> {
    let places = ctx.db().query(Participant::by_user_meeting).eq(user).order(Order::Desc).take(READ_MAX)?;
    let ids: Vec<Id<Meeting>> = places.iter().map(|place| place.meeting_id).collect();
    let meetings = ctx.db().get_many(&ids)?.into_iter().flatten();
    let is_coming = |meeting: &Doc<Meeting>| match meeting.state {
        MeetingState::Scheduled | MeetingState::Active => true,
        MeetingState::Concluded | MeetingState::Cancelled => false,
    };
    let mut coming: Vec<_> = meetings.filter(is_coming).collect();
    coming.sort_by_key(|meeting| (start(meeting), meeting.id()));
    coming.truncate(MEETINGS_MAX);
    Ok(coming)
}

fn start(meeting: &Doc<Meeting>) -> Millis {
    meeting.scheduled_at.or(meeting.started_at).unwrap_or(meeting.creation_time())
}

fn event(meeting: &Doc<Meeting>) -> Result<Event> {
    let at = |millis: i64| {
        DateTime::from_timestamp_millis(millis).ok_or_else(|| Error::internal("a time out of the calendar's range"))
    };
    let start = start(meeting).get();
    let mut event = Event::new();
    event
        .uid(&format!("{}@convoke", meeting.id()))
        .timestamp(at(meeting.updated_at.get())?)
        .last_modified(at(meeting.updated_at.get())?)
        .summary(meeting.title.as_str())
        .starts(at(start)?)
        .ends(at(start.saturating_add(meeting.duration.get()))?)
        .status(EventStatus::Confirmed);
    if let Some(description) = &meeting.description {
        event.description(description.as_str());
    }
    Ok(event.done())
}
