//! The receipt of an upload: bytes into a file, and then the file into the storage and its row into the database.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;

use crate::buckets::Payment;
use crate::files::depot::{Arrival, Depot, FileCounters, failed};
use crate::files::folder::Folder;
use crate::files::key::Purpose;
use crate::files::sniff;
use crate::files::storage::{begin, blocking};
use crate::files::ticket::{StorageId, Upload, UploadTicket};
use crate::files::usage;
use crate::services::Services;
use convoke_core::clock::Millis;
use convoke_core::error::{Code, Error, Result};
use convoke_core::id::Id;
use convoke_core::identity::Caller;
use convoke_store::{ContentState, Db, DbMut, Doc, FileRule, StoredFile, private_file};

/// The pieces of a request are collected up to this length before they are written. An upload has two chunks: one is
/// collected while the other one is written. It keeps them from beginning to end, because the allocator does not return
/// memory that one thread allocates and another one frees, in turns with that of hundreds of uploads.
const CHUNK_BYTES: usize = 4 * 1024;
/// The same for an upload that arrives faster than it is written. Each write costs the change to another thread.
const LARGE_CHUNK_BYTES: usize = 256 * 1024;
/// Maximum number of uploads with large chunks: 16 MiB in all.
static LARGE_CHUNKS: Semaphore = Semaphore::const_new(32);
/// An upload that pauses for this time has small chunks again.
const PAUSE: Duration = Duration::from_millis(250);
/// Bytes between two checks of the space on the disk.
const ROOM_CHECKED_BYTES: u64 = 16 * 1024 * 1024;

/// The address of an upload.
///
/// # Errors
/// `INTERNAL`: the key of the installation cannot be read.
pub(crate) fn address(depot: &Depot, id: StorageId, ticket: &UploadTicket) -> Result<Upload> {
    let token = depot.key()?.sign(Purpose::Upload, &id.bits().to_be_bytes());
    Ok(Upload { url: depot.url(&format!("/files/uploads/{token}")), expires_at: ticket.expires_at })
}

/// The progress of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The upload.
    pub id: StorageId,
    /// Received bytes.
    pub offset: u64,
    /// Declared length, if the client has declared it.
    pub length: Option<u64>,
    /// True if the content is stored.
    pub is_complete: bool,
    /// The time after which no more bytes are accepted.
    pub expires_at: Millis,
}

async fn ticket(services: &Services, token: &str) -> Result<(StorageId, Doc<UploadTicket>, FileRule)> {
    let unknown = || Error::not_found("There is no such upload; ask for a new address");
    let content = services.files().key()?.open(Purpose::Upload, token).ok_or_else(unknown)?;
    let id = StorageId::from_bits(u128::from_be_bytes(content.try_into().map_err(|_| unknown())?));
    let ticket = services.database().read(move |db| Ok(db.get(id)?)).await?.ok_or_else(unknown)?;
    let rule = ticket.rule(services.store().tables()).ok_or_else(unknown)?;
    Ok((id, ticket, rule))
}

/// Returns the progress of an upload in parts.
///
/// # Errors
/// `NOT_FOUND`: there is no such upload.
pub async fn status(services: &Services, token: &str) -> Result<Offset> {
    let (id, ticket, _) = ticket(services, token).await?;
    let expires_at = ticket.expires_at;
    let length = ticket.length.and_then(|length| u64::try_from(length).ok());
    if let Some(file) = ticket.file {
        let stored = services.database().read(move |db| Ok(db.get(file)?)).await?;
        let bytes = stored.map_or(0, |row| u64::try_from(row.bytes).unwrap_or(0));
        return Ok(Offset { id, offset: bytes, length: Some(bytes), is_complete: true, expires_at });
    }
    let offset = partial_bytes(services.files(), id)?;
    Ok(Offset { id, offset, length, is_complete: false, expires_at })
}

/// Declares the length of an upload in parts.
///
/// # Errors
/// As [`Receiving::begin`].
pub async fn create(services: &Services, token: &str, length: u64) -> Result<Offset> {
    let (id, ticket, rule) = ticket(services, token).await?;
    require_open(&ticket, services.clock().now())?;
    let expires_at = ticket.expires_at;
    require_length(length, rule)?;
    let offset = partial_bytes(services.files(), id)?;
    if length < offset {
        let message = format!("Upload-Length is less than the {offset} bytes that have arrived");
        return Err(Error::invalid_argument("upload-length", message));
    }
    let declared = i64::try_from(length).map_err(|_| too_large(rule))?;
    let declare = move |db: &mut DbMut| {
        let ticket = Db::get(db, id)?.ok_or_else(used)?;
        match ticket.length {
            Some(former) if former != declared => {
                Err(Error::conflict(format!("The length of this upload was declared before: {former} bytes")))
            }
            Some(_) => Ok(()),
            None => Ok(db.patch_doc(ticket, |ticket| ticket.length = Some(declared)).map(drop)?),
        }
    };
    services.database().write("declare an upload", declare).await?;
    Ok(Offset { id, offset, length: Some(length), is_complete: false, expires_at })
}

fn partial_bytes(depot: &Depot, id: StorageId) -> Result<u64> {
    let path = depot.storage().folder().incoming(&name_of(id, true)).map_err(failed)?;
    match fs::metadata(path) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(failed(error)),
    }
}

/// Returns the name of an incomplete upload. Only an upload in parts continues after a restart.
fn name_of(id: StorageId, is_part: bool) -> String {
    if is_part { format!("{id}{}", Folder::PART) } else { id.to_string() }
}

fn require_open(ticket: &UploadTicket, now: Millis) -> Result<()> {
    if ticket.file.is_some() {
        return Err(used());
    }
    if ticket.expires_at < now {
        return Err(Error::failed_precondition("This address for an upload has expired; ask for a new one"));
    }
    Ok(())
}

fn used() -> Error {
    Error::conflict("This address was used already, and is valid for one upload; ask for a new one")
}

fn too_large(rule: FileRule) -> Error {
    Error::new(Code::PayloadTooLarge, format!("The file is larger than {} bytes", rule.bytes_max))
        .with("bytesMax", rule.bytes_max)
}

fn require_length(bytes: u64, rule: FileRule) -> Result<()> {
    if bytes > rule.bytes_max { Err(too_large(rule)) } else { Ok(()) }
}

fn require_declared(bytes: u64, length: Option<i64>) -> Result<()> {
    match length.and_then(|length| u64::try_from(length).ok()) {
        Some(length) if bytes > length => {
            let message = format!("The upload has more than the {length} bytes that were declared");
            Err(Error::new(Code::PayloadTooLarge, message).with("bytesMax", length))
        }
        Some(_) | None => Ok(()),
    }
}

/// An upload whose bytes are arriving.
pub struct Receiving {
    services: Services,
    id: StorageId,
    ticket: Doc<UploadTicket>,
    rule: FileRule,
    /// None after a failure.
    output: Option<Output>,
    collected: Vec<u8>,
    /// The permit for large chunks.
    large: Option<SemaphorePermit<'static>>,
    /// The time at which the last piece arrived.
    last_piece_at: Duration,
    /// Received bytes, including those of earlier parts.
    offset: u64,
    charge: ByteCharge,
    room_checked_at: u64,
    /// True if an action writes the content. Its bytes are charged at the end, since no client could send the rest later.
    is_own: bool,
    /// The type of the content, after enough of its bytes have arrived.
    content_type: Option<&'static str>,
    partial: Partial,
    arrival: Arc<Arrival>,
}

/// The charge for the bytes of one request. What is charged and does not arrive is given back.
struct ByteCharge {
    services: Services,
    owner: Caller,
    charged: u64,
    received: u64,
}

impl ByteCharge {
    /// Charges the declared bytes.
    fn begin(services: &Services, owner: Caller, declared: u64) -> Result<Self> {
        services.charge_bytes(&owner, declared, Payment::Large)?;
        Ok(Self { services: services.clone(), owner, charged: declared, received: 0 })
    }

    /// Charges the received bytes that are not charged yet.
    fn cover(&mut self, payment: Payment) -> Result<()> {
        let missing = self.received.saturating_sub(self.charged);
        self.services.charge_bytes(&self.owner, missing, payment)?;
        self.charged += missing;
        Ok(())
    }
}

impl Drop for ByteCharge {
    fn drop(&mut self) {
        self.services.give_back_bytes(&self.owner, self.charged.saturating_sub(self.received));
    }
}

/// The file of an upload, and the chunk that is not collected. The next bytes are received while the last ones are written.
enum Output {
    Idle(Sink, Vec<u8>),
    Writing(JoinHandle<io::Result<(Sink, Vec<u8>)>>),
}

/// The file of an incomplete upload. It is removed on drop unless a later part may continue it.
struct Partial {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_kept {
            // The sweep removes what remains.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The file that is written, with the hash of its bytes so far.
struct Sink {
    file: File,
    /// None if the file has bytes that this process has not hashed.
    digest: Option<Sha256>,
    /// The first bytes, until they have decided the type.
    head: Option<Vec<u8>>,
    /// A write can outlive its request. Until it ends, no other request continues the file.
    _arrival: Arc<Arrival>,
}

impl Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        if let Some(head) = &mut self.head {
            let missing = sniff::HEAD_BYTES.saturating_sub(head.len());
            head.extend_from_slice(&bytes[..bytes.len().min(missing)]);
        }
        Ok(())
    }

    /// Makes the bytes durable, and returns their hash.
    fn seal(mut self) -> io::Result<String> {
        self.file.sync_all()?;
        let digest = match self.digest {
            Some(digest) => digest,
            None => {
                self.file.seek(SeekFrom::Start(0))?;
                let (mut digest, mut buffer) = (Sha256::new(), vec![0; CHUNK_BYTES]);
                loop {
                    match self.file.read(&mut buffer)? {
                        0 => break digest,
                        read => digest.update(&buffer[..read]),
                    }
                }
            }
        };
        Ok(hex::encode(digest.finalize()))
    }
}

/// Opens the file of an upload, with its first `offset` bytes.
fn open(path: &Path, offset: u64, arrival: Arc<Arrival>) -> io::Result<Sink> {
    let mut file = private_file(path)?;
    let mut head = vec![0; usize::try_from(offset.min(sniff::HEAD_BYTES as u64)).unwrap_or(0)];
    file.set_len(offset)?;
    file.read_exact(&mut head)?;
    file.seek(SeekFrom::Start(offset))?;
    Ok(Sink { file, digest: (offset == 0).then(Sha256::new), head: Some(head), _arrival: arrival })
}

impl Receiving {
    /// Begins the receipt of a whole content, or continues at `offset` of a content that arrives in parts. `declared` is
    /// the number of bytes of this request, if the client declares it.
    ///
    /// # Errors
    /// `NOT_FOUND`: there is no such upload. `CONFLICT`: it is complete, another request sends its bytes, or `offset` is
    /// not the number of received bytes. `FAILED_PRECONDITION`: it has expired. `PAYLOAD_TOO_LARGE`. `RATE_LIMITED`.
    /// `UNAVAILABLE`: the disk has no room.
    pub async fn begin(services: &Services, token: &str, offset: Option<u64>, declared: Option<u64>) -> Result<Self> {
        let (id, ticket, rule) = ticket(services, token).await?;
        require_open(&ticket, services.clock().now())?;
        let is_part = offset.is_some();
        let offset = offset.unwrap_or(0);
        Self::of(services, (id, ticket), rule, (offset, is_part), declared).await
    }

    /// Begins the receipt of a content that an action writes.
    pub(crate) async fn own(services: &Services, ticket: UploadTicket) -> Result<Self> {
        let insert = move |db: &mut DbMut| {
            let id = db.insert(ticket.clone())?;
            Db::get(db, id)?.ok_or_else(|| Error::internal("an inserted ticket is missing"))
        };
        let ticket = services.database().write("begin an upload", insert).await?;
        let rule = FileRule { bytes_max: FileRule::BYTES_MAX, ..FileRule::DEFAULT };
        let receiving = Self::of(services, (ticket.id(), ticket), rule, (0, false), None).await?;
        Ok(Self { is_own: true, ..receiving })
    }

    async fn of(
        services: &Services,
        (id, ticket): (StorageId, Doc<UploadTicket>),
        rule: FileRule,
        (offset, is_part): (u64, bool),
        declared: Option<u64>,
    ) -> Result<Self> {
        let depot = services.files();
        let busy = || Error::conflict("Another request sends the bytes of this upload; wait for its end");
        let arrival = Arc::new(depot.begin_arrival(id.bits()).ok_or_else(busy)?);
        if is_part && partial_bytes(depot, id)? != offset {
            return Err(Error::conflict("Upload-Offset is not the number of received bytes; ask for it with HEAD"));
        }
        let declared = declared.unwrap_or(0);
        require_length(offset.saturating_add(declared), rule)?;
        require_declared(offset.saturating_add(declared), ticket.length)?;
        depot.require_room(declared)?;
        let charge = ByteCharge::begin(services, ticket.owner(), declared)?;
        let path = depot.storage().folder().incoming(&name_of(id, is_part)).map_err(failed)?;
        let partial = Partial { path: path.clone(), is_kept: is_part };
        let of_sink = arrival.clone();
        let sink = blocking(move || open(&path, offset, of_sink)).await.map_err(failed)?;
        Ok(Self {
            services: services.clone(),
            id,
            ticket,
            rule,
            output: Some(Output::Idle(sink, Vec::new())),
            collected: Vec::new(),
            large: None,
            last_piece_at: services.clock().monotonic(),
            offset,
            charge,
            room_checked_at: offset,
            is_own: false,
            content_type: None,
            partial,
            arrival,
        })
    }

    /// Returns the number of received bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the time after which no more bytes are accepted.
    pub fn expires_at(&self) -> Millis {
        self.ticket.expires_at
    }

    /// Returns the declared length of an upload in parts.
    pub fn length(&self) -> Option<u64> {
        self.ticket.length.and_then(|length| u64::try_from(length).ok())
    }

    /// Writes the next bytes.
    ///
    /// # Errors
    /// `PAYLOAD_TOO_LARGE`; `INVALID_ARGUMENT`: the field does not accept the type of the content; `RATE_LIMITED`: the
    /// client has not declared these bytes, and may not write them now; `UNAVAILABLE`: the disk has no room.
    pub async fn write(&mut self, mut bytes: Bytes) -> Result<()> {
        let after = self.offset + bytes.len() as u64;
        if let Err(error) = require_length(after, self.rule) {
            // A later part cannot succeed either.
            self.partial.is_kept = false;
            return Err(error);
        }
        require_declared(after, self.ticket.length)?;
        self.charge.received += bytes.len() as u64;
        if !self.is_own {
            self.charge.cover(Payment::Now)?;
        }
        self.offset = after;
        FileCounters::count(&self.services.files().counters().bytes_received, bytes.len() as u64);
        if after - self.room_checked_at >= ROOM_CHECKED_BYTES {
            self.room_checked_at = after;
            self.services.files().require_room(0)?;
        }
        let chunk_bytes = self.chunk_bytes(bytes.len()).await?;
        while !bytes.is_empty() {
            let missing = chunk_bytes - self.collected.len();
            self.collected.reserve_exact(missing);
            self.collected.extend_from_slice(&bytes.split_to(missing.min(bytes.len())));
            if self.collected.len() == chunk_bytes {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Returns the length of a chunk, when `more` bytes have arrived. If a chunk is complete before the last one is
    /// written, the upload gets large chunks, until it pauses.
    async fn chunk_bytes(&mut self, more: usize) -> Result<usize> {
        let now = self.services.clock().monotonic();
        let pause = now.saturating_sub(std::mem::replace(&mut self.last_piece_at, now));
        if self.large.is_some() && pause >= PAUSE {
            self.flush().await?;
            (self.large, self.collected) = (None, Vec::new());
        } else if self.large.is_none() && self.collected.len() + more >= CHUNK_BYTES && self.is_writing() {
            self.large = LARGE_CHUNKS.try_acquire().ok();
        }
        Ok(if self.large.is_some() { LARGE_CHUNK_BYTES } else { CHUNK_BYTES })
    }

    fn is_writing(&self) -> bool {
        matches!(&self.output, Some(Output::Writing(write)) if !write.is_finished())
    }

    /// Begins to write the collected bytes.
    async fn flush(&mut self) -> Result<()> {
        if self.collected.is_empty() {
            return Ok(());
        }
        let (mut sink, mut empty) = self.settled().await?;
        if self.large.is_none() && empty.capacity() > CHUNK_BYTES {
            empty = Vec::new();
        }
        if sink.head.as_ref().is_some_and(|head| head.len() >= sniff::HEAD_BYTES) {
            self.require_type(&mut sink)?;
        }
        let mut chunk = std::mem::replace(&mut self.collected, empty);
        let write = move || {
            sink.write(&chunk)?;
            chunk.clear();
            Ok((sink, chunk))
        };
        self.output = Some(Output::Writing(begin(write)));
        Ok(())
    }

    /// Returns the file and the other chunk after the last write.
    async fn settled(&mut self) -> Result<(Sink, Vec<u8>)> {
        match self.output.take() {
            Some(Output::Idle(sink, chunk)) => Ok((sink, chunk)),
            Some(Output::Writing(write)) => write.await.map_err(Error::internal)?.map_err(failed),
            None => Err(Error::internal("an upload continues after a failure")),
        }
    }

    fn require_type(&mut self, sink: &mut Sink) -> Result<&'static str> {
        if let Some(found) = self.content_type {
            return Ok(found);
        }
        let found = sniff::content_type(&sink.head.take().unwrap_or_default());
        if self.rule.accepts_type(found) {
            self.content_type = Some(found);
            return Ok(found);
        }
        self.partial.is_kept = false;
        let accepted = self.rule.accepted();
        let message = format!("file: the content is {found}, and must be {accepted}");
        Err(Error::invalid_argument("file", message).with("contentType", found))
    }

    /// Writes the bytes of a part that ends here. Another part continues.
    ///
    /// # Errors
    /// `UNAVAILABLE`.
    pub async fn suspend(mut self) -> Result<Offset> {
        self.flush().await?;
        self.settled().await?;
        Ok(Offset {
            id: self.id,
            offset: self.offset,
            length: self.length(),
            is_complete: false,
            expires_at: self.ticket.expires_at,
        })
    }

    /// Puts the complete content into the storage, and then its row into the database.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: the field does not accept the type of the content. `RATE_LIMITED`: the quota or the rate of
    /// the identity. `CONFLICT`: another request has completed the upload. `UNAVAILABLE`.
    pub async fn finish(mut self) -> Result<StorageId> {
        self.flush().await?;
        let (mut sink, _) = self.settled().await?;
        let content_type = self.require_type(&mut sink)?;
        let owner = self.ticket.owner();
        self.charge.cover(Payment::Large)?;
        let hash = blocking(move || sink.seal()).await.map_err(failed)?;
        let content = Content {
            ticket: self.id,
            hash: hash.clone(),
            bytes: i64::try_from(self.offset).map_err(Error::internal)?,
            content_type,
            owner: owner.identity().map(|identity| identity.token_identifier()),
            user_bytes_max: self.services.files().user_bytes_max(),
            now: self.services.clock().now(),
        };
        let database = self.services.database();
        let by_hash = hash.clone();
        let before = database.read(move |db| Ok(Former::of(db, &by_hash)?.map(|(former, _)| former))).await?;
        let depot: &Arc<Depot> = self.services.files();
        depot.storage().place(self.partial.path.clone(), hash).await.map_err(failed)?;
        self.partial.is_kept = true;
        database.write("complete an upload", move |db| content.record(db, before)).await?;
        FileCounters::count(&depot.counters().uploads, 1);
        // Another request must not begin the same upload before the ticket has its content.
        drop(self.arrival);
        Ok(self.id)
    }
}

/// A content whose bytes are in the storage.
struct Content {
    ticket: StorageId,
    hash: String,
    bytes: i64,
    content_type: &'static str,
    owner: Option<String>,
    user_bytes_max: u64,
    now: Millis,
}

/// The state of a content at one moment. If it is the same before the bytes are placed and when their row is written,
/// no removal has touched them in between: each removal sets a later time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Former {
    state: ContentState,
    changed_at: Millis,
}

impl Former {
    fn of(db: &Db, hash: &str) -> Result<Option<(Self, Doc<StoredFile>)>> {
        let row = db.query(StoredFile::by_hash).eq(hash).unique()?;
        Ok(row.map(|row| (Self { state: row.state, changed_at: row.changed_at }, row)))
    }
}

impl Content {
    /// Writes the row of the content and completes the ticket.
    fn record(&self, db: &mut DbMut, before: Option<Former>) -> Result<()> {
        let ticket: Doc<UploadTicket> = Db::get(db, self.ticket)?.ok_or_else(used)?;
        if ticket.file.is_some() {
            return Err(used());
        }
        let removed_meanwhile = || Error::unavailable("The server was removing an equal file; send the file again");
        let file = match Former::of(db, &self.hash)? {
            None if before.is_none() => {
                self.count(db)?;
                self.insert(db)?
            }
            Some((now, row)) if now.state == ContentState::Stored => {
                let at = (row.references == 0).then_some(self.now);
                db.patch_doc(row, |row| row.unreferenced_at = at)?.id()
            }
            Some((now, row)) if now.state == ContentState::Removed && before == Some(now) => {
                self.count(db)?;
                let revived = db.patch_doc(row, |row| {
                    row.state = ContentState::Stored;
                    row.changed_at = self.now;
                    row.references = 0;
                    row.unreferenced_at = Some(self.now);
                    row.owner = self.owner.clone();
                })?;
                revived.id()
            }
            Some(_) | None => return Err(removed_meanwhile()),
        };
        db.patch_doc(ticket, |ticket| ticket.file = Some(file))?;
        Ok(())
    }

    fn count(&self, db: &mut DbMut) -> Result<()> {
        match &self.owner {
            Some(owner) => usage::add(db, owner, self.bytes, self.user_bytes_max),
            None => Ok(()),
        }
    }

    fn insert(&self, db: &mut DbMut) -> Result<Id<StoredFile>> {
        Ok(db.insert(StoredFile {
            hash: self.hash.clone(),
            bytes: self.bytes,
            content_type: self.content_type.to_owned(),
            state: ContentState::Stored,
            references: 0,
            unreferenced_at: Some(self.now),
            owner: self.owner.clone(),
            changed_at: self.now,
        })?)
    }
}
