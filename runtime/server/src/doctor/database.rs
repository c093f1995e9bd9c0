//! The checks of the database: integrity, schema, ids and jobs.

use super::finding::Finding;
use crate::archive::space::human;
use convoke_calls::scheduler::{Job, JobState};
use convoke_calls::workflow::{Run, RunState};
use convoke_core::clock::{self, Millis};
use convoke_core::counted::counted;
use convoke_store::{
    NamedStat, OfflineDatabase, OfflineError, OpenError, Plan, StoreError, Table as _, TableDef, Thoroughness, Value,
};

/// Free space in the database above which a warning is possible.
const FREE_BYTES: u64 = 64 * 1024 * 1024;
/// Tolerated time by which the newest id may be ahead of the clock. A small difference is normal after a clock is set
/// back.
const AHEAD_MS: i64 = 5_000;

/// Checks a database that no server uses, or a copy.
pub fn look(
    file: &dyn OfflineDatabase,
    tables: &[&'static TableDef],
    thoroughness: Thoroughness,
    now: Millis,
) -> Vec<Finding> {
    let mut found = vec![
        engine(file).unwrap_or_else(|error| failed("engine", &error)),
        integrity(file, thoroughness).unwrap_or_else(|error| failed("integrity", &error)),
        schema(file, tables).unwrap_or_else(|error| failed("schema", &error)),
    ];
    found.extend(pages(file).unwrap_or_else(|error| Some(failed("pages", &error))));
    found.push(clock(file, now).unwrap_or_else(|error| failed("clock", &error)));
    found.push(jobs(file));
    found.extend(workflows(file));
    found
}

fn failed(subject: &str, error: &OfflineError) -> Finding {
    Finding::problem(subject, error.to_string(), advice_on(error))
}

/// Returns the advice for a database that cannot be checked.
pub fn advice_on(error: &OfflineError) -> &'static str {
    match error {
        OfflineError::Store(StoreError::Disk(_)) | OfflineError::Open(OpenError::Disk(_)) => DISK,
        OfflineError::Store(StoreError::Unreachable(_)) => UNREACHABLE,
        _ => RESTORE,
    }
}

const DISK: &str = "the disk failed, and the database may be intact: see the kernel's log (`dmesg`), copy the data \
                    folder to a healthy disk, and restore a backup only if that copy is damaged";

/// The advice for a database server that does not respond.
pub const UNREACHABLE: &str = "check whether the database server runs and is reachable from here, its log, and the address and \
                               the password in the settings: `convoke config show`";

const RESTORE: &str = "stop the server, keep the data folder unchanged, and restore the last good backup: \
                       `convoke restore FILE` keeps the current database under another name";

fn engine(file: &dyn OfflineDatabase) -> Result<Finding, OfflineError> {
    Ok(Finding::ok("engine", file.description()?))
}

fn integrity(file: &dyn OfflineDatabase, thoroughness: Thoroughness) -> Result<Finding, OfflineError> {
    if let Some(tool) = file.checked_by() {
        return Ok(Finding::ok(
            "integrity",
            format!("not checked from here: run `{tool}` on the server to check pages and indexes"),
        ));
    }
    let found = file.check(thoroughness)?;
    let what = match thoroughness {
        Thoroughness::Quick => "every page was read (--full also compares indexes with rows)",
        Thoroughness::Full => "every page and every index is valid",
    };
    Ok(match found.split_first() {
        None => Finding::ok("integrity", what),
        Some((first, rest)) => {
            Finding::problem("integrity", format!("the database is damaged: {first}; {} more", rest.len()), RESTORE)
        }
    })
}

fn schema(file: &dyn OfflineDatabase, tables: &[&'static TableDef]) -> Result<Finding, OfflineError> {
    let schema = file.schema(tables)?;
    let applied = clock::utc(Millis(schema.applied_at));
    Ok(if !schema.refused.is_empty() {
        Finding::problem(
            "schema",
            format!("it does not match this program: {}", schema.refused.join("; ")),
            "the server serves only the operator until the named migration has run: `convoke migrate`; or start the \
             program that matches",
        )
    } else if schema.pending.is_empty() {
        Finding::ok("schema", format!("version {} (since {applied}) matches this program", schema.version))
    } else {
        let changes = counted(schema.pending.len(), "change");
        Finding::ok("schema", format!("version {} (since {applied}); the next start makes {changes}", schema.version))
    })
}

/// Checks the free pages of an engine that stores rows in pages of a file.
fn pages(file: &dyn OfflineDatabase) -> Result<Option<Finding>, OfflineError> {
    let stats = file.stats()?;
    let stat = |name| NamedStat::find(&stats, name);
    let (Some(page_bytes), Some(pages), Some(free)) = (stat("page_bytes"), stat("pages"), stat("free_pages")) else {
        return Ok(None);
    };
    let (bytes, free) = (pages * page_bytes, free * page_bytes);
    let says = format!("{} in pages of {page_bytes} B, {} of them free", human(bytes), human(free));
    Ok(Some(if free > FREE_BYTES && free > bytes / 2 {
        Finding::warning(
            "pages",
            says,
            "they will be reused; to shrink the file: `convoke export` and `convoke import --replace`",
        )
    } else {
        Finding::ok("pages", says)
    }))
}

fn clock(file: &dyn OfflineDatabase, now: Millis) -> Result<Finding, OfflineError> {
    let newest = i64::try_from(file.greatest_id()? >> 80).unwrap_or(i64::MAX);
    let ahead = newest - now.0;
    Ok(if ahead > AHEAD_MS {
        Finding::warning(
            "ids",
            format!("the newest id is {} ms ahead of this machine's clock", ahead),
            "the clock was set back or is slow: see `timedatectl`; new ids continue after the newest",
        )
    } else {
        Finding::ok("ids", "the newest id is not ahead of this machine's clock")
    })
}

/// Returns the number of rows of a table in a state.
fn count(file: &dyn OfflineDatabase, table: &'static TableDef, state: Value) -> Result<u64, StoreError> {
    let index = table.indexes.iter().find(|index| index.name == "by_state");
    let mut plan = Plan::new(table, index);
    plan.eq = index.map_or_else(Vec::new, |_| vec![state]);
    file.reader().count(&plan)
}

/// Reports blocked runs. A database without the table has none.
fn workflows(file: &dyn OfflineDatabase) -> Option<Finding> {
    use convoke_store::Column as _;
    match count(file, Run::DEF, RunState::Blocked.to_value()) {
        Ok(0) | Err(_) => None,
        Ok(blocked) => Some(Finding::warning(
            "workflows",
            format!("{} blocked: the code of the workflow does not fit the journal", counted(blocked, "run")),
            "see the reasons: `convoke workflows list --state blocked`; then start a release whose code fits, or cancel \
             the runs",
        )),
    }
}

fn jobs(file: &dyn OfflineDatabase) -> Finding {
    use convoke_store::Column as _;
    match count(file, Job::DEF, JobState::Failed.to_value()) {
        Ok(0) => Finding::ok("jobs", "none has failed permanently"),
        Ok(failed) => Finding::warning(
            "jobs",
            format!("{failed} failed permanently"),
            "see the reasons, then retry or cancel them: `convoke jobs`",
        ),
        Err(error) => Finding::warning("jobs", error.to_string(), "see the findings on schema and integrity"),
    }
}
