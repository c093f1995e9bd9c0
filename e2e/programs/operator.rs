//! The operator's commands, against a local server, a remote server, and a data folder without a server.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod process;

use std::fs::{File, Permissions};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Instant;

use process::{Serving, hello, run, text};
use serde_json::{Value, json};
use tempfile::TempDir;

const DEV: [&str; 3] = ["dev", "--listen", "127.0.0.1:0"];
const HELLO: [&str; 3] = ["run", "greetings/sayHello", r#"{"name":"Ada"}"#];

/// Returns the output of a command that must succeed.
#[track_caller]
fn done(output: Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Creates a key in this folder, with or without a running server.
#[track_caller]
fn made(folder: &Path, args: &[&str]) -> String {
    let output = hello(folder).args(["deploy-key", "create"]).args(args).output().unwrap();
    let key = done(output).trim().to_owned();
    assert!(key.contains('|') && !key.contains('\n'), "standard output is the key and nothing else: {key}");
    key
}

/// Returns a command for a remote server.
fn elsewhere(folder: &Path, url: &str, key: &str, args: &[&str]) -> Output {
    hello(folder).args(args).env("CONVOKE_URL", url).env("CONVOKE_DEPLOY_KEY", key).output().unwrap()
}

/// Calls the program's function with a key, on a new connection. Returns the status and the code.
fn called(url: &str, key: &str) -> (u16, String) {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let request = agent.post(format!("{url}/api/run/greetings/sayHello"));
    let request = request.header("authorization", format!("Convoke {key}"));
    let mut reply = request.send_json(json!({ "args": { "name": "Ada" } })).unwrap();
    let status = reply.status().as_u16();
    let body: Value = reply.body_mut().read_json().unwrap();
    (status, body["errorData"]["code"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn command_has_the_same_effect_over_all_three_paths() {
    let folder = TempDir::new().unwrap();
    let other = TempDir::new().unwrap();
    let here = folder.path();
    let list = ["deploy-key", "list", "--json", "--verbose", "--env", "development"];
    // Without a server, the command opens the folder itself.
    let key = made(here, &["ci", "--scope", "functions,keys", "--env", "development"]);
    let in_process = run(here, &list);
    assert!(text(&in_process.stderr).contains("which no server serves"), "{}", text(&in_process.stderr));
    assert_eq!(done(run(here, &HELLO)), "\"Hello, Ada!\"\n");

    let serving = Serving::start(hello(here).args(DEV));
    let by_socket = run(here, &list);
    assert!(text(&by_socket.stderr).contains("by ./data/control.sock"), "{}", text(&by_socket.stderr));
    let greeted = run(here, &HELLO);
    assert!(text(&greeted.stderr).contains("[INFO] greeting Ada"));
    assert_eq!(done(greeted), "\"Hello, Ada!\"\n");
    assert_eq!(done(run(here, &[&HELLO[..], &["--as", "ada"]].concat())), "\"Hello, Ada!\"\n");

    let remote = elsewhere(other.path(), &serving.url, &key, &list);
    assert!(text(&remote.stderr).contains("the server at http://127.0.0.1:"), "{}", text(&remote.stderr));
    assert_eq!(done(elsewhere(other.path(), &serving.url, &key, &HELLO)), "\"Hello, Ada!\"\n");
    assert!(!other.path().join("data").exists(), "a server elsewhere needs no folder here");

    let without_use = |output: Output| {
        let mut keys: Value = serde_json::from_str(&done(output)).unwrap();
        keys.as_array_mut().unwrap().iter_mut().for_each(|key| key["lastUsedAt"] = Value::Null);
        keys
    };
    let listed = without_use(in_process);
    assert_eq!((&listed[0]["name"], &listed[0]["state"]), (&json!("ci"), &json!("active")));
    assert_eq!(without_use(by_socket), listed);
    assert_eq!(without_use(remote), listed);
}

#[test]
fn failed_call_prints_the_same_over_all_three_paths() {
    let folder = TempDir::new().unwrap();
    let wrong = ["run", "greetings/sayHello", "{}"];
    let in_process = run(folder.path(), &wrong);
    let serving = Serving::start(hello(folder.path()).args(DEV));
    let key = made(folder.path(), &["ci", "--scope", "functions"]);
    let by_socket = run(folder.path(), &wrong);
    let remote = elsewhere(folder.path(), &serving.url, &key, &wrong);
    for output in [in_process, by_socket, remote] {
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
        let said = text(&output.stderr);
        assert!(said.contains("hello: INVALID_ARGUMENT: Missing required argument: name"), "{said}");
    }
}

#[test]
fn revocation_reaches_a_running_server_before_its_command_ends() {
    let folder = TempDir::new().unwrap();
    let serving = Serving::start(hello(folder.path()).args(DEV));
    let key = made(folder.path(), &["ci", "--scope", "functions"]);
    assert_eq!(called(&serving.url, &key).0, 200);
    // Calls continue while the key is revoked, like those of a thief.
    let (url, stolen) = (serving.url.clone(), key.clone());
    let thief = std::thread::spawn(move || {
        let mut last = Instant::now();
        loop {
            let begun = Instant::now();
            let (status, code) = called(&url, &stolen);
            if status != 200 {
                return (last, status, code);
            }
            last = begun;
        }
    });
    done(run(folder.path(), &["deploy-key", "revoke", "ci"]));
    let answered = Instant::now();
    let (last, status, code) = thief.join().unwrap();
    assert_eq!((status, code.as_str()), (401, "INVALID_CREDENTIALS"));
    assert!(last <= answered, "a call began after the revocation and was served");
    assert_eq!(called(&serving.url, &key).0, 401);
}

#[test]
fn keys_and_their_last_use_survive_sigkill() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    let [kept, gone] = {
        let serving = Serving::start(hello(here).args(DEV));
        let keys = ["kept", "gone"].map(|name| made(here, &[name, "--scope", "functions"]));
        assert_eq!(called(&serving.url, &keys[0]).0, 200);
        done(run(here, &["deploy-key", "revoke", "gone"]));
        assert_eq!(serving.signal("TERM"), 0);
        keys
    };
    assert!(!here.join("data/control.sock").exists(), "it goes with the server");
    let list = done(run(here, &["deploy-key", "list", "--json", "--env", "development"]));
    let list: Vec<Value> = serde_json::from_str(&list).unwrap();
    let one = |name: &str| list.iter().find(|key| key["name"] == name).unwrap();
    assert!(one("kept")["lastUsedAt"].as_i64().unwrap() > 0);
    assert_eq!((&one("gone")["state"], &one("gone")["lastUsedAt"]), (&json!("revoked"), &Value::Null));

    let mut serving = Serving::start(hello(here).args(DEV));
    assert_eq!((called(&serving.url, &kept).0, called(&serving.url, &gone).0), (200, 401));
    done(run(here, &["deploy-key", "revoke", "kept"]));
    serving.process.kill().unwrap();
    serving.process.wait().unwrap();
    // A killed server leaves its socket. The next server replaces it. Until then, commands open the folder.
    assert!(here.join("data/control.sock").exists());
    assert!(done(run(here, &["deploy-key", "list", "--env", "development"])).contains("kept  revoked"));
    let serving = Serving::start(hello(here).args(DEV));
    assert_eq!(called(&serving.url, &kept).0, 401);
    assert!(done(run(here, &["deploy-key", "list"])).contains("kept  revoked"));
}

#[test]
fn key_is_shown_once_and_stored_nowhere() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    let log = here.join("log");
    let mut command = hello(here);
    let mut serving = Serving::start(command.args(DEV).args(["--log", "trace"]));
    let mut unread = serving.take_log();
    let copied = {
        let log = log.clone();
        std::thread::spawn(move || std::io::copy(&mut unread, &mut File::create(log).unwrap()).unwrap())
    };
    let key = made(here, &["ci", "--scope", "functions,keys"]);
    let secret = key.split('|').nth(1).unwrap().to_owned();
    assert_eq!(called(&serving.url, &key).0, 200);
    assert_eq!(called(&serving.url, &format!("{key}x")).0, 401);
    let file = here.join("ci.key");
    std::fs::write(&file, &key).unwrap();
    let by_file = ["deploy-key", "list", "--verbose", "--url", &serving.url, "--deploy-key-file", "ci.key"];
    let mut said = done(run(here, &by_file));
    for args in [
        &["deploy-key", "list", "--json"][..],
        &["deploy-key", "audit"],
        &["deploy-key", "create", "ci", "--scope", "functions"],
        &["deploy-key", "create", "--help"],
        &["deploy-key", "list", "--help"],
        &["help", "run"],
        &["run", "greetings/nothing", "--verbose"],
    ] {
        let output = elsewhere(here, &serving.url, &key, args);
        said.push_str(&text(&output.stdout));
        said.push_str(&text(&output.stderr));
    }
    assert!(!said.contains(&secret), "{said}");
    assert!(said.contains("query greetings/sayHello"), "{said}");
    // Every user of the machine can read the arguments of a process, so the key must not be one of them.
    let mut slow = hello(here);
    slow.args(["deploy-key", "list"]).env("CONVOKE_URL", "http://192.0.2.1:9").env("CONVOKE_DEPLOY_KEY", &key);
    let mut slow = slow.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let line = std::fs::read(format!("/proc/{}/cmdline", slow.id())).unwrap();
    slow.kill().unwrap();
    slow.wait().unwrap();
    assert!(!text(&line).contains(&secret), "{}", text(&line));
    let refused = run(here, &["deploy-key", "list", "--deploy-key", &key]);
    assert_eq!(refused.status.code(), Some(2), "there is no such flag");

    assert_eq!(serving.signal("TERM"), 0);
    copied.join().unwrap();
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!(logged.contains("greetings/sayHello") && !logged.contains(&secret));
    // The database stores a hash.
    for file in ["convoke.db", "convoke.db-wal"] {
        let bytes = std::fs::read(here.join("data").join(file)).unwrap_or_default();
        assert!(!text(&bytes).contains(&secret), "{file}");
    }
}

#[test]
fn remote_server_needs_a_key() {
    let folder = TempDir::new().unwrap();
    let output = run(folder.path(), &["deploy-key", "list", "--url", "https://api.example.com"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("CONVOKE_DEPLOY_KEY") && said.contains("hello deploy-key create"), "{said}");
    let nobody = elsewhere(folder.path(), "http://127.0.0.1:1", "production:a|b", &["deploy-key", "list"]);
    assert!(text(&nobody.stderr).contains("hello: no response: "), "{}", text(&nobody.stderr));
}

#[test]
fn readable_key_file_gets_a_warning() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    let serving = Serving::start(hello(here).args(DEV));
    let file = here.join("ci.key");
    std::fs::write(&file, made(here, &["ci", "--scope", "keys"])).unwrap();
    let listed = |mode: u32| {
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let output = run(here, &["deploy-key", "list", "--url", &serving.url, "--deploy-key-file", "ci.key"]);
        let warned = text(&output.stderr);
        assert!(done(output).contains("ci"));
        warned
    };
    assert_eq!(listed(0o600), "");
    let advice =
        "convoke: ci.key is a secret with mode 0640; run `chmod 600 ci.key`, so that only its owner can read it\n";
    assert_eq!(listed(0o640), advice);
}

#[test]
fn key_creation_needs_scopes() {
    let folder = TempDir::new().unwrap();
    let output = run(folder.path(), &["deploy-key", "create", "ci"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
    let said = text(&output.stderr);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("--scope is missing") && words.contains(" act-as call functions as a user"), "{said}");
    assert!(!folder.path().join("data").exists(), "nothing was opened for it");
}

#[test]
fn run_as_a_user_needs_the_scope() {
    let folder = TempDir::new().unwrap();
    let serving = Serving::start(hello(folder.path()).args(DEV));
    let as_ada = [&HELLO[..], &["--as", "ada"]].concat();
    let plain = made(folder.path(), &["plain", "--scope", "functions"]);
    let refused = elsewhere(folder.path(), &serving.url, &plain, &as_ada);
    let said = text(&refused.stderr);
    assert!(said.contains("INSUFFICIENT_SCOPE: deploy key lacks the scope `act-as`"), "{said}");
    let acting = made(folder.path(), &["acting", "--scope", "functions", "--scope", "act-as"]);
    assert_eq!(done(elsewhere(folder.path(), &serving.url, &acting, &as_ada)), "\"Hello, Ada!\"\n");
}

#[test]
fn too_long_socket_path_disables_the_control_socket() {
    let folder = TempDir::new().unwrap();
    let deep = "d".repeat(120);
    let mut command = hello(folder.path());
    let mut serving = Serving::start(command.args(DEV).args(["--data", &deep]));
    let output = run(folder.path(), &["deploy-key", "list", "--data", &deep]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--url"), "{}", text(&output.stderr));
    // The log is a separate file, and complete when the process has ended.
    let (mut said, mut log) = (serving.said.clone(), serving.take_log());
    serving.signal("TERM");
    log.read_to_string(&mut said).unwrap();
    assert!(said.contains("no control socket at"), "{said}");
}
