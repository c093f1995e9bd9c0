//! Writing an archive from a finished copy of the database.
//!
//! The table of contents comes first and has every member's length and checksum, so the rows are read twice: once to
//! measure, once to write. Nothing is kept meanwhile, and a reader of the archive can check it as it comes.

use std::io::{self, Write};
use std::ops::ControlFlow;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use super::members::{FORMAT, MANIFEST, Manifest, Member, SCHEMA, TableMember, VERSION, rows_of};
use super::shape::Schema;
use super::{leaves, row};
use convoke_store::offline::everything;
use convoke_store::{OfflineDatabase, Reader, StoreError, TableDef};

/// Bytes of lines that are gathered before they go on.
const CHUNK: usize = 1 << 16;

/// A member of a tar file is filled up to whole blocks.
const BLOCK: u64 = 512;

/// Why an archive was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// It cannot be written to where it goes.
    #[error("the archive cannot be written: {0}")]
    Io(#[from] io::Error),
    /// A row cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How far it is: rows of all tables, each counted twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The table at work.
    pub table: &'a str,
    /// Rows measured or written so far.
    pub done: u64,
    /// Rows to measure and to write.
    pub total: u64,
}

/// Writes the rows of all tables that leave an installation. Returns the table of contents.
///
/// # Errors
/// [`WriteError`].
pub fn write<W: Write>(
    database: &dyn OfflineDatabase,
    tables: &[&'static TableDef],
    out: W,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Manifest, WriteError> {
    let source = database.reader();
    let mut leaving: Vec<&'static TableDef> = tables.iter().copied().filter(|table| leaves(table)).collect();
    leaving.sort_unstable_by_key(|table| table.name);
    let mut total = 0;
    for table in &leaving {
        total += 2 * convoke_store::offline::count(source, table)?;
    }
    let mut told = Told { progress, done: 0, total };
    let schema = serde_json::to_vec_pretty(&Schema::of(&leaving)).map_err(io::Error::from)?;
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        schema: Member {
            file: SCHEMA.to_owned(),
            bytes: schema.len() as u64,
            sha256: hex::encode(Sha256::digest(&schema)),
        },
        tables: leaving.iter().map(|table| measure(source, table, &mut told)).collect::<Result<_, _>>()?,
        left_out: tables.iter().filter(|table| !leaves(table)).map(|table| table.name.to_owned()).collect(),
    };
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    append(&mut archive, MANIFEST, &serde_json::to_vec_pretty(&manifest).map_err(io::Error::from)?)?;
    append(&mut archive, SCHEMA, &schema)?;
    for (table, member) in leaving.iter().zip(&manifest.tables) {
        append_rows(archive.get_mut(), source, table, &member.member, &mut told)?;
    }
    archive.into_inner()?.finish()?.flush()?;
    Ok(manifest)
}

struct Told<'a> {
    progress: &'a mut dyn FnMut(Progress<'_>),
    done: u64,
    total: u64,
}

fn measure(source: &dyn Reader, table: &'static TableDef, told: &mut Told<'_>) -> Result<TableMember, WriteError> {
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let rows = lines(source, table, told, &mut |chunk| {
        digest.update(chunk);
        bytes += chunk.len() as u64;
        Ok(())
    })?;
    let member = Member { file: rows_of(table.name), bytes, sha256: hex::encode(digest.finalize()) };
    Ok(TableMember { table: table.name.to_owned(), rows, member })
}

/// Hands on the lines of a table, some at a time, and says how many there are.
fn lines(
    source: &dyn Reader,
    table: &'static TableDef,
    told: &mut Told<'_>,
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
            (told.progress)(Progress { table: table.name, done: told.done + rows, total: told.total });
        }
        Ok(ControlFlow::Continue(()))
    })?;
    failed.map_or(Ok(()), Err)?;
    take(&chunk)?;
    told.done += rows;
    (told.progress)(Progress { table: table.name, done: told.done, total: told.total });
    Ok(rows)
}

/// A member whose bytes come as they are read. Its length is known already, and stands in front of it.
fn append_rows(
    out: &mut impl Write,
    source: &dyn Reader,
    table: &'static TableDef,
    member: &Member,
    told: &mut Told<'_>,
) -> Result<(), WriteError> {
    let mut header = header(member.bytes);
    header.set_path(&member.file)?;
    header.set_cksum();
    out.write_all(header.as_bytes())?;
    let mut written = 0;
    lines(source, table, told, &mut |chunk| {
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

/// A member's header, without a time or an owner: the same rows give the same archive.
fn header(bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    header
}
