//! The database from within: whole, of this program's schema, its clock and its scheduled work.

use super::finding::Finding;
use crate::clock::Millis;
use crate::scheduler::{Job, JobState};
use crate::store::offline::OfflineError;
use crate::store::{DatabaseFile, Plan, Table as _, TableDef, Thoroughness};
use crate::transfer::space::human;

/// Free pages that are worth a word.
const FREE_BYTES: u64 = 64 * 1024 * 1024;
/// How far the newest id may be ahead of the clock: it is made a little earlier when a clock is set back.
const AHEAD_MS: i64 = 5_000;

/// Looks through a file or a copy.
pub fn look(
    file: &DatabaseFile,
    tables: &[&'static TableDef],
    thoroughness: Thoroughness,
    now: Millis,
) -> Vec<Finding> {
    vec![
        integrity(file, thoroughness).unwrap_or_else(|error| failed("integrity", &error)),
        schema(file, tables).unwrap_or_else(|error| failed("schema", &error)),
        pages(file).unwrap_or_else(|error| failed("pages", &error)),
        clock(file, now).unwrap_or_else(|error| failed("clock", &error)),
        jobs(file),
    ]
}

fn failed(subject: &str, error: &OfflineError) -> Finding {
    Finding::problem(subject, error.to_string(), RESTORE)
}

const RESTORE: &str = "stop the server, keep the data folder as it is, and put the last good backup back: \
                       `convoke restore FILE` keeps the present database under another name";

fn integrity(file: &DatabaseFile, thoroughness: Thoroughness) -> Result<Finding, OfflineError> {
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

fn schema(file: &DatabaseFile, tables: &[&'static TableDef]) -> Result<Finding, OfflineError> {
    let schema = file.schema(tables)?;
    let applied = crate::clock::stamp(Millis(schema.applied_at));
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

fn pages(file: &DatabaseFile) -> Result<Finding, OfflineError> {
    let pages = file.details()?;
    let (bytes, free) = (pages.pages * pages.page_bytes, pages.free_pages * pages.page_bytes);
    let says = format!("{} in pages of {} B, {} of them free", human(bytes), pages.page_bytes, human(free));
    Ok(if free > FREE_BYTES && free > bytes / 2 {
        Finding::warning(
            "pages",
            says,
            "they are used again; to give them back: `convoke export` and `convoke import --replace`",
        )
    } else {
        Finding::ok("pages", says)
    })
}

fn clock(file: &DatabaseFile, now: Millis) -> Result<Finding, OfflineError> {
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

fn jobs(file: &DatabaseFile) -> Finding {
    use crate::store::Column as _;
    let index = Job::DEF.indexes.iter().find(|index| index.name == "by_state");
    let plan = Plan {
        table: Job::DEF,
        index,
        eq: index.map_or_else(Vec::new, |_| vec![JobState::Failed.to_value()]),
        any: None,
        range: None,
        reverse: false,
        limit: None,
        keys_only: false,
        after: None,
    };
    match file.transaction().count(&plan) {
        Ok(0) => Finding::ok("jobs", "none has failed for good"),
        Ok(failed) => Finding::warning(
            "jobs",
            format!("{failed} failed for good"),
            "see why, then run them again or let them go: `convoke jobs`",
        ),
        Err(error) => Finding::warning("jobs", error.to_string(), "see the findings about schema and integrity"),
    }
}
