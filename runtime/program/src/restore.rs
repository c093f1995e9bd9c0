//! `restore`: replaces the database by a backup.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::backup::require_own;
use super::copies::{self, PlaceArgs, parse_time};
use super::failure::Failure;
use super::local::{LocalArgs, clock, require_folder, tables};
use super::output;
use super::progress::Progress;
use convoke_calls::files::{FilesSettings, Folder};
use convoke_copies::restore::Moment;
use convoke_copies::take_over;
use convoke_core::clock::{Millis, stamp};
use convoke_core::counted::counted;
use convoke_server::archive::space;
use convoke_server::backup;
use convoke_server::backup::contents::{self, Lacking};
use convoke_server::backup::secrets::{self, Unpacked};
use convoke_server::config::Config;
use convoke_store::{Engines, Installation, OfflineError, StoredFile, Table as _, TableDef, Thoroughness};

/// Replace the database by a backup or a copied moment
///
/// The backup is checked first: against the SHA-256 beside it (FILE.sha256), then every page and index of it. The
/// existing database is kept, with its log, under a new name that the command prints. The replacement is atomic: if the command is
/// interrupted, either the former or the restored database is in place. The server must be stopped.
///
/// Stored files come from the folder beside it (FILE.files), or from the data folder if they are there. Each is compared with
/// its SHA-256. If the database refers to files that are missing or damaged, the command changes no database;
/// --without-files accepts that.
///
/// A file without a SHA-256 beside it is rejected: it may be incomplete, or another file. Former databases and manual
/// copies have no SHA-256; --without-checksum accepts them.
///
/// --from restores from the continuous copies of [copy] in convoke.toml: the newest moment, a time, or a commit of
/// `convoke copies list`. Each file is checked.
///
///   systemctl stop convoke
///   convoke restore /mnt/backups/convoke-20260131-235959.db --data /var/lib/convoke
///   convoke restore --from s3://backups/convoke --at 2026-03-01T12:00:00Z
///   systemctl start convoke
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Restore {
    /// The backup: a file from `convoke backup`, or a former database
    #[arg(
        value_name = "FILE",
        required_unless_present_any = ["from", "at", "commit", "generation", "take_over"],
        conflicts_with_all = ["from", "endpoint", "region", "at", "commit", "generation", "take_over"]
    )]
    file: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Restore the newest moment that was copied at or before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    at: Option<Millis>,
    /// Restore the newest moment at or before this commit
    #[arg(long, value_name = "N", conflicts_with = "at")]
    commit: Option<u64>,
    /// Generation of the copies [default: the newest that has the moment]
    #[arg(long, value_name = "N")]
    generation: Option<u32>,
    /// Let this installation continue the copies; the former server must be stopped
    #[arg(long)]
    take_over: bool,
    /// Accept a file without a SHA-256 beside it; its pages and indexes are still checked
    #[arg(long)]
    without_checksum: bool,
    /// Accept missing or damaged stored files; the whole ones are restored, and the command reports the number of others
    #[arg(long)]
    without_files: bool,
    /// Restore the secrets beside it (FILE.secrets.tar) too; an existing secret that differs is kept under another name
    #[arg(long, requires = "file")]
    with_secrets: bool,
    #[command(flatten)]
    local: LocalArgs,
}

impl Restore {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        let config = self.local.config()?;
        require_folder(&config, self.local.data.as_deref())?;
        let tables = tables()?;
        require_own(&config, engines)?;
        match self.file.clone() {
            Some(file) => self.backup(&file, engines, &tables),
            None => self.copies(&config, engines, &tables),
        }
    }

    fn backup(&self, file: &Path, engines: &Engines, tables: &[&'static TableDef]) -> Result<(), Failure> {
        let bytes = std::fs::metadata(file).map_err(Failure::reading(file))?.len();
        let packed = backup::secrets_of(file);
        if self.with_secrets && !packed.exists() {
            return Err(Failure(format!("{} does not exist; omit --with-secrets", packed.display())));
        }
        let (config, installation) = self.local.lock(engines)?;
        self.check(file, bytes)?;
        space::require(&config.data, bytes).map_err(Failure)?;
        let saved = backup::files_of(file);
        let mut said = take_in(&*installation, file, &config, tables, |wanted| {
            if let Some(files) = FilesSettings::of(&config.sections).local(&config.data) {
                let whole = contents::restore_all(&Folder::at(saved.clone()), &files)
                    .map_err(|error| Failure(format!("the files of the backup cannot be restored: {error}")))?;
                let advice = format!("copy the whole folder {} beside the backup", saved.display());
                self.require_files(&Lacking::find(wanted, &files, &whole), &advice)?;
            }
            Ok(format!("restored from {}", file.display()))
        })?;
        let unpacked = if self.with_secrets { unpack(&packed, &config.data, &mut said) } else { Ok(()) };
        output::text(&said)?;
        unpacked
    }

    fn copies(&self, config: &Config, engines: &Engines, tables: &[&'static TableDef]) -> Result<(), Failure> {
        let place = self.place.open(config)?;
        let moment = match (self.at, self.commit) {
            (Some(at), _) => Moment::At(at),
            (None, Some(commit)) => Moment::Commit(commit),
            (None, None) => Moment::Newest,
        };
        let (config, installation) = self.local.lock(engines)?;
        let folder =
            tempfile::Builder::new().prefix("restore-").tempdir_in(&config.data).map_err(Failure::at(&config.data))?;
        let file = folder.path().join("restored.db");
        // The former server can acknowledge nothing more, so that the copies have everything it has acknowledged.
        let note = self.take_over.then(|| take_over(&place, clock().now())).transpose();
        let note = note.map_err(|error| Failure(error.to_string()))?;
        let restored = copies::fetch(&place, self.generation, moment, &file)?;
        space::require(&config.data, restored.bytes).map_err(Failure)?;
        let mut said = take_in(&*installation, &file, &config, tables, |wanted| {
            if let Some(files) = FilesSettings::of(&config.sections).local(&config.data) {
                let whole = copies::fetch_contents(&place, files.clone())?;
                let advice = format!("add them to {} from a backup", files.path().display());
                self.require_files(&Lacking::find(wanted, &files, &whole), &advice)?;
            }
            Ok(format!("restored from {}: {}", place.url(), copies::described(&restored)))
        })?;
        if let Some((note, generation)) = note {
            installation.set_feed_note(&note)?;
            let _ = writeln!(said, "its server continues these copies as generation {generation}");
        }
        output::text(&said)
    }

    /// Rejects a database whose stored files are not complete, or reports them with --without-files.
    fn require_files(&self, lacking: &Lacking, advice: &str) -> Result<(), Failure> {
        if lacking.is_empty() {
            return Ok(());
        }
        if self.without_files {
            note!("convoke: {lacking}; the other files are restored. To complete them, {advice}, and restore again");
            return Ok(());
        }
        Err(Failure(format!(
            "{lacking}. The database is not replaced: {advice}, or restore without them: --without-files"
        )))
    }

    /// Compares the file with the checksum beside it.
    fn check(&self, file: &Path, bytes: u64) -> Result<(), Failure> {
        let Some(expected) = backup::read_checksum(file).map_err(Failure::at(&backup::checksum_of(file)))? else {
            return if self.without_checksum { Ok(()) } else { Err(lacks_checksum(file)) };
        };
        let progress = Progress::bytes("checking", Some(bytes));
        let (found, _) = backup::measure(file, &mut |done| progress.at(done)).map_err(Failure::at(file))?;
        if found == expected {
            return Ok(());
        }
        Err(Failure(format!(
            "{} is damaged: its SHA-256 is {found}, but {} has {expected}; use another copy of it",
            file.display(),
            backup::checksum_of(file).display()
        )))
    }
}

fn lacks_checksum(file: &Path) -> Failure {
    Failure(format!(
        "{} has no SHA-256 beside it ({}), so it may be incomplete: copy that file too, or use another \
         backup. For a database that `restore` or `import` kept, or a copy made by hand: --without-checksum",
        file.display(),
        backup::checksum_of(file).display()
    ))
}

/// Checks a database file, and replaces the database by it. `before` runs after the checks, with
/// the hashes of the stored files, and describes the source.
/// Returns the lines for the operator.
fn take_in(
    installation: &dyn Installation,
    file: &Path,
    config: &Config,
    tables: &[&'static TableDef],
    before: impl FnOnce(&[String]) -> Result<String, Failure>,
) -> Result<String, Failure> {
    let named = |error: OfflineError| named(file, error);
    let bytes = std::fs::metadata(file).map_err(Failure::at(file))?.len();
    let progress = Progress::bytes("copying", Some(bytes));
    let restored = installation.take_in(file, &mut |done| progress.at(done)).map_err(named)?;
    drop(progress);
    let checking = Progress::unmeasured("checking every page and index");
    restored.require_whole(Thoroughness::Full).map_err(named)?;
    let schema = restored.schema(tables).map_err(named)?;
    let has_table = !schema.pending.contains(&format!("table {} added", StoredFile::DEF.name));
    let wanted = if has_table { contents::wanted(&*restored) } else { Ok(Vec::new()) };
    drop((checking, restored));
    let source = before(&wanted.map_err(|error| named(error.into()))?)?;
    let kept = installation.replace()?;
    let mut said = String::new();
    let _ = writeln!(said, "{}: {source}", config.data.display());
    if let Some(kept) = kept {
        let _ = writeln!(said, "the former database is kept as {}", kept.display());
    }
    if !schema.refused.is_empty() {
        let _ = writeln!(
            said,
            "it does not fit this program, which serves only the operator until the migration:\n  {}",
            schema.refused.join("\n  ")
        );
    } else if !schema.pending.is_empty() {
        let _ = writeln!(said, "the next start updates its schema ({})", counted(schema.pending.len(), "change"));
    }
    Ok(said)
}

/// Names the file in an error about its copy.
fn named(file: &Path, error: OfflineError) -> OfflineError {
    let path = file.to_owned();
    match error {
        OfflineError::Damaged { found, .. } => OfflineError::Damaged { path, found },
        OfflineError::Foreign { .. } => OfflineError::Foreign { path },
        error => error,
    }
}

fn unpack(packed: &Path, data: &Path, said: &mut String) -> Result<(), Failure> {
    let mark = format!(".before-{}", stamp(clock().now()));
    let unusable = |error| {
        Failure(format!("the secrets of {} cannot be written to {}: {error}", packed.display(), data.display()))
    };
    for done in secrets::unpack(packed, data, &mark).map_err(unusable)? {
        let _ = match done {
            Unpacked::Same(path) => writeln!(said, "{}: the same as before", path.display()),
            Unpacked::Added(path) => writeln!(said, "{}: restored", path.display()),
            Unpacked::Replaced(path, kept) => {
                writeln!(said, "{}: restored; the former file is kept as {}", path.display(), kept.display())
            }
        };
    }
    Ok(())
}
