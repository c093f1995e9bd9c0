//! LTX, the file format of Litestream: the newest content of the pages that some commits have changed.
//!
//! A file is a header, the pages in the order of their numbers, an index of the pages, and a trailer with a checksum
//! of everything before it. Numbers are big-endian. Each page is one LZ4 block. The checksum is CRC-64 (ISO) over the
//! file with *uncompressed* pages. Source: <https://github.com/superfly/ltx>, version 3 of the format.

use std::io::{self, BufRead, Write};

use crc_fast::{CrcAlgorithm, Digest};
use lz4_flex::block;

/// First four bytes of a file.
const MAGIC: [u8; 4] = *b"LTX1";
pub(crate) const HEADER_BYTES: usize = 100;
/// Flag of the header: the file has no checksum of the whole database.
const NO_DATABASE_CHECKSUM: u32 = 1 << 1;
/// Flag of a page: the size of its block follows.
const HAS_SIZE: u16 = 1;
/// Highest bit, set in each checksum.
const CHECKSUM: u64 = 1 << 63;
/// Byte of the database that SQLite locks. Its page is never stored.
const LOCK_BYTE: u64 = 0x4000_0000;
/// Largest page of a database.
const PAGE_BYTES_MAX: u32 = 65_536;

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Size of the database after these commits, in pages.
    pub database_pages: u32,
    /// The first commit. A file that begins with commit 1 is a snapshot: it has every page.
    pub first: u64,
    /// The last commit.
    pub last: u64,
    /// Time of the file in milliseconds since 1970; all its commits are older.
    pub at: i64,
}

impl Header {
    fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&NO_DATABASE_CHECKSUM.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.page_bytes.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.database_pages.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.last.to_be_bytes());
        bytes[32..40].copy_from_slice(&self.at.to_be_bytes());
        bytes
    }

    /// Parses the header of a file.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`].
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES]) -> io::Result<Self> {
        let long = |place: usize| u64::from_be_bytes(bytes[place..place + 8].try_into().unwrap_or_default());
        let word = |place: usize| u32::from_be_bytes(bytes[place..place + 4].try_into().unwrap_or_default());
        let header = Self {
            page_bytes: word(8),
            database_pages: word(12),
            first: long(16),
            last: long(24),
            at: i64::from_be_bytes(bytes[32..40].try_into().unwrap_or_default()),
        };
        let is_size = header.page_bytes.is_power_of_two() && (512..=PAGE_BYTES_MAX).contains(&header.page_bytes);
        if bytes[..4] != MAGIC || !is_size || header.first == 0 || header.first > header.last {
            return Err(damaged("its header is not that of an LTX file"));
        }
        Ok(header)
    }
}

/// Returns the number of the page that contains SQLite's lock byte.
fn lock_page(page_bytes: u32) -> u32 {
    u32::try_from(LOCK_BYTE / u64::from(page_bytes)).map_or(u32::MAX, |page| page + 1)
}

/// Writes a file.
pub(crate) struct Encoder<W> {
    to: W,
    digest: Digest,
    header: Header,
    written: u64,
    index: Vec<(u32, u64, u64)>,
    block: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    /// Writes the header.
    pub(crate) fn begin(to: W, header: Header) -> io::Result<Self> {
        let digest = Digest::new(CrcAlgorithm::Crc64GoIso);
        let mut encoder = Self { to, digest, header, written: 0, index: Vec::new(), block: Vec::new() };
        encoder.write(&header.bytes())?;
        Ok(encoder)
    }

    /// Writes a page. Pages come in the order of their numbers. The page with SQLite's lock byte, and pages after the
    /// end of the database, are ignored.
    pub(crate) fn page(&mut self, number: u32, content: &[u8]) -> io::Result<()> {
        if number == lock_page(self.header.page_bytes) || number > self.header.database_pages {
            return Ok(());
        }
        let begun = self.written;
        self.block.resize(block::get_maximum_output_size(content.len()), 0);
        let bytes = block::compress_into(content, &mut self.block).map_err(io::Error::other)?;
        let mut header = [0; 10];
        header[..4].copy_from_slice(&number.to_be_bytes());
        header[4..6].copy_from_slice(&HAS_SIZE.to_be_bytes());
        header[6..].copy_from_slice(&u32::try_from(bytes).map_err(io::Error::other)?.to_be_bytes());
        self.write(&header)?;
        self.to.write_all(&self.block[..bytes])?;
        self.written += bytes as u64;
        self.digest.update(content);
        self.index.push((number, begun, self.written - begun));
        Ok(())
    }

    /// Writes the index and the trailer.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.write(&[0; 6])?;
        let begun = self.written;
        let mut index = Vec::with_capacity(self.index.len() * 8);
        for (number, place, bytes) in std::mem::take(&mut self.index) {
            put_varint(&mut index, u64::from(number));
            put_varint(&mut index, place);
            put_varint(&mut index, bytes);
        }
        index.push(0);
        self.write(&index)?;
        self.write(&(self.written - begun).to_be_bytes())?;
        // The checksum of the whole database, which the file does not have.
        self.write(&[0; 8])?;
        let checksum = CHECKSUM | self.digest.finalize();
        self.to.write_all(&checksum.to_be_bytes())?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.digest.update(bytes);
        self.written += bytes.len() as u64;
        Ok(())
    }
}

fn put_varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Reads a file. Nothing of it is valid before [`Decoder::next`] has returned `None`: that is when its checksum was
/// compared.
pub(crate) struct Decoder<R> {
    from: R,
    digest: Digest,
    header: Header,
    previous: u32,
    is_done: bool,
    block: Vec<u8>,
}

impl<R: BufRead> Decoder<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Errors of `from`; [`io::ErrorKind::InvalidData`].
    pub(crate) fn begin(mut from: R) -> io::Result<Self> {
        let mut bytes = [0; HEADER_BYTES];
        from.read_exact(&mut bytes).map_err(cut_off)?;
        let header = Header::parse(&bytes)?;
        let mut digest = Digest::new(CrcAlgorithm::Crc64GoIso);
        digest.update(&bytes);
        Ok(Self { from, digest, header, previous: 0, is_done: false, block: Vec::new() })
    }

    pub(crate) fn header(&self) -> Header {
        self.header
    }

    /// Reads the next page into `content`, which has the size of a page, and returns its number. `None`: the file is
    /// complete and its checksum is right.
    ///
    /// # Errors
    /// Errors of the reader; [`io::ErrorKind::InvalidData`].
    pub(crate) fn next(&mut self, content: &mut [u8]) -> io::Result<Option<u32>> {
        if self.is_done {
            return Ok(None);
        }
        let mut header = [0; 6];
        self.read(&mut header)?;
        let number = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
        if header == [0; 6] {
            self.end()?;
            self.is_done = true;
            return Ok(None);
        }
        let has_size = u16::from_be_bytes([header[4], header[5]]) == HAS_SIZE;
        if !has_size || number <= self.previous || number > self.header.database_pages {
            return Err(damaged("its pages are not in order"));
        }
        let mut size = [0; 4];
        self.read(&mut size)?;
        let size = u32::from_be_bytes(size) as usize;
        if size > block::get_maximum_output_size(content.len()) {
            return Err(damaged("a page is too large"));
        }
        self.block.resize(size, 0);
        self.from.read_exact(&mut self.block).map_err(cut_off)?;
        let bytes = block::decompress_into(&self.block, content).map_err(|_| damaged("a page cannot be unpacked"))?;
        if bytes != content.len() {
            return Err(damaged("a page is too short"));
        }
        self.digest.update(content);
        self.previous = number;
        Ok(Some(number))
    }

    /// Reads the index and the trailer, and compares the checksum.
    fn end(&mut self) -> io::Result<()> {
        let mut rest = Vec::new();
        self.from.read_to_end(&mut rest)?;
        let Some((hashed, checksum)) = rest.split_last_chunk::<8>() else {
            return Err(cut_off(io::ErrorKind::UnexpectedEof.into()));
        };
        self.digest.update(hashed);
        if CHECKSUM | self.digest.finalize() != u64::from_be_bytes(*checksum) {
            return Err(damaged("its checksum is wrong"));
        }
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.from.read_exact(bytes).map_err(cut_off)?;
        self.digest.update(bytes);
        Ok(())
    }
}

fn damaged(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn cut_off(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("it is incomplete"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn encoded(header: Header, pages: &BTreeMap<u32, Vec<u8>>) -> Vec<u8> {
        let mut encoder = Encoder::begin(Vec::new(), header).unwrap();
        for (number, content) in pages {
            encoder.page(*number, content).unwrap();
        }
        encoder.finish().unwrap()
    }

    fn decoded(bytes: &[u8]) -> io::Result<(Header, BTreeMap<u32, Vec<u8>>)> {
        let mut decoder = Decoder::begin(bytes)?;
        let (mut pages, mut content) = (BTreeMap::new(), vec![0; decoder.header().page_bytes as usize]);
        while let Some(number) = decoder.next(&mut content)? {
            pages.insert(number, content.clone());
        }
        Ok((decoder.header(), pages))
    }

    const HEADER: Header = Header { page_bytes: 512, database_pages: 40, first: 7, last: 9, at: 1_700_000_000_123 };

    proptest! {
        #[test]
        fn pages_are_read_as_they_were_written(
            seeds in proptest::collection::btree_map(1_u32..=40, (any::<u8>(), 0_usize..512), 0..20)
        ) {
            let pages: BTreeMap<u32, Vec<u8>> = seeds.into_iter().map(|(number, (seed, plain))| {
                // The beginning is hard to compress.
                let noise = (0..plain).map(|place| seed ^ (place.wrapping_mul(2_654_435_761) >> 7) as u8);
                (number, noise.chain(std::iter::repeat(seed)).take(512).collect())
            }).collect();
            prop_assert_eq!(decoded(&encoded(HEADER, &pages)).unwrap(), (HEADER, pages));
        }

        #[test]
        fn changed_byte_is_detected(place in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let pages = BTreeMap::from([(3, vec![5; 512]), (4, (0..512_u32).map(|at| (at % 251) as u8).collect())]);
            let mut bytes = encoded(HEADER, &pages);
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            // The highest bit of the checksum is always set.
            prop_assume!(place != bytes.len() - 8 || bit != 7);
            // A changed block may be unpacked to the same page.
            prop_assert!(decoded(&bytes).map_or(true, |(header, found)| (header, found) == (HEADER, pages)));
        }

        #[test]
        fn shortened_file_is_detected(rest in any::<prop::sample::Index>()) {
            let bytes = encoded(HEADER, &BTreeMap::from([(1, vec![1; 512]), (2, vec![2; 512])]));
            prop_assert!(decoded(&bytes[..rest.index(bytes.len())]).is_err());
        }
    }

    #[test]
    fn page_with_the_lock_byte_is_not_stored() {
        let header = Header { page_bytes: 65_536, database_pages: 20_000, ..HEADER };
        assert_eq!(lock_page(65_536), 16_385);
        let mut encoder = Encoder::begin(Vec::new(), header).unwrap();
        for number in [16_384, 16_385, 16_386, 20_001] {
            encoder.page(number, &vec![1; 65_536]).unwrap();
        }
        let (_, pages) = decoded(&encoder.finish().unwrap()).unwrap();
        assert_eq!(pages.into_keys().collect::<Vec<_>>(), [16_384, 16_386]);
    }
}
