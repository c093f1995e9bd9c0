//! Reading an archive into a new database: every line is checked against this program's tables, every member against
//! its checksum, and the first thing that does not fit ends it.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;
use sha2::{Digest as _, Sha256};

use super::leaves;
use super::members::{FORMAT, MANIFEST, Manifest, Member, SCHEMA, TableMember, VERSION};
use super::row;
use super::shape::Schema;
use super::writer::Progress;
use convoke_store::{DatabaseBuilder, NewRow, OfflineError, StoreError, TableDef};

/// Bytes of the table of contents and of the schema.
const DESCRIPTION_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Rows that are added together, and bytes of their lines, about.
const ROWS: usize = 256;
const ROWS_BYTES: usize = 1024 * 1024;
/// Bytes of one row: more than any response holds.
const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Why an archive was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It ends too early, or is no archive at all.
    #[error("the archive cannot be read: {0}")]
    Unreadable(String),
    /// It is not what its table of contents says.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// It is for another program.
    #[error("the archive does not fit this program:\n{}", .0.iter().map(|misfit| format!("  {misfit}\n")).collect::<String>().trim_end())]
    Schema(Vec<String>),
    /// A row does not fit.
    #[error("{0}")]
    Row(BadRow),
    /// The new database cannot be made.
    #[error(transparent)]
    Offline(#[from] OfflineError),
}

/// A row that does not fit, and where it stands.
#[derive(Debug)]
pub struct BadRow {
    /// The table.
    pub table: String,
    /// The line of its member, from 1.
    pub line: u64,
    /// The columns, if it is about some.
    pub columns: Vec<String>,
    /// What does not fit.
    pub reason: String,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {}, line {}", self.table, self.line)?;
        match &self.columns[..] {
            [] => {}
            [column] => write!(f, ", column {column}")?,
            columns => write!(f, ", columns {}", columns.join(", "))?,
        }
        write!(f, ": {}", self.reason)
    }
}

/// Reads an archive into `draft`, which is to be finished with the counts that are returned.
///
/// # Errors
/// [`ReadError`]; the new database is of no use then.
pub fn read(
    archive: impl Read,
    tables: &[&'static TableDef],
    builder: &dyn DatabaseBuilder,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<(&'static TableDef, u64)>, ReadError> {
    let mut archive = tar::Archive::new(GzDecoder::new(BufReader::with_capacity(1 << 18, archive)));
    let mut entries = archive.entries().map_err(unreadable)?;
    let mut next = |expected: &str| {
        let entry = entries.next().ok_or_else(|| ReadError::Damaged(format!("it ends before {expected}")))?;
        let entry = entry.map_err(unreadable)?;
        let found = entry.path().map_err(unreadable)?.to_string_lossy().into_owned();
        match found == expected {
            true => Ok(entry),
            false => Err(ReadError::Damaged(format!("{expected} was expected, and {found} stands there"))),
        }
    };
    let manifest = manifest(next(MANIFEST)?)?;
    let schema: Schema = description(next(SCHEMA)?, Some(&manifest.schema))?;
    let mut misfits = schema.misfits(tables);
    let expected = expected(&manifest, &schema, tables, &mut misfits);
    if !misfits.is_empty() {
        return Err(ReadError::Schema(misfits));
    }
    let total = manifest.tables.iter().map(|table| table.rows).sum();
    let mut done = 0;
    for (table, member) in &expected {
        let mut told = |rows| progress(Progress { table: table.name, done: done + rows, total });
        rows(next(&member.member.file)?, table, member, builder, &mut told)?;
        done += member.rows;
    }
    if let Some(entry) = entries.next() {
        let path = entry.and_then(|entry| Ok(entry.path()?.into_owned())).map_err(unreadable)?;
        return Err(ReadError::Damaged(format!("{} is not in its table of contents", path.display())));
    }
    ended(archive.into_inner())?;
    Ok(expected.into_iter().map(|(table, member)| (table, member.rows)).collect())
}

/// The tables of this program that the members are of; each is named once.
fn expected<'a>(
    manifest: &'a Manifest,
    schema: &Schema,
    tables: &[&'static TableDef],
    misfits: &mut Vec<String>,
) -> Vec<(&'static TableDef, &'a TableMember)> {
    let mut expected: Vec<(&'static TableDef, &TableMember)> = Vec::new();
    for member in &manifest.tables {
        let described = schema.tables.iter().any(|table| table.name == member.table);
        let twice = expected.iter().any(|(table, _)| table.name == member.table);
        match tables.iter().find(|table| table.name == member.table && leaves(table)) {
            Some(table) if described && !twice => expected.push((*table, member)),
            Some(_) if twice => misfits.push(format!("table {} stands in the archive twice", member.table)),
            Some(_) => misfits.push(format!("table {} has rows and no schema", member.table)),
            None => misfits.push(format!("this program takes no rows of {}", member.table)),
        }
    }
    misfits.sort();
    misfits.dedup();
    expected
}

fn manifest(entry: impl Read) -> Result<Manifest, ReadError> {
    let json: serde_json::Value = description(entry, None)?;
    let (format, version) = (json["format"].as_str(), json["version"].as_u64());
    if format != Some(FORMAT) || version.is_none_or(|version| version > u64::from(VERSION)) {
        return Err(ReadError::Schema(vec![format!(
            "it is {} of version {}, and this program reads {FORMAT} up to version {VERSION}",
            json["format"], json["version"]
        )]));
    }
    serde_json::from_value(json).map_err(|error| ReadError::Damaged(format!("{MANIFEST}: {error}")))
}

fn description<T: serde::de::DeserializeOwned>(entry: impl Read, member: Option<&Member>) -> Result<T, ReadError> {
    let mut bytes = Vec::new();
    entry.take(DESCRIPTION_BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    let name = member.map_or(MANIFEST, |member| &member.file);
    if let Some(member) = member {
        check(member, bytes.len() as u64, &hex::encode(Sha256::digest(&bytes)))?;
    }
    serde_json::from_slice(&bytes).map_err(|error| ReadError::Damaged(format!("{name}: {error}")))
}

fn check(member: &Member, bytes: u64, sha256: &str) -> Result<(), ReadError> {
    let Member { file, .. } = member;
    if bytes != member.bytes {
        return Err(ReadError::Damaged(format!("{file} has {bytes} bytes, not {}", member.bytes)));
    }
    if sha256 != member.sha256 {
        return Err(ReadError::Damaged(format!("the checksum of {file} is {sha256}, not {}", member.sha256)));
    }
    Ok(())
}

/// Takes the rows of one table in.
fn rows(
    entry: impl Read,
    table: &'static TableDef,
    member: &TableMember,
    builder: &dyn DatabaseBuilder,
    told: &mut dyn FnMut(u64),
) -> Result<(), ReadError> {
    let mut from = BufReader::with_capacity(1 << 16, Measured { from: entry, digest: Sha256::new(), bytes: 0 });
    let (mut text, mut line, mut bytes) = (Vec::new(), 0, 0);
    let mut read = Vec::with_capacity(ROWS);
    let taken = loop {
        text.clear();
        match (&mut from).take(LINE_BYTES_MAX).read_until(b'\n', &mut text) {
            Ok(0) => break add(&mut read, table, line, builder),
            Ok(length) => bytes += length,
            Err(error) => return Err(unreadable(error)),
        }
        match row(&text, table, line + 1) {
            Ok(row) => read.push(row),
            // One before it may be what does not fit first.
            Err(error) => break add(&mut read, table, line, builder).and(Err(error)),
        }
        line += 1;
        if read.len() == ROWS || bytes >= ROWS_BYTES {
            bytes = 0;
            if let Err(error) = add(&mut read, table, line, builder) {
                break Err(error);
            }
            told(line);
        }
    };
    // A line that does not fit because its member is damaged is reported as that.
    io::copy(&mut from, &mut io::sink()).map_err(unreadable)?;
    let Measured { digest, bytes, .. } = from.into_inner();
    check(&member.member, bytes, &hex::encode(digest.finalize()))?;
    taken?;
    if line != member.rows {
        return Err(ReadError::Damaged(format!("{} has {line} rows, not {}", member.member.file, member.rows)));
    }
    told(line);
    Ok(())
}

fn bad(table: &TableDef, line: u64, columns: Vec<String>, reason: String) -> ReadError {
    ReadError::Row(BadRow { table: table.name.to_owned(), line, columns, reason })
}

fn row(text: &[u8], table: &'static TableDef, line: u64) -> Result<NewRow, ReadError> {
    let bad = |columns: Vec<String>, reason: String| bad(table, line, columns, reason);
    let text = std::str::from_utf8(text).map_err(|error| bad(Vec::new(), error.to_string()))?;
    let whole = text.strip_suffix('\n').ok_or_else(|| bad(Vec::new(), "is cut off or too long".to_owned()))?;
    row::read(table, whole).map_err(|misfit| bad(misfit.column.into_iter().collect(), misfit.reason))
}

/// Adds the rows of the lines up to this one.
fn add(
    read: &mut Vec<NewRow>,
    table: &'static TableDef,
    line: u64,
    builder: &dyn DatabaseBuilder,
) -> Result<(), ReadError> {
    let rows = std::mem::take(read);
    let bad = |place: usize, columns: Vec<String>, reason: String| {
        bad(table, line + 1 - rows.len() as u64 + place as u64, columns, reason)
    };
    builder.insert_all(table, &rows).map_err(|(place, error)| match error {
        StoreError::UniqueViolation { index, .. } => {
            let keys = table.indexes.iter().find(|known| known.name == index);
            let columns = match keys {
                Some(index) => index.keys.iter().map(|key| table.fields[key.field].name.to_owned()).collect(),
                None => vec![row::ID.to_owned()],
            };
            bad(place, columns, "another row of the archive has the same".to_owned())
        }
        StoreError::Unstorable { field, reason, .. } => bad(place, vec![field.to_owned()], reason.to_owned()),
        error => ReadError::Offline(error.into()),
    })
}

/// Nothing may follow, and the checksum over everything, which stands at the end, must be read.
fn ended<R: BufRead>(mut rest: GzDecoder<R>) -> Result<(), ReadError> {
    let follows = || ReadError::Damaged("something follows its end".to_owned());
    let mut buffer = [0; 4096];
    loop {
        match rest.read(&mut buffer).map_err(unreadable)? {
            0 => break,
            read if buffer[..read].iter().all(|byte| *byte == 0) => {}
            _ => return Err(follows()),
        }
    }
    match rest.into_inner().read(&mut buffer).map_err(unreadable)? {
        0 => Ok(()),
        _ => Err(follows()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn unreadable(error: io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::Unreadable("it is cut off".to_owned()),
        _ => ReadError::Unreadable(error.to_string()),
    }
}

/// Measures what is read.
struct Measured<R> {
    from: R,
    digest: Sha256,
    bytes: u64,
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.digest.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
