//! Processes that are killed while they write and copy.
//!
//! The children are ignored tests of this same binary, which the tests here start with a folder to work in.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;

use convoke_copies::restore::Moment;
use convoke_copies::survey::survey;
use convoke_store::conformance::support::{Account, ByOwner, clock};

use crate::follower::{EVERY, Followed, open};
use crate::support::{COPIED, Copied, Rows, open_place, restored, rows, settings};

const FOLDER: &str = "CONVOKE_TEST_FOLDER";
const SETTINGS: &str = "CONVOKE_TEST_COPY";
/// Number of kills of each test.
const KILLS: &str = "COPIES_KILLS";
/// Kills of one database; a longer history takes longer to compare.
const KILLS_OF_ONE: u64 = 12;

fn child(folder: &Path, more: &str) -> Child {
    child_of("killed::writes_until_it_is_killed", folder, more)
}

fn child_of(test: &str, folder: &Path, more: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(SETTINGS, more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}.").unwrap();
    out.flush().unwrap();
}

/// Appends consecutive numbers and prints `acknowledged N`; and `copied N` when its own status says so.
#[test]
#[ignore = "a child process of the tests below"]
fn writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let more = std::env::var(SETTINGS).unwrap_or_default();
    let copied = Copied::open(&folder.join("data"), &settings(&folder.join("place"), &more));
    let newest = AtomicI64::new(-1);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (copied, newest) = (&copied, &newest);
            scope.spawn(move || {
                for round in 0.. {
                    // One row in each mutation knows the number of mutations before it.
                    let written = copied.start(move |db| {
                        let number = match db.query(ByOwner).eq("total").unique()? {
                            Some(total) => {
                                let number = total.balance + 1;
                                db.patch_doc(total, |total| total.balance = number)?;
                                number
                            }
                            None => {
                                db.insert(Account { owner: "total".to_owned(), balance: 1_000 })?;
                                1_000
                            }
                        };
                        db.insert(Account { owner: format!("row {number}"), balance: -number })?;
                        if round % 50 == 49 && thread == 0 {
                            // More than the log holds between two checkpoints.
                            for row in 0..300 {
                                let owner = format!("large {number} {row} {}", "x".repeat(300));
                                db.insert(Account { owner, balance: -1_000_000 - number * 1_000 - row })?;
                            }
                        }
                        Ok(number)
                    });
                    let number = written.wait().unwrap();
                    newest.fetch_max(number, SeqCst);
                    say(&format!("acknowledged {number}"));
                }
            });
        }
        loop {
            let (number, now) = (newest.load(SeqCst), clock().now());
            while copied.shipper.status().state().copied_at.is_none_or(|at| at <= now) {
                std::thread::sleep(Duration::from_millis(2));
            }
            say(&format!("copied {number}"));
        }
    });
}

/// Checks that a state is that after a number of whole mutations.
#[track_caller]
fn require_whole_mutations(rows: &Rows) {
    let count = |first: &str| rows.keys().filter(|owner| owner.starts_with(first)).count();
    assert_eq!(i64::try_from(count("row ")).unwrap(), rows["total"] - 999);
    assert_eq!(count("large ") % 300, 0);
}

/// Follows the copies, and prints `follows` when it has caught up.
#[test]
#[ignore = "a child process of the test below"]
fn follows_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let followed = Followed::resume(&folder.join("follower"), EVERY);
    loop {
        followed.wait();
        say("follows");
    }
}

#[test]
fn killed_follower_has_whole_mutations_and_goes_on() {
    let kills: u64 = std::env::var(KILLS).ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS_OF_ONE);
    for round in 0..kills.div_ceil(KILLS_OF_ONE) {
        kill_follower(kills.saturating_sub(round * KILLS_OF_ONE).min(KILLS_OF_ONE));
    }
}

fn kill_follower(kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    let (place, data) = (folder.path().join("place"), folder.path().join("follower"));
    std::fs::create_dir(&place).unwrap();
    let mut server = child(folder.path(), "");
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    // Only then does the place have a mutation.
    assert!(lines.any(|line| line.starts_with("copied 1")));
    let reader = std::thread::spawn(move || lines.count());
    Followed::begin(&data, &place, EVERY).close();
    let mut total = 0;
    for round in 0..kills {
        let mut follower = child_of("killed::follows_until_it_is_killed", folder.path(), "");
        let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines().map_while(Result::ok);
        if round % 2 == 0 {
            assert!(lines.any(|line| line == "follows."));
        }
        std::thread::sleep(Duration::from_millis(round * 137 % 600));
        follower.kill().unwrap();
        follower.wait().unwrap();
        // The state of the crash: nothing follows.
        let store = open(&data);
        let found = rows(&store);
        store.close();
        require_whole_mutations(&found);
        assert!(found["total"] >= total, "round {round}: the follower went back");
        total = found["total"];
    }
    server.kill().unwrap();
    server.wait().unwrap();
    reader.join().unwrap();
    let followed = Followed::resume(&data, EVERY);
    followed.wait();
    let expected = restored(&place, Moment::Newest).1;
    assert!(followed.rows() == expected);
    followed.close();
}

/// Kills processes many times, and compares the copies with what a process has promised by lines with this first word.
fn kill(promise: &str, more: &str) {
    let mut kills: u64 = std::env::var(KILLS).ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS_OF_ONE);
    while kills > 0 {
        kill_one(promise, more, kills.min(KILLS_OF_ONE));
        kills = kills.saturating_sub(KILLS_OF_ONE);
    }
}

fn kill_one(promise: &str, more: &str, kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let (mut promised, mut promises) = (-1, 0);
    for round in 0..kills {
        let mut child = child(folder.path(), more);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let prefix = format!("{promise} ");
        let (first, has_promised) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            let number = |line: String| line.strip_prefix(&prefix)?.strip_suffix('.')?.parse::<i64>().ok();
            let promised =
                lines.map_while(Result::ok).filter_map(number).inspect(|_| first.send(()).unwrap_or_default());
            promised.collect::<Vec<_>>()
        });
        // Half of the kills are at any moment of the start, and half after the first promise, however slow the machine.
        if round % 2 == 0 {
            has_promised.recv_timeout(Duration::from_secs(60)).expect("the process promises something");
        }
        std::thread::sleep(Duration::from_millis(20 + round * 137 % 900));
        child.kill().unwrap();
        child.wait().unwrap();
        let numbers = reader.join().unwrap();
        promises += numbers.len();
        promised = numbers.into_iter().fold(promised, i64::max);
        if promised < 0 {
            continue;
        }
        let (_, rows) = restored(&place, Moment::Newest);
        let total = rows["total"];
        assert!(total >= promised, "round {round}: {promised} was promised and the copy has {total}");
        require_whole_mutations(&rows);
    }
    assert!(promises >= kills.div_ceil(2).try_into().unwrap(), "only {promises} promises were made");
    // The next process loses nothing of its own database, and the copy follows it.
    let copied = Copied::open(&folder.path().join("data"), &settings(&place, ""));
    copied.wait();
    let expected = rows(&copied.store);
    copied.close();
    assert_eq!(restored(&place, Moment::Newest).1, expected);
    assert_eq!(survey(&open_place(&place)).unwrap().len(), 1, "one history is one generation");
}

#[test]
fn killed_process_leaves_a_copy_with_everything_that_its_status_promised() {
    kill("copied", "");
}

#[test]
fn killed_process_leaves_a_copy_with_every_acknowledged_mutation_if_mutations_wait_for_it() {
    kill("acknowledged", COPIED);
}
