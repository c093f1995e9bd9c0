//! A database of a million meetings with their rows, larger than 2 GiB: start, list, doctor, backup, restore.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use convoke::call::dispatch::Request;
use convoke::limits::Limits;
use convoke::{Caller, Identity, Runtime, RuntimeOptions};
use functions as _;
use serde_json::json;
use tempfile::TempDir;

use crate::process::{Server, convoke, minted};
use crate::{Turn, without_rates};

/// Number of meetings that are created concurrently while the database is filled.
const AT_ONCE: usize = 256;

#[test]
#[ignore = "it makes a database beyond 2 GiB"]
fn large() {
    let turn = Turn::begin("large");
    let meetings: usize = std::env::var("TORTURE_MEETINGS").map_or(1_000_000, |text| text.parse().unwrap());
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    without_rates(folder.path());
    let token = minted(folder.path());
    let timed = |what: &str, work: &mut dyn FnMut()| {
        let began = Instant::now();
        work();
        turn.say(&format!("{what}: {:.1} s", began.elapsed().as_secs_f64()));
    };
    timed("fill", &mut || fill(folder.path(), meetings));
    let database = std::fs::metadata(folder.path().join("data/convoke.db")).unwrap().len();
    turn.say(&format!("{meetings} meetings, {} MiB", database >> 20));
    assert!(meetings < 1_000_000 || database > 2 << 30, "{database} bytes");
    let mut server = None;
    timed("start", &mut || server = Some(Server::start(&mut convoke(folder.path()))));
    let server = server.unwrap();
    timed("the newest 100 of a user", &mut || {
        let mine = server.call(&token, "meetings/queries/listUserMeetings", &json!({ "limit": 100 }));
        assert_eq!(mine.value()["items"].as_array().unwrap().len(), meetings.min(100));
    });
    timed("tables with their rows and bytes", &mut || {
        let said = done(folder.path(), &["data", "--json"]);
        assert!(said.contains(&format!("\"rows\":{meetings}")), "{said}");
    });
    timed("backup of the running server", &mut || drop(done(folder.path(), &["backup", "backup.db"])));
    timed("doctor beside it", &mut || drop(done(folder.path(), &["doctor"])));
    server.stop();
    timed("restore", &mut || drop(done(folder.path(), &["restore", "backup.db"])));
    timed("start on what was restored", &mut || Server::start(&mut convoke(folder.path())).stop());
    timed("doctor", &mut || drop(done(folder.path(), &["doctor"])));
}

fn done(folder: &Path, args: &[&str]) -> String {
    let mut command: Command = convoke(folder);
    let output = command.env("CONVOKE_ENV", "development").args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Creates meetings by `createMeeting`, in process and concurrently, so that they share commits.
fn fill(folder: &Path, meetings: usize) {
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let settings = std::fs::read_to_string(folder.join("convoke.toml")).unwrap().parse().unwrap();
    let limits = Limits { user_bytes_written_per_hour: 0, ..Limits::default() };
    let options = RuntimeOptions {
        settings,
        limits,
        ..RuntimeOptions::in_folder(folder.join("data"), convoke::default_engine())
    };
    let runtime = Runtime::start(options).unwrap();
    let caller = Caller::User(Arc::new(identity(folder)));
    let description = "What is to be talked about, and who brings what. ".repeat(30);
    executor.block_on(async {
        let mut under_way = tokio::task::JoinSet::new();
        for n in 0..meetings {
            if under_way.len() >= AT_ONCE {
                under_way.join_next().await.unwrap().unwrap();
            }
            let (runtime, caller) = (runtime.clone(), caller.clone());
            let args = json!({ "title": format!("Meeting {n}"), "description": description }).to_string();
            under_way.spawn(async move {
                let request = Request::Args { path: "meetings/lifecycle/createMeeting", args: &args };
                let id = runtime.request_id();
                let (outcome, _) = runtime.call(request, caller, id).await;
                assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
            });
        }
        while let Some(made) = under_way.join_next().await {
            made.unwrap();
        }
    });
    runtime.store().close();
}

/// Returns the identity of the folder's token.
fn identity(folder: &Path) -> Identity {
    let token = minted(folder);
    let claims = token.split('.').nth(1).unwrap();
    let claims = base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, claims).unwrap();
    let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
    let text = |name: &str| claims[name].as_str().unwrap().to_owned();
    Identity {
        issuer: text("iss"),
        subject: text("sub"),
        email: Some(text("email")),
        email_verified: Some(true),
        issued_at: claims["iat"].as_i64(),
        ..Identity::default()
    }
}
