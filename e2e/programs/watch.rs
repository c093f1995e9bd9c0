//! `dev` while the sources of its program change: a program in a folder of its own, Cargo, and real processes.
//!
//! The tests share the folder and the build folder, so they run one after the other.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// Longest wait for a line: it includes a build.
const PATIENCE: Duration = Duration::from_secs(300);
/// Time in which an ignored change would start a build.
const IGNORED: Duration = Duration::from_millis(800);

const GREETINGS: &str = r#"
use convoke::prelude::*;

#[args]
pub struct SayHello {
    pub name: String,
}

/// Returns a greeting.
#[query]
pub fn say_hello(_: &QueryCtx, args: SayHello) -> Result<String> {
    Ok(format!("{}, {}!", words::greeting(), args.name))
}
"#;

const ENTRIES: &str = r#"
use convoke::prelude::*;

#[table(name = "entries", prefix = "entry")]
pub struct Entry {
    pub text: String,
}

/// Adds an entry.
#[mutation]
pub fn add(ctx: &mut MutationCtx) -> Result<()> {
    ctx.db_mut().insert(Entry { text: "one".to_owned() })?;
    Ok(())
}

/// Ends the process.
#[query]
pub fn crash(_: &QueryCtx) -> Result<()> {
    std::process::abort()
}
"#;

const MIGRATIONS: &str = r#"
use convoke::prelude::*;

/// Adds the number to each entry.
#[mutation(admin)]
pub fn number_entries(ctx: &mut MutationCtx, args: Batch) -> Result<Migrated> {
    ctx.migrate::<crate::entries::Entry>(&args, |entry| entry.set("number", &1_i64))
}
"#;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_hello")).ancestors().nth(2).unwrap().to_owned()
}

/// The folder of a program of an author, with a path dependency. Only one test has it at a time.
struct Author {
    folder: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Author {
    fn new() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // The name of the folder stays the same for a checkout, so that a later run compiles into the same files. It is not
        // in the build folder, which is not watched.
        let mut checkout = DefaultHasher::new();
        root().hash(&mut checkout);
        let folder = std::env::temp_dir().join(format!("convoke-author-{:x}", checkout.finish()));
        let _ = std::fs::remove_dir_all(&folder);
        let author = Self { folder, _turn: turn };
        let convoke = root().join("runtime/convoke");
        let manifest = std::fs::read_to_string(root().join("examples/bookshelf/Cargo.toml")).unwrap();
        let manifest = manifest
            .replace("\"bookshelf\"", "\"author\"")
            .replace("\"../../runtime/convoke\"", &format!("{convoke:?}"))
            .replace("[dependencies]", "[features]\nloud = []\n\n[dependencies]\nwords = { path = \"words\" }");
        author.write("Cargo.toml", &manifest);
        author.write("words/Cargo.toml", "[package]\nname = \"words\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        author.greet("Hello");
        author.write("src/main.rs", "mod entries;\nmod greetings;\n\nconvoke::main!();\n");
        author.write("src/greetings.rs", GREETINGS);
        author.write("src/entries.rs", ENTRIES);
        author.write("convoke.toml", "[dev]\nclients = [{ typescript = \"web/convoke.ts\" }]\n");
        // The runtime is compiled with the same settings as in its workspace.
        for file in ["Cargo.lock", ".cargo/config.toml"] {
            author.write(file, &std::fs::read_to_string(root().join(file)).unwrap());
        }
        author
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Changes the path dependency.
    fn greet(&self, greeting: &str) {
        let text = format!("pub fn greeting() -> &'static str {{\n    {greeting:?}\n}}\n");
        self.write("words/src/lib.rs", &text);
    }

    fn cargo(&self) -> Command {
        self.command(env!("CARGO"))
    }

    /// Returns a command in the folder of the program, with the environment of Cargo.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("CARGO_TARGET_DIR", target()).env("CARGO_NET_OFFLINE", "true");
        command.stdin(Stdio::null());
        command
    }

    /// Builds the program and returns its file.
    fn built(&self) -> PathBuf {
        let output = self.cargo().args(["build", "--quiet"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target().join("debug/author")
    }

    fn dev(&self) -> Dev {
        // The first build compiles the runtime, which may take minutes.
        self.built();
        Dev::start(self.cargo().args(["run", "--quiet", "--", "dev", "--listen", "127.0.0.1:0", "--log", "warn"]))
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(target().join("debug/author")).args(arguments).current_dir(&self.folder).output().unwrap()
    }
}

/// A running `dev`.
struct Dev {
    process: Child,
    said: Arc<(Mutex<Vec<String>>, Condvar)>,
    /// Number of lines that were awaited.
    read: usize,
    url: String,
}

impl Dev {
    fn spawn(command: &mut Command) -> Self {
        let mut process = command.process_group(0).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let said = Arc::<(Mutex<Vec<String>>, Condvar)>::default();
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                heard.0.lock().unwrap().push(line);
                heard.1.notify_all();
            }
        });
        Self { process, said, read: 0, url: String::new() }
    }

    fn start(command: &mut Command) -> Self {
        let mut dev = Self::spawn(command);
        let line = dev.hears("convoke: listening on ");
        dev.url = line.rsplit(' ').next().unwrap().to_owned();
        dev
    }

    /// Waits for a line with this text after the last awaited one, and returns it.
    fn hears(&mut self, text: &str) -> String {
        let (lines, changed) = &*self.said;
        let mut lines = lines.lock().unwrap();
        loop {
            if let Some(place) = lines[self.read..].iter().position(|line| line.contains(text)) {
                self.read += place + 1;
                return lines[self.read - 1].clone();
            }
            let (next, timeout) = changed.wait_timeout(lines, PATIENCE).unwrap();
            lines = next;
            assert!(!timeout.timed_out(), "no line {text:?} in:\n{}", lines.join("\n"));
        }
    }

    fn all(&self) -> String {
        self.said.0.lock().unwrap().join("\n")
    }

    /// Returns true if no line follows for a while.
    fn is_silent(&self) -> bool {
        let before = self.said.0.lock().unwrap().len();
        std::thread::sleep(IGNORED);
        self.said.0.lock().unwrap().len() == before
    }

    fn call(&self, function: &str, args: &Value) -> Value {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let url = format!("{}/api/run/{function}", self.url);
        agent.post(url).send_json(json!({ "args": args })).unwrap().into_body().read_json().unwrap()
    }

    fn greeting(&self) -> String {
        self.call("greetings/sayHello", &json!({ "name": "Ada" }))["value"].as_str().unwrap().to_owned()
    }

    fn address(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }

    /// Sends a signal to this process, and returns its exit status.
    fn signal(&mut self, name: &str) -> ExitStatus {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
        self.process.wait().unwrap()
    }

    /// Returns the ids of the processes below this one.
    fn descendants(&self) -> Vec<String> {
        let mut found = vec![self.process.id().to_string()];
        let mut next = 0;
        while next < found.len() {
            let output = Command::new("ps").args(["-o", "pid=", "--ppid", &found[next]]).output().unwrap();
            found.extend(String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned));
            next += 1;
        }
        found.split_off(1)
    }
}

impl Drop for Author {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_running(id: &str) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap();
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

/// Waits until all these processes have ended, for one minute at most.
#[track_caller]
fn require_end(ids: &[String]) {
    for _ in 0..600 {
        if !ids.iter().any(|id| is_running(id)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{ids:?} still run");
}

/// Sends a request on a connection of its own. Returns the response.
fn request(address: &str, path: &str, body: &Value) -> std::io::Result<String> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(Duration::from_secs(60)))?;
    let body = body.to_string();
    write!(
        socket,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut response = String::new();
    socket.read_to_string(&mut response)?;
    Ok(response)
}

/// Requests without a pause, until it is stopped.
struct Requests {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<(usize, Vec<String>)>,
}

impl Requests {
    fn begin(address: String) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let until = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut served, mut others) = (0, Vec::new());
            while !until.load(Ordering::Relaxed) {
                match request(&address, "/api/run/greetings/sayHello", &json!({ "args": { "name": "Ada" } })) {
                    Ok(response) if response.starts_with("HTTP/1.1 200 ") => served += 1,
                    Ok(response) => others.push(response),
                    Err(error) => others.push(error.to_string()),
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            (served, others)
        });
        Self { stop, thread }
    }

    /// Returns the number of served requests, and the other responses and errors.
    fn end(self) -> (usize, Vec<String>) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Returns the first result of a live query, and its connection.
fn live(address: &str) -> (String, BufReader<TcpStream>) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let body = json!({ "queries": [{ "path": "greetings/sayHello", "args": { "name": "Ada" } }] }).to_string();
    write!(
        socket,
        "POST /api/live HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut lines = BufReader::new(socket);
    loop {
        let mut line = String::new();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the server ended the stream before a result");
        if line.starts_with("data:") && line.contains("Ada") {
            return (line, lines);
        }
    }
}

/// Returns the text of the banner in the console, as a page gets it.
fn build_error(author: &Author, dev: &Dev) -> Value {
    let link = String::from_utf8(author.run(&["console", "--print"]).stdout).unwrap();
    let (url, code) = link.trim().rsplit_once('#').unwrap();
    let origin = url.trim_end_matches("/console");
    let session = format!("{}/console/api/session", dev.url);
    let opened = ureq::post(&session).header("origin", origin).send_json(json!({ "code": code })).unwrap();
    opened.into_body().read_json::<Value>().unwrap()["value"]["buildError"].clone()
}

#[test]
fn a_save_replaces_the_server_and_an_error_keeps_it() {
    let author = Author::new();
    let mut dev = author.dev();
    assert!(dev.all().contains("watching    ./src and "), "{}", dev.all());
    assert_eq!(dev.greeting(), "Hello, Ada!");
    let client = author.folder.join("web/convoke.ts");
    assert!(!std::fs::read_to_string(&client).unwrap().contains("sayGoodbye"));
    let (first, mut stream) = live(&dev.address());
    assert!(first.contains("Hello, Ada!"), "{first}");

    // A path dependency changes.
    let requests = Requests::begin(dev.address());
    author.greet("Good morning");
    let line = dev.hears("the new program serves");
    assert!(line.contains("cargo ") && line.contains("ready in "), "{line}");
    assert_eq!(dev.greeting(), "Good morning, Ada!");
    let (served, others) = requests.end();
    assert!(served > 10, "{served}");
    // A connection of the former server may get a rejection that is safe to retry, but no connection is refused.
    assert!(others.iter().all(|other| other.contains("NOT_READY")), "{others:?}");
    // The former server ends the stream, and the client resumes on the next one.
    let mut rest = String::new();
    let _ = stream.read_to_string(&mut rest);
    assert!(live(&dev.address()).0.contains("Good morning, Ada!"));

    // A build error keeps the server.
    author.write("src/greetings.rs", &GREETINGS.replace("args.name", "args.nom"));
    dev.hears("no field `nom`");
    dev.hears("the build failed");
    assert_eq!(dev.greeting(), "Good morning, Ada!");
    let shown = build_error(&author, &dev);
    assert!(shown.as_str().unwrap().contains("no field `nom`"), "{shown}");

    // It is mended, and the interface changes.
    let two = GREETINGS.to_owned()
        + &GREETINGS
            .split("/// Returns")
            .nth(1)
            .map(|rest| format!("/// Returns{rest}"))
            .unwrap()
            .replace("say_hello", "say_goodbye");
    author.write("src/greetings.rs", &two);
    dev.hears("wrote web/convoke.ts");
    dev.hears("the new program serves");
    assert!(dev.call("greetings/sayGoodbye", &json!({ "name": "Ada" }))["value"].is_string());
    assert!(std::fs::read_to_string(&client).unwrap().contains("sayGoodbye"));
    assert_eq!(build_error(&author, &dev), Value::Null);

    // Files that are no sources start no build.
    for file in
        ["src/.greetings.rs.swp", "src/greetings.rs~", "src/4913", "src/#greetings.rs#", "web/page.ts", "notes.md"]
    {
        author.write(file, "text");
    }
    author.write("src/greetings.rs", &two);
    std::fs::write(target().join("ignored.rs"), "text").unwrap();
    assert!(dev.is_silent(), "{}", dev.all());

    let below = dev.descendants();
    assert!(!below.is_empty());
    assert!(dev.signal("INT").success(), "{}", dev.all());
    assert!(!below.iter().any(|id| is_running(id)));
    assert!(TcpStream::connect(dev.address()).is_err());
}

#[test]
fn a_schema_that_does_not_fit_keeps_the_server_until_there_is_a_migration() {
    let author = Author::new();
    let mut dev = author.dev();
    assert_eq!(dev.call("entries/add", &json!({}))["status"], "success");
    let numbered = ENTRIES
        .replace("pub text: String,", "pub text: String,\n    pub number: i64,")
        .replace("\"one\".to_owned()", "\"one\".to_owned(), number: 1");
    author.write("src/entries.rs", &numbered);
    dev.hears("the database does not fit the program");
    dev.hears("the new program did not start");
    assert_eq!(dev.greeting(), "Hello, Ada!");
    assert_eq!(dev.call("entries/add", &json!({}))["status"], "success");
    let shown = build_error(&author, &dev);
    assert!(shown.as_str().unwrap().contains("number"), "{shown}");

    author.write("src/migrations.rs", MIGRATIONS);
    author.write("src/main.rs", "mod entries;\nmod greetings;\nmod migrations;\n\nconvoke::main!();\n");
    dev.hears("the new program serves");
    assert_eq!(dev.call("entries/add", &json!({}))["errorData"]["code"], "NOT_READY");
    let migrated = author.run(&["migrate"]);
    assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
    assert_eq!(dev.call("entries/add", &json!({}))["status"], "success");
    assert!(dev.signal("TERM").success());
}

#[test]
fn a_crash_is_reported_and_the_next_save_starts_the_server() {
    let author = Author::new();
    let mut dev = author.dev();
    assert!(
        request(&dev.address(), "/api/run/entries/crash", &json!({ "args": {} })).is_ok_and(|said| said.is_empty())
    );
    dev.hears("the next save starts it again");
    author.greet("Hello again");
    dev.hears("the new program serves");
    assert_eq!(dev.greeting(), "Hello again, Ada!");
    // Settings apply without a change of the program.
    author.write("convoke.toml", "log_lines = \"never\"\n");
    dev.hears("log_lines");
    dev.hears("the new program did not start");
    assert_eq!(dev.greeting(), "Hello again, Ada!");
    author.write("convoke.toml", "log_lines = \"error\"\n");
    dev.hears("the new program serves");
    // The server ends even if the process that watches is killed.
    let below = dev.descendants();
    dev.process.kill().unwrap();
    dev.process.wait().unwrap();
    require_end(&below);
}

#[test]
fn a_newer_save_ends_a_build_that_does_not_end() {
    let author = Author::new();
    let mut dev = author.dev();
    let slow = |marker: &str| {
        let marker = author.folder.join(marker);
        format!(
            "fn main() {{\n    std::fs::write({marker:?}, \"\").unwrap();\n    loop {{ std::thread::park() }}\n}}\n"
        )
    };
    let runs = |marker: &str| {
        for _ in 0..3_000 {
            if author.folder.join(marker).exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the build did not begin");
    };
    author.write("build.rs", &slow("first"));
    runs("first");
    assert_eq!(dev.greeting(), "Hello, Ada!");
    let compilers = dev.descendants();
    for greeting in ["One", "Two", "Three"] {
        author.greet(greeting);
    }
    author.write("build.rs", "fn main() {}\n");
    dev.hears("the new program serves");
    assert_eq!(dev.greeting(), "Three, Ada!");
    require_end(&compilers);

    author.write("build.rs", &slow("second"));
    runs("second");
    let below = dev.descendants();
    assert!(dev.signal("INT").success(), "{}", dev.all());
    require_end(&below);
}

#[test]
fn a_build_has_the_features_of_the_running_program() {
    let author = Author::new();
    let loud = GREETINGS.replace("words::greeting()", "if cfg!(feature = \"loud\") { \"HELLO\" } else { \"Hello\" }");
    author.write("src/greetings.rs", &loud);
    let arguments = ["run", "--quiet", "--features", "loud", "--", "dev", "--listen", "127.0.0.1:0"];
    let mut dev = Dev::start(author.cargo().args(arguments));
    assert_eq!(dev.greeting(), "HELLO, Ada!");
    author.write("src/greetings.rs", &loud.replace("{}, {}!", "{}, {}?"));
    dev.hears("the new program serves");
    assert_eq!(dev.greeting(), "HELLO, Ada?");
    assert!(dev.signal("TERM").success());
}

#[test]
fn without_sources_or_cargo_it_serves_as_before() {
    let author = Author::new();
    let program = author.built();
    let start = |folder: &Path, arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["dev", "--listen", "127.0.0.1:0"]).args(arguments).current_dir(folder).env_clear();
        Dev::start(&mut command)
    };
    let elsewhere = tempfile::TempDir::new().unwrap();
    for (folder, arguments, said) in [
        (elsewhere.path(), &[][..], "not watching: there is no Cargo.toml"),
        (&author.folder, &[][..], "not watching: `cargo metadata` failed"),
        (&author.folder, &["--no-watch"][..], ""),
    ] {
        let mut dev = start(folder, arguments);
        let all = dev.all();
        assert!(all.contains(said) && !all.contains("watching    "), "{all}");
        assert_eq!(all.contains("not watching"), !said.is_empty(), "{all}");
        assert_eq!(dev.greeting(), "Hello, Ada!");
        assert!(dev.descendants().is_empty());
        assert!(dev.signal("TERM").success());
    }
}

/// Bounds the size of the files that a process and its later children write; none for no bound.
fn limit_files(process: u32, bytes: Option<u64>) {
    let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
    let words = ["--pid".to_owned(), process.to_string(), format!("--fsize={limit}:unlimited")];
    assert!(Command::new("prlimit").args(words).status().unwrap().success());
}

#[test]
fn a_full_disk_keeps_the_server_and_the_next_save_with_space_replaces_it() {
    let author = Author::new();
    let program = author.built();
    let size = std::fs::metadata(&program).unwrap().len();
    // There is space for the database, but not for a copy of the program: it serves and does not watch.
    let blocks = size / 2 / 512;
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec '{}' dev --listen 127.0.0.1:0", program.display());
    let mut unwatched = Dev::start(author.command("sh").args(["-c", &script]).env_remove("CARGO_MANIFEST_DIR"));
    let said = unwatched.all();
    assert!(said.contains("not watching: the program cannot be copied beside itself: File too large"), "{said}");
    assert_eq!(unwatched.greeting(), "Hello, Ada!");
    assert!(unwatched.signal("TERM").success());

    let mut dev = author.dev();
    // The disk is full after the start: Cargo, and what it starts, cannot write large files.
    limit_files(dev.process.id(), Some(size / 2));
    author.greet("Good morning");
    dev.hears("the former server goes on");
    assert_eq!(dev.greeting(), "Hello, Ada!");
    let left = std::fs::read_dir(target().join("debug")).unwrap().flatten();
    let copies = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".convoke-dev-")).count();
    assert_eq!(copies, 1, "only the running program has a copy");
    limit_files(dev.process.id(), None);
    author.greet("Good evening");
    dev.hears("the new program serves");
    assert_eq!(dev.greeting(), "Good evening, Ada!");
    assert!(dev.signal("TERM").success());
}

#[test]
fn a_taken_port_and_a_second_dev_in_the_folder_are_reported() {
    let author = Author::new();
    let first = author.dev();
    let address = first.address();
    for (listen, reason) in [(&*address, "in use"), ("127.0.0.1:0", "the server did not start")] {
        let second = author.cargo().args(["run", "--quiet", "--", "dev", "--listen", listen]).output().unwrap();
        let said = String::from_utf8_lossy(&second.stderr);
        assert_eq!(second.status.code(), Some(1), "{said}");
        assert!(said.contains(reason), "{said}");
    }
    assert_eq!(first.greeting(), "Hello, Ada!");
}
