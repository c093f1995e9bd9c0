//! Media sessions, room tokens, signals, connection information, and the media server that follows.

mod connection;
mod livekit;
mod media_server;
mod quality;
mod rights;
mod sessions;
mod signals;
mod tokens;

use convoke::testing::{Reply, TestApp, TestCaller};
use schema::{MediaSession, Meeting};
use serde_json::{Value, json};

use crate::support::with;

const UPDATE: &str = "meetings/webrtc/index/updateSessionState";
const ACTIVE: &str = "meetings/webrtc/signaling/getActiveSessions";
const CREATE: &str = "meetings/webrtc/signaling/createSession";
const CLOSE: &str = "meetings/webrtc/signaling/closeSession";
const TOKEN: &str = "meetings/webrtc/rooms/generateParticipantAccessToken";

/// Reports the state of a session.
fn report(caller: &TestCaller<'_>, meeting: &str, session: &str, state: &str) -> Reply {
    report_with(caller, meeting, session, state, json!({}))
}

/// As [`report`], with metadata.
fn report_with(caller: &TestCaller<'_>, meeting: &str, session: &str, state: &str, metadata: Value) -> Reply {
    caller.call(UPDATE, json!({"meetingId": meeting, "sessionId": session, "state": state, "metadata": metadata}))
}

/// Calls a function of one session.
fn session_call(caller: &TestCaller<'_>, path: &str, meeting: &str, session: &str) -> Reply {
    caller.call(path, json!({"meetingId": meeting, "sessionId": session}))
}

/// The open sessions, as the caller sees them.
fn active(caller: &TestCaller<'_>, meeting: &str) -> Vec<Value> {
    caller.call(ACTIVE, json!({"meetingId": meeting})).value().as_array().unwrap().clone()
}

/// The open sessions' ids, in order.
fn open(caller: &TestCaller<'_>, meeting: &str) -> Vec<String> {
    active(caller, meeting).iter().map(|session| session["sessionId"].as_str().unwrap().to_owned()).collect()
}

/// Asks for a token.
fn token(caller: &TestCaller<'_>, meeting: &str, changes: Value) -> Reply {
    caller.call(TOKEN, with(json!({"meetingId": meeting}), changes))
}

/// The state of every session there is, closed ones too, by the client's name.
fn states(app: &TestApp) -> Vec<(String, &'static str)> {
    let sessions = app.read(|db| Ok(db.scan::<MediaSession>().take(1_000)?));
    sessions.iter().map(|session| (session.session_id.as_str().to_owned(), session.state.as_str())).collect()
}

/// The only meeting.
fn only_meeting(app: &TestApp) -> convoke::Doc<Meeting> {
    app.read(|db| Ok(db.scan::<Meeting>().first()?)).unwrap()
}

fn end(host: &TestCaller<'_>, meeting: &str) {
    host.call("meetings/lifecycle/endMeeting", json!({"meetingId": meeting})).value();
}

fn cancel(host: &TestCaller<'_>, meeting: &str) {
    host.call("meetings/lifecycle/cancelMeeting", json!({"meetingId": meeting})).value();
}

fn promote(host: &TestCaller<'_>, meeting: &str, user: &str, role: &str) {
    let args = json!({"meetingId": meeting, "userId": user, "newRole": role});
    host.call("meetings/lifecycle/updateParticipantRole", args).value();
}

fn remove(host: &TestCaller<'_>, meeting: &str, user: &str) {
    host.call("meetings/lifecycle/removeParticipant", json!({"meetingId": meeting, "userId": user})).value();
}
