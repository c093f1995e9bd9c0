//! The writer of archives, from a complete copy of the database.
//!
//! The table of contents is first and has the length and checksum of every member. So the rows are read twice: to
//! measure and to write. The writer buffers no rows, and a reader can verify the archive as a stream.

use std::io::{self, Write};
use std::ops::ControlFlow;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use super::members::{FILES, FORMAT, MANIFEST, Manifest, Member, SCHEMA, TableMember, VERSION, rows_of};
use super::shape::Schema;
use super::{leaves, row};
use convoke_calls::files::Folder;
use convoke_store::offline::everything;
use convoke_store::{ContentState, OfflineDatabase, Reader, StoreError, StoredFile, Table as _, TableDef};

/// Bytes of lines per chunk.
const CHUNK: usize = 1 << 16;

/// The block size of tar files. Members are padded to whole blocks.
const BLOCK: u64 = 512;

/// The reason why an archive cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The output failed.
    #[error("the archive cannot be written: {0}")]
    Io(#[from] io::Error),
    /// A row cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The progress in rows of all tables. Each row counts twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The current table.
    pub table: &'a str,
    /// Rows measured or written so far.
    pub done: u64,
    /// Rows to measure and to write.
    pub total: u64,
}

/// Writes the rows of all exported tables and the contents of files, if `contents` has them. Returns the table of
/// contents.
///
/// # Errors
/// [`WriteError`].
pub fn write<W: Write>(
    database: &dyn OfflineDatabase,
    tables: &[&'static TableDef],
    contents: Option<&Folder>,
    out: W,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Manifest, WriteError> {
    let source = database.reader();
    let mut exported: Vec<&'static TableDef> = tables.iter().copied().filter(|table| leaves(table)).collect();
    exported.sort_unstable_by_key(|table| table.name);
    let mut total = 0;
    for table in &exported {
        total += 2 * convoke_store::offline::count(source, table)?;
    }
    let mut meter = Meter { progress, done: 0, total };
    let schema = serde_json::to_vec_pretty(&Schema::of(&exported)).map_err(io::Error::from)?;
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        schema: Member {
            file: SCHEMA.to_owned(),
            bytes: schema.len() as u64,
            sha256: hex::encode(Sha256::digest(&schema)),
        },
        tables: exported.iter().map(|table| measure(source, table, &mut meter)).collect::<Result<_, _>>()?,
        files: if contents.is_some() { files(source, &exported)?.len() as u64 } else { 0 },
        left_out: tables.iter().filter(|table| !leaves(table)).map(|table| table.name.to_owned()).collect(),
    };
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    append(&mut archive, MANIFEST, &serde_json::to_vec_pretty(&manifest).map_err(io::Error::from)?)?;
    append(&mut archive, SCHEMA, &schema)?;
    for (table, member) in exported.iter().zip(&manifest.tables) {
        append_rows(archive.get_mut(), source, table, &member.member, &mut meter)?;
    }
    if let Some(contents) = contents {
        for file in files(source, &exported)? {
            append_content(&mut archive, contents, &file)?;
        }
    }
    archive.into_inner()?.finish()?.flush()?;
    Ok(manifest)
}

/// Returns the contents whose bytes are stored.
fn files(source: &dyn Reader, exported: &[&'static TableDef]) -> Result<Vec<StoredFile>, StoreError> {
    let mut files = Vec::new();
    if !exported.iter().any(|table| table.name == StoredFile::DEF.name) {
        return Ok(files);
    }
    source.select(&everything(StoredFile::DEF), &mut |row| {
        files.push(StoredFile::decode(row)?);
        Ok(ControlFlow::Continue(()))
    })?;
    files.retain(|file| file.state == ContentState::Stored);
    Ok(files)
}

fn append_content<W: Write>(
    archive: &mut tar::Builder<W>,
    contents: &Folder,
    file: &StoredFile,
) -> Result<(), WriteError> {
    let lost = |error: io::Error| io::Error::other(format!("the file {} cannot be read: {error}", file.hash));
    let mut from = contents.open(&file.hash).map_err(lost)?;
    let mut header = header(from.metadata()?.len());
    archive.append_data(&mut header, format!("{FILES}{}", file.hash), &mut from)?;
    Ok(())
}

struct Meter<'a> {
    progress: &'a mut dyn FnMut(Progress<'_>),
    done: u64,
    total: u64,
}

fn measure(source: &dyn Reader, table: &'static TableDef, meter: &mut Meter<'_>) -> Result<TableMember, WriteError> {
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let rows = lines(source, table, meter, &mut |chunk| {
        digest.update(chunk);
        bytes += chunk.len() as u64;
        Ok(())
    })?;
    let member = Member { file: rows_of(table.name), bytes, sha256: hex::encode(digest.finalize()) };
    Ok(TableMember { table: table.name.to_owned(), rows, member })
}

/// Passes the lines of a table to `take` in chunks. Returns the number of rows.
fn lines(
    source: &dyn Reader,
    table: &'static TableDef,
    meter: &mut Meter<'_>,
    take: &mut dyn FnMut(&[u8]) -> Result<(), WriteError>,
) -> Result<u64, WriteError> {
    let (mut chunk, mut rows, mut failed) = (Vec::with_capacity(2 * CHUNK), 0, None);
    source.select(&everything(table), &mut |stored| {
        row::write(table, stored, &mut chunk)?;
        chunk.push(b'\n');
        rows += 1;
        if chunk.len() >= CHUNK {
            if let Err(error) = take(&chunk) {
                failed = Some(error);
                return Ok(ControlFlow::Break(()));
            }
            chunk.clear();
            (meter.progress)(Progress { table: table.name, done: meter.done + rows, total: meter.total });
        }
        Ok(ControlFlow::Continue(()))
    })?;
    failed.map_or(Ok(()), Err)?;
    take(&chunk)?;
    meter.done += rows;
    (meter.progress)(Progress { table: table.name, done: meter.done, total: meter.total });
    Ok(rows)
}

/// Appends a member while its rows are read. Its length, which precedes it, was measured before.
fn append_rows(
    out: &mut impl Write,
    source: &dyn Reader,
    table: &'static TableDef,
    member: &Member,
    meter: &mut Meter<'_>,
) -> Result<(), WriteError> {
    let mut header = header(member.bytes);
    header.set_path(&member.file)?;
    header.set_cksum();
    out.write_all(header.as_bytes())?;
    let mut written = 0;
    lines(source, table, meter, &mut |chunk| {
        written += chunk.len() as u64;
        out.write_all(chunk).map_err(WriteError::from)
    })?;
    if written != member.bytes {
        return Err(io::Error::other(format!("the rows of {} changed while they were read", table.name)).into());
    }
    let rest = usize::try_from(written % BLOCK).unwrap_or(0);
    if rest > 0 {
        out.write_all(&[0; BLOCK as usize][rest..])?;
    }
    Ok(())
}

fn append<W: Write>(archive: &mut tar::Builder<W>, name: &str, bytes: &[u8]) -> io::Result<()> {
    archive.append_data(&mut header(bytes.len() as u64), name, bytes)
}

/// Returns the header of a member, without a time or an owner, so that the same rows give the same archive.
fn header(bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    header
}
