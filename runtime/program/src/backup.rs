//! `backup`: a copy of the database, even while a server runs.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use hyper::Method;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::connect::{ConnectArgs, Connection};
use super::failure::Failure;
use super::interrupt::interruptible;
use super::output;
use super::progress::Progress;
use convoke_calls::files::Folder;
use convoke_core::counted::counted;
use convoke_server::archive::space::human;
use convoke_server::backup::{self, contents, secrets, with_ending};
use convoke_server::config::Config;
use convoke_store::{Engines, private_file, sync_folder};

/// Copy the database, even while a server runs on it and writes
///
/// The copy shows the database at one commit. It is verified, and has its SHA-256 beside it (`sha256sum -c` reads it).
/// Only its owner can read it. It gets its name when it is complete and on disk. Without a target it is written to the
/// folder `backups` of the data folder; keep copies on another machine too.
///
/// A backup contains the data and no keys. --with-secrets copies the secrets of the data folder (secrets/*, the key of
/// the development issuer) to a second file beside it. Settings and TLS files belong to the machine and are in neither
/// file. Files of users are in a folder beside it, FILE.files; those in a bucket are left out, which the command says.
/// If the server lacks stored files, the backup is kept, and the exit code is 1.
///
///   convoke backup --keep 7                       daily, by cron: the seven newest stay
///   convoke backup /mnt/backups/ --keep 30 --with-secrets
///   convoke backup --url https://api.example.com --deploy-key-file backup.key /mnt/backups/
///   convoke restore /mnt/backups/convoke-20260131-235959.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Backup {
    /// A file, or an existing folder, in which the time becomes its name [default: DATA/backups]
    #[arg(value_name = "FILE|DIR")]
    target: Option<PathBuf>,
    /// Keep the newest N backups in the folder, and remove the others
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Copy the secrets of the data folder to a file beside it; its reader can act for the installation
    #[arg(long, conflicts_with = "url")]
    with_secrets: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// The last line of the response.
#[derive(Deserialize)]
struct BackupResponse {
    name: String,
    bytes: u64,
    sha256: String,
    #[serde(default)]
    removed: Vec<String>,
    /// The bucket whose files are not in the backup.
    #[serde(default, rename = "leftOut")]
    left_out: Option<String>,
    /// Describes stored files that the server lacks, so that the backup lacks them too.
    #[serde(default)]
    lacking: Option<String>,
}

/// A content of a backup's files.
#[derive(Deserialize)]
struct Content {
    hash: String,
    bytes: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    At { done: u64, total: u64 },
    BackupResponse(BackupResponse),
    Failed { error: String },
}

impl Backup {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        // Other commands list with this word.
        if self.target.as_deref() == Some(Path::new("list")) {
            let says =
                "backups are files, and `ls` shows them; for a backup in a file of the name `list`, write ./list";
            return Err(Failure(says.to_owned()));
        }
        let keep = self.keep.map(|keep| keep as usize);
        let place = self.target.as_deref().map(|target| Target::of(target, keep.is_some())).transpose()?;
        if self.connect.url.is_none() {
            require_own(&self.connect.config()?, engines)?;
        }
        let connection = self.connect.open(engines)?;
        let (path, made, removed) = connection.block_on(async {
            let made = interruptible(make(&connection, if place.is_none() { keep } else { None })).await;
            let made = made.inspect_err(|_| connection.abandon())?;
            match &place {
                None => Ok((connection.config().data.join(backup::FOLDER).join(&made.name), made, Vec::new())),
                Some(place) => {
                    if let Target::Folder(folder) = place {
                        backup::remove_partial(folder, backup::SHARED_PARTIAL_AGE).map_err(Failure::at(folder))?;
                    }
                    let path = place.path(&made.name);
                    let taken = take(&connection, &made, &path, self.connect.url.is_none()).await;
                    if taken.is_err() {
                        // A backup that did not reach its target is removed, so that no copy stays in an unexpected
                        // place.
                        let gone = format!("backup/{}", made.name);
                        let _ = connection.admin::<serde_json::Value>(Method::DELETE, &gone, None).await;
                    }
                    taken?;
                    let removed = match (place, keep) {
                        (Target::Folder(folder), Some(keep)) => {
                            backup::rotate(folder, keep, &path).map_err(Failure::at(folder))?
                        }
                        _ => Vec::new(),
                    };
                    Ok::<_, Failure>((path, made, removed))
                }
            }
        })?;
        let mut out = String::new();
        let elsewhere = if place.is_none() && self.connect.url.is_some() { " (on the server)" } else { "" };
        let _ = writeln!(out, "{}{elsewhere}: {}, sha256 {}", path.display(), human(made.bytes), made.sha256);
        if self.with_secrets {
            let to = backup::secrets_of(&path);
            let count = secrets::pack(&connection.config().data, &to)
                .map_err(|error| Failure(format!("the secrets cannot be put into {}: {error}", to.display())))?;
            let _ = writeln!(
                out,
                "{}: {}; keep it as you keep the keys themselves",
                to.display(),
                counted(count, "secret")
            );
        }
        if let Some(bucket) = &made.left_out {
            let _ = writeln!(
                out,
                "the files are in {bucket} and not in this backup: keep versions of the bucket, or copy it now with the \
                 tools of the storage"
            );
        }
        for name in made.removed.iter().map(PathBuf::from).chain(removed) {
            let _ = writeln!(out, "removed {}", name.display());
        }
        output::text(&out)?;
        match &made.lacking {
            None => Ok(()),
            Some(lacking) => Err(Failure(format!(
                "{} is valid and has all rows, but not all files, because the server lacks them: {lacking}. Copy them from the \
                 folder FILE.files of an earlier backup to the folder of files, under the same names, and make another backup",
                path.display()
            ))),
        }
    }
}

/// Rejects a database that other tools back up.
///
/// # Errors
/// The names of these tools.
pub(super) fn require_own(config: &Config, engines: &Engines) -> Result<(), Failure> {
    let (engine, address) = (config.engine(engines)?, config.store.as_deref().unwrap_or("this database"));
    match engine.backed_up_by() {
        None => Ok(()),
        Some(tools) => Err(Failure(format!("{address} is backed up and restored by {tools}"))),
    }
}

/// The target of the backup.
enum Target {
    File(PathBuf),
    Folder(PathBuf),
}

impl Target {
    fn of(target: &Path, rotates: bool) -> Result<Self, Failure> {
        if target.is_dir() {
            return Ok(Self::Folder(target.to_owned()));
        }
        if rotates || target.as_os_str().to_string_lossy().ends_with('/') {
            let other = if rotates { ", or omit --keep" } else { "" };
            return Err(Failure(format!("{} is not a folder; create it first{other}", target.display())));
        }
        if target.exists() {
            return Err(Failure(format!("{} already exists; name another file, or a folder", target.display())));
        }
        // An unwritable target is reported before the work.
        let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(Failure(format!("the folder {} does not exist", folder.display())));
        }
        Ok(Self::File(target.to_owned()))
    }

    fn path(&self, name: &str) -> PathBuf {
        match self {
            Target::File(file) => file.clone(),
            // Two backups of the same second get different names: two servers may write to the folder, or the first may
            // have been moved away.
            Target::Folder(folder) => folder.join(backup::free_name(folder, name)),
        }
    }
}

/// Makes the backup on the machine of the database.
async fn make(connection: &Connection, keep: Option<usize>) -> Result<BackupResponse, Failure> {
    let progress = Progress::counted("copying", "pages");
    let body = keep.map_or_else(|| json!({}), |keep| json!({ "keep": keep }));
    let mut response = connection.request(Method::POST, "/api/admin/backup", Some(&body)).await?.success().await?;
    while let Some(line) = response.line().await? {
        match serde_json::from_str(&line)? {
            Line::At { done, total } => progress.of(done, total),
            Line::BackupResponse(made) => return Ok(made),
            Line::Failed { error } => return Err(Failure(format!("the backup failed and left no file: {error}"))),
        }
    }
    Err(Failure("the backup was interrupted".to_owned()))
}

/// Moves a backup from the folder where it was made to the target.
async fn take(connection: &Connection, made: &BackupResponse, to: &Path, is_here: bool) -> Result<(), Failure> {
    let from = connection.config().data.join(backup::FOLDER).join(&made.name);
    // With backup.dir, the server has written it elsewhere, and its files are fetched, too.
    let is_here = is_here && from.exists();
    // Within one file system the file is only renamed. Here too, the checksum is written before the name.
    if is_here {
        backup::write_checksum(to, &made.sha256).map_err(Failure::at(to))?;
        if fs::rename(&from, to).is_ok() {
            contents::take_along(&from, to).map_err(Failure::at(to))?;
            sync_folder(to).map_err(Failure::at(to))?;
            let _ = fs::remove_file(backup::checksum_of(&from));
            return Ok(());
        }
    }
    let partial = with_ending(to, ".partial");
    // It shows a later backup that the files beside it are incomplete.
    private_file(&partial).map_err(Failure::writing(to))?;
    // The files are complete before the backup has its name.
    let fetched = interruptible(async {
        if is_here {
            contents::take_along(&from, to).map_err(Failure::at(to))?;
        } else {
            fetch_contents(connection, made, to).await?;
        }
        fetch(connection, made, &partial, to).await
    });
    let fetched = fetched.await;
    if fetched.is_err() {
        // The first error is reported.
        let _ = fs::remove_file(&partial);
        let _ = backup::remove(to);
    }
    fetched?;
    connection.admin::<serde_json::Value>(Method::DELETE, &format!("backup/{}", made.name), None).await?;
    Ok(())
}

async fn fetch(connection: &Connection, made: &BackupResponse, partial: &Path, to: &Path) -> Result<(), Failure> {
    let written = Failure::writing(to);
    let progress = Progress::bytes("fetching", Some(made.bytes));
    let path = format!("/api/admin/backup/{}", made.name);
    let mut response = connection.request(Method::GET, &path, None).await?.success().await?;
    let mut out: File = private_file(partial).map_err(&written)?;
    out.set_len(0).map_err(&written)?;
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    while let Some(chunk) = response.chunk().await? {
        out.write_all(&chunk).map_err(&written)?;
        digest.update(&chunk);
        bytes += chunk.len() as u64;
        progress.at(bytes);
    }
    if bytes != made.bytes || hex::encode(digest.finalize()) != made.sha256 {
        return Err(Failure("the backup was damaged during the transfer; try again".to_owned()));
    }
    out.sync_all().map_err(&written)?;
    backup::write_checksum(to, &made.sha256).map_err(&written)?;
    fs::rename(partial, to).and_then(|()| sync_folder(to)).map_err(&written)
}

/// Fetches the files of a backup. A content that an earlier backup in the folder has is linked and not fetched.
async fn fetch_contents(connection: &Connection, made: &BackupResponse, to: &Path) -> Result<(), Failure> {
    let path = format!("/api/admin/backup/{}/files", made.name);
    let mut response = connection.request(Method::GET, &path, None).await?.success().await?;
    let mut listed: Vec<Content> = Vec::new();
    while let Some(line) = response.line().await? {
        listed.push(serde_json::from_str(&line)?);
    }
    let folder = Folder::at(backup::files_of(to));
    let beside = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let backups = backup::list(beside).map_err(Failure::at(beside))?;
    let earlier: Vec<Folder> = backups.iter().rev().map(|backup| Folder::at(backup::files_of(backup))).collect();
    let progress = Progress::bytes("fetching files", Some(listed.iter().map(|content| content.bytes).sum()));
    let mut bytes = 0;
    for content in &listed {
        if !Folder::is_hash(&content.hash) {
            return Err(Failure(format!("the server names a file {:?}, which is no hash", content.hash)));
        }
        let is_same = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.len() == content.bytes);
        match earlier.iter().map(|folder| folder.path_of(&content.hash)).find(is_same) {
            Some(known) => drop(folder.add(&content.hash, &known).map_err(Failure::at(folder.path()))?),
            None => fetch_content(connection, &format!("{path}/{}", content.hash), &content.hash, &folder).await?,
        }
        bytes += content.bytes;
        progress.at(bytes);
    }
    Ok(())
}

async fn fetch_content(connection: &Connection, path: &str, hash: &str, folder: &Folder) -> Result<(), Failure> {
    let written = Failure::writing(folder.path());
    let mut response = connection.request(Method::GET, path, None).await?.success().await?;
    let incoming = folder.incoming(hash).map_err(&written)?;
    let mut out: File = private_file(&incoming).map_err(&written)?;
    let mut digest = Sha256::new();
    while let Some(chunk) = response.chunk().await? {
        out.write_all(&chunk).map_err(&written)?;
        digest.update(&chunk);
    }
    if hex::encode(digest.finalize()) != hash {
        return Err(Failure(format!("the file {hash} was damaged on the server or during the transfer; try again")));
    }
    out.sync_all().map_err(&written)?;
    folder.place(&incoming, hash).map_err(&written)
}
