//! How much memory the connections use to keep pages of the database, and how much is for rows: those of the writer, and
//! those that the readers share. Each connection has a cache of its own, and all together stay within one bound.

use convoke_core::limits::Limits;

const MIB: u64 = 1024 * 1024;

/// Of the machine's memory, this part is for pages.
const PART: u64 = 8;
/// What a small machine gives, and what a large one does not exceed.
const BOUNDS: (u64, u64) = (64 * MIB, 2_048 * MIB);
/// The part of it in which the writer remembers rows, and as much again for those of the readers; its bound.
const ROWS_PART: u64 = 10;
const ROWS_BYTES_MAX: u64 = 64 * MIB;
/// What the writer keeps at most, in KiB: of a database that ends before [`LOCKED_PAGE`], and of a larger one.
///
/// A transaction that reorders pages, as an insert into a full page of an index does, gives one of them the number of that
/// page in between. Where the database ends before it, SQLite looks at the commit through the whole of its cache for pages
/// behind the end: with hundreds of MiB that takes more time than everything else. In a larger one it does not, and the
/// pages that lead to the leaves of an index are many. Rows that are read by id are remembered beside it.
const WRITER_KIB_MAX: u64 = 16 * 1_024;
const WRITER_KIB_OF_LARGE_MAX: u64 = 128 * 1_024;
/// Where the page lies that SQLite leaves out of every database, in bytes.
const LOCKED_PAGE: u64 = 1_024 * MIB;
/// What each has at least, in KiB.
const KIB_MIN: u64 = 64;
/// The caches of a connection to a file that nobody serves.
pub(crate) const OF_FILE: Kib = Kib { reader: 8 * 1_024, writer: 8 * 1_024, writer_of_large: 8 * 1_024 };

/// The page cache of each connection of a served database, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kib {
    /// Of each reader.
    pub reader: u64,
    /// Of the writer.
    pub writer: u64,
    /// Of the writer of a large database.
    pub writer_of_large: u64,
}

impl Kib {
    /// What the writer of a database of so many bytes keeps.
    pub(crate) fn of_writer(&self, database_bytes: u64) -> u64 {
        if database_bytes > LOCKED_PAGE { self.writer_of_large } else { self.writer }
    }
}

/// How the connections share the bound.
pub(crate) fn of_connections(limits: &Limits) -> Kib {
    let readers = u64::try_from(limits.readers.max(1)).unwrap_or(u64::MAX);
    let all = (bytes(limits) - 2 * bytes_of_rows(limits)) / 1_024;
    let writer = (all / readers.saturating_add(1)).clamp(KIB_MIN, WRITER_KIB_OF_LARGE_MAX);
    let reader = (all.saturating_sub(writer) / readers).max(KIB_MIN);
    Kib { reader, writer: writer.min(WRITER_KIB_MAX), writer_of_large: writer }
}

/// What the rows may take that the writer remembers, and what those may that the readers share.
pub(crate) fn bytes_of_rows(limits: &Limits) -> u64 {
    (bytes(limits) / ROWS_PART).min(ROWS_BYTES_MAX)
}

fn bytes(limits: &Limits) -> u64 {
    match limits.page_cache_bytes {
        0 => by_default(memory()),
        set => set,
    }
}

fn by_default(memory: Option<u64>) -> u64 {
    memory.map_or(BOUNDS.0, |memory| (memory / PART).clamp(BOUNDS.0, BOUNDS.1))
}

/// What this process can have: the container's memory, or else the machine's.
#[cfg(target_os = "linux")]
fn memory() -> Option<u64> {
    let system = rustix::system::sysinfo();
    let machine = u64::from(system.mem_unit).saturating_mul(system.totalram);
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    Some(container.and_then(|text| text.trim().parse().ok()).map_or(machine, |container: u64| container.min(machine)))
}

#[cfg(not(target_os = "linux"))]
fn memory() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_machine_has_enough_and_a_large_one_keeps_most_for_others() {
        let of = |mib: u64| by_default(Some(mib * MIB)) / MIB;
        assert_eq!([of(256), of(1_024), of(8_192), of(1_048_576)], [64, 128, 1_024, 2_048]);
        assert_eq!(by_default(None), 64 * MIB);
    }

    #[test]
    fn a_setting_is_shared_out() {
        let limits = Limits { page_cache_bytes: 90 * MIB, readers: 8, ..Limits::default() };
        assert_eq!(of_connections(&limits), Kib { reader: 8 * 1_024, writer: 8 * 1_024, writer_of_large: 8 * 1_024 });
        assert_eq!(bytes_of_rows(&limits), 9 * MIB);
    }

    #[test]
    fn of_a_large_cache_the_readers_have_most() {
        let limits = Limits { page_cache_bytes: 1_000 * MIB, readers: 2, ..Limits::default() };
        let shares = of_connections(&limits);
        let (small, large) = (16 * 1_024, 128 * 1_024);
        assert_eq!(shares, Kib { reader: (1_000 - 128 - 128) * 512, writer: small, writer_of_large: large });
        assert_eq!([LOCKED_PAGE, LOCKED_PAGE + 1].map(|bytes| shares.of_writer(bytes)), [small, large]);
    }

    #[test]
    fn a_tiny_setting_leaves_each_a_little() {
        let limits = Limits { page_cache_bytes: 1, readers: 4, ..Limits::default() };
        assert_eq!(of_connections(&limits), Kib { reader: 64, writer: 64, writer_of_large: 64 });
    }
}
