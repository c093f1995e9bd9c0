//! The command line, as users and supervisors use it: real processes, real ports, real signals.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod process;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use process::{Serving, hello, run, text};
use serde_json::{Value, json};
use tempfile::TempDir;

#[test]
fn serve_without_a_provider_fails_with_advice() {
    let folder = TempDir::new().unwrap();
    let output = run(folder.path(), &["serve"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    for part in ["no identity provider", "--auth-issuer", "--auth-audience", "hello dev"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!folder.path().join("data").exists(), "a refused start leaves nothing behind");
}

#[test]
fn dev_starts_without_setup_accepts_its_token_and_stops_on_sigterm() {
    let folder = TempDir::new().unwrap();
    let serving = Serving::start(hello(folder.path()).args(["dev", "--listen", "127.0.0.1:0"]));
    for part in ["functions   1", "database    ./data/convoke.db", "curl -s http://127.0.0.1:"] {
        assert!(serving.said.contains(part), "{}", serving.said);
    }
    assert!(
        serving.said.contains(r#"-d '{"args":{"name":"name"}}'"#),
        "what it prints can be called: {}",
        serving.said
    );
    let token = serving.said.split("Bearer ").nth(1).unwrap().split('\'').next().unwrap().to_owned();
    let reply = serving.call(Some(&token), &json!({ "name": "Ada" }));
    assert_eq!(reply["value"], "Hello, Ada!");
    assert_eq!(reply["logLines"], json!(["[INFO] greeting Ada"]));
    assert_eq!(serving.signal("TERM"), 0);
}

#[test]
fn command_completes_without_a_reader_of_its_messages() {
    let folder = TempDir::new().unwrap();
    let create = ["deploy-key", "create", "ci", "--scope", "functions", "--env", "development"];
    for (args, code) in [(&create[..], 0), (&["deploy-key", "revoke", "unknown", "--env", "development"], 1)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = hello(folder.path()).args(args).stderr(writer).stdout(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn dev_without_disk_space_says_so_and_starts_later() {
    let folder = TempDir::new().unwrap();
    // The system refuses to write more than the first kilobytes of a file.
    let script = format!("trap '' XFSZ; ulimit -f 8; exec '{}' dev --listen 127.0.0.1:0", env!("CARGO_BIN_EXE_hello"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("there is no room"), "{}", text(&output.stderr));
    let serving = Serving::start(hello(folder.path()).args(["dev", "--listen", "127.0.0.1:0"]));
    assert_eq!(serving.call(None, &json!({ "name": "Ada" }))["value"], "Hello, Ada!");
    assert_eq!(serving.signal("TERM"), 0);
}

#[test]
fn written_file_stays_whole_without_disk_space() {
    let folder = TempDir::new().unwrap();
    for (command, file) in
        [("agents", "AGENTS.md"), ("openapi --out", "openapi.json"), ("codegen typescript --out", "a.ts")]
    {
        let file_of = |words: &str| match words.ends_with("--out") {
            true => format!("{words} {file}"),
            false => words.to_owned(),
        };
        let words = file_of(command);
        assert!(run(folder.path(), &words.split(' ').collect::<Vec<_>>()).status.success(), "{words}");
        let former = std::fs::read_to_string(folder.path().join(file)).unwrap() + "\n";
        std::fs::write(folder.path().join(file), &former).unwrap();
        let script = format!("trap '' XFSZ; ulimit -f 1; exec '{}' {words}", env!("CARGO_BIN_EXE_hello"));
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words}");
        let said = text(&output.stderr);
        assert!(said.contains(&format!("{file} cannot be written: File too large")), "{words}: {said}");
        assert_eq!(std::fs::read_to_string(folder.path().join(file)).unwrap(), former, "{words}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "temporary files are removed");
}

#[test]
fn unread_log_does_not_block_calls() {
    let folder = TempDir::new().unwrap();
    let serving = Serving::start(hello(folder.path()).args(["dev", "--listen", "127.0.0.1:0"]));
    // The output is larger than the buffer of a pipe.
    let name = "a".repeat(3_000);
    for _ in 0..60 {
        assert_eq!(serving.call(None, &json!({ "name": name }))["status"], "success");
    }
    assert_eq!(serving.signal("TERM"), 0);
}

#[test]
fn development_token_is_rejected_in_production() {
    let folder = TempDir::new().unwrap();
    let serving = Serving::start(hello(folder.path()).args(["dev", "--listen", "127.0.0.1:0"]));
    let minted = run(folder.path(), &["token", "--subject", "grace", "--email", "grace@example.com"]);
    assert!(minted.status.success(), "{}", text(&minted.stderr));
    assert_eq!(serving.call(Some(&text(&minted.stdout)), &json!({ "name": "G" }))["status"], "success");
    let forged = format!("{}x", text(&minted.stdout).trim());
    assert_eq!(serving.call(Some(&forged), &json!({}))["errorData"]["code"], "INVALID_CREDENTIALS");

    let refused = run(folder.path(), &["token", "--subject", "grace", "--env", "production"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stdout.is_empty() && text(&refused.stderr).contains("no development issuer in production"));
}

#[test]
fn token_creates_no_issuer_in_the_folder_of_a_production_server() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("production")).unwrap();
    let provider = "data = 'production'\n[[auth.providers]]\nissuer = 'https://id.example.com/'\naudiences = ['api']\n";
    std::fs::write(folder.path().join("convoke.toml"), provider).unwrap();
    let token = || run(folder.path(), &["token", "--subject", "grace"]);
    let refused = token();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("come from its identity provider"), "{}", text(&refused.stderr));
    assert_eq!(std::fs::read_dir(folder.path().join("production")).unwrap().count(), 0);
    // The provider may be set elsewhere, too.
    std::fs::write(folder.path().join("convoke.toml"), "data = 'production'\n").unwrap();
    std::fs::write(folder.path().join("production/convoke.db"), "rows").unwrap();
    assert_eq!(token().status.code(), Some(1));
    assert_eq!(std::fs::read_dir(folder.path().join("production")).unwrap().count(), 1);
    std::fs::write(folder.path().join("convoke.toml"), "data = 'production'\nenvironment = 'development'\n").unwrap();
    assert!(token().status.success());
}

#[test]
fn functions_are_listed_as_text_and_json() {
    let folder = TempDir::new().unwrap();
    let table = text(&run(folder.path(), &["functions"]).stdout);
    assert!(
        table.lines().any(|line| line.starts_with("greetings/sayHello  query     public    -     -       Returns")),
        "{table}"
    );
    let list: Value = serde_json::from_slice(&run(folder.path(), &["functions", "--json"]).stdout).unwrap();
    assert_eq!(
        list,
        json!([{
            "path": "greetings/sayHello", "kind": "query", "visibility": "public", "rights": null, "tool": false,
            "route": null, "doc": "Returns a greeting.",
        }])
    );
}

#[test]
fn agents_file_replaces_only_its_own() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("AGENTS.md");
    for _ in 0..2 {
        assert!(run(folder.path(), &["agents"]).status.success());
        let written = std::fs::read_to_string(&file).unwrap();
        for part in
            ["run `hello agents` after", "### Greetings", "- `greetings/sayHello` (query): Returns a greeting\n"]
        {
            assert!(written.contains(part), "{written}");
        }
    }
    std::fs::write(&file, "mine").unwrap();
    let refused = run(folder.path(), &["agents"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("--force"), "{}", text(&refused.stderr));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert!(run(folder.path(), &["agents", "--force"]).status.success());
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("<!-- Written by Convoke"));
}

/// Sends lines to `mcp`, and returns the responses after its end, in the order of their ids. Those without an id are first.
fn agent(folder: &TempDir, flags: &[&str], lines: &[String]) -> Vec<Value> {
    let mut command = hello(folder.path());
    command.arg("mcp").args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = lines.join("\n") + "\n";
    let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut responses: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    responses.sort_by_key(|response| response["id"].as_i64());
    responses
}

fn tool(id: usize, name: &str, arguments: &Value) -> String {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

/// Returns the JSON of a tool's text, or its text if it is an error.
fn result(response: &Value) -> Result<Value, String> {
    let text = response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{response}"));
    match response["result"]["isError"] == true {
        true => Err(text.to_owned()),
        false => Ok(serde_json::from_str(text).unwrap()),
    }
}

fn greet(id: usize) -> String {
    tool(id, "run", &json!({ "path": "greetings/sayHello", "args": { "name": "Ada" } }))
}

#[test]
fn coding_agent_needs_no_server() {
    let folder = TempDir::new().unwrap();
    let responses = agent(&folder, &[], &[tool(0, "functions", &json!({})), greet(1), tool(2, "data", &json!({}))]);
    assert_eq!(result(&responses[0]).unwrap()["functions"][0]["path"], "greetings/sayHello");
    for response in &responses[1..] {
        let refused = result(response).unwrap_err();
        assert!(refused.contains("there is no data folder ./data yet; `hello dev`"), "{refused}");
    }
    assert!(!folder.path().join("data").exists(), "a reader makes no folder");

    assert!(run(folder.path(), &["run", "greetings/sayHello", r#"{"name":"Eve"}"#]).status.success());
    // Concurrent calls share the data folder, also with a check that opens the folder itself.
    let mut lines: Vec<String> = (0..8).map(greet).collect();
    lines.insert(4, tool(8, "doctor", &json!({})));
    lines.push(tool(9, "data", &json!({})));
    let responses = agent(&folder, &[], &lines);
    let expected = json!({ "value": "Hello, Ada!", "logLines": ["[INFO] greeting Ada"] });
    for response in &responses[..8] {
        assert_eq!(result(response).as_ref(), Ok(&expected));
    }
    let findings = result(&responses[8]).unwrap()["findings"].clone();
    assert!(findings.as_array().unwrap().iter().all(|finding| finding["level"] != "problem"), "{findings}");
    assert!(result(&responses[9]).unwrap()["tables"].is_array());
    let calls = &result(&agent(&folder, &[], &[tool(0, "logs", &json!({}))])[0]).unwrap()["calls"];
    assert_eq!(calls.as_array().unwrap().len(), 9, "{calls}");
}

/// A running `mcp`.
struct Agent {
    child: Child,
    input: ChildStdin,
    responses: Receiver<Value>,
}

impl Agent {
    fn start(folder: &TempDir) -> Self {
        let mut child = hello(folder.path()).arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, responses) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let _ = sender.send(serde_json::from_str(&line.unwrap()).unwrap());
            }
        });
        Self { child, input, responses }
    }

    fn send(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Returns the next response.
    fn next(&self) -> Value {
        self.responses.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    fn ping(&mut self, id: &str) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string());
        assert_eq!(self.next()["id"], id, "the response to a ping comes before those of running calls");
    }

    fn cancel(&mut self, id: usize) {
        let params = json!({ "requestId": id, "reason": "the user stopped it" });
        let line = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        self.send(&line.to_string());
    }

    /// Waits for the end of the process after the end of its input.
    fn end(self) -> Vec<Value> {
        let Self { mut child, input, responses } = self;
        drop(input);
        assert!(child.wait().unwrap().success());
        responses.iter().collect()
    }
}

fn signal(process: &Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &process.id().to_string()]).status().unwrap().success());
}

#[test]
fn slow_calls_of_a_coding_agent_delay_no_ping_and_can_be_cancelled() {
    let folder = TempDir::new().unwrap();
    let serving = Serving::start(hello(folder.path()).args(["dev", "--listen", "127.0.0.1:0"]));
    // Calls wait for this server until it goes on.
    signal(&serving.process, "STOP");
    let mut agent = Agent::start(&folder);
    for id in 0..16 {
        agent.send(&greet(id));
    }
    agent.ping("while calls wait");
    agent.send(&tool(16, "docs", &json!({ "query": "index" })));
    let refused = agent.next();
    assert_eq!(refused["id"], 16);
    assert!(refused["error"]["message"].as_str().unwrap().starts_with("16 calls are running"), "{refused}");

    for id in 1..16 {
        agent.cancel(id);
    }
    // A cancelled call ends while its server still waits, and another call can run.
    let found = loop {
        agent.send(&tool(17, "docs", &json!({ "query": "index" })));
        let response = agent.next();
        assert_eq!(response["id"], 17);
        if response["error"].is_null() {
            break response;
        }
    };
    assert!(result(&found).is_ok(), "{found}");

    signal(&serving.process, "CONT");
    let responses = agent.end();
    assert_eq!(responses.len(), 1, "cancelled calls have no response: {responses:?}");
    assert_eq!(
        (&responses[0]["id"], result(&responses[0]).unwrap()["value"].as_str()),
        (&json!(0), Some("Hello, Ada!"))
    );
    assert_eq!(serving.signal("TERM"), 0);
}

#[test]
fn coding_agent_that_sends_nonsense_gets_errors_and_is_served_on() {
    let folder = TempDir::new().unwrap();
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    let nested = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{}"#, "[".repeat(1_000_000));
    let cancelled =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
    let lines = [
        "nonsense".to_owned(),
        format!("[{ping}]"),
        nested,
        "x".repeat(5_000_000),
        String::new(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#.to_owned(),
        cancelled(r#"{"requestId":{}}"#),
        cancelled(r#"{"requestId":"unknown"}"#),
        tool(1, "rm", &json!({})),
        tool(2, "docs", &json!({ "query": 7 })),
        ping.to_owned(),
    ];
    let responses = agent(&folder, &[], &lines);
    let codes: Vec<i64> = responses.iter().filter_map(|response| response["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [-32700, -32600, -32700, -32600, -32602]);
    assert!(result(&responses[5]).unwrap_err().starts_with("INVALID_ARGUMENT: "));
    assert_eq!(responses[6], json!({ "jsonrpc": "2.0", "id": 7, "result": {} }));
    assert_eq!(responses.len(), 7);
}

#[test]
fn run_prints_the_value_or_fails_with_the_error_code() {
    let folder = TempDir::new().unwrap();
    let done = run(folder.path(), &["run", "greetings:sayHello", r#"{"name":"Ada"}"#, "--as", "ada"]);
    assert_eq!((done.status.code(), text(&done.stdout)), (Some(0), "\"Hello, Ada!\"\n".to_owned()));
    assert!(text(&done.stderr).contains("[INFO] greeting Ada"));
    let failed = run(folder.path(), &["run", "greetings/sayHello", "{}"]);
    assert_eq!((failed.status.code(), text(&failed.stdout)), (Some(1), String::new()));
    assert!(text(&failed.stderr).contains("INVALID_ARGUMENT: Missing required argument: name"));
}

#[test]
fn data_folder_belongs_to_one_process() {
    let folder = TempDir::new().unwrap();
    let _serving = Serving::start(hello(folder.path()).args(["dev", "--listen", "127.0.0.1:0"]));
    let second = run(folder.path(), &["dev", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("served by another process"), "{}", text(&second.stderr));
}

#[test]
fn failure_of_the_file_system_names_the_path_and_what_to_do() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    for (args, path) in [
        (&["dev", "--listen", "127.0.0.1:0", "--data", "file"][..], "file"),
        (&["serve", "--env", "development", "--listen", "127.0.0.1:0", "--data", "file"], "file"),
        (&["data", "--data", "file"], "file"),
        (&["man", "/proc/x"], "/proc/x"),
        (&["man", "file"], "file"),
        (&["backup", "/proc/x.db"], "/proc/x.db"),
        (&["export", "/proc/x.tar.gz"], "/proc/x.tar.gz"),
        (&["export", "none/x.tar.gz"], "none/x.tar.gz"),
        (&["restore", "file/x.db"], "file/x.db"),
        (&["agents", "--out", "/proc/x/AGENTS.md"], "/proc/x"),
        (&["openapi", "--out", "file/openapi.json"], "file"),
    ] {
        let output = run(folder.path(), args);
        let said = text(&output.stderr);
        let words = format!("hello: {path}");
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        let does_say = ["another", "create", "name the data folder"].iter().any(|advice| said.contains(advice));
        assert!(said.contains(&words) && does_say, "{args:?}: {said}");
    }
}

#[test]
fn mistaken_words_get_plain_messages() {
    let folder = TempDir::new().unwrap();
    for (args, code, expected) in [
        (&["logs", "--since", "yesterday"][..], 2, "write a duration such as 90d, 2h"),
        (&["token", "--subject", "ada", "--ttl", "long"], 2, "write a duration such as 90d, 2h"),
        (&["secret", "set", "../x"], 1, "\"../x\" is not a name or an id: it has a slash"),
        (&["deploy-key", "revoke", "a/b"], 1, "\"a/b\" is not a name or an id: it has a slash"),
        (&["logs", "--url", "example.com"], 1, "--url is not the address of a server"),
        (&["backup", "nosuch/"], 1, "nosuch/ is not a folder; create it first\n"),
        (&["backup", "nosuch", "--keep", "3"], 1, "create it first, or omit --keep"),
        (&["backup", "list"], 1, "for a backup in a file of the name `list`, write ./list"),
        (&["deploy-key", "create", "ci", "--scope", "data", "--expires", "0d"], 1, "the key would be expired already"),
    ] {
        let output = run(folder.path(), args);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(code) && said.contains(expected), "{args:?}: {said}");
    }
}

#[test]
fn flags_override_the_environment_which_overrides_the_file() {
    let folder = TempDir::new().unwrap();
    let file = "log_lines = \"always\"\nlisten = \"127.0.0.1:1\"\ndata = \"from-file\"\n";
    std::fs::write(folder.path().join("convoke.toml"), file).unwrap();
    let mut command = hello(folder.path());
    command.env("CONVOKE_LISTEN", "127.0.0.1:2").env("CONVOKE_DATA", "from-environment");
    let serving = Serving::start(command.args(["serve", "--env", "development", "--listen", "127.0.0.1:0"]));
    assert!(folder.path().join("from-environment/convoke.db").exists());
    assert_eq!(serving.call(None, &json!({ "name": "x" }))["logLines"], json!(["[INFO] greeting x"]));
}

#[test]
fn unknown_or_invalid_setting_stops_the_start() {
    for (file, part) in [
        ("colour = \"red\"", "colour"),
        ("[limits]\nsize = 1", "limits.size"),
        ("[limits]\nquery_timeout = 5", "limits.query_timeout"),
        ("[rates]\nreed = 5", "reed"),
        ("listen = \"nowhere\"", "listen"),
        ("log = \"verbose\"", "off, error, warn, info, debug and trace"),
    ] {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("convoke.toml"), file).unwrap();
        let output = run(folder.path(), &["dev"]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert!(text(&output.stderr).contains(part), "{file}: {}", text(&output.stderr));
    }
}

#[test]
fn help_has_examples_and_usage_errors_exit_with_2() {
    let folder = TempDir::new().unwrap();
    let help = text(&run(folder.path(), &["--help"]).stdout);
    assert!(help.contains("hello dev") && help.contains("Exit codes"), "{help}");
    let serve = text(&run(folder.path(), &["help", "serve"]).stdout);
    for flag in ["--listen", "--data", "--env", "--auth-issuer", "--auth-audience", "--auth-jwks", "--log-lines"] {
        assert!(serve.contains(flag), "{flag}");
    }
    for named in ["[[auth.providers]]", "request_body_bytes_max", "1048576", "mutation_timeout"] {
        assert!(serve.contains(named), "{named}: {serve}");
    }
    let run_help = text(&run(folder.path(), &["help", "run"]).stdout);
    assert!(run_help.contains("--as") && !run_help.contains("--tls-cert"), "{run_help}");
    assert_eq!(run(folder.path(), &["serv"]).status.code(), Some(2));
}

#[test]
fn full_disk_of_the_output_is_a_failure_and_a_closed_pipe_is_not() {
    let folder = TempDir::new().unwrap();
    assert!(run(folder.path(), &["run", "greetings/sayHello", r#"{"name":"Ada"}"#]).status.success());
    for args in [
        &["functions"][..],
        &["config", "example"],
        &["openapi"],
        &["data", "--json"],
        &["data"],
        &["doctor", "--json", "--env", "development"],
        &["run", "greetings/sayHello", r#"{"name":"Ada"}"#],
        &["token", "--subject", "ada", "--env", "development"],
        &["backup"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = hello(folder.path()).args(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(text(&output.stderr).contains("the output cannot be written"), "{args:?}: {}", text(&output.stderr));
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let output = hello(folder.path()).args(args).stdout(closed).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    }
}
