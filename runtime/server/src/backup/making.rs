//! Creates backups of the running database: on request and by the schedule.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::sync::mpsc;

use super::contents::{self, Lacking};
use super::copying::Copying;
use super::schedule::{self, BackupSettings, Scheduled};
use crate::archive::space;
use crate::backup;
use convoke_calls::files::{FilesSettings, Folder};
use convoke_calls::runtime::Runtime;
use convoke_core::error::Code;
use convoke_store::file_fields::has_files;
use convoke_store::{Access, StoreError};

/// Shortest time between two lines of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Starts a backup on a blocking thread if the schedule has one due. A failure is logged and recorded for the doctor
/// and the metrics.
pub(crate) fn begin_scheduled(runtime: &Runtime) {
    let settings = runtime.settings::<BackupSettings>();
    let Some(every) = settings.every else { return };
    let (runtime, keep) = (runtime.clone(), settings.keep);
    // The shutdown of the server does not wait for a backup.
    tokio::task::spawn_blocking(move || {
        let scheduled = runtime.memory::<Scheduled>();
        // If the folder cannot be read, the backup fails and reports it.
        let now = runtime.clock().now();
        let newest = schedule::folder(&runtime).and_then(|folder| schedule::newest(&folder, now)).unwrap_or_default();
        if !scheduled.is_due(every, newest, now) {
            return;
        }
        let made = match Copying::begin_backup(&runtime) {
            // The operator is making a copy.
            Err(error) if error.code() == Code::Conflict => return,
            Err(error) => Err(error.message().to_owned()),
            // The progress has no receiver.
            Ok(_copying) => make(&runtime, Some(keep), &mpsc::channel(1).0),
        };
        match &made {
            Ok(made) => tracing::info!(target: "convoke::backup", "the scheduled backup succeeded: {made}"),
            Err(error) => tracing::error!(target: "convoke::backup", "the scheduled backup failed: {error}"),
        }
        scheduled.ended(runtime.clock().now(), made.map(drop));
    });
}

/// Creates a backup in the folder of backups and keeps only the newest `keep`. Sends progress as `{"done", "total"}` in
/// pages. Returns `{"name", "bytes", "sha256", "removed", "leftOut", "lacking"}`: `leftOut` is the bucket whose files are not
/// copied, and `lacking` describes stored files that the folder of files lacks, so that the backup lacks them too.
///
/// # Errors
/// A message for the operator.
pub(crate) fn make(runtime: &Runtime, keep: Option<usize>, progress: &mpsc::Sender<Json>) -> Result<Json, String> {
    let store = runtime.store();
    let folder = schedule::folder(runtime).map_err(|error| error.to_string())?;
    // The data folder belongs to this process; `backup.dir` may be shared.
    let is_own = folder.starts_with(store.folder());
    let age = if is_own { Duration::ZERO } else { backup::SHARED_PARTIAL_AGE };
    backup::remove_partial(&folder, age).map_err(|error| error.to_string())?;
    let name = backup::name(&folder, runtime.clock().now());
    let to = folder.join(&name);
    let (clock, progress, mut last) = (runtime.clock().clone(), progress.clone(), None::<Duration>);
    let report = move |at: convoke_store::Progress| {
        let now = clock.monotonic();
        if last.is_none_or(|last| now.saturating_sub(last) >= PROGRESS_INTERVAL) {
            last = Some(now);
            let _ = progress.try_send(json!({ "done": at.done, "total": at.total }));
        }
    };
    // No content is removed between the copy of the rows and the links to their files.
    let _kept = runtime.files().hold_removal();
    // The files and the checksum are written before the final name, so that every file with the name of a backup has
    // them.
    let seal = |whole: &Path| {
        // A bucket has its own versions and copies.
        if let Some(files) = runtime.files().storage().local() {
            contents::add_all(files, &Folder::at(backup::files_of(&to)))?;
        }
        let (sha256, bytes) = backup::measure(whole, &mut |_| {})?;
        backup::write_checksum(&to, &sha256)?;
        Ok((sha256, bytes))
    };
    let made = store.backup(&to, report, seal).map_err(|error| match space::free_bytes(&folder) {
        Ok(_) if matches!(error, StoreError::BackedUpBy(_)) => error.to_string(),
        Ok(free) => format!("{error} ({} free in {})", space::human(free), folder.display()),
        Err(_) => error.to_string(),
    });
    let done = made.and_then(|(sha256, bytes)| {
        let removed = keep.map_or_else(|| Ok(Vec::new()), |keep| backup::rotate(&folder, keep, &to));
        Ok((sha256, bytes, removed.map_err(|error| error.to_string())?))
    });
    if done.is_err() {
        // The first error is reported.
        let _ = backup::remove(&to);
    }
    let (sha256, bytes, removed) = done?;
    let file_name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let removed: Vec<String> = removed.iter().map(file_name).collect();
    let has_files = store.tables().iter().any(|table| has_files(table));
    let left_out = runtime.settings::<FilesSettings>().url.clone().filter(|_| has_files);
    let lacking = lacking(runtime).unwrap_or_else(|error| {
        tracing::warn!(target: "convoke::backup", "the stored files were not compared with their rows: {error}");
        None
    });
    if let Some(lacking) = &lacking {
        tracing::error!(target: "convoke::backup", "the backup {name} lacks stored files, which the server lacks too: {lacking}");
    }
    Ok(json!({
        "name": name, "bytes": bytes, "sha256": sha256, "removed": removed, "leftOut": left_out, "lacking": lacking,
    }))
}

/// Describes the stored files that the local folder of files lacks, by their lengths.
fn lacking(runtime: &Runtime) -> Result<Option<String>, StoreError> {
    let Some(files) = runtime.files().storage().local() else { return Ok(None) };
    let stored = runtime.store().read_blocking(Access::Admin, |reader| contents::stored(&*reader))??;
    let lacking = Lacking::by_length(&stored, files);
    Ok((!lacking.is_empty()).then(|| lacking.to_string()))
}
