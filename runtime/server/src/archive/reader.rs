//! The reader of archives, which fills a new database. It checks every line against this program's tables and every
//! member against its checksum, and stops at the first error.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Seek as _};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

use super::leaves;
use super::members::{FILES, FORMAT, MANIFEST, Manifest, Member, SCHEMA, TableMember, VERSION};
use super::row;
use super::shape::Schema;
use super::writer::Progress;
use convoke_calls::files::Folder;
use convoke_store::{DatabaseBuilder, NewRow, OfflineError, StoreError, TableDef};

/// Largest table of contents and largest schema, in bytes.
const DESCRIPTION_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Number of rows per batch, and the approximate bytes of their lines.
const ROWS: usize = 256;
const ROWS_BYTES: usize = 1024 * 1024;
/// Largest row in bytes: larger than any response.
const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The reason why an archive cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file is incomplete or not an archive.
    #[error("the archive cannot be read: {0}")]
    Unreadable(String),
    /// The content does not match the table of contents.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// The archive is of another program.
    #[error("the archive does not fit this program:\n{}", .0.iter().map(|misfit| format!("  {misfit}\n")).collect::<String>().trim_end())]
    Schema(Vec<String>),
    /// A row is invalid.
    #[error("{0}")]
    Row(BadRow),
    /// The new database cannot be created.
    #[error(transparent)]
    Offline(#[from] OfflineError),
}

/// An invalid row and its location.
#[derive(Debug)]
pub struct BadRow {
    /// The table.
    pub table: String,
    /// The line in its member, from 1.
    pub line: u64,
    /// The invalid columns, if known.
    pub columns: Vec<String>,
    /// The reason.
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

/// Reads an archive into `builder`, and the contents of files into the folder
/// `files`. Returns the number of rows per table, with which the caller finishes the builder.
///
/// Accepts archives that were unpacked and packed again: members may be in any order, below `./`, mixed with folders,
/// and in several gzip members.
///
/// # Errors
/// [`ReadError`]. The new database is then incomplete.
pub fn read(
    archive: impl Read,
    tables: &[&'static TableDef],
    builder: &dyn DatabaseBuilder,
    files: Option<&Folder>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<(&'static TableDef, u64)>, ReadError> {
    let mut archive = tar::Archive::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 18, archive)));
    let (mut manifest, mut schema, mut set_aside) = (None, None, Vec::new());
    let mut names = HashSet::new();
    let mut contents: Option<Contents> = None;
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let Some(name) = name_of(&entry)? else { continue };
        if !names.insert(name.clone()) {
            return Err(ReadError::Damaged(format!("it has {name} twice")));
        }
        match &mut contents {
            Some(contents) => contents.take(&name, entry, builder, files, progress)?,
            None if name == MANIFEST => manifest = Some(read_manifest(entry)?),
            None if name == SCHEMA => schema = Some(read_description(entry)?),
            None => {
                // The table of these rows is not known yet. The system removes the unnamed file when the process ends.
                let mut file = tempfile::tempfile().map_err(unreadable)?;
                io::copy(&mut entry, &mut file).map_err(unreadable)?;
                file.rewind().map_err(unreadable)?;
                set_aside.push((name, file));
            }
        }
        if contents.is_none()
            && let (Some(manifest), Some(schema)) = (&manifest, &schema)
        {
            let contents = contents.insert(Contents::new(manifest, schema, tables)?);
            for (name, file) in set_aside.drain(..) {
                contents.take(&name, file, builder, files, progress)?;
            }
        }
    }
    let missing = || ReadError::Damaged(format!("it has no {}", if manifest.is_some() { SCHEMA } else { MANIFEST }));
    let contents = contents.ok_or_else(missing)?;
    if let Some((_, member)) = contents.expected.iter().find(|(_, member)| !names.contains(&member.member.file)) {
        return Err(ReadError::Damaged(format!("it has no {}", member.member.file)));
    }
    if contents.files != contents.files_read {
        let (found, expected) = (contents.files_read, contents.files);
        return Err(ReadError::Damaged(format!("it has {found} contents of files, not {expected}")));
    }
    ended(archive.into_inner())?;
    Ok(contents.expected.into_iter().map(|(table, member)| (table, member.rows)).collect())
}

/// Returns the name of a member as in the table of contents; `None` for folders and for metadata of archivers.
fn name_of<R: Read>(entry: &tar::Entry<'_, R>) -> Result<Option<String>, ReadError> {
    let kind = entry.header().entry_type();
    if kind.is_dir() || kind.is_pax_global_extensions() {
        return Ok(None);
    }
    let path = entry.path().map_err(unreadable)?;
    Ok(Some(path.strip_prefix("./").unwrap_or(&path).to_string_lossy().into_owned()))
}

/// The table of contents of an archive and the progress of reading.
struct Contents {
    expected: Vec<(&'static TableDef, TableMember)>,
    rows: u64,
    done: u64,
    files: u64,
    files_read: u64,
}

impl Contents {
    fn new(manifest: &Manifest, schema: &[u8], tables: &[&'static TableDef]) -> Result<Self, ReadError> {
        check(&manifest.schema, schema.len() as u64, &hex::encode(Sha256::digest(schema)))?;
        let schema: Schema = parsed(schema, SCHEMA)?;
        let mut misfits = schema.misfits(tables);
        let expected = expected(manifest, &schema, tables, &mut misfits);
        if !misfits.is_empty() {
            return Err(ReadError::Schema(misfits));
        }
        let rows = manifest.tables.iter().map(|table| table.rows).sum();
        Ok(Self { expected, rows, done: 0, files: manifest.files, files_read: 0 })
    }

    /// Reads the rows or the content of a member.
    fn take(
        &mut self,
        name: &str,
        mut from: impl Read,
        builder: &dyn DatabaseBuilder,
        files: Option<&Folder>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), ReadError> {
        if let Some(hash) = name.strip_prefix(FILES).filter(|hash| Folder::is_hash(hash)) {
            self.files_read += 1;
            let in_bucket = || {
                let reason = "it has contents of files, and this installation has them in a bucket: import it without \
                              files.url";
                ReadError::Unreadable(reason.to_owned())
            };
            return match files.ok_or_else(in_bucket)?.take_in(hash, &mut from) {
                Ok(_) => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(ReadError::Damaged(error.to_string())),
                Err(error) => Err(unreadable(error)),
            };
        }
        let named = self.expected.iter().find(|(_, member)| member.member.file == name);
        let unnamed = || ReadError::Damaged(format!("{name} is not in its table of contents"));
        let (table, member) = named.ok_or_else(unnamed)?;
        let mut report = |rows| progress(Progress { table: table.name, done: self.done + rows, total: self.rows });
        rows(from, table, member, builder, &mut report)?;
        self.done += member.rows;
        Ok(())
    }
}

/// Returns the tables of this program for the members. Each table must have one member.
fn expected(
    manifest: &Manifest,
    schema: &Schema,
    tables: &[&'static TableDef],
    misfits: &mut Vec<String>,
) -> Vec<(&'static TableDef, TableMember)> {
    let mut expected: Vec<(&'static TableDef, TableMember)> = Vec::new();
    for member in &manifest.tables {
        let described = schema.tables.iter().any(|table| table.name == member.table);
        let twice = expected.iter().any(|(table, _)| table.name == member.table);
        match tables.iter().find(|table| table.name == member.table && leaves(table)) {
            Some(table) if described && !twice => expected.push((*table, member.clone())),
            Some(_) if twice => misfits.push(format!("table {} is in the archive twice", member.table)),
            Some(_) => misfits.push(format!("table {} has rows but no schema", member.table)),
            None => misfits.push(format!("this program does not import rows of {}", member.table)),
        }
    }
    misfits.sort();
    misfits.dedup();
    expected
}

fn read_manifest(entry: impl Read) -> Result<Manifest, ReadError> {
    let json: serde_json::Value = parsed(&read_description(entry)?, MANIFEST)?;
    let (format, version) = (json["format"].as_str(), json["version"].as_u64());
    if format != Some(FORMAT) || version.is_none_or(|version| version > u64::from(VERSION)) {
        return Err(ReadError::Schema(vec![format!(
            "its format is {} version {}, but this program reads {FORMAT} up to version {VERSION}",
            json["format"], json["version"]
        )]));
    }
    serde_json::from_value(json).map_err(|error| ReadError::Damaged(format!("{MANIFEST}: {error}")))
}

fn read_description(entry: impl Read) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    entry.take(DESCRIPTION_BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

fn parsed<T: serde::de::DeserializeOwned>(bytes: &[u8], name: &str) -> Result<T, ReadError> {
    serde_json::from_slice(bytes).map_err(|error| ReadError::Damaged(format!("{name}: {error}")))
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

fn rows(
    entry: impl Read,
    table: &'static TableDef,
    member: &TableMember,
    builder: &dyn DatabaseBuilder,
    report: &mut dyn FnMut(u64),
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
            // A row before this one may be the first invalid one.
            Err(error) => break add(&mut read, table, line, builder).and(Err(error)),
        }
        line += 1;
        if read.len() == ROWS || bytes >= ROWS_BYTES {
            bytes = 0;
            if let Err(error) = add(&mut read, table, line, builder) {
                break Err(error);
            }
            report(line);
        }
    };
    // If the member is damaged, that is reported instead of its invalid line.
    io::copy(&mut from, &mut io::sink()).map_err(unreadable)?;
    let Measured { digest, bytes, .. } = from.into_inner();
    check(&member.member, bytes, &hex::encode(digest.finalize()))?;
    taken?;
    if line != member.rows {
        return Err(ReadError::Damaged(format!("{} has {line} rows, not {}", member.member.file, member.rows)));
    }
    report(line);
    Ok(())
}

fn bad(table: &TableDef, line: u64, columns: Vec<String>, reason: String) -> ReadError {
    ReadError::Row(BadRow { table: table.name.to_owned(), line, columns, reason })
}

fn row(text: &[u8], table: &'static TableDef, line: u64) -> Result<NewRow, ReadError> {
    let bad = |columns: Vec<String>, reason: String| bad(table, line, columns, reason);
    let text = std::str::from_utf8(text).map_err(|error| bad(Vec::new(), error.to_string()))?;
    let whole = text.strip_suffix('\n').ok_or_else(|| bad(Vec::new(), "is incomplete or too long".to_owned()))?;
    row::read(table, whole).map_err(|misfit| bad(misfit.column.into_iter().collect(), misfit.reason))
}

/// Adds the rows read so far. `line` is the number of the last one.
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

/// Checks that nothing follows, and reads to the end, so that the gzip checksum is verified.
fn ended(mut rest: impl Read) -> Result<(), ReadError> {
    let mut buffer = [0; 4096];
    loop {
        match rest.read(&mut buffer).map_err(unreadable)? {
            0 => return Ok(()),
            read if buffer[..read].iter().all(|byte| *byte == 0) => {}
            _ => return Err(ReadError::Damaged("something follows its end".to_owned())),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn unreadable(error: io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::Unreadable("it is incomplete".to_owned()),
        _ => ReadError::Unreadable(error.to_string()),
    }
}

/// A reader that counts and digests its bytes.
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
