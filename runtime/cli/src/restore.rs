//! `restore`: replaces the database by a backup.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::backup::require_own;
use super::failure::Failure;
use super::local::{LocalArgs, clock, require_folder, tables};
use super::progress::Progress;
use convoke_calls::files::{FilesSettings, Folder};
use convoke_core::clock::stamp;
use convoke_server::archive::space;
use convoke_server::backup;
use convoke_server::backup::contents;
use convoke_server::backup::secrets::{self, Unpacked};
use convoke_store::{Engines, OfflineError, Thoroughness};

/// Replace the database by a backup
///
/// The backup is checked first: against the SHA-256 beside it (FILE.sha256), then every page and index of it. The
/// existing database is kept, with its log, under a new name that the command prints. The replacement is atomic: if the command is
/// interrupted, either the former or the restored database is in place. The server must be stopped.
///
/// A file without a SHA-256 beside it is rejected: it may be incomplete, or another file. Former databases and manual
/// copies have no SHA-256; --without-checksum accepts them.
///
///   systemctl stop convoke
///   convoke restore /mnt/backups/convoke-20260131-235959.db --data /var/lib/convoke
///   systemctl start convoke
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Restore {
    /// The backup: a file from `convoke backup`, or a former database
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Accept a file without a SHA-256 beside it; its pages and indexes are still checked
    #[arg(long)]
    without_checksum: bool,
    /// Restore the secrets beside it (FILE.secrets.tar) too; an existing secret that differs is kept under another name
    #[arg(long)]
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
        let bytes = std::fs::metadata(&self.file)
            .map_err(|error| Failure(format!("{} cannot be read: {error}", self.file.display())))?
            .len();
        let packed = backup::secrets_of(&self.file);
        if self.with_secrets && !packed.exists() {
            return Err(Failure(format!("{} does not exist; omit --with-secrets", packed.display())));
        }
        let (config, installation) = self.local.lock(engines)?;
        self.check(bytes)?;
        space::require(&config.data, bytes).map_err(Failure)?;
        let progress = Progress::bytes("copying", Some(bytes));
        let restored =
            installation.take_in(&self.file, &mut |done| progress.at(done)).map_err(|error| self.named(error))?;
        drop(progress);
        let checking = Progress::unmeasured("checking every page and index");
        restored.require_whole(Thoroughness::Full).map_err(|error| self.named(error))?;
        let schema = restored.schema(&tables).map_err(|error| self.named(error))?;
        drop((checking, restored));
        let saved = backup::files_of(&self.file);
        if saved.is_dir()
            && let Some(files) = FilesSettings::of(&config.sections).local(&config.data)
        {
            contents::add_all(&Folder::at(saved), &files)
                .map_err(|error| Failure(format!("the files of the backup cannot be restored: {error}")))?;
        }
        let kept = installation.replace()?;
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{}: restored from {}", config.data.display(), self.file.display());
        if let Some(kept) = kept {
            let _ = writeln!(out, "the former database is kept as {}", kept.display());
        }
        if self.with_secrets {
            unpack(&packed, &config.data, &mut out)?;
        }
        if !schema.refused.is_empty() {
            let _ = writeln!(
                out,
                "it does not fit this program, which serves only the operator until the migration:\n  {}",
                schema.refused.join("\n  ")
            );
        } else if !schema.pending.is_empty() {
            let _ = writeln!(out, "the next start updates its schema ({} changes)", schema.pending.len());
        }
        Ok(())
    }

    /// Names the file in an error about its copy.
    fn named(&self, error: OfflineError) -> OfflineError {
        let path = self.file.clone();
        match error {
            OfflineError::Damaged { found, .. } => OfflineError::Damaged { path, found },
            OfflineError::Foreign { .. } => OfflineError::Foreign { path },
            error => error,
        }
    }

    /// Compares the file with the checksum beside it.
    fn check(&self, bytes: u64) -> Result<(), Failure> {
        let Some(expected) = backup::read_checksum(&self.file)? else {
            return if self.without_checksum { Ok(()) } else { Err(self.lacks_checksum()) };
        };
        let progress = Progress::bytes("checking", Some(bytes));
        let (found, _) = backup::measure(&self.file, &mut |done| progress.at(done))?;
        if found == expected {
            return Ok(());
        }
        Err(Failure(format!(
            "{} is damaged: its SHA-256 is {found}, but {} has {expected}; use another copy of it",
            self.file.display(),
            backup::checksum_of(&self.file).display()
        )))
    }

    fn lacks_checksum(&self) -> Failure {
        Failure(format!(
            "{} has no SHA-256 beside it ({}), so it may be incomplete: copy that file too, or use another \
             backup. For a database that `restore` or `import` kept, or a copy made by hand: --without-checksum",
            self.file.display(),
            backup::checksum_of(&self.file).display()
        ))
    }
}

fn unpack(packed: &Path, data: &Path, out: &mut impl std::io::Write) -> Result<(), Failure> {
    let mark = format!(".before-{}", stamp(clock().now()));
    for done in secrets::unpack(packed, data, &mark)? {
        let _ = match done {
            Unpacked::Same(path) => writeln!(out, "{}: the same as before", path.display()),
            Unpacked::Added(path) => writeln!(out, "{}: restored", path.display()),
            Unpacked::Replaced(path, kept) => {
                writeln!(out, "{}: restored; the former file is kept as {}", path.display(), kept.display())
            }
        };
    }
    Ok(())
}
