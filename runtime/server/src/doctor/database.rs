//! The database from within: whole, of this program's schema, its clock and its scheduled work.

use super::finding::Finding;
use crate::archive::space::human;
use convoke_calls::scheduler::{Job, JobState};
use convoke_core::clock::Millis;
use convoke_store::{
    NamedStat, OfflineDatabase, OfflineError, OpenError, Plan, StoreError, Table as _, TableDef, Thoroughness,
};

/// Free pages that are worth a word.
const FREE_BYTES: u64 = 64 * 1024 * 1024;
/// How far the newest id may be ahead of the clock: it is made a little earlier when a clock is set back.
const AHEAD_MS: i64 = 5_000;

/// Looks through a database that nobody serves, or a copy.
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
    found
}

fn failed(subject: &str, error: &OfflineError) -> Finding {
    Finding::problem(subject, error.to_string(), advice_on(error))
}

/// What to do about a database that cannot be looked at.
pub fn advice_on(error: &OfflineError) -> &'static str {
    match error {
        OfflineError::Store(StoreError::Disk(_)) | OfflineError::Open(OpenError::Disk(_)) => DISK,
        OfflineError::Store(StoreError::Unreachable(_)) => UNREACHABLE,
        _ => RESTORE,
    }
}

const DISK: &str = "it is the disk that failed, and the database may be whole: see the kernel's log (`dmesg`), copy the data \
                    folder to a sound disk, and restore a backup only if that copy is damaged";

/// What to do about a database on a server that does not answer.
pub const UNREACHABLE: &str = "see whether the database server runs and can be reached from here, its log, and the address and \
                               the password in the settings: `convoke config show`";

const RESTORE: &str = "stop the server, keep the data folder as it is, and put the last good backup back: \
                       `convoke restore FILE` keeps the present database under another name";

fn engine(file: &dyn OfflineDatabase) -> Result<Finding, OfflineError> {
    Ok(Finding::ok("engine", file.description()?))
}

fn integrity(file: &dyn OfflineDatabase, thoroughness: Thoroughness) -> Result<Finding, OfflineError> {
    if let Some(tool) = file.checked_by() {
        return Ok(Finding::ok(
            "integrity",
            format!("not looked at from here: `{tool}` on the server checks pages and indexes"),
        ));
    }
    let found = file.check(thoroughness)?;
    let what = match thoroughness {
        Thoroughness::Quick => "every page was read (--full also holds indexes against rows)",
        Thoroughness::Full => "every page and every index is as it should be",
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
    let applied = convoke_core::clock::stamp(Millis(schema.applied_at));
    Ok(if !schema.refused.is_empty() {
        Finding::problem(
            "schema",
            format!("it does not fit this program: {}", schema.refused.join("; ")),
            "the server serves the operator only until the named migration has run: `convoke migrate`; or start the \
             program that fits",
        )
    } else if schema.pending.is_empty() {
        Finding::ok("schema", format!("version {} (since {applied}) is that of this program", schema.version))
    } else {
        let pending = schema.pending.len();
        Finding::ok(
            "schema",
            format!("version {} (since {applied}); the next start makes {pending} changes", schema.version),
        )
    })
}

/// Where the engine keeps rows in pages of a file.
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
            "they are used again; to give them back: `convoke export` and `convoke import --replace`",
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
            "the clock was set back, or is behind: compare `timedatectl`; ids go on behind the newest one",
        )
    } else {
        Finding::ok("ids", "the newest id is not ahead of this machine's clock")
    })
}

fn jobs(file: &dyn OfflineDatabase) -> Finding {
    use convoke_store::Column as _;
    let index = Job::DEF.indexes.iter().find(|index| index.name == "by_state");
    let mut plan = Plan::new(Job::DEF, index);
    plan.eq = index.map_or_else(Vec::new, |_| vec![JobState::Failed.to_value()]);
    match file.reader().count(&plan) {
        Ok(0) => Finding::ok("jobs", "none has failed for good"),
        Ok(failed) => Finding::warning(
            "jobs",
            format!("{failed} failed for good"),
            "see why, then run them again or let them go: `convoke jobs`",
        ),
        Err(error) => Finding::warning("jobs", error.to_string(), "see the findings about schema and integrity"),
    }
}
