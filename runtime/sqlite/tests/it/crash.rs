//! The store in processes of their own: killed at any moment, and on a disk that takes no more.
//!
//! The children are ignored tests of this same binary, which the tests here start with a folder to work in.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use convoke_core::clock::Millis;
use convoke_core::id::IdGenerator;
use convoke_core::limits::Limits;
use convoke_sqlite::Sqlite;
use convoke_store::conformance::support::{
    Account, ByOwner, Pending, balance, clock, db, open, reads, start, together,
};
use convoke_store::{
    Access, DbMut, FieldDef, IndexDef, KeyDef, OnOpening, OpenError, State, Store, StoreError, StoreOptions, Stuck,
    Table as _, TableDef,
};
use rustix::process::{Resource, Rlimit, setrlimit};

const FOLDER: &str = "CONVOKE_TEST_FOLDER";

fn engine() -> Arc<Sqlite> {
    // Small enough that checkpoints are among the moments at which the process is killed.
    Arc::new(Sqlite { checkpoint_bytes: 64 << 10, ..Sqlite::default() })
}

fn open_store(folder: &Path) -> Store {
    Store::open(engine(), StoreOptions::new(folder), &Limits::default(), clock(), vec![Account::DEF]).unwrap()
}

fn mutate<R: Send + 'static>(
    store: &Store,
    ids: &Arc<IdGenerator>,
    mut run: impl FnMut(&mut DbMut) -> Result<R, StoreError> + Send + 'static,
) -> Pending<R> {
    let ids = ids.clone();
    start(store, move |transaction| run(&mut DbMut::new(transaction, reads(), ids.clone(), Millis(1_000))))
}

/// This binary, running one ignored test in a folder; `before` is a shell command that runs first.
fn child(test: &str, folder: &Path, before: &str) -> Child {
    Command::new("sh")
        .args(["-c", &format!("{before} exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args([&format!("crash::{test}"), "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The folder of a child, or nothing if the test was started by hand.
fn folder() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

#[test]
#[ignore = "a child process of the test below"]
fn writes_until_it_is_killed() {
    let Some(folder) = folder() else { return };
    let store = open_store(&folder);
    let ids = Arc::new(IdGenerator::after(store.greatest_id()));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, ids) = (&store, &ids);
            scope.spawn(move || {
                for n in 0.. {
                    let owner = format!("{} {thread} {n}", std::process::id());
                    let name = owner.clone();
                    mutate(store, ids, move |db| {
                        let total = db.query(ByOwner).eq("total").unique()?;
                        match total {
                            Some(total) => db.patch_doc(total, |total| total.balance += 1).map(|_| ())?,
                            None => open(db, "total", 1).map(|_| ())?,
                        }
                        open(db, &name, 0)
                    })
                    .wait()
                    .unwrap();
                    say(&owner);
                }
            });
        }
    });
}

#[test]
fn acknowledged_writes_survive_sigkill() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..50u64 {
        let mut child = child("writes_until_it_is_killed", folder.path(), "");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (first, has_acknowledged) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            let names = lines.map_while(Result::ok).filter(|line| line.split(' ').count() == 3);
            names.inspect(|_| first.send(()).unwrap_or_default()).collect::<Vec<_>>()
        });
        // Half of the kills are at any moment of the start, and half after the first write, however slow the machine.
        if round % 2 == 0 {
            has_acknowledged.recv_timeout(Duration::from_secs(60)).expect("the process writes something");
        }
        std::thread::sleep(Duration::from_millis(30 + round * 37 % 90));
        child.kill().unwrap();
        child.wait().unwrap();
        // The kill may have cut the last line short. What then still looks like a name is that of an earlier row.
        let mut lines = reader.join().unwrap();
        lines.retain(|line| line.split(' ').all(|part| part.parse::<u64>().is_ok()));
        acknowledged.extend(lines);
        if round % 10 == 9 {
            check(folder.path(), &acknowledged);
        }
    }
    assert!(acknowledged.len() >= 25, "only {} were acknowledged", acknowledged.len());
}

fn check(folder: &Path, acknowledged: &[String]) {
    let store = open_store(folder);
    store
        .read_blocking(Access::Everyone, |transaction| {
            let db = db(transaction);
            let rows = db.scan::<Account>().count().unwrap();
            // Each mutation counted itself in the same transaction, acknowledged or not.
            assert_eq!(balance(&db, "total").unwrap().unsigned_abs(), rows - 1);
            let missing = acknowledged.iter().filter(|owner| balance(&db, owner).is_none()).collect::<Vec<_>>();
            assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
        })
        .unwrap();
    drop(store);
    let file = rusqlite::Connection::open(folder.join("convoke.db")).unwrap();
    let found: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}

#[test]
#[ignore = "a child process of the test below"]
fn fills_the_disk() {
    let Some(folder) = folder() else { return };
    let store = open_store(&folder);
    let ids = Arc::new(IdGenerator::after(store.greatest_id()));
    let write = |owner: &'static str| mutate(&store, &ids, move |db| open(db, owner, 1)).wait();
    write("before").unwrap();

    limit_files(Some(0));
    let line_up = |owner: &'static str, refuse| {
        mutate(&store, &ids, move |db| {
            open(db, owner, 1)?;
            if refuse { Err(StoreError::BadCursor) } else { Ok(()) }
        })
    };
    let [early, unknown, late] =
        together(&store, || [line_up("early", true), line_up("unknown", false), line_up("late", true)])
            .map(Pending::wait);
    // A refusal before anything was written stands. One after it may rest on what is perhaps not stored.
    assert!(matches!(early, Err(StoreError::BadCursor)), "{early:?}");
    assert!(matches!(unknown, Err(StoreError::CommitUnknown(_))), "{unknown:?}");
    assert!(matches!(late, Err(StoreError::Closed(_))), "{late:?}");
    for _ in 0..20 {
        let refused = write("refused");
        assert!(matches!(refused, Err(StoreError::Closed(_))), "{refused:?}");
        let State::Closed { reason } = store.state() else { panic!("the store is open") };
        assert!(reason.starts_with("a commit failed: "), "{reason}");
        assert!(store.ready().is_err());
        std::thread::sleep(Duration::from_millis(20));
    }
    // Reads go on.
    let read = || store.read_blocking(Access::Everyone, |transaction| balance(&db(transaction), "before"));
    assert_eq!(read().unwrap(), Some(1));

    limit_files(None);
    let began = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    while store.state() != State::Open {
        assert!(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap() - began < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(10));
    }
    write("after").unwrap();
    store.close();
    say("survived");
}

/// Size limit of files of this process, in bytes.
fn limit_files(bytes: Option<u64>) {
    setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

#[test]
fn failed_commit_is_unknown_and_writes_resume_after_a_check() {
    let folder = tempfile::tempdir().unwrap();
    // Past the limit the system sends a signal that would end the process; a child ignores it if its shell did.
    let mut child = child("fills_the_disk", folder.path(), "trap '' XFSZ;");
    let lines: Vec<String> = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok).collect();
    assert!(child.wait().unwrap().success(), "{lines:?}");
    assert!(lines.iter().any(|line| line.ends_with("survived")), "{lines:?}");
    let store = open_store(folder.path());
    store
        .read_blocking(Access::Everyone, |transaction| {
            let db = db(transaction);
            assert_eq!((balance(&db, "before"), balance(&db, "after")), (Some(1), Some(1)));
            assert_eq!(balance(&db, "refused"), None);
        })
        .unwrap();
}

#[test]
#[ignore = "a child process of the test below"]
fn holds_a_folder() {
    let Some(folder) = folder() else { return };
    let _store = open_store(&folder);
    say("open");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn folder_of_another_process_is_rejected_until_it_exits() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = child("holds_a_folder", folder.path(), "");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("open")));
    let refused =
        Store::open(engine(), StoreOptions::new(folder.path()), &Limits::default(), clock(), vec![Account::DEF]);
    let served_by = child.id().to_string();
    assert!(matches!(refused.err(), Some(OpenError::Locked { process, .. }) if process == served_by));
    child.kill().unwrap();
    child.wait().unwrap();
    open_store(folder.path());
}

#[test]
#[ignore = "a child process of the test below"]
fn runs_a_stuck_mutation() {
    let Some(folder) = folder() else { return };
    let options = StoreOptions { stuck: Stuck::EndProcess, ..StoreOptions::new(&folder) };
    let limits = Limits { mutation_timeout: Duration::from_millis(50), ..Limits::default() };
    let store = Store::open(engine(), options, &limits, clock(), vec![Account::DEF]).unwrap();
    let ids = Arc::new(IdGenerator::after(0));
    mutate(&store, &ids, |db| open(db, "acknowledged", 1)).wait().unwrap();
    let _ = start(&store, |_| -> Result<(), StoreError> {
        loop {
            std::thread::park();
        }
    })
    .wait();
}

#[test]
fn process_with_a_stuck_mutation_exits_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let status = child("runs_a_stuck_mutation", folder.path(), "").wait().unwrap();
    assert_eq!(status.signal(), Some(6), "{status}");
    let store = open_store(folder.path());
    let read = store.read_blocking(Access::Everyone, |transaction| balance(&db(transaction), "acknowledged"));
    assert_eq!(read.unwrap(), Some(1));
}

/// Indexes that a release adds to a table with rows.
const ADDED: [&str; 5] = ["a", "b", "c", "d", "e"];
const ROWS: usize = 20_000;

/// Accounts with further indexes.
fn with_added_indexes() -> &'static TableDef {
    let added = ADDED.iter().map(|name| IndexDef {
        name,
        keys: &[KeyDef { field: 0, descending: false }, KeyDef { field: 1, descending: false }],
        unique: *name == "c",
        when: None,
    });
    let indexes = Account::DEF.indexes.iter().map(|index| IndexDef { ..*index }).chain(added).collect::<Vec<_>>();
    let fields = Account::DEF.fields.iter().map(|field| FieldDef { ..*field }).collect::<Vec<_>>();
    Box::leak(Box::new(TableDef { indexes: indexes.leak(), fields: fields.leak(), ..*Account::DEF }))
}

/// Opens the store with the added indexes; says each step.
fn open_with_added_indexes(folder: &Path, on_opening: impl Fn(&str) + Send + Sync + 'static) -> Store {
    let engine = Arc::new(Sqlite { checkpoint_bytes: 64 << 10, large_rows: 1_000, ..Sqlite::default() });
    let options = StoreOptions { on_opening: OnOpening::new(on_opening), ..StoreOptions::new(folder) };
    Store::open(engine, options, &Limits::default(), clock(), vec![with_added_indexes()]).unwrap()
}

/// Makes a database with [`ROWS`] accounts.
fn fill(folder: &Path) {
    let store = open_store(folder);
    let ids = Arc::new(IdGenerator::after(store.greatest_id()));
    for part in 0..ROWS / 1_000 {
        let add = move |db: &mut DbMut| {
            (part * 1_000..(part + 1) * 1_000).try_for_each(|n| {
                let balance = 1_000 + i64::try_from(n).unwrap();
                open(db, &format!("{n} {}", "x".repeat(100)), balance).map(|_| ())
            })
        };
        mutate(&store, &ids, add).wait().unwrap();
    }
}

#[test]
#[ignore = "a child process of the test below"]
fn adds_indexes() {
    let Some(folder) = folder() else { return };
    open_with_added_indexes(&folder, say);
    say("open");
}

#[test]
fn killed_start_resumes_after_its_finished_indexes() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let made = || {
        let file = rusqlite::Connection::open(folder.path().join("convoke.db")).unwrap();
        ADDED
            .iter()
            .filter(|name| {
                let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = ?1";
                file.query_row(sql, [format!("accounts.{name}")], |row| row.get::<_, i64>(0)).unwrap() == 1
            })
            .count()
    };
    for round in 0.. {
        let before = made();
        let mut child = child("adds_indexes", folder.path(), "");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut steps = 0;
        let is_open = loop {
            let line = lines.next().expect("it ends with an open store");
            if line.ends_with("open") {
                break true;
            }
            steps += usize::from(line.contains("table accounts: making index "));
            // While the second one is made the first one is whole.
            if steps == 2 {
                break false;
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        if is_open {
            assert!(round >= 2, "it was killed {round} times only");
            break;
        }
        let now = made();
        assert!(now > before, "{before} indexes before, {now} after {steps} steps");
    }
    assert_eq!(made(), ADDED.len());
    let steps = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let all = steps.clone();
    let store = open_with_added_indexes(folder.path(), move |step| all.lock().push(step.to_owned()));
    assert_eq!((store.state(), &*steps.lock()), (State::Open, &Vec::<String>::new()));
    drop(store);
    let file = rusqlite::Connection::open(folder.path().join("convoke.db")).unwrap();
    let found: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}

#[test]
fn checkpoint_runs_between_index_builds() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let log = folder.path().join("convoke.db-wal");
    let bytes = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let (all, seen) = (bytes.clone(), log.clone());
    let size = |file: &Path| std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    let store = open_with_added_indexes(folder.path(), move |_| all.lock().push(size(&seen)));
    let bytes = bytes.lock().clone();
    assert_eq!(bytes.len(), ADDED.len());
    // Each index is about as large as the first one, and the log has room for one.
    let one = bytes[1];
    assert!(one > 1 << 20 && bytes.iter().all(|bytes| *bytes < 2 * one), "{bytes:?}");
    assert!(size(&log) < 2 * one);
    drop(store);
}
