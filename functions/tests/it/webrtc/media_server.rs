//! Updates of a LiveKit server: removal, change of role, end. The server is a local one that records its calls.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke::testing::{TestApp, TestCaller};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Value, json};

use super::{end, promote, remove, report};
use crate::support::{create, id_of, media_server, meeting, secret};

/// A call that the server got.
#[derive(Clone, Debug)]
struct Call {
    path: String,
    bearer: String,
    body: Value,
}

/// A server that answers with what it was told to, or else with success.
struct Server {
    address: String,
    calls: Arc<Mutex<Vec<Call>>>,
    /// Calls that ask who is in a room.
    lists: Arc<Mutex<Vec<Call>>>,
    answers: Arc<Mutex<VecDeque<(u16, &'static str)>>>,
    /// Participants in every room.
    inside: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (calls, answers) = (Arc::<Mutex<Vec<Call>>>::default(), Arc::<Mutex<VecDeque<(u16, &str)>>>::default());
        let (lists, inside) = (Arc::<Mutex<Vec<Call>>>::default(), Arc::<Mutex<Vec<Value>>>::default());
        let (their_calls, their_answers) = (calls.clone(), answers.clone());
        let (their_lists, their_inside) = (lists.clone(), inside.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let call = read(stream.as_ref().unwrap());
                let (status, body) = if call.path.ends_with("/ListParticipants") {
                    their_lists.lock().unwrap().push(call);
                    (200, json!({"participants": *their_inside.lock().unwrap()}).to_string())
                } else {
                    their_calls.lock().unwrap().push(call);
                    let (status, body) = their_answers.lock().unwrap().pop_front().unwrap_or((200, "{}"));
                    (status, body.to_owned())
                };
                let head =
                    format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                stream.unwrap().write_all(format!("{head}{body}").as_bytes()).unwrap();
            }
        });
        Self { address, calls, lists, answers, inside }
    }

    /// Says that the clients of these sessions are in the rooms.
    fn let_in(&self, sessions: &[&str]) {
        let client = |session: &&str| json!({"sid": "PA_1", "identity": session, "state": "ACTIVE", "tracks": []});
        self.inside.lock().unwrap().extend(sessions.iter().map(client));
    }

    /// An app whose large meetings are on this server.
    fn app(&self) -> TestApp {
        TestApp::with(|options| {
            media_server(options, &format!("ws://{}", self.address));
            secret(options, "LIVEKIT_API_SECRET", "secret1");
            secret(options, "LIVEKIT_PREVIOUS_API_SECRET", "secret0");
        })
    }

    fn answer(&self, answers: &[(u16, &'static str)]) {
        self.answers.lock().unwrap().extend(answers);
    }

    /// Takes the calls so far.
    fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    /// Takes the calls so far: method and body.
    fn told(&self) -> Vec<(String, Value)> {
        let method = |call: Call| (call.path.replace("/twirp/livekit.RoomService/", ""), call.body);
        self.calls().into_iter().map(method).collect()
    }
}

fn read(stream: &TcpStream) -> Call {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap().to_owned();
    let (mut bearer, mut length) = (String::new(), 0);
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "authorization" => bearer = value.strip_prefix("Bearer ").unwrap().to_owned(),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Call { path, bearer, body: serde_json::from_slice(&body).unwrap() }
}

/// Returns the rights in a server's token, if `key` signed it.
fn grant(call: &Call, key: &str) -> Option<Value> {
    let mut validation = Validation::new(Algorithm::HS256);
    validation.validate_exp = false;
    let decoded =
        jsonwebtoken::decode::<Value>(&call.bearer, &DecodingKey::from_secret(key.as_bytes()), &validation).ok()?;
    assert_eq!(decoded.claims["exp"].as_i64().unwrap() - decoded.claims["iat"].as_i64().unwrap(), 60);
    Some(decoded.claims["video"].clone())
}

fn large(ada: &TestCaller<'_>) -> String {
    create(ada, json!({"maxParticipants": 100, "participantEmails": ["bob@example.com"]}))
}

fn room(app: &TestApp) -> String {
    super::only_meeting(app).room_id.clone()
}

#[test]
fn removed_participant_is_disconnected_from_all_sessions() {
    let server = Server::start();
    let app = server.app();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = large(&ada);
    report(&ada, &id, "a1", "connected").value();
    report(&bob, &id, "b1", "connected").value();
    report(&bob, &id, "b2", "connecting").value();
    report(&bob, &id, "b2", "failed").value();
    server.let_in(&["a1", "b1", "b2"]);
    app.run_due();
    assert!(server.calls().is_empty());

    remove(&ada, &id, "bob");
    assert!(server.calls().is_empty(), "the removal does not wait for the server");
    app.run_due();

    let calls = server.calls();
    let room = room(&app);
    for (call, session) in calls.iter().zip(["b1", "b2"]) {
        assert_eq!(call.path, "/twirp/livekit.RoomService/RemoveParticipant");
        assert_eq!(call.body, json!({"room": room, "identity": session}));
        assert_eq!(grant(call, "secret1").unwrap(), json!({"room": room, "roomAdmin": true}));
    }
    assert_eq!(calls.len(), 2);
    let lists = std::mem::take(&mut *server.lists.lock().unwrap());
    assert_eq!((lists.len(), &lists[0].body), (1, &json!({"room": room})));
    assert_eq!(grant(&lists[0], "secret1").unwrap(), json!({"room": room, "roomAdmin": true}));
}

#[test]
fn removed_participant_is_disconnected_from_old_closed_sessions() {
    let server = Server::start();
    let app = server.app();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let (ada_id, bob_id) = (id_of(&ada), id_of(&bob));
    let id = large(&ada);
    report(&ada, &id, "a1", "connected").value();
    for tab in 0..40 {
        for state in ["connected", "closed"] {
            report(&bob, &id, &format!("tab-{tab}"), state).value();
        }
        app.clock().advance(Duration::from_secs(1));
    }
    // Its row may be gone already; and recorders are in the room that no one's token let in.
    let by_token = |session: &str, user: &str| json!({"identity": session, "attributes": {"userId": user}});
    server.let_in(&["tab-0", "a1", "EG_recorder", "not a session"]);
    server.inside.lock().unwrap().extend([by_token("ancient", &bob_id), by_token("other", &ada_id)]);

    remove(&ada, &id, "bob");
    app.run_due();

    let out = server.told();
    assert!(out.iter().all(|(method, _)| method == "RemoveParticipant"), "{out:?}");
    let out: Vec<&Value> = out.iter().map(|(_, body)| &body["identity"]).collect();
    assert_eq!(out, ["tab-0", "ancient"]);
}

#[test]
fn participant_added_again_keeps_the_new_session() {
    let server = Server::start();
    let app = server.app();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = large(&ada);
    report(&bob, &id, "b1", "connected").value();
    remove(&ada, &id, "bob");
    let again = json!({"meetingId": id, "email": "bob@example.com"});
    ada.call("meetings/lifecycle/addParticipant", again).value();
    report(&bob, &id, "b2", "connected").value();
    server.let_in(&["b1", "b2"]);
    app.run_due();
    let told: Vec<(String, Value)> =
        server.told().into_iter().map(|(method, body)| (method, body["identity"].clone())).collect();
    let expected = [("RemoveParticipant", "b1"), ("UpdateParticipant", "b2")];
    assert_eq!(told, expected.map(|(method, session)| (method.to_owned(), json!(session))));
}

#[test]
fn role_change_updates_permissions_of_a_connected_participant() {
    let server = Server::start();
    let app = server.app();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let bob_id = id_of(&bob);
    let args = json!({"meetingType": "webinar", "participantEmails": ["bob@example.com"]});
    let id = create(&ada, args);
    report(&bob, &id, "b1", "connected").value();
    report(&bob, &id, "b2", "connecting").value();
    report(&bob, &id, "b2", "closed").value();
    let told = |role: &str, publishes: bool| {
        let sources: &[&str] =
            if publishes { &["CAMERA", "MICROPHONE", "SCREEN_SHARE", "SCREEN_SHARE_AUDIO"] } else { &[] };
        let metadata =
            format!("{{\"meetingId\":\"{id}\",\"userId\":\"{bob_id}\",\"sessionId\":\"b1\",\"role\":\"{role}\"}}");
        let body = json!({
            "room": room(&app), "identity": "b1", "metadata": metadata,
            "attributes": {"role": role, "userId": bob_id},
            "permission": {
                "canSubscribe": true, "canPublish": publishes, "canPublishData": true, "canPublishSources": sources,
            },
        });
        vec![("UpdateParticipant".to_owned(), body)]
    };
    promote(&ada, &id, "bob", "host");
    app.run_due();
    assert_eq!(server.told(), told("host", true));
    promote(&ada, &id, "bob", "participant");
    app.run_due();
    assert_eq!(server.told(), told("participant", false));
    promote(&ada, &id, "bob", "participant");
    app.run_due();
    assert_eq!(server.told(), [], "the same role again is no change");
}

#[test]
fn server_call_sends_the_current_role() {
    let server = Server::start();
    let app = server.app();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = large(&ada);
    report(&bob, &id, "b1", "connected").value();
    promote(&ada, &id, "bob", "host");
    promote(&ada, &id, "bob", "participant");
    app.run_due();
    let roles: Vec<Value> = server.told().iter().map(|(_, body)| body["attributes"]["role"].clone()).collect();
    assert_eq!(roles, ["participant", "participant"]);
}

#[test]
fn the_end_of_a_meeting_ends_its_room() {
    let server = Server::start();
    let app = server.app();
    let ada = app.user("ada");
    let id = large(&ada);
    end(&ada, &id);
    app.run_due();
    let calls = server.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].path, "/twirp/livekit.RoomService/DeleteRoom");
    assert_eq!(calls[0].body, json!({"room": room(&app)}));
    assert_eq!(grant(&calls[0], "secret1").unwrap(), json!({"roomCreate": true}));
}

#[test]
fn closed_session_and_deactivated_account_disconnect_the_participant() {
    let server = Server::start();
    let app = server.app();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let bob_id = id_of(&bob);
    let id = large(&ada);
    report(&bob, &id, "b1", "connected").value();
    report(&ada, &id, "b1", "closed").value();
    app.run_due();
    assert_eq!(server.told(), [("RemoveParticipant".to_owned(), json!({"room": room(&app), "identity": "b1"}))]);
    report(&bob, &id, "b3", "connecting").value();
    report(&bob, &id, "b3", "failed").value();
    report(&bob, &id, "b2", "connected").value();
    server.let_in(&["b1", "b2", "b3"]);
    app.deploy_key(&["admin"]).call("users/mutations/deactivateUser", json!({"userId": bob_id})).value();
    app.run_due();
    let out = server.told();
    assert!(out.iter().all(|(method, _)| method == "RemoveParticipant"), "{out:?}");
    let out: Vec<&Value> = out.iter().map(|(_, body)| &body["identity"]).collect();
    assert_eq!(out, ["b2", "b1", "b3"]);
}

#[test]
fn missing_room_is_not_a_failure() {
    let server = Server::start();
    let app = server.app();
    let ada = app.user("ada");
    let id = large(&ada);
    server.answer(&[(404, r#"{"code":"not_found","msg":"room does not exist"}"#)]);
    end(&ada, &id);
    app.run_due();
    assert_eq!((server.calls().len(), app.pending_jobs().len(), app.failed_jobs().len()), (1, follow_ups(&app), 0));
}

/// Jobs that wait and are not the media server's.
fn follow_ups(app: &TestApp) -> usize {
    app.pending_jobs().iter().filter(|job| job.path != "meetings/mediaServer").count()
}

#[test]
fn failed_server_call_is_retried_until_it_succeeds() {
    let server = Server::start();
    let app = server.app();
    let ada = app.user("ada");
    let id = large(&ada);
    // A wrong address is no "not found", and is not repeated within the call.
    server.answer(&[(404, r#"{"code":"bad_route"}"#), (404, r#"{"code":"bad_route"}"#)]);
    end(&ada, &id);
    app.run_due();
    assert_eq!(server.calls().len(), 1);
    app.advance(Duration::from_secs(600));
    assert_eq!(server.calls().len(), 2);
    app.advance(Duration::from_secs(600));
    assert_eq!(server.calls().len(), 0, "it was taken");
    assert!(app.failed_jobs().is_empty());
}

#[test]
fn a_server_that_knows_only_the_previous_key_is_reached_with_it() {
    let server = Server::start();
    let app = server.app();
    let ada = app.user("ada");
    let id = large(&ada);
    server.answer(&[(401, "invalid API key")]);
    end(&ada, &id);
    app.run_due();
    let calls = server.calls();
    assert!(grant(&calls[0], "secret1").is_some() && grant(&calls[1], "secret0").is_some());
    assert_eq!(calls.len(), 2);
}

#[test]
fn rooms_without_a_server_need_no_follow_up() {
    let server = Server::start();
    let app = server.app();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    assert_eq!(super::only_meeting(&app).video_provider.as_str(), "livekit");
    let small = create(&ada, json!({"maxParticipants": 2, "participantEmails": ["bob@example.com"]}));
    report(&bob, &small, "b1", "connected").value();
    promote(&ada, &small, "bob", "host");
    remove(&ada, &small, "bob");
    end(&ada, &small);
    app.run_due();
    assert!(server.calls().is_empty());
    end(&ada, &id);
    app.run_due();
    assert_eq!(server.calls().len(), 1);
}
