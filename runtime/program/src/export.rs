//! `export`: all rows in one archive.

use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use hyper::Method;

use super::connect::{ConnectArgs, Connection};
use super::failure::Failure;
use super::interrupt::interruptible;
use super::output;
use super::progress::Progress;
use convoke_core::counted::counted;
use convoke_server::archive::members::{MANIFEST, Manifest};
use convoke_server::archive::space::human;
use convoke_server::backup::with_ending;
use convoke_store::{Engines, private_file, sync_folder};

/// Write the rows of all tables to one archive, for another installation or another program
///
/// A gzipped tar file: manifest.json (rows and SHA-256 of each part), schema.json (tables, columns, indexes) and
/// tables/NAME.jsonl, one row per line. It shows the database at one moment, even if rows are written in the meantime.
/// The same rows give the same bytes. Deploy keys and secrets are not included. To be able to return to this state,
/// take a backup instead.
///
///   convoke export friday.tar.gz
///   convoke export - | age -r age1… > friday.tar.gz.age
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Export {
    /// File to write; `-` is standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

impl Export {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        if self.file.as_os_str() == "-" {
            let connection = self.connect.open(engines)?;
            return connection.block_on(fetch(&connection, &mut io::stdout().lock())).map(drop);
        }
        if self.file.exists() && !self.force {
            return Err(Failure(format!("{} already exists; --force overwrites it", self.file.display())));
        }
        let connection = self.connect.open(engines)?;
        let partial = with_ending(&self.file, ".partial");
        // An unwritable target is reported before the work.
        let mut out = made(&partial)?;
        let fetched = connection.block_on(interruptible(fetch(&connection, &mut out)));
        let written = fetched.and_then(|bytes| {
            finish(&out, &partial, &self.file)?;
            Ok(bytes)
        });
        if written.is_err() {
            // The first error is reported.
            let _ = fs::remove_file(&partial);
            connection.abandon();
        }
        let bytes = written?;
        let manifest = manifest(&self.file)?;
        let rows: u64 = manifest.tables.iter().map(|table| table.rows).sum();
        let (rows, tables) = (counted(rows, "row"), counted(manifest.tables.len(), "table"));
        let text = format!("{}: {rows} of {tables}, {}", self.file.display(), human(bytes));
        output::line(&text).map(drop)
    }
}

fn made(path: &Path) -> Result<File, Failure> {
    let made = private_file(path).and_then(|file| file.set_len(0).map(|()| file));
    made.map_err(Failure::writing(path))
}

fn finish(out: &File, partial: &Path, file: &Path) -> Result<(), Failure> {
    let done = out.sync_all().and_then(|()| fs::rename(partial, file)).and_then(|()| sync_folder(file));
    done.map_err(Failure::writing(file))
}

/// Writes the stream to its end; a part is not an archive.
async fn fetch(connection: &Connection, out: &mut impl Write) -> Result<u64, Failure> {
    let progress = Progress::bytes("exporting", None);
    let mut response = connection.request(Method::GET, "/api/admin/export", None).await?.success().await?;
    let mut bytes = 0;
    while let Some(chunk) = response.chunk().await? {
        out.write_all(&chunk).map_err(|error| Failure(format!("the archive cannot be written: {error}")))?;
        bytes += chunk.len() as u64;
        progress.at(bytes);
    }
    out.flush().map_err(|error| Failure(format!("the archive cannot be written: {error}")))?;
    Ok(bytes)
}

fn manifest(file: &Path) -> Result<Manifest, Failure> {
    let read = || {
        let mut archive = tar::Archive::new(GzDecoder::new(File::open(file)?));
        for entry in archive.entries()? {
            let mut entry = entry?;
            if entry.path()?.as_os_str() == MANIFEST {
                let mut text = String::new();
                entry.read_to_string(&mut text)?;
                return Ok(text);
            }
        }
        Err(io::Error::other("it has no manifest"))
    };
    Ok(serde_json::from_str(&read().map_err(Failure::at(file))?)?)
}
