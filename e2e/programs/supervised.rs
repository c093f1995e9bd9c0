//! Messages from a server to a supervisor such as systemd: a real process, a real datagram socket.
//!
//! This program is its own server: with the argument `serve` it is the command line, with one function that returns late.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use tempfile::TempDir;

mod naps {
    use convoke::mutation;
    use convoke::prelude::*;

    /// Delays all other mutations.
    #[mutation]
    pub(crate) fn nap(_ctx: &mut MutationCtx) -> Result<()> {
        std::thread::sleep(std::time::Duration::from_secs(4));
        Ok(())
    }
}

mod entries {
    use convoke::mutation;
    use convoke::prelude::*;

    /// A table with enough rows that building an index is a separate step.
    #[table(name = "entries", prefix = "entry")]
    #[index(by_number(number))]
    #[index(by_text(text))]
    #[index(by_text_and_number(text, number))]
    pub(crate) struct Entry {
        pub number: i64,
        pub text: String,
    }

    #[args]
    pub(crate) struct Fill {
        pub count: i64,
    }

    /// Adds entries.
    #[mutation]
    pub(crate) fn fill(ctx: &mut MutationCtx, args: Fill) -> Result<()> {
        for number in 0..args.count {
            ctx.db_mut().insert(Entry { number, text: format!("entry {number}") })?;
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return convoke::embed::main();
    }
    the_supervisor_hears_ready_alive_and_stopping();
    the_watchdog_is_not_fed_while_a_mutation_does_not_return();
    server_without_a_supervisor_starts_and_stops();
    long_start_reports_progress_and_requests_more_time();
    eprintln!("supervised: all is well");
    ExitCode::SUCCESS
}

/// A server, and the socket of its supervisor.
struct Supervised {
    process: Child,
    url: String,
    socket: UnixDatagram,
    folder: TempDir,
}

impl Supervised {
    fn start(watchdog: Duration) -> Self {
        Self::start_in(TempDir::new().unwrap(), watchdog)
    }

    fn start_in(folder: TempDir, watchdog: Duration) -> Self {
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        std::fs::write(folder.path().join("convoke.toml"), "[limits]\nmutation_timeout = '250ms'\n").unwrap();
        let mut command = server(&folder);
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", watchdog.as_micros().to_string());
        let (process, url) = started(&mut command);
        Self { process, url, socket, folder }
    }

    /// Returns the lines of the next datagram.
    fn hear(&self) -> Vec<String> {
        let mut bytes = [0; 4096];
        let length = self.socket.recv(&mut bytes).expect("the supervisor must get a notification");
        String::from_utf8_lossy(&bytes[..length]).lines().map(str::to_owned).collect()
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn server(folder: &TempDir) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["serve", "--env", "development", "--listen", "127.0.0.1:0", "--log", "warn"]);
    command.current_dir(folder.path()).env_clear().stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

fn started(command: &mut Command) -> (Child, String) {
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    let said = lines.by_ref().map(Result::unwrap);
    let mut listening = said.filter_map(|line| line.strip_prefix("convoke: listening on ").map(str::to_owned));
    let url = listening.next().unwrap_or_else(|| panic!("it ended before it listened: {:?}", process.wait()));
    (process, url)
}

fn the_supervisor_hears_ready_alive_and_stopping() {
    let mut server = Supervised::start(Duration::from_millis(200));
    assert_eq!(server.hear(), ["READY=1".to_owned(), format!("STATUS=serving on {}", server.url)]);
    // A ready server serves calls.
    assert!(ureq::get(format!("{}/readyz", server.url)).call().unwrap().status().is_success());
    for _ in 0..3 {
        assert_eq!(server.hear(), ["WATCHDOG=1"]);
    }
    // A service outlives its terminal.
    server.signal("HUP");
    assert_eq!(server.hear(), ["WATCHDOG=1"]);
    server.signal("TERM");
    let stopping = std::iter::from_fn(|| Some(server.hear())).find(|said| said[0] != "WATCHDOG=1").unwrap();
    assert_eq!(stopping, ["STOPPING=1", "STATUS=letting open calls end"]);
    assert!(server.process.wait().unwrap().success());
    assert!(server.folder.path().join("data/convoke.db").exists());
}

fn the_watchdog_is_not_fed_while_a_mutation_does_not_return() {
    let server = Supervised::start(Duration::from_millis(100));
    assert_eq!(server.hear()[0], "READY=1");
    let url = format!("{}/api/run/naps/nap", server.url);
    let call = std::thread::spawn(move || {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        agent.post(url).content_type("application/json").send("{\"args\":{}}").map(|_| ())
    });
    let status = std::iter::from_fn(|| Some(server.hear())).find(|said| said[0] != "WATCHDOG=1").unwrap();
    assert!(status[0].starts_with("STATUS=not ready: the mutation naps/nap"), "{status:?}");
    // The function sleeps for 4 s and counts as stuck after 0.5 s. Every 50 ms the server reports the elapsed time to the
    // supervisor, and never sends a watchdog message.
    for _ in 0..8 {
        assert!(server.hear()[0].starts_with("STATUS=not ready"));
    }
    call.join().unwrap().unwrap();
    let fed = std::iter::from_fn(|| Some(server.hear())).find(|said| said[0] == "WATCHDOG=1");
    assert!(fed.is_some(), "it is fed again once the mutation has returned");
}

fn server_without_a_supervisor_starts_and_stops() {
    let folder = TempDir::new().unwrap();
    let (mut process, _) = started(&mut server(&folder));
    let id = process.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    assert!(process.wait().unwrap().success());
}

/// Removes an index from a database and from its recorded schema.
fn remove_index(folder: &TempDir, table: &str, index: &str) {
    let file = rusqlite::Connection::open(folder.path().join("data/convoke.db")).unwrap();
    file.execute_batch(&format!("DROP INDEX \"{table}.{index}\"")).unwrap();
    let last = "SELECT definition FROM _schema ORDER BY version DESC LIMIT 1";
    let definition: String = file.query_row(last, [], |row| row.get(0)).unwrap();
    let mut definition: serde_json::Value = serde_json::from_str(&definition).unwrap();
    definition["tables"][table]["indexes"].as_object_mut().unwrap().remove(index).unwrap();
    file.execute("UPDATE _schema SET definition = ?1", [definition.to_string()]).unwrap();
}

fn long_start_reports_progress_and_requests_more_time() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("convoke.toml"), "[limits]\nmutation_timeout = '60s'\n").unwrap();
    let (mut process, url) = started(&mut server(&folder));
    for _ in 0..15 {
        let request = ureq::post(format!("{url}/api/run/entries/fill")).content_type("application/json");
        assert!(request.send("{\"args\":{\"count\":4000}}").unwrap().status().is_success());
    }
    let id = process.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    assert!(process.wait().unwrap().success());
    remove_index(&folder, "entries", "by_number");

    let server = Supervised::start_in(folder, Duration::from_millis(200));
    let said = ["EXTEND_TIMEOUT_USEC=60000000", "STATUS=opening the database: table entries: making index by_number"];
    assert_eq!(server.hear(), said);
    assert_eq!(server.hear()[0], "READY=1");
}
