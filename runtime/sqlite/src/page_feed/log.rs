//! The format of SQLite's write-ahead log: a header, and frames with one page each.
//!
//! Source: the chapter "The WAL File Format" of SQLite's documentation.

use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Bytes of the header of a log.
const HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// First four bytes of a log; the last bit is set if its checksums read big-endian words.
const MAGIC: u32 = 0x377f_0682;
/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 256 * 1024;

/// A position in a log.
///
/// The checksum of a frame covers all frames before it. If a log has the checksum at the position, it has the same
/// frames up to there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// The random numbers of the log. They change whenever it starts again.
    pub salts: [u32; 2],
    /// Number of frames before the position.
    pub frames: u64,
    /// Checksum of the header and of these frames.
    pub checksum: [u32; 2],
}

pub(super) struct Frame {
    /// Number of its page.
    pub page: u32,
    /// Size of the database in pages, if the frame ends a commit; else 0.
    pub database_pages: u32,
    /// Content of its page.
    pub content: Box<[u8]>,
    /// Position after it.
    pub after: Position,
}

/// An open log.
pub(super) struct Log {
    file: BufReader<File>,
    page_bytes: u32,
    big_endian: bool,
    start: Position,
}

impl Log {
    /// Opens a log; `None`: it does not exist, or has no complete header.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut header = [0; HEADER_BYTES as usize];
        if !read_whole(&mut file, &mut header)? {
            return Ok(None);
        }
        let word = |place: usize| word(&header, place, true);
        let big_endian = match word(0) {
            magic if magic == MAGIC => false,
            magic if magic == MAGIC | 1 => true,
            _ => return Ok(None),
        };
        let checksum = [word(24), word(28)];
        if add(big_endian, [0, 0], &header[..24]) != checksum {
            return Ok(None);
        }
        let start = Position { salts: [word(16), word(20)], frames: 0, checksum };
        Ok(Some(Self { file, page_bytes: word(8), big_endian, start }))
    }

    /// Returns the position before the first frame.
    pub(super) fn start(&self) -> Position {
        self.start
    }

    pub(super) fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Goes to a position of this log.
    pub(super) fn seek(&mut self, position: Position) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(HEADER_BYTES + position.frames * self.frame_bytes())).map(drop)
    }

    fn frame_bytes(&self) -> u64 {
        u64::from(self.page_bytes) + FRAME_HEADER_BYTES as u64
    }

    /// Reads the frame after `position`, where the log is; `None`: no valid frame follows.
    pub(super) fn next(&mut self, position: Position) -> io::Result<Option<Frame>> {
        let mut header = [0; FRAME_HEADER_BYTES];
        let mut content = vec![0; self.page_bytes as usize].into_boxed_slice();
        if !read_whole(&mut self.file, &mut header)? || !read_whole(&mut self.file, &mut content)? {
            return Ok(None);
        }
        let word = |place: usize| word(&header, place, true);
        let checksum = add(self.big_endian, add(self.big_endian, position.checksum, &header[..8]), &content);
        if [word(8), word(12)] != position.salts || [word(16), word(20)] != checksum {
            return Ok(None);
        }
        let after = Position { salts: position.salts, frames: position.frames + 1, checksum };
        Ok(Some(Frame { page: word(0), database_pages: word(4), content, after }))
    }

    pub(super) fn has(&mut self, position: Position) -> io::Result<bool> {
        if position.salts != self.start.salts {
            return Ok(false);
        }
        let Some(last) = position.frames.checked_sub(1) else { return Ok(position == self.start) };
        self.file.seek(SeekFrom::Start(HEADER_BYTES + last * self.frame_bytes()))?;
        let mut header = [0; FRAME_HEADER_BYTES];
        if !read_whole(&mut self.file, &mut header)? {
            return Ok(false);
        }
        let word = |place: usize| word(&header, place, true);
        Ok([word(8), word(12)] == position.salts && [word(16), word(20)] == position.checksum)
    }
}

fn word(bytes: &[u8], place: usize, big_endian: bool) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[place..place + 4]);
    if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}

/// Adds bytes to a checksum. Their number is a multiple of 8.
fn add(big_endian: bool, [mut first, mut second]: [u32; 2], bytes: &[u8]) -> [u32; 2] {
    for eight in bytes.chunks_exact(8) {
        first = first.wrapping_add(word(eight, 0, big_endian)).wrapping_add(second);
        second = second.wrapping_add(word(eight, 4, big_endian)).wrapping_add(first);
    }
    [first, second]
}

/// Fills the buffer. Returns false if the file ends before.
fn read_whole(from: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
