//! Export, import, backup and restore by the real binary: with and without a running server, under load, and killed midway.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use convoke::embed::{Runtime, RuntimeOptions};
use convoke::prelude::*;
use functions as _;
use schema::{Meeting, Note, Participant, Role};
use serde_json::{Value, json};
use tempfile::TempDir;

fn convoke(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_convoke"));
    command.current_dir(folder).env_clear().env("CONVOKE_ENV", "development").stdin(Stdio::null());
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    convoke(folder).args(args).output().unwrap()
}

#[track_caller]
fn done(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

/// A server on the folder's `data` with its URL, killed on drop.
struct Serving(Child, String);

impl Serving {
    fn start(folder: &Path) -> Self {
        Self::of(convoke(folder).args(["serve", "--listen", "127.0.0.1:0", "--log", "error"]))
    }

    fn of(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("convoke: listening on") {
            line.clear();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it ended before it listened");
        }
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self(process, url)
    }

    /// Sends SIGKILL: no handler runs, and no file is closed.
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn make(folder: &Path, title: &str) {
    let args = json!({ "title": title }).to_string();
    done(folder, &["run", "meetings/lifecycle/createMeeting", &args, "--as", "ada"]);
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn titles(folder: &Path) -> Vec<String> {
    let rows = lines(&done(folder, &["data", "meetings", "--json", "--limit", "0"]));
    rows.iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect()
}

/// Returns the files of a folder, except those that no command changes.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !["convoke.db-wal", "convoke.db-shm", "control.sock", "tmp"].contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

#[test]
fn tables_and_rows_match_with_and_without_a_server() {
    let folder = TempDir::new().unwrap();
    let server = Serving::start(folder.path());
    for title in ["one", "two", "three"] {
        make(folder.path(), title);
    }
    done(folder.path(), &["deploy-key", "create", "ci", "--scope", "data"]);
    let look = || {
        let tables = lines(&done(folder.path(), &["data", "--json"]));
        let meetings = tables.iter().find(|table| table["name"] == "meetings").unwrap();
        assert_eq!((&meetings["rows"], &meetings["prefix"]), (&json!(3), &json!("meeting")));
        assert!(meetings["bytes"].as_u64().unwrap() > 0);
        assert!(tables.iter().all(|table| table["system"] == false));
        assert!(done(folder.path(), &["data", "--system"]).contains("_deployKeys"));

        let first = run(folder.path(), &["data", "meetings", "--limit", "2", "--json"]);
        let rows = lines(&String::from_utf8(first.stdout).unwrap());
        assert_eq!(rows.len(), 2);
        let said = String::from_utf8(first.stderr).unwrap();
        let cursor = said.trim().strip_prefix("more rows: --cursor ").unwrap();
        assert_eq!(rows[1]["_id"], cursor);
        let rest = lines(&done(folder.path(), &["data", "meetings", "--cursor", cursor, "--json"]));
        assert_eq!((rest.len(), &rest[0]["title"]), (1, &json!("three")));

        let having = lines(&done(folder.path(), &["data", "meetings", "--where", "title=two", "--json"]));
        assert_eq!((having.len(), &having[0]["title"]), (1, &json!("two")));
        let id = having[0]["_id"].as_str().unwrap();
        assert_eq!(lines(&done(folder.path(), &["data", "meetings", "--id", id, "--json"])), having);
        let shown = done(folder.path(), &["data", "meetings"]);
        assert!(shown.lines().next().unwrap().starts_with("_id") && shown.contains("two"), "{shown}");

        let keys = done(folder.path(), &["data", "_deployKeys", "--system", "--json"]);
        assert!(keys.contains("\"name\":\"ci\"") && !keys.contains("hash"), "{keys}");
        for (args, said) in [
            (&["data", "meeting"][..], "the nearest is meetings"),
            (&["data", "_jobs"], "--system"),
            (&["data", "meetings", "--where", "titel=two"], "meetings has no field titel"),
            (&["data", "meetings", "--id", "user_00000000000000000000000000"], "must be an id of meetings"),
            (&["data", "meetings", "--id", "meeting_00000000000000000000000000"], "there is no row"),
        ] {
            let heard = refused(folder.path(), args);
            assert!(heard.contains(said), "{heard}");
        }
    };
    look();
    server.kill();
    look();
}

/// Returns the members of an archive, except those that the commands of this test write.
fn members(archive: &Path) -> BTreeMap<String, String> {
    let output = Command::new("tar").arg("-tzf").arg(archive).output().unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    let own = ["manifest.json", "tables/_keyUses.jsonl", "tables/_performance.jsonl", "tables/_crons.jsonl"];
    let read = |name: &str| {
        let output = Command::new("tar").arg("-xzOf").arg(archive).arg(name).output().unwrap();
        (name.to_owned(), String::from_utf8(output.stdout).unwrap())
    };
    names.lines().filter(|name| !own.contains(name)).map(read).collect()
}

#[test]
fn export_survives_an_import_elsewhere() {
    let (folder, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let server = Serving::start(folder.path());
    make(folder.path(), "one");
    let later = json!({ "title": "later", "scheduledAt": 4_000_000_000_000_i64 }).to_string();
    done(folder.path(), &["run", "meetings/lifecycle/createMeeting", &later, "--as", "ada"]);
    let said = done(folder.path(), &["export", "a.tar.gz"]);
    assert!(said.contains("rows of"), "{said}");
    assert_eq!(std::fs::metadata(folder.path().join("a.tar.gz")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(refused(folder.path(), &["export", "a.tar.gz"]).contains("--force"));
    let archive = folder.path().join("a.tar.gz");
    assert!(refused(folder.path(), &["import", "a.tar.gz"]).contains("stop the server first"));
    server.kill();

    let file = archive.to_str().unwrap();
    done(other.path(), &["import", file]);
    done(other.path(), &["export", "b.tar.gz"]);
    assert_eq!(members(&archive), members(&other.path().join("b.tar.gz")));
    assert!(refused(other.path(), &["import", file]).contains("--replace"));
    make(other.path(), "gone after the import");
    let said = done(other.path(), &["import", file, "--replace"]);
    assert!(said.contains("the former database is kept as"), "{said}");
    assert_eq!(titles(other.path()), ["one", "later"]);
    // The server starts on it and serves calls.
    let server = Serving::start(other.path());
    make(other.path(), "served");
    assert_eq!(titles(other.path()), ["one", "later", "served"]);
    drop(server);
}

#[test]
fn mismatched_import_changes_nothing() {
    let folder = TempDir::new().unwrap();
    make(folder.path(), "stays");
    done(folder.path(), &["export", "a.tar.gz"]);
    let bytes = std::fs::read(folder.path().join("a.tar.gz")).unwrap();
    std::fs::write(folder.path().join("cut.tar.gz"), &bytes[..bytes.len() / 2]).unwrap();
    let before = names(&folder.path().join("data"));
    let said = refused(folder.path(), &["import", "cut.tar.gz", "--replace"]);
    assert!(said.contains("the archive cannot be read"), "{said}");
    assert_eq!(names(&folder.path().join("data")), before);
    assert_eq!(titles(folder.path()), ["stays"]);
}

/// Asserts that every meeting is complete: host and notes, written in its transaction. Returns the number of meetings.
fn whole_meetings(data: &Path) -> usize {
    let runtime = Runtime::start(RuntimeOptions::in_folder(data, convoke::embed::default_engine())).unwrap();
    let checked: Result<usize> = runtime.read(|db| {
        let meetings = db.scan::<Meeting>().take(usize::MAX >> 1)?;
        for meeting in &meetings {
            let id = meeting.id();
            assert!(db.query(Participant::by_meeting_role).eq(id).eq(Role::Host).first()?.is_some(), "{id}: no host");
            assert!(db.query(Note::by_meeting).eq(id).unique()?.is_some(), "{id}: no notes");
        }
        Ok(meetings.len())
    });
    runtime.store().close();
    checked.unwrap()
}

#[test]
fn backups_under_load_are_complete_private_rotated_and_restorable() {
    let folder = TempDir::new().unwrap();
    let server = Serving::start(folder.path());
    make(folder.path(), "first");
    std::fs::create_dir(folder.path().join("kept")).unwrap();
    let (stop, made) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut at_least = Vec::new();
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (folder, stop, made) = (folder.path(), &stop, &made);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    make(folder, &format!("by {writer}"));
                    made.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..4 {
            let target = made.load(Ordering::Relaxed) + 5;
            while made.load(Ordering::Relaxed) < target {
                std::thread::sleep(Duration::from_millis(5));
            }
            at_least.push(made.load(Ordering::Relaxed));
            done(folder.path(), &["backup", "kept", "--keep", "2", "--with-secrets"]);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let kept = folder.path().join("kept");
    let files = names(&kept);
    assert_eq!(files.len(), 6, "{files:?}");
    for file in &files {
        assert_eq!(std::fs::metadata(kept.join(file)).unwrap().permissions().mode() & 0o777, 0o600, "{file}");
    }
    let sums = Command::new("sh").arg("-c").arg("sha256sum -c *.sha256").current_dir(&kept).output().unwrap();
    assert!(sums.status.success(), "{}", String::from_utf8_lossy(&sums.stdout));
    assert_eq!(names(&folder.path().join("data/backups")), [] as [String; 0]);

    let backups: Vec<PathBuf> = convoke_server::backup::list(&kept).unwrap();
    for (backup, at_least) in backups.iter().zip(&at_least[2..]) {
        let restored = TempDir::new().unwrap();
        done(restored.path(), &["restore", backup.to_str().unwrap(), "--with-secrets"]);
        assert!(whole_meetings(&restored.path().join("data")) as u64 >= *at_least);
        let key = "development-issuer.key";
        let read = |data: &Path| std::fs::read(data.join(key)).unwrap();
        assert_eq!(read(&restored.path().join("data")), read(&folder.path().join("data")));
    }

    let newest = backups[1].to_str().unwrap();
    assert!(refused(folder.path(), &["restore", newest]).contains("stop the server first"));
    server.kill();
    make(folder.path(), "after the backup");
    let said = done(folder.path(), &["restore", newest]);
    let former = said.lines().find_map(|line| line.strip_prefix("the former database is kept as ")).unwrap();
    assert!(!titles(folder.path()).contains(&"after the backup".to_owned()));
    let server = Serving::start(folder.path());
    make(folder.path(), "served");
    server.kill();
    // The saved previous database can be restored.
    assert!(refused(folder.path(), &["restore", former]).contains("--without-checksum"));
    done(folder.path(), &["restore", former, "--without-checksum"]);
    let back = titles(folder.path());
    assert!(back.contains(&"after the backup".to_owned()) && !back.contains(&"served".to_owned()));
}

/// Attaches a file to a meeting.
fn attach(folder: &Path, meeting: &str, content: &[u8]) {
    let call = |function: &str, args: Value| -> Value {
        let function = format!("meetings/attachments/{function}");
        serde_json::from_str(&done(folder, &["run", &function, &args.to_string(), "--as", "ada"])).unwrap()
    };
    let upload = call("beginUpload", json!({ "meetingId": meeting }));
    let (host, path) = upload["url"].as_str().unwrap().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let length = content.len();
    write!(stream, "POST /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n")
        .unwrap();
    stream.write_all(content).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let storage_id: Value = serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap();
    call("add", json!({ "meetingId": meeting, "upload": storage_id["storageId"], "name": "a.txt" }));
}

/// Returns the paths of the files below a folder of contents, relative to it.
fn contents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for first in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        for file in std::fs::read_dir(&first).unwrap() {
            found.push(file.unwrap().path().strip_prefix(folder).unwrap().to_owned());
        }
    }
    found.sort();
    found
}

#[test]
fn backup_over_the_network_contains_the_files_and_links_those_of_an_earlier_one() {
    let (folder, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let server = Serving::start(folder.path());
    let made = done(folder.path(), &["run", "meetings/lifecycle/createMeeting", r#"{"title":"Files"}"#, "--as", "ada"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    let meeting = made["meetingId"].as_str().unwrap();
    attach(folder.path(), meeting, b"the first file");
    assert!(done(folder.path(), &["doctor"]).contains("1 content, 14 B, each of the right length"));
    attach(folder.path(), meeting, &vec![7; 3_000_000]);
    let scopes = ["--scope", "backup", "--scope", "backup-download"];
    let key = done(folder.path(), &[&["deploy-key", "create", "ops"][..], &scopes].concat());
    let kept = elsewhere.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    let backup = || {
        let mut command = convoke(elsewhere.path());
        let output =
            command.args(["backup", "kept", "--url", &server.1]).env("CONVOKE_DEPLOY_KEY", key.trim()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        convoke_server::backup::list(&kept).unwrap().pop().unwrap()
    };
    let files = |backup: &Path| PathBuf::from(format!("{}.files", backup.display()));
    let first = backup();
    assert_eq!(contents(&files(&first)), contents(&folder.path().join("data/files")));
    assert_eq!(names(&folder.path().join("data/backups")), [] as [String; 0], "no copy stays on the server");

    attach(folder.path(), meeting, b"the last file");
    let second = backup();
    let all = contents(&files(&second));
    assert_eq!(all.len(), 3);
    for path in contents(&files(&first)) {
        let inode = |backup: &Path| std::fs::metadata(files(backup).join(&path)).unwrap().ino();
        assert_eq!(inode(&first), inode(&second), "a known file is not fetched again");
    }

    let restored = TempDir::new().unwrap();
    done(restored.path(), &["restore", second.to_str().unwrap()]);
    // A backup of a server that has lost a file keeps the rows and says what it lacks.
    std::fs::remove_file(restored.path().join("data/files").join(&all[0])).unwrap();
    let said = refused(restored.path(), &["backup", "lacking.db"]);
    assert!(said.contains("1 missing and 0 damaged") && said.contains("make another backup"), "{said}");
    done(restored.path(), &["restore", "lacking.db", "--without-files"]);
    done(restored.path(), &["restore", second.to_str().unwrap()]);
    for path in &all {
        let read = |folder: &Path| std::fs::read(folder.join("data/files").join(path)).unwrap();
        assert_eq!(read(restored.path()), read(folder.path()));
    }
    let report = run(restored.path(), &["doctor", "--full", "--json"]).stdout;
    let report: Value = serde_json::from_slice(&report).unwrap();
    let found = report["findings"].as_array().unwrap().iter();
    let files: Vec<_> =
        found.filter(|one| ["contents", "references"].contains(&one["subject"].as_str().unwrap())).collect();
    assert!(files.len() == 2 && files.iter().all(|one| one["state"] == "ok"), "{files:?}");
}

#[test]
fn restore_reports_missing_files_and_replaces_damaged_ones() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    std::fs::create_dir(here.join("place")).unwrap();
    let copy =
        format!("[copy]\nto = \"dir:{}\"\nevery = \"100ms\"\n[backup]\ndir = \"made\"\n", here.join("place").display());
    std::fs::write(here.join("convoke.toml"), copy).unwrap();
    let server = Serving::start(here);
    let made = done(here, &["run", "meetings/lifecycle/createMeeting", r#"{"title":"Files"}"#, "--as", "ada"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    for content in [b"first".as_slice(), b"second"] {
        attach(here, made["meetingId"].as_str().unwrap(), content);
    }
    done(here, &["backup", "b.db"]);
    // A stopped server has copied everything.
    let id = server.0.id().to_string();
    assert!(Command::new("kill").arg(&id).status().unwrap().success());
    drop(server);

    // The operator copies the backup without its files.
    let other = TempDir::new().unwrap();
    for name in ["b.db", "b.db.sha256"] {
        std::fs::copy(here.join(name), other.path().join(name)).unwrap();
    }
    let said = refused(other.path(), &["restore", "b.db"]);
    assert!(said.contains("2 missing and 0 damaged") && said.contains("--without-files"), "{said}");
    assert!(!other.path().join("data/convoke.db").exists(), "nothing is restored");
    // Half of the copied content is there.
    let all = contents(&here.join("b.db.files"));
    let saved = other.path().join("b.db.files").join(&all[0]);
    std::fs::create_dir_all(saved.parent().unwrap()).unwrap();
    std::fs::write(&saved, "f").unwrap();
    let output = run(other.path(), &["restore", "b.db", "--without-files"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("2 missing"), "{said}");
    assert_eq!(titles(other.path()), ["Files"]);
    assert!(!other.path().join("data/files").join(&all[0]).exists(), "a damaged file is not restored");

    // A restore replaces a damaged content of the right length.
    std::fs::remove_file(&saved).unwrap();
    for path in &all {
        let to = other.path().join("b.db.files").join(path);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(here.join("b.db.files").join(path), to).unwrap();
        let stored = here.join("data/files").join(path);
        let length = std::fs::metadata(&stored).unwrap().len() as usize;
        std::fs::remove_file(&stored).unwrap();
        std::fs::write(&stored, vec![b'x'; length]).unwrap();
    }
    done(here, &["restore", other.path().join("b.db").to_str().unwrap()]);
    for path in &all {
        let read = |folder: &Path| std::fs::read(folder.join(path)).unwrap();
        assert_eq!(read(&here.join("data/files")), read(&other.path().join("b.db.files")));
    }

    // One damaged content of the copies.
    let hash = all[0].to_string_lossy().replace('/', "");
    let copied = here.join("place/files").join(hash);
    let length = std::fs::metadata(&copied).unwrap().len() as usize;
    std::fs::write(&copied, vec![b'x'; length]).unwrap();
    done(here, &["copies", "verify"]);
    let said = refused(here, &["copies", "verify", "--full"]);
    assert!(said.contains("1 with another SHA-256"), "{said}");
    let third = TempDir::new().unwrap();
    std::fs::copy(here.join("convoke.toml"), third.path().join("convoke.toml")).unwrap();
    let from = format!("dir:{}", here.join("place").display());
    let said = refused(third.path(), &["restore", "--from", &from]);
    assert!(said.contains("1 missing and 0 damaged"), "{said}");
    done(third.path(), &["restore", "--from", &from, "--without-files"]);
    assert_eq!(titles(third.path()), ["Files"]);
    assert_eq!(contents(&third.path().join("data/files")).len(), 1);
}

#[test]
fn damaged_backup_is_rejected_and_the_database_is_unchanged() {
    let folder = TempDir::new().unwrap();
    make(folder.path(), "stays");
    done(folder.path(), &["backup", "b.db"]);
    let mut bytes = std::fs::read(folder.path().join("b.db")).unwrap();
    for byte in bytes.iter_mut().skip(5_000).take(3_000) {
        *byte ^= 0x5a;
    }
    std::fs::write(folder.path().join("b.db"), &bytes).unwrap();
    let before = names(&folder.path().join("data"));
    assert!(refused(folder.path(), &["restore", "b.db"]).contains("SHA-256"));
    std::fs::remove_file(folder.path().join("b.db.sha256")).unwrap();
    assert!(refused(folder.path(), &["restore", "b.db"]).contains("no SHA-256 beside it (b.db.sha256)"));
    assert!(refused(folder.path(), &["restore", "b.db", "--without-checksum"]).contains("is damaged"));
    assert_eq!(names(&folder.path().join("data")), before);
    assert_eq!(titles(folder.path()), ["stays"]);
}

/// Runs a command whose files may not exceed a few KiB, which has the same effect as a full disk.
fn without_room(folder: &Path, args: &str) -> (Option<i32>, String) {
    let binary = env!("CARGO_BIN_EXE_convoke");
    let script = format!("trap '' XFSZ; ulimit -f 150; exec {binary} {args}");
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder)
        .env("CONVOKE_ENV", "development")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn full_disk_leaves_no_files_and_is_reported() {
    let folder = TempDir::new().unwrap();
    make(folder.path(), "stays");
    done(folder.path(), &["export", "a.tar.gz"]);
    done(folder.path(), &["backup", "b.db"]);
    let (here, data) = (names(folder.path()), names(&folder.path().join("data")));
    for args in ["backup", "backup c.db", "import a.tar.gz --replace", "restore b.db", "export c.tar.gz"] {
        let (code, said) = without_room(folder.path(), args);
        assert_eq!(code, Some(1), "{args}: {said}");
        assert!(said.contains("disk I/O error") || said.contains("File too large"), "{args}: {said}");
        assert_eq!(names(folder.path()), here, "{args}");
        assert_eq!(names(&folder.path().join("data")), data, "{args}");
        assert_eq!(names(&folder.path().join("data/backups")), [] as [String; 0], "{args}");
    }
    assert_eq!(titles(folder.path()), ["stays"]);
}

#[expect(clippy::disallowed_methods, reason = "the machine's time is what is measured")]
fn elapsed<R>(work: impl FnOnce() -> R) -> Duration {
    let begun = std::time::Instant::now();
    work();
    begun.elapsed()
}

#[test]
fn killed_restore_or_import_leaves_the_old_or_the_new_database() {
    let folder = TempDir::new().unwrap();
    make(folder.path(), "one");
    done(folder.path(), &["backup", "one.db"]);
    done(folder.path(), &["export", "one.tar.gz"]);
    make(folder.path(), "two");
    done(folder.path(), &["backup", "two.db"]);
    done(folder.path(), &["export", "two.tar.gz"]);
    // The moments of the kills cover the duration of the command on this machine.
    let restoring = elapsed(|| done(folder.path(), &["restore", "two.db"]));
    let importing = elapsed(|| done(folder.path(), &["import", "two.tar.gz", "--replace"]));
    let mut seen = [0; 2];
    // The last kills come late enough for both databases, also if the machine has become slower.
    for round in 0.. {
        if round >= 24 && seen[0] > 0 && seen[1] > 0 {
            break;
        }
        assert!(round < 400, "every kill came too early to change anything: {seen:?}");
        let to = if round % 2 == 0 { "one" } else { "two" };
        let (backup, archive) = (format!("{to}.db"), format!("{to}.tar.gz"));
        let (args, whole) = match round % 4 {
            0 | 1 => (vec!["restore", backup.as_str()], restoring),
            _ => (vec!["import", archive.as_str(), "--replace"], importing),
        };
        let mut process =
            convoke(folder.path()).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * (round + 4_u32) / 20);
        process.kill().unwrap();
        process.wait().unwrap();
        let count = whole_meetings(&folder.path().join("data"));
        assert!((1..=2).contains(&count), "{count} meetings");
        assert_eq!(titles(folder.path()), ["one", "two"][..count]);
        seen[count - 1] += 1;
    }
}

/// Serves a backup and an export that never end.
fn endless() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut head = String::new();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            while !head.ends_with("\r\n\r\n") && lines.read_line(&mut head).is_ok_and(|read| read > 0) {}
            let path = head.split(' ').nth(1).unwrap_or_default();
            let (missing, body) = match (head.starts_with("DELETE"), path) {
                (true, _) => (0, r#"{"status":"success","value":{}}"#),
                (false, "/api/admin/backup") => {
                    (0, "{\"name\":\"convoke-20260101-000000.db\",\"bytes\":9,\"sha256\":\"00\"}\n")
                }
                (false, path) if path.ends_with("/files") => (0, ""),
                _ => (1_000_000, "a part"),
            };
            let length = body.len() + missing;
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
            if missing > 0 {
                open.push(stream);
            }
        }
    });
    url
}

#[test]
fn interrupted_command_leaves_no_files() {
    let folder = TempDir::new().unwrap();
    let url = endless();
    std::fs::create_dir(folder.path().join("kept")).unwrap();
    for (args, partial) in
        [(["export", "x.tar.gz"], "x.tar.gz.partial"), (["backup", "kept"], "kept/convoke-20260101-000000.db.partial")]
    {
        for signal in ["INT", "TERM"] {
            let mut command = convoke(folder.path());
            command.args(args).args(["--url", &url]).env("CONVOKE_DEPLOY_KEY", "key").stderr(Stdio::piped());
            let mut process = command.spawn().unwrap();
            let has_begun = || std::fs::metadata(folder.path().join(partial)).is_ok_and(|file| file.len() > 0);
            while !has_begun() {
                assert!(process.try_wait().unwrap().is_none(), "{args:?} has ended");
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(Command::new("kill").args(["-s", signal, &process.id().to_string()]).status().unwrap().success());
            let output = process.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(1) && said.contains("interrupted"), "{args:?} {signal}: {said}");
            assert_eq!(names(folder.path()), ["kept"], "{args:?} {signal}");
            assert_eq!(names(&folder.path().join("kept")), [] as [String; 0], "{args:?} {signal}");
        }
    }
}

#[test]
fn next_backup_removes_what_a_killed_one_has_left() {
    let folder = TempDir::new().unwrap();
    make(folder.path(), "one");
    let backups = folder.path().join("data/backups");
    std::fs::create_dir_all(backups.join("convoke-20260101-000000.db.files/ab")).unwrap();
    for name in ["convoke-20260101-000000.db.partial", "convoke-20260101-000000.db.sha256", "mine.partial"] {
        std::fs::write(backups.join(name), "x").unwrap();
    }
    done(folder.path(), &["backup"]);
    let left = names(&backups);
    assert!(left.contains(&"mine.partial".to_owned()), "{left:?}");
    assert!(!left.iter().any(|name| name.starts_with("convoke-20260101-000000")), "{left:?}");
}

#[test]
fn progress_appears_only_on_a_terminal() {
    let folder = TempDir::new().unwrap();
    make(folder.path(), "one");
    let piped = run(folder.path(), &["export", "a.tar.gz"]);
    assert!(piped.status.success());
    assert_eq!(String::from_utf8(piped.stderr).unwrap(), "");
    let command = format!("{} export b.tar.gz", env!("CARGO_BIN_EXE_convoke"));
    let shown = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(folder.path())
        .env("CONVOKE_ENV", "development")
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("exporting") && shown.contains("\u{1b}["), "{shown:?}");
}

#[test]
fn doctor_accepts_a_development_folder() {
    let folder = TempDir::new().unwrap();
    let look = |env: &[&str]| {
        let mut command = convoke(folder.path());
        let output = command.env_remove("CONVOKE_ENV").args(["doctor", "--json"]).args(env).output().unwrap();
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), all["state"].as_str().unwrap().to_owned(), all["findings"].clone())
    };
    let mut dev = convoke(folder.path());
    let server = Serving::of(dev.env_remove("CONVOKE_ENV").args(["dev", "--listen", "127.0.0.1:0", "--log", "error"]));
    let (code, _, found) = look(&[]);
    assert_eq!(code, Some(0), "while it runs: {found:#}");
    server.kill();
    let (code, _, found) = look(&[]);
    assert_eq!(code, Some(0), "when it has ended: {found:#}");
    assert!(found[0]["says"].as_str().unwrap().ends_with("in development"), "{found:#}");
    // The check names what production needs.
    let (code, state, found) = look(&["--env", "production"]);
    assert_eq!((code, state.as_str(), found[0]["subject"].as_str()), (Some(1), "problem", Some("settings")));
}

#[test]
fn doctor_reports_problems_and_remedies() {
    let folder = TempDir::new().unwrap();
    let findings = |args: &[&str]| -> (Option<i32>, Vec<Value>) {
        let output = run(folder.path(), args);
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), all["findings"].as_array().unwrap().clone())
    };
    let state = |findings: &[Value], subject: &str| -> Vec<String> {
        let of = findings.iter().filter(|finding| finding["subject"] == subject);
        of.map(|finding| finding["state"].as_str().unwrap().to_owned()).collect()
    };
    let (code, found) = findings(&["doctor", "--json"]);
    assert_eq!(code, Some(0), "{found:?}");
    assert!(!folder.path().join("data").exists(), "looking made something");

    let server = Serving::start(folder.path());
    make(folder.path(), "one");
    let (code, found) = findings(&["doctor", "--json", "--full"]);
    assert_eq!(code, Some(0), "{found:?}");
    for subject in ["settings", "permissions", "disk", "log", "server", "integrity", "schema", "jobs", "ids"] {
        assert_eq!(state(&found, subject), ["ok"], "{subject}: {found:?}");
    }
    server.kill();
    let (code, found) = findings(&["doctor", "--json"]);
    assert_eq!((code, &state(&found, "integrity")[..]), (Some(0), &["ok".to_owned()][..]), "{found:?}");

    let key = folder.path().join("data/development-issuer.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::create_dir(folder.path().join("data/tmp")).unwrap_or_default();
    std::fs::write(folder.path().join("data/tmp/half"), "x").unwrap();
    let text = run(folder.path(), &["doctor"]);
    let said = String::from_utf8(text.stdout).unwrap();
    assert_eq!(text.status.code(), Some(1));
    assert!(said.contains("chmod 600 ./data/development-issuer.key"), "{said}");
    assert!(said.contains("files of interrupted work: half"), "{said}");
    assert!(folder.path().join("data/tmp/half").exists(), "looking removed something");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();

    let database = folder.path().join("data/convoke.db");
    make(folder.path(), "two");
    let mut bytes = std::fs::read(&database).unwrap();
    bytes.iter_mut().skip(20_000).take(60_000).for_each(|byte| *byte ^= 0x5a);
    std::fs::write(&database, bytes).unwrap();
    let (code, found) = findings(&["doctor", "--json"]);
    assert_eq!(code, Some(1));
    assert!(state(&found, "integrity").contains(&"problem".to_owned()), "{found:?}");

    let provider = ["--env", "production", "--json"];
    std::fs::write(
        folder.path().join("convoke.toml"),
        "[[auth.providers]]\nissuer = \"http://127.0.0.1:9/\"\naudiences = [\"a\"]\n",
    )
    .unwrap();
    let (_, found) = findings(&[&["doctor"][..], &provider].concat());
    assert_eq!(state(&found, "provider"), ["problem"], "{found:?}");
    std::fs::write(folder.path().join("convoke.toml"), "listn = 1\n").unwrap();
    let (code, found) = findings(&["doctor", "--json"]);
    assert_eq!((code, &state(&found, "settings")[..]), (Some(1), &["problem".to_owned()][..]));
    assert!(found[0]["says"].as_str().unwrap().contains("did you mean `listen`"), "{found:?}");
}
