//! Backups of the running database: made in the folder of backups, on request and by a schedule; fetched and removed.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;

use super::{Admin, AdminRequest, success};
use crate::backup;
use crate::backup::copying::Copying;
use crate::backup::making::make;
use crate::backup::schedule::{self, BackupSettings, Scheduled};
use convoke_calls::runtime::Runtime;
use convoke_core::error::{Error, Result};
use convoke_http::{Body, Ending, Reply};
use convoke_store::Thoroughness;

/// Lines of progress that wait to be sent; more are left out.
const LINES_WAITING_MAX: usize = 16;
/// Bytes of a piece of a backup on its way.
const PIECE: usize = 64 * 1024;

/// What `POST backup` takes.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Backup {
    /// How many backups stay in the folder; the oldest go once this one is whole.
    keep: Option<usize>,
}

/// `POST backup`: JSON lines, first `{"done", "total"}` in pages, last `{"name", "bytes", "sha256", "removed"}` of the
/// backup, which is whole, checked and on disk then; or `{"error"}`.
///
/// # Errors
/// `CONFLICT`: another copy is being made. `FAILED_PRECONDITION`: no room.
pub async fn create(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let Backup { keep } = request.args()?;
    let (copying, runtime) = (Copying::begin(&admin.runtime)?, admin.runtime.clone());
    let work = move |told: &mpsc::Sender<Json>| {
        let _copying = copying;
        make(&runtime, keep, told)
    };
    Ok(in_lines(request, "the backup failed", work))
}

/// Does work on a thread of its own and streams its progress, then its end, as lines of JSON. The work goes on to its end
/// if its reader leaves.
fn in_lines(
    request: AdminRequest,
    failed: &'static str,
    work: impl FnOnce(&mpsc::Sender<Json>) -> std::result::Result<Json, String> + Send + 'static,
) -> Reply {
    let (sender, body) = Body::stream(Ending::Whole);
    let (told, mut heard) = mpsc::channel::<Json>(LINES_WAITING_MAX);
    let work = tokio::task::spawn_blocking(move || work(&told));
    tokio::spawn(async move {
        while let Some(line) = heard.recv().await {
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

/// `GET backup`: what there is, newest first: `{"items": [{name, bytes, madeAt, sha256?}]}`, `madeAt` in milliseconds. One
/// without `sha256` was put there by somebody else; `running` tells whether a copy is being made now.
///
/// # Errors
/// `INTERNAL`: the folder cannot be read.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let runtime = admin.runtime.clone();
    let listed = tokio::task::spawn_blocking(move || {
        let folder = schedule::folder(&runtime)?;
        let mut items = Vec::new();
        for path in backup::list(&folder)?.iter().rev() {
            // One that was removed this moment is none.
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
    success(&json!({ "items": items, "running": running, "folder": folder, "schedule": schedule }))
}

/// `POST backup/{name}/verify`: JSON lines, first `{"done", "total"}` in bytes, last `{"verified": true, "command", "pid",
/// "schema"}`, or `{"error"}`. It holds the backup against its checksum, then checks every page and index of a copy. `command`
/// restores it once the server, whose process is `pid`, is stopped; `schema` lists what the program would change in it.
///
/// The database of a server that runs is not replaced: open calls, live queries and jobs rest on it.
///
/// # Errors
/// `NOT_FOUND`; `CONFLICT`: another copy is being made. `FAILED_PRECONDITION`: no room.
pub async fn verify(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let path = find(admin, request.part())?;
    let (copying, runtime) = (Copying::begin(&admin.runtime)?, admin.runtime.clone());
    let work = move |told: &mpsc::Sender<Json>| {
        let _copying = copying;
        examine(&runtime, &path, told)
    };
    Ok(in_lines(request, "the backup cannot be restored", work))
}

fn examine(runtime: &Runtime, path: &Path, told: &mpsc::Sender<Json>) -> std::result::Result<Json, String> {
    let expected = backup::read_checksum(path).map_err(|error| error.to_string())?;
    let Some(expected) = expected else {
        return Err(format!("{} has no SHA-256 beside it, so nothing shows that it is whole", path.display()));
    };
    let total = fs::metadata(path).map_err(|error| error.to_string())?.len() * 2;
    let mut tell = |done: u64| drop(told.try_send(json!({ "done": done, "total": total })));
    let (found, bytes) = backup::measure(path, &mut tell).map_err(|error| error.to_string())?;
    if found != expected {
        return Err(format!("{} is damaged: its SHA-256 is {found}, expected {expected}", path.display()));
    }
    let store = runtime.store();
    let mut tell = |done: u64| drop(told.try_send(json!({ "done": bytes + done, "total": total })));
    let examined = store.examine(path, runtime.clock().clone(), &mut tell, |copy| {
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

/// `GET backup/{name}`: the file.
///
/// # Errors
/// `NOT_FOUND`.
pub async fn fetch(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let path = find(admin, request.part())?;
    let mut file = fs::File::open(path).map_err(Error::internal)?;
    let bytes = file.metadata().map_err(Error::internal)?.len();
    let (sender, body) = Body::stream(Ending::Whole);
    tokio::task::spawn_blocking(move || {
        let mut buffer = vec![0; PIECE];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return sender.finish(),
                Ok(read) if sender.send_blocking(buffer[..read].to_vec()).is_ok() => {}
                // Its reader is gone, or will see that the stream broke off.
                Ok(_) | Err(_) => return,
            }
        }
    });
    Ok(Reply::of(200, "application/octet-stream", body.with_length(bytes)))
}

/// `DELETE backup/{name}`: removes it, when the caller who asked for it has it elsewhere.
///
/// # Errors
/// `NOT_FOUND`.
pub async fn remove(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    backup::remove(&find(admin, request.part())?).map_err(Error::internal)?;
    success(&Json::Null)
}

/// A name leads to a file of the folder of backups and nowhere else.
fn find(admin: &Admin, name: &str) -> Result<PathBuf> {
    let path = schedule::folder(&admin.runtime).map_err(Error::internal)?.join(name);
    match backup::is_backup(name) && path.is_file() {
        true => Ok(path),
        false => Err(Error::not_found("There is no backup of this name")),
    }
}
