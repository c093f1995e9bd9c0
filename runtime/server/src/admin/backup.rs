//! The handlers of backups: create, list, verify, download and remove.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;

use super::{Admin, AdminRequest, success};
use crate::backup;
use crate::backup::copying::Copying;
use crate::backup::making::make;
use crate::backup::schedule::{self, BackupSettings, Scheduled};
use crate::copies::Copies;
use crate::following::Following;
use convoke_calls::files::{Folder, StoredBytes};
use convoke_calls::runtime::Runtime;
use convoke_copies::CopySettings;
use convoke_core::error::{Error, Result};
use convoke_http::{Body, Ending, Reply};
use convoke_store::Thoroughness;

/// Largest number of progress lines that wait to be sent; further lines are dropped.
const LINES_WAITING_MAX: usize = 16;
/// Bytes per chunk of a download.
const PIECE: usize = 64 * 1024;

/// The arguments of `POST backup`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Backup {
    /// Number of backups to keep. After a successful backup, older ones are removed.
    keep: Option<usize>,
}

/// `POST backup`: creates a backup. Streams JSON lines: progress `{"done", "total"}` in pages, and at the end `{"name",
/// "bytes", "sha256", "removed", "leftOut", "lacking"}` or `{"error"}`. `leftOut` is the bucket whose files are not in the
/// backup; `lacking` describes stored files that the server lacks. With the last line, the database in the backup is complete,
/// verified and on disk.
///
/// # Errors
/// `CONFLICT`: another copy is being made. `FAILED_PRECONDITION`: not enough disk space.
pub async fn create(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let Backup { keep } = request.args()?;
    let (copying, runtime) = (Copying::begin_backup(&admin.runtime)?, admin.runtime.clone());
    let work = move |progress: &mpsc::Sender<Json>| {
        let _copying = copying;
        make(&runtime, keep, progress)
    };
    Ok(in_lines(request, "the backup failed", work))
}

/// Runs `work` on a blocking thread and streams its progress and result as JSON lines. The work continues if the client
/// disconnects.
fn in_lines(
    request: AdminRequest,
    failed: &'static str,
    work: impl FnOnce(&mpsc::Sender<Json>) -> std::result::Result<Json, String> + Send + 'static,
) -> Reply {
    let (sender, body) = Body::stream(Ending::Whole);
    let (progress, mut lines) = mpsc::channel::<Json>(LINES_WAITING_MAX);
    let work = tokio::task::spawn_blocking(move || work(&progress));
    tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            let _ = sender.send(format!("{line}\n")).await;
        }
        let last = match work.await {
            Ok(Ok(made)) => made,
            Ok(Err(error)) => {
                tracing::error!(request_id = %request.request_id, "{failed}: {error}");
                json!({ "error": error })
            }
            Err(error) => json!({ "error": error.to_string() }),
        };
        if sender.send(format!("{last}\n")).await.is_ok() {
            sender.finish();
        }
    });
    Reply::of(200, "application/x-ndjson", body)
}

/// `GET backup`: lists the backups, newest first: `{"items": [{name, bytes, madeAt, sha256?}]}`, `madeAt` in
/// milliseconds. A file without `sha256` was not created by the server. `running` is true while a copy is being made.
///
/// # Errors
/// `INTERNAL`: the folder cannot be read.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let runtime = admin.runtime.clone();
    let listed = tokio::task::spawn_blocking(move || {
        let folder = schedule::folder(&runtime)?;
        let mut items = Vec::new();
        for path in backup::list(&folder)?.iter().rev() {
            // The file may have been removed since it was listed.
            let Ok(found) = fs::metadata(path) else { continue };
            let made_at = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            items.push(json!({
                "name": path.file_name().unwrap_or_default().to_string_lossy(),
                "bytes": found.len(),
                "madeAt": made_at.map(|time| time.as_millis() as u64),
                "sha256": backup::read_checksum(path)?,
            }));
        }
        Ok::<_, std::io::Error>(items)
    });
    let items = listed.await.map_err(Error::internal)?.map_err(Error::internal)?;
    let settings = admin.runtime.settings::<BackupSettings>();
    let failed = admin.runtime.memory::<Scheduled>().failed();
    let schedule = settings.every.map(|every| {
        json!({
            "every": humantime::format_duration(every.duration()).to_string(),
            "keep": settings.keep,
            "failed": failed.map(|failed| json!({ "at": failed.at, "error": failed.error })),
        })
    });
    let folder = schedule::folder(&admin.runtime).map_err(Error::internal)?;
    let running = Copying::is_taken(&admin.runtime);
    let copies = Copies::status(&admin.runtime).map(|status| {
        let state = status.state();
        json!({
            "to": admin.runtime.settings::<CopySettings>().to,
            "generation": state.generation,
            "commit": state.commit,
            "copiedAt": state.copied_at,
            "commitsBehind": state.commits_behind,
            "isMakingSnapshot": state.makes_snapshot,
            "error": state.error,
        })
    });
    let following = Following::status(&admin.runtime).map(|status| {
        let state = status.state();
        json!({
            "from": status.url,
            "generation": state.generation,
            "commit": state.commit,
            "copiedAt": state.copied_at,
            "caughtUpAt": state.caught_up_at,
            "error": state.error,
        })
    });
    success(&json!({
        "items": items,
        "running": running,
        "folder": folder,
        "schedule": schedule,
        "copies": copies,
        "following": following,
    }))
}

/// `POST backup/{name}/verify`: checks the checksum of a backup, then every page and index of a copy. Streams JSON
/// lines: progress `{"done", "total"}` in bytes, and at the end `{"verified": true, "command", "pid", "schema"}` or
/// `{"error"}`. `command` restores the backup after the server (process `pid`) has stopped. `schema` lists the changes
/// that the program would make to it.
///
/// The handler does not restore: open calls, live queries and jobs use the database of a running server.
///
/// # Errors
/// `NOT_FOUND`; `CONFLICT`: another copy is being made. `FAILED_PRECONDITION`: not enough disk space.
pub async fn verify(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let path = find(admin, request.part())?;
    let (copying, runtime) = (Copying::begin(&admin.runtime)?, admin.runtime.clone());
    let work = move |progress: &mpsc::Sender<Json>| {
        let _copying = copying;
        examine(&runtime, &path, progress)
    };
    Ok(in_lines(request, "the backup cannot be restored", work))
}

fn examine(runtime: &Runtime, path: &Path, progress: &mpsc::Sender<Json>) -> std::result::Result<Json, String> {
    let expected = backup::read_checksum(path).map_err(|error| error.to_string())?;
    let Some(expected) = expected else {
        return Err(format!("{} has no SHA-256 beside it, so it may be incomplete", path.display()));
    };
    let total = fs::metadata(path).map_err(|error| error.to_string())?.len() * 2;
    let mut report = |done: u64| drop(progress.try_send(json!({ "done": done, "total": total })));
    let (found, bytes) = backup::measure(path, &mut report).map_err(|error| error.to_string())?;
    if found != expected {
        return Err(format!("{} is damaged: its SHA-256 is {found}, expected {expected}", path.display()));
    }
    let store = runtime.store();
    let mut report = |done: u64| drop(progress.try_send(json!({ "done": bytes + done, "total": total })));
    let examined = store.examine(path, runtime.clock().clone(), &mut report, |copy| {
        copy.require_whole(Thoroughness::Full)?;
        copy.schema(store.tables())
    });
    let schema = examined.map_err(|error| error.to_string())?;
    let absolute = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_name).map_or("convoke".into(), |name| name.to_string_lossy());
    let quoted = |path: &Path| format!("'{}'", absolute(path).display().to_string().replace('\'', "'\\''"));
    Ok(json!({
        "verified": true,
        "command": format!("{program} restore {} --data {}", quoted(path), quoted(store.folder())),
        "pid": std::process::id(),
        "schema": { "pending": schema.pending.len(), "refused": schema.refused },
    }))
}

/// `GET backup/{name}`: downloads the file.
///
/// # Errors
/// `NOT_FOUND`.
pub async fn fetch(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let path = find(admin, request.part())?;
    download(fs::File::open(path).map_err(Error::internal)?)
}

/// `GET backup/{name}/files`: lists the contents of a backup's files as JSON lines `{"hash", "bytes"}`.
///
/// # Errors
/// `NOT_FOUND`; `INTERNAL`: the folder cannot be read.
pub async fn contents(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let folder = Folder::at(backup::files_of(&find(admin, request.part())?));
    let listed = tokio::task::spawn_blocking(move || {
        let mut lines = String::new();
        folder.contents(&mut |StoredBytes { hash, bytes, .. }| {
            lines.push_str(&format!("{}\n", json!({ "hash": hash, "bytes": bytes })));
        })?;
        Ok::<_, std::io::Error>(lines)
    });
    let lines = listed.await.map_err(Error::internal)?.map_err(Error::internal)?;
    Ok(Reply::of(200, "application/x-ndjson", Body::from(Bytes::from(lines))))
}

/// `GET backup/{name}/files/{hash}`: downloads one of these contents.
///
/// # Errors
/// `NOT_FOUND`.
pub async fn content(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let folder = Folder::at(backup::files_of(&find(admin, request.part())?));
    let hash = request.second_part();
    let missing = || Error::not_found("The backup has no file with this hash");
    if !Folder::is_hash(hash) {
        return Err(missing());
    }
    download(folder.open(hash).map_err(|error| missing().caused_by(error))?)
}

fn download(mut file: fs::File) -> Result<Reply> {
    let bytes = file.metadata().map_err(Error::internal)?.len();
    let (sender, body) = Body::stream(Ending::Whole);
    tokio::task::spawn_blocking(move || {
        let mut buffer = vec![0; PIECE];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return sender.finish(),
                Ok(read) if sender.send_blocking(buffer[..read].to_vec()).is_ok() => {}
                // The client has disconnected, or sees an incomplete stream.
                Ok(_) | Err(_) => return,
            }
        }
    });
    Ok(Reply::of(200, "application/octet-stream", body.with_length(bytes)))
}

/// `DELETE backup/{name}`: removes a backup.
///
/// # Errors
/// `NOT_FOUND`.
pub async fn remove(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    backup::remove(&find(admin, request.part())?).map_err(Error::internal)?;
    success(&Json::Null)
}

/// Returns the path of a backup. A name cannot refer to a file outside of the folder of backups.
fn find(admin: &Admin, name: &str) -> Result<PathBuf> {
    let path = schedule::folder(&admin.runtime).map_err(Error::internal)?.join(name);
    match backup::is_backup(name) && path.is_file() {
        true => Ok(path),
        false => Err(Error::not_found("There is no backup of this name")),
    }
}
