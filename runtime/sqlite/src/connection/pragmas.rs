//! The pragmas of a connection, set when it is opened and then verified.

use super::profile::{Common, Purpose};
use crate::failure::Opening as _;
use convoke_store::OpenError;

/// Sets and verifies all pragmas.
///
/// # Errors
/// Errors of the engine; [`OpenError::Setting`]: a pragma has another value afterwards.
pub(super) fn set(sqlite: &rusqlite::Connection, common: &Common, purpose: Purpose) -> Result<(), OpenError> {
    settings(common, purpose).into_iter().try_for_each(|(name, value, expected)| {
        assert_setting(sqlite, name, &value, expected.as_deref().unwrap_or(&value))
    })
}

/// Name, value, and the expected value if it is spelled differently.
type Setting = (&'static str, String, Option<String>);

fn settings(common: &Common, purpose: Purpose) -> Vec<Setting> {
    let plain = |name, value: &str| (name, value.to_owned(), None);
    let cache_kib = match purpose {
        Purpose::Read => common.cache.reader,
        Purpose::Write | Purpose::Build => common.cache.writer,
    };
    let mut settings = vec![
        plain("cache_size", &format!("-{cache_kib}")),
        // The application checks references between tables; the bundled library enables foreign keys by default.
        plain("foreign_keys", "0"),
        plain("trusted_schema", "0"),
        plain("cell_size_check", "1"),
        // Sorts and lists of keys stay in memory.
        plain("temp_store", "2"),
        // With memory mapping, a failing disk would kill the process by a signal instead of failing a statement.
        plain("mmap_size", "0"),
    ];
    match purpose {
        Purpose::Read => settings.push(plain("query_only", "1")),
        Purpose::Build => {
            settings.push(("page_size", common.page_bytes.to_string(), Some(String::new())));
            settings.push(plain("journal_mode", "off"));
            settings.push(plain("synchronous", "0"));
        }
        Purpose::Write => {
            // The first write fixes the page size; the setting has no effect on an existing database.
            settings.push(("page_size", common.page_bytes.to_string(), Some(String::new())));
            settings.push(plain("journal_mode", "wal"));
            settings.push(("synchronous", common.synchronous.level().to_string(), None));
            settings.push(plain("journal_size_limit", &common.wal_bytes_kept.to_string()));
            // The writer makes checkpoints itself, between batches.
            settings.push(plain("wal_autocheckpoint", "0"));
            if let Some(pages) = common.pages_max {
                settings.push(plain("max_page_count", &pages.to_string()));
            }
        }
    }
    settings
}

/// Sets and verifies a pragma; an empty expectation accepts any value.
fn assert_setting(
    sqlite: &rusqlite::Connection,
    name: &'static str,
    value: &str,
    expected: &str,
) -> Result<(), OpenError> {
    // Some pragmas return a value when they are set and some do not, so both are read again.
    let mut set = sqlite.prepare(&format!("PRAGMA {name}={value}")).opening()?;
    let mut rows = set.raw_query();
    while rows.next().opening()?.is_some() {}
    drop(rows);
    // An empty database forgets a page size that is only read.
    if expected.is_empty() {
        return Ok(());
    }
    let found = sqlite.query_row(&format!("PRAGMA {name}"), [], |row| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            other => format!("{other:?}"),
        })
    });
    let found = found.opening()?;
    if found == expected { Ok(()) } else { Err(OpenError::Setting { name, expected: expected.to_owned(), found }) }
}
