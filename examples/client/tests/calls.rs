//! The generated Rust client over real HTTP: with the real server, and with failing servers.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[path = "../src/convoke.rs"]
mod convoke;

use convoke::{Client, Code, MeetingsLifecycleCreateMeeting, Error, Gender, MeetingsQueriesListUserMeetings, MeetingType, MeetingsLifecycleOneMeeting, UsersMutationsSaveOnboarding};

/// A running `convoke dev` in an empty folder. Stops when dropped.
struct Server {
    process: Child,
    url: String,
    folder: tempfile::TempDir,
}

fn binary(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CONVOKE_BIN").expect("CONVOKE_BIN names the application's program"));
    command.current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = binary(folder.path());
        let mut process = command.args(["dev", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let url =
            lines.find_map(|line| line.unwrap().strip_prefix("convoke: listening on ").map(str::to_owned)).unwrap();
        // Keep the pipe open for the log of the server.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, url, folder }
    }

    fn token(&self, subject: &str) -> String {
        let output =
            binary(self.folder.path()).args(["token", "--subject", subject, "--email", "ada@example.com"]).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server that sends these responses in order and then repeats the last one. An empty response closes the connection.
async fn answering(answers: Vec<String>) -> (String, Arc<AtomicU32>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicU32::new(0));
    let counted = requests.clone();
    tokio::spawn(async move {
        let mut known: Option<String> = None;
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            // Bodies are small: they arrive with the head or directly after it.
            while !request.windows(2).any(|bytes| bytes == b"}}") {
                let mut part = [0; 4096];
                match socket.read(&mut part).await {
                    Ok(read) if read > 0 => request.extend_from_slice(&part[..read]),
                    _ => break,
                }
            }
            // The repeated call has the same key.
            let text = String::from_utf8_lossy(&request).into_owned();
            let key = text.lines().find(|line| line.starts_with("idempotency-key: ")).unwrap_or_default();
            assert_eq!(known.get_or_insert_with(|| key.to_owned()), key);
            let place = usize::try_from(counted.fetch_add(1, SeqCst)).unwrap();
            let answer = &answers[place.min(answers.len() - 1)];
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    (url, requests)
}

fn http(status: u16, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn refusal(status: u16, code: &str) -> String {
    http(status, &format!(r#"{{"status":"error","errorMessage":"No","errorData":{{"code":"{code}"}},"logLines":[]}}"#))
}

fn success(value: &str) -> String {
    http(200, &format!(r#"{{"status":"success","value":{value},"errorMessage":"","errorData":{{}}}}"#))
}

fn summary(error: &Error) -> (Code, bool, u32) {
    (error.code(), error.may_have_run(), error.attempts())
}

fn onboarding(key: Option<&str>) -> UsersMutationsSaveOnboarding {
    UsersMutationsSaveOnboarding {
        age: 36,
        gender: Gender::NonBinary,
        field: "Mathematics".to_owned(),
        job_title: "Analyst".to_owned(),
        company: "Engines".to_owned(),
        bio: "Ünïcode 🦀".to_owned(),
        interests: Vec::new(),
        linkedin_url: None,
        idempotency_key: key.map(str::to_owned),
    }
}

const SAVED: &str = r#"{"userId":"user_1","profileId":"profile_1","interestsCount":0,"onboardingCompleted":true}"#;

#[tokio::test]
async fn typed_calls_reach_the_application() {
    let server = Server::start();
    let token = server.token("ada");
    let client = Client::new(format!("{}/", server.url)).token(&token);
    let first = client.users().mutations().save_onboarding(&onboarding(Some("k"))).await.unwrap();
    let again = client.users().mutations().save_onboarding(&onboarding(Some("k"))).await.unwrap();
    assert_eq!(first, again);
    let other = UsersMutationsSaveOnboarding { age: 37, ..onboarding(Some("k")) };
    let reused = client.users().mutations().save_onboarding(&other).await.unwrap_err();
    assert_eq!(summary(&reused), (Code::IdempotencyKeyReused, false, 1));

    let account = client.users().queries().get_current_user().await.unwrap();
    assert_eq!((account.id, account.email.as_deref()), (first.user_id, Some("ada@example.com")));
    let profile = client.profiles().queries().get_current_user_profile().await.unwrap().unwrap();
    assert_eq!((profile.bio.as_deref(), profile.gender), (Some("Ünïcode 🦀"), Some(Gender::NonBinary)));

    let meeting = MeetingsLifecycleCreateMeeting { meeting_type: Some(MeetingType::SmallGroup), ..MeetingsLifecycleCreateMeeting::new("One") };
    let created = client.meetings().lifecycle().create_meeting(&meeting).request_id("mine.1").reply().await.unwrap();
    assert_eq!(created.request_id, "mine.1");
    let one = MeetingsLifecycleOneMeeting { meeting_id: created.value.meeting_id.clone() };
    assert_eq!(client.meetings().queries().get_meeting(&one).await.unwrap().title, "One");
    let listed = client.meetings().queries().list_user_meetings(&MeetingsQueriesListUserMeetings::default()).await.unwrap();
    assert_eq!((listed.items.len(), listed.cursor), (1, None));
    client.users().mutations().update_last_seen().await.unwrap();

    let rejected = client.meetings().lifecycle().create_meeting(&MeetingsLifecycleCreateMeeting::new(" ")).await.unwrap_err();
    assert_eq!((rejected.code(), rejected.field(), rejected.status()), (Code::InvalidArgument, Some("title"), Some(200)));
    assert_eq!(rejected.to_string(), "meetings/lifecycle/createMeeting: Meeting title cannot be empty");
    let anonymous = Client::new(&server.url).users().queries().get_current_user().await.unwrap_err();
    assert_eq!(anonymous.code(), Code::Unauthenticated);
    let forged = Client::new(&server.url).token("x").users().queries().get_current_user().await.unwrap_err();
    assert_eq!((forged.code(), forged.status()), (Code::InvalidCredentials, Some(401)));
    // A rejected token is renewed once.
    let renewing = Client::new(&server.url).token_provider(move |rejected| {
        let token = rejected.map_or_else(|| "stale".to_owned(), |_| token.clone());
        async move { Ok(Some(token)) }
    });
    assert!(renewing.users().queries().get_current_user().await.is_ok());
}

#[tokio::test]
async fn safe_requests_are_retried() {
    let later = || refusal(200, "UNAVAILABLE");
    let (url, requests) = answering(vec![later(), String::new(), refusal(500, "COMMIT_UNKNOWN"), success(SAVED)]).await;
    let saved = Client::new(url).users().mutations().save_onboarding(&onboarding(None)).await.unwrap();
    assert_eq!((saved.user_id.as_str(), requests.load(SeqCst)), ("user_1", 4));
    let (url, requests) =
        answering(vec![refusal(503, "OVERLOADED"), refusal(429, "TOO_MANY_REQUESTS"), success(SAVED)]).await;
    Client::new(url).users().mutations().save_onboarding(&onboarding(None)).await.unwrap();
    assert_eq!(requests.load(SeqCst), 3);
    // No process listens on port 1. A port that was free before could belong to another test now.
    let client = Client::new("http://127.0.0.1:1").retries(1);
    let rejected = client.users().mutations().save_onboarding(&onboarding(None)).await.unwrap_err();
    assert_eq!(summary(&rejected), (Code::ConnectionFailed, false, 2));
}

#[tokio::test]
async fn unsafe_requests_are_sent_once() {
    for (answer, code, may_have_run) in [
        (String::new(), Code::ConnectionFailed, true),
        (http(502, "<h1>Bad gateway</h1>"), Code::InvalidResponse, true),
        (refusal(200, "UNAVAILABLE"), Code::Unavailable, true),
    ] {
        let (url, requests) = answering(vec![answer]).await;
        let meeting = MeetingsLifecycleOneMeeting { meeting_id: "meeting_1".into() };
        let action = Client::new(url).meetings().lifecycle().get_meeting_connection_info(&meeting).await;
        assert_eq!((summary(&action.unwrap_err()), requests.load(SeqCst)), ((code, may_have_run, 1), 1));
    }
    for (answer, code, may_have_run) in [
        (success("7"), Code::InvalidResponse, true),
        (refusal(500, "INTERNAL"), Code::Internal, false),
        (refusal(200, "FROM_THE_FUTURE"), Code::Unrecognized, false),
    ] {
        let (url, requests) = answering(vec![answer]).await;
        let error = Client::new(url).users().mutations().save_onboarding(&onboarding(None)).await.unwrap_err();
        assert_eq!(summary(&error), (code, may_have_run, 1), "{error:?}");
        assert_eq!(requests.load(SeqCst), 1);
    }
}

#[tokio::test]
async fn slow_call_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = Client::new(format!("http://{}", silent.local_addr().unwrap())).timeout(Duration::from_millis(100));
    let mutation = client.users().mutations().save_onboarding(&onboarding(None)).await.unwrap_err();
    assert_eq!(summary(&mutation), (Code::ClientTimeout, true, 1));
    let query = client.users().queries().get_current_user().await.unwrap_err();
    assert_eq!(summary(&query), (Code::ClientTimeout, false, 1));
}

#[tokio::test]
async fn unknown_members_and_codes_of_a_newer_server_are_accepted() {
    let newer = SAVED.replace("{\"userId", "{\"new\":[1],\"userId");
    let (url, _) = answering(vec![success(&newer)]).await;
    assert!(Client::new(url).users().mutations().save_onboarding(&onboarding(None)).await.is_ok());
    let gender = Gender::from("agender".to_owned());
    assert_eq!((gender.as_str(), &gender), ("agender", &Gender::Unrecognized("agender".to_owned())));
}
